"""The folded diff: what is made, changed and taken away; apart from it, what is the same for each run and service."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from review.blocks import Block, Rank
from review.compared import Compared
from review.preview import QUIET, Step, short

_LONGEST, _BEFORE = 160, 20
"""Characters that are shown of a value; of two long ones from so many before the first that differs."""
_NOISE = ("labels", "annotations", "tags", "tagsAll", "matchLabels", "urn", "provider", "__")
"""Steps of a path below which there are labels, and what the engine keeps for itself."""
_DOCUMENTS = ("policy", "assumeRolePolicy", "inlinePolicy")
_MARKS: Mapping[str, str] = {"create": "+", "delete": "-", "replace": "-", "update": "!", "import": "+"}


def diff_blocks(stack: Compared) -> Iterator[Block]:
    """Two folded blocks: the diff, and IAM documents, labels and URNs."""
    if stack.preview is None:
        return
    shown, noise = [], []
    for step in sorted(stack.preview.changes, key=lambda step: (_MARKS.get(step.op, "!"), step.type, step.name)):
        mark = _MARKS.get(step.op, "!")
        loud, quiet = _split(step)
        words = f" ({step.op})" if step.op == "replace" or (mark == "!" and step.op != "update") else ""
        head = f"{mark} {step.label}{words}"
        shown += [head, *loud]
        if quiet:
            noise += [head, *quiet]
    counts = stack.preview.counts
    summary = ", ".join(f"{counts[op]:,} {op}" for op in sorted(counts) if op == "same" or op not in QUIET)
    yield _folded(Rank.DIFF, f"Diff: {summary}" if summary else "Diff", shown)
    yield _folded(Rank.NOISE, "IAM documents, labels and URNs", noise)


def _folded(rank: Rank, title: str, lines: Sequence[str]) -> Block:
    head = f"<details><summary>{title}</summary>\n\n```diff"
    return Block(rank=rank, head=head, lines=lines, tail="```\n\n</details>")


def _split(step: Step) -> tuple[list[str], list[str]]:
    """The lines below a step: those to read, and the noise. What is made is told by its name alone."""
    loud: list[str] = []
    quiet: list[str] = []
    before, after = dict(flattened(step.old)), dict(flattened(step.new))
    for path in sorted({**before, **after}):
        old, new = before.get(path), after.get(path)
        if old == new and path in before and path in after:
            continue
        noise = is_noise(path, new if new is not None else old)
        if step.op in {"create", "delete", "import"} and not noise and not path.startswith("spec.replicas"):
            continue
        (quiet if noise else loud).extend(_lines(step.op, path, old, new))
    return loud, quiet


def _lines(op: str, path: str, old: Any, new: Any) -> Iterator[str]:
    if op in {"create", "import"}:
        yield f"+   {path}: {_short(new)}"
    elif op == "delete":
        yield f"-   {path}: {_short(old)}"
    elif old is None:
        yield f"!   {path}: added {_short(new)}"
    elif new is None:
        yield f"!   {path}: removed {_short(old)}"
    else:
        texts = was, now = _text(old), _text(new)
        shortest, longest = sorted(map(len, texts))
        parted = next((at for at in range(shortest) if was[at] != now[at]), shortest)
        begin = max(0, parted - _BEFORE) if longest > _LONGEST else 0
        yield f"!   {path}: {_short(old, begin)} => {_short(new, begin)}"


def _text(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text.replace("```", "'''")


def _short(value: Any, begin: int = 0) -> str:
    text = _text(value)
    shown = f"{'...' if begin else ''}{text[begin : begin + _LONGEST]}"
    return shown if len(text) <= begin + _LONGEST else f"{shown}... ({len(text):,} characters)"


def is_noise(path: str, value: Any) -> bool:
    """Whether a value is an IAM document, a label or the engine's own: the same for each run and service."""
    steps = [step.split("[")[0] for step in path.split(".")]
    if any(step in _NOISE or step.startswith("__") for step in steps):
        return True
    if steps[-1] in _DOCUMENTS or (isinstance(value, str) and value.startswith("urn:pulumi:")):
        return True
    return isinstance(value, str) and value.lstrip().startswith("{") and '"Statement"' in value


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each plain value with its path, as the engine writes paths; empty maps and lists below are values themselves."""
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            step = key if key.replace("_", "").replace("-", "").isalnum() else f'["{key}"]'
            joint = "." if path and not step.startswith("[") else ""
            yield from flattened(below, f"{path}{joint}{step}")
    elif isinstance(value, list) and value:
        for index, below in enumerate(value):
            yield from flattened(below, f"{path}[{index}]")
    elif path:
        yield path, value


def whole(stack: Compared) -> str:
    """The diff of a stack with everything, for the artifact: each resource, each input, nothing folded or shortened."""
    if stack.preview is None:
        return f"{stack.unseen or 'no preview was made'}\n"
    lines = []
    for step in stack.preview.changes:
        lines.append(f"{step.op} {short(step.type)} {step.name} [{step.urn}]")
        before, after = dict(flattened(step.old)), dict(flattened(step.new))
        for path in sorted({**before, **after}):
            if before.get(path) != after.get(path) or (path in before) != (path in after):
                lines.append(f"    {path}: {before.get(path, '(none)')!r} => {after.get(path, '(none)')!r}")
    return "\n".join(lines) + "\n"
