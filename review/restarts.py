"""Which runs and services begin again, why, and from where."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.faces.difference import whence
from planner.faces.revision import Told
from review.compared import Compared
from review.preview import Step

_NODES_ANEW = ("launchTemplate", "releaseVersion", "version", "amiType", "instanceTypes", "diskSize")
"""Inputs of a managed node group whose change replaces every node (EKS API, UpdateNodegroupVersion)."""


@dataclass(frozen=True, kw_only=True)
class Restart:
    """A workload that begins again; `whence` is what it goes on from."""

    workload: str
    why: str
    whence: str


def restarts(stack: Compared) -> tuple[Restart, ...]:
    """What begins again, each workload once; none is known without a preview."""
    if stack.preview is None or stack.before is None:
        return ()
    steps = {step.name: step for step in stack.preview.changes}
    found = (*_of_pools(stack.before, stack.after, steps), *_of_their_own(stack.before, steps))
    return tuple({each.workload: each for each in found}.values())


def _of_their_own(before: Told, steps: Mapping[str, Step]) -> Iterator[Restart]:
    for name, run in before.runs.items():
        step = steps.get(f"run-{name}-job")
        if step and step.op == "replace":
            yield Restart(workload=f"run {name}", why=f"its job is replaced{_because(step)}", whence=whence(run))
        elif step and step.op == "delete":
            yield Restart(workload=f"run {name}", why="its job is destroyed", whence="it does not: it ends")
    for name in before.services:
        step = steps.get(f"service-{name}-deployment")
        if step and step.op == "delete":
            yield Restart(workload=f"service {name}", why="it is destroyed", whence="it does not: it ends")
        elif step and (step.op == "replace" or any(each.startswith("spec.template") for each in step.diffs)):
            why = "it is replaced" if step.op == "replace" else "its pods change, one after the other"
            yield Restart(workload=f"service {name}", why=f"{why}{_because(step)}", whence="its weights are read again")


def _of_pools(before: Told, after: Told | None, steps: Mapping[str, Step]) -> Iterator[Restart]:
    for pool, was in before.pools.items():
        now = after.pools.get(pool) if after else None
        others = {f"pool-{other}-nodes" for other in before.pools if other != pool}
        for group in [step for name, step in steps.items() if name not in others and _of_pool(pool, name)]:
            which = pool if group.name == f"pool-{pool}-nodes" else f"{pool} ({group.name})"
            if group.op in {"replace", "delete"}:
                why = f"the nodes of pool {which} are {'replaced' if group.op == 'replace' else 'destroyed'}"
            elif any(each.split(".")[0].split("[")[0] in _NODES_ANEW for each in group.diffs):
                why = f"every node of pool {which} is replaced by an update"
            elif now and now["nodes"] < was["nodes"]:
                lost = was["nodes"] - now["nodes"]
                why = f"pool {pool} loses {lost} of {was['nodes']} nodes, its own may be among them"
            else:
                continue
            for name, run in before.runs.items():
                if run["pool"] == pool:
                    yield Restart(workload=f"run {name}", why=why, whence=whence(run))
            for name, service in before.services.items():
                if service["pool"] == pool:
                    yield Restart(workload=f"service {name}", why=why, whence="its weights are read again")


def _of_pool(pool: str, name: str) -> bool:
    """Whether the pool's node group has this name, or one of its node groups: each way to buy, or each block."""
    return re.fullmatch(rf"pool-{re.escape(pool)}-((spot|on-demand|\d+)-)?nodes", name) is not None


def _because(step: Step) -> str:
    paths = step.keys or step.diffs
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f" ({', '.join(paths[:3])}{more})" if paths else ""
