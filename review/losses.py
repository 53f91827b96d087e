"""What is replaced or destroyed: said in full, with what it holds and whether it is a new name for an old thing."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from review.blocks import Block, Rank
from review.compared import Compared
from review.diff import flattened
from review.preview import Step
from review.words import code, plain

_HOLDS_DATA: Mapping[str, str] = {
    "aws:efs/fileSystem:FileSystem": "every file on it",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "every file on it",
    "aws:s3/bucket:Bucket": "every object in it",
    "aws:s3/bucketV2:BucketV2": "every object in it",
    "aws:ebs/volume:Volume": "what is on it",
    "aws:kms/key:Key": "what only it can decrypt",
    "aws:eks/cluster:Cluster": "everything that runs in it",
    "kubernetes:core/v1:PersistentVolumeClaim": "what is on its volume",
    "kubernetes:core/v1:Namespace": "everything in it",
}
"""What goes with a resource, by its type."""

_NAMES = ("name", "metadata.name", "namePrefix", "clusterName", "roleName", "nodeGroupName")
"""Inputs that differ between two resources which are otherwise the same."""


def losses(stack: Compared) -> Block:
    """A row for each thing that is replaced or destroyed; never folded."""
    gone = stack.preview.gone if stack.preview else ()
    anew = renamed(stack.preview.changes) if stack.preview else {}
    rows = [f"| {_op(step)} | {code(step.label)} | {_why(step, anew)} |" for step in sorted(gone, key=_order)]
    head = "**Replaced or destroyed**\n\n| | what | why |\n|---|---|---|"
    return Block(rank=Rank.LOSSES, head=head, lines=rows)


def renamed(steps: Iterable[Step]) -> Mapping[str, Step]:
    """By the URN of what is destroyed: what is made in its place, of the same type and with the same inputs.

    A component or resource that takes another name is another one to the engine, unless an alias tells it.
    """
    made: dict[tuple[str, tuple[tuple[str, str], ...]], list[Step]] = defaultdict(list)
    gone: list[Step] = []
    for step in steps:
        if step.op == "create":
            made[_likeness(step.type, step.new)].append(step)
        elif step.op == "delete":
            gone.append(step)
    found = {}
    for step in gone:
        if alike := made[_likeness(step.type, step.old)]:
            found[step.urn] = alike.pop(0)
    return found


def _likeness(kind: str, inputs: Mapping[str, object]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A type with its inputs, names and what is not known yet apart."""
    told = sorted((path, str(value)) for path, value in flattened(inputs) if _says(path, value))
    return kind, tuple(told)


def _says(path: str, value: object) -> bool:
    return path not in _NAMES and "tags" not in path.lower() and not str(value).startswith(("arn:", "[unknown]"))


def _op(step: Step) -> str:
    return {"replace": "**replaced**", "delete": "**destroyed**"}[step.op]


def _why(step: Step, anew: Mapping[str, Step]) -> str:
    said = []
    if step.urn in anew:
        said.append(f"made again as {code(anew[step.urn].name)}: an alias of the old name would keep it")
    elif step.op == "replace":
        said.append(f"{code(', '.join(step.keys))} cannot change in place" if step.keys else "asked for")
    else:
        said.append("no longer in the program")
    if data := _HOLDS_DATA.get(step.type):
        said.append(f"**{plain(data)} goes with it**")
    if step.protected:
        said.append("it is protected, so the update will refuse")
    return "; ".join(said)


def _order(step: Step) -> tuple[bool, bool, str, str]:
    return step.type not in _HOLDS_DATA, step.op != "delete", step.type, step.name
