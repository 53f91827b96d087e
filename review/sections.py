"""The parts about one stack, in the order in which a reviewer needs them."""

from collections.abc import Iterator

from planner.faces.revision import Told
from planner.findings import Finding, Severity
from review.blocks import Block, Rank
from review.compared import Compared
from review.diff import diff_blocks
from review.losses import losses
from review.restarts import restarts
from review.words import code, plain, step, value


def sections(stack: Compared) -> Iterator[Block]:
    """Everything about a stack, its decision first."""
    after = stack.after
    parts = [*_told(stack), losses(stack)]
    if after and not after.problems:
        quotas = _quotas(stack.before or Told(), after, stack.stack)
        parts += [_numbers(stack), _restarts(stack), quotas, _findings(stack)]
    parts += [_verdicts(stack), *diff_blocks(stack)]
    if any(part.lines for part in parts):
        yield Block(rank=Rank.DECISION, lines=[f"## {stack.stack}"])
        yield from parts


def _told(stack: Compared) -> Iterator[Block]:
    """What cannot be compared, and why."""
    file = code(stack.file)
    if stack.after and stack.after.problems:
        lines = [f"- {plain(problem)}" for problem in stack.after.problems]
        yield Block(rank=Rank.FINDINGS, head=f"{file} cannot be planned; correct it:\n", lines=lines)
    if stack.before is None and stack.after:
        yield Block(rank=Rank.DECISION, lines=[f"The base has no {file}: everything is new."])
    elif stack.before and stack.before.problems:
        lines = [f"- {plain(problem)}" for problem in stack.before.problems]
        head = "The base's own file cannot be planned, so there is nothing to compare with:\n"
        yield Block(rank=Rank.NUMBERS, head=head, lines=lines)
    if stack.preview and stack.preview.errors:
        lines = [line for error in stack.preview.errors for line in error.replace("```", "'''").splitlines()]
        yield Block(rank=Rank.FINDINGS, head="The preview fails:\n\n```text", lines=lines, tail="```")


def _numbers(stack: Compared) -> Block:
    rows = [
        f"| {code(each.path)} | {value(each.before)} | {value(each.after)} | {step(each.before, each.after)} |"
        for each in stack.difference.numbers
    ]
    head = "**Numbers**\n\n| | before | after | by |\n|---|--:|--:|--:|"
    return Block(rank=Rank.NUMBERS, head=head, lines=rows if stack.before else [])


def _restarts(stack: Compared) -> Block:
    rows = [f"| {plain(each.workload)} | {plain(each.why)} | {plain(each.whence)} |" for each in restarts(stack)]
    head = "**Workloads that restart**\n\n| what | why | goes on from |\n|---|---|---|"
    return Block(rank=Rank.LOSSES, head=head, lines=rows)


def _quotas(was: Told, after: Told, stack: str) -> Block:
    lines = []
    for name, now in after.quotas.items():
        before = was.quotas[name]["need"] if name in was.quotas else 0
        if now["need"] > now["default"] and now["need"] > before:
            least = max(before, now["default"])
            lines.append(
                f"- {plain(name)}: {value(now['need'])} are needed, {value(now['need'] - least)} more than "
                f"{'before' if before >= now['default'] else 'a new account has'} ({plain(now['basis'])})"
            )
    head = f"**Quotas to ask for** first; `make doctor STACK={stack}` compares with the account\n"
    return Block(rank=Rank.FINDINGS, head=head, lines=lines)


def _findings(stack: Compared) -> Block:
    lines = [
        f"- {title} {_finding(finding)}" for title, found in stack.difference.findings.items() for finding in found
    ]
    return Block(rank=Rank.FINDINGS, head="**Findings**\n", lines=lines)


def _finding(finding: Finding) -> str:
    kind = "suppressed" if finding.waiver else "**error**" if finding.severity is Severity.ERROR else "warning"
    return f"{kind} {code(finding.rule)} at {code(finding.path)}: {plain(finding.sentence)}; {plain(finding.remedy)}"


def _verdicts(stack: Compared) -> Block:
    if stack.preview is None:
        return Block(rank=Rank.FINDINGS, lines=[])
    lines = [
        f"- {'**stops**' if each.mandatory else 'advises'} {code(each.policy)}: {plain(each.message)}"
        for each in stack.preview.verdicts
    ]
    if not lines and stack.preview.kept:
        return Block(rank=Rank.FINDINGS, lines=[f"**Policies**: {len(stack.preview.kept)} asked, none broken"])
    return Block(rank=Rank.FINDINGS, head="**Policies**\n", lines=lines)
