"""The pages of docs/runbooks, made from the table: `python -m monitoring.runbooks [--check]`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from monitoring.failure import OWNERS, Failure
from monitoring.failures import ROWS, SUBJECTS, failures
from monitoring.thresholds import Codes, Threshold

PAGES = Path(__file__).parents[1] / "docs" / "runbooks"

_HEAD = """# Runbooks

One page per alert. `make reference` writes them from the table of failures in `monitoring/failures/`: the rules that
Prometheus loads, these pages and the tests of both come from the same rows.

## When an alert fires

1. Open its page: the annotation `runbook_url` has the address.
2. Read its labels. `failure` is the page's name. `severity` is `critical` (act now), `warning` (act today) or `info`.
   `owner` says who acts, `domain` where the cause may lie (user, system, hardware).
3. An alert with `symptom="yes"` describes the effect on a run or a service. Alertmanager inhibits it while a critical
   cause fires in the same pool: look for the cause first.
4. Take the page's three steps in order. NODE, POD, RUN, SERVICE, NAMESPACE and POOL in a command stand for labels of
   the alert, or for what the previous command printed; STACK=NAME is the name of the stack. An elastic run has no
   master: use RUN-worker-0 for RUN-master-0.
5. Blocks marked `promql` are queries. Run them at http://localhost:9090, after
   `kubectl port-forward -n monitoring service/kube-prometheus-stack-prometheus 9090`.

These commands have not been run on a real cluster. A rehearsal refuses `kubectl exec` and `kubectl debug`, because its
pods have no container to enter.

## Common procedures

| to | type | effect |
|---|---|---|
"""

_MOVES = (
    ("keep new pods off a node", "`kubectl cordon NODE`", "running pods stay"),
    (
        "drain it",
        "`kubectl drain NODE --ignore-daemonsets --delete-emptydir-data`",
        "pods are terminated, and a run with checkpoints saves first; its whole gang waits until every pod has a node",
    ),
    (
        "reboot a node on AWS",
        "`aws ec2 reboot-instances --instance-ids ID`; `kubectl get node NODE -o jsonpath='{.spec.providerID}'` ends"
        " with its ID",
        "its GPUs are reset",
    ),
    (
        "reboot a node on premises",
        "`ssh USER@ADDRESS sudo reboot`; if it does not answer,"
        " `make power STACK=NAME NODE=NODE WHAT=cycle SERIAL=ITS-OWN` ([power](../how-to/metal.md))",
        "its GPUs are reset",
    ),
    (
        "have a machine replaced on AWS",
        "`aws ec2 terminate-instances --instance-ids ID`",
        "the node group launches another one, in a capacity block from the same block",
    ),
    ("have a machine replaced on premises", "[afterwards](../how-to/metal.md#5-afterwards)", ""),
    (
        "test a training node again, where its pool has a gate",
        "`kubectl create job -n training gate-again --from=cronjob/gate-POOL-weekly`",
        "the node's label and taint show the verdict",
    ),
    ("return a node to service", "`kubectl uncordon NODE`", "pods are scheduled to it again"),
    (
        "keep a node cordoned that was isolated automatically",
        "`kubectl annotate node NODE gpucluster/isolated-`",
        "it stays cordoned until somebody uncordons it",
    ),
)

_TAIL = """
`kubectl debug node/NODE` starts a privileged pod on the node, which stays after the shell exits: delete
`node-debugger-…` afterwards. EKS repairs nodes automatically unless their pool says `repair: false`: a node that
disappears while you look at it may have been replaced.

"""

_EVERY = {failure.id: subject.interval for subject in SUBJECTS for failure in subject.failures}


def pages() -> dict[str, str]:
    """Every page's text by its file's name."""
    return {"README.md": _index(), **{failure.page: page(failure) for failure in failures()}}


def page(failure: Failure) -> str:
    """The page of one failure."""
    return "\n".join(_lines(failure))


def _lines(failure: Failure) -> Iterator[str]:
    yield f"# {failure.title}"
    yield ""
    yield f"Alert `{failure.alert}`, {failure.severity}. Owner: {OWNERS[failure.owner]}."
    if failure.row:
        yield f"Symptom of the failure taxonomy: {failure.row}."
    yield ""
    yield "## What you see"
    yield ""
    yield f"> {_readable(failure.summary)}"
    yield ""
    yield f"{failure.signal}."
    yield ""
    yield "## What it means"
    yield ""
    yield failure.meaning
    yield ""
    yield "Likely causes:"
    yield ""
    yield from (f"- {cause}" for cause in failure.causes)
    yield ""
    if failure.isolates:
        yield "With `monitoring.isolation` the node is cordoned automatically, until ten minutes after the alert ends."
        yield ""
    yield "## What to do first"
    for number, action in enumerate(failure.actions, 1):
        yield ""
        yield f"{number}. {action.say}" + ("" if action.say.endswith("?") else ":")
        yield ""
        yield "   ```promql" if action.query else "   ```sh"
        yield f"   {action.query or action.command}"
        yield "   ```"
    if failure.more:
        yield ""
        yield failure.more
    yield ""
    yield "## When it is over"
    yield ""
    yield failure.over
    if any(word in action.command for action in failure.actions for word in ("kubectl cordon", "kubectl drain")):
        yield ""
        yield "Then return the node to service: `kubectl uncordon NODE`. To reboot or replace it, see"
        yield "[common procedures](README.md#common-procedures)."
    yield ""
    yield "## Where the numbers come from"
    yield ""
    yield from _numbers(failure)
    yield ""
    yield f"Further reading: <{failure.link}>."
    if failure.guards:
        yield ""
        behind = ", ".join(failure.guards)
        yield f"Requirements and known mistakes behind it ([codes](../reference/codes.md)): {behind}."
    yield ""


def _numbers(failure: Failure) -> Iterator[str]:
    held = f"which must hold for {failure.span} before it fires" if failure.span != "0s" else "which fires at once"
    yield f"The rule, {held} (evaluated every {_EVERY[failure.id]}):"
    yield ""
    yield "```promql"
    yield failure.query
    yield "```"
    if not failure.limits:
        yield ""
        yield "It has no threshold."
        return
    yield ""
    yield "| limit | value | source |"
    yield "|---|---|---|"
    for name, limit in failure.limits.items():
        yield f"| {name} | {_value(limit)} | {limit.source} |"
    if any(isinstance(limit, Threshold) for limit in failure.limits.values()):
        yield ""
        yield "A stack file can override a value, with its source, in `monitoring.alerts.thresholds`."


def _value(limit: Threshold | Codes) -> str:
    if isinstance(limit, Codes):
        return ", ".join(limit.values)
    return f"{limit.value:,.15g} {limit.unit}"


def _readable(summary: str) -> str:
    """The sentence with the names of labels in place of Prometheus' templates, and both ways of a condition."""
    summary = re.sub(r"{{ if [^}]*}}(.*?){{ else }}(.*?){{ end }}", r"\1, or \2", summary)
    return re.sub(r"{{ \$(?:labels\.)?(\w+)[^}]*}}", r"{\1}", summary)


def _index() -> str:
    parts = [_HEAD, *(f"| {to} | {typed} | {then} |\n" for to, typed, then in _MOVES), _TAIL]
    for subject in SUBJECTS:
        parts.append(f"## {subject.title}\n\n| failure | alert | severity | owner |\n|---|---|---|---|\n")
        parts += (
            f"| [{each.title}]({each.page}) | `{each.alert}` | {each.severity} | {each.owner} |\n"
            for each in subject.failures
        )
        parts.append("\n")
    parts.append("## The twelve symptoms of the taxonomy\n\n| symptom | page |\n|---|---|\n")
    by_row = {each.row: each for each in failures() if each.row}
    parts += (f"| {row} | [{by_row[row].title}]({by_row[row].page}) |\n" for row in ROWS)
    return "".join(parts)


def main(arguments: list[str]) -> int:
    """Write the pages and delete those of failures that are gone; with --check, only name stale ones (and return 1)."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m monitoring.runbooks [--check]")
        return 2
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    for name in stale:
        if arguments:
            print(f"docs/runbooks/{name} is out of date with monitoring/failures; type: make reference")
        elif name in wanted:
            PAGES.mkdir(parents=True, exist_ok=True)
            (PAGES / name).write_text(wanted[name], encoding="utf-8")
        else:
            (PAGES / name).unlink()
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
