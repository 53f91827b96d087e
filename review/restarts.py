"""Which runs and services begin again, why, and from where."""

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
        step = steps.get(f"pool-{pool}-nodes")
        if step is None:
            continue
        now = after.pools.get(pool) if after else None
        if step.op in {"replace", "delete"}:
            why = f"the nodes of pool {pool} are {'replaced' if step.op == 'replace' else 'destroyed'}"
        elif any(each.split(".")[0].split("[")[0] in _NODES_ANEW for each in step.diffs):
            why = f"every node of pool {pool} is replaced by an update"
        elif now and now["nodes"] < was["nodes"]:
            why = f"pool {pool} loses {was['nodes'] - now['nodes']} of {was['nodes']} nodes, its own may be among them"
        else:
            continue
        for name, run in before.runs.items():
            if run["pool"] == pool:
                yield Restart(workload=f"run {name}", why=why, whence=whence(run))
        for name, service in before.services.items():
            if service["pool"] == pool:
                yield Restart(workload=f"service {name}", why=why, whence="its weights are read again")


def _because(step: Step) -> str:
    paths = step.keys or step.diffs
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f" ({', '.join(paths[:3])}{more})" if paths else ""
