"""The line on which a reviewer decides."""

from collections import Counter

from planner.faces.revision import Told
from planner.findings import Severity
from review.compared import Compared
from review.restarts import restarts
from review.words import counted, gain


def decision(stack: Compared) -> str:
    """Nodes, price, what is replaced, restarted and found, in one line."""
    if stack.after is None:
        return "its stack file is removed: its resources stay, and cost money, until `pulumi destroy`"
    if stack.after.problems:
        return f"**refused**: {counted(len(stack.after.problems), 'mistake')} in `{stack.file}`"
    parts = [_nodes(stack), _price(stack.before, stack.after), _gone(stack)]
    parts += [part for part in (_restarts(stack), _policies(stack)) if part]
    new = [each for each in (*stack.difference.new, *stack.difference.changed) if each.waiver is None]
    warnings = [each for each in new if each.severity is Severity.WARNING]
    if stack.after.errors:
        parts.append(counted(len(stack.after.errors), "error"))
    parts.append(f"{counted(len(warnings), 'new warning')}")
    stops = stack.refused or _stopped(stack)
    first = "**refused**: " if stack.refused else "**preview fails**: " if stops else ""
    return f"{first}{', '.join(parts)}"


def _stopped(stack: Compared) -> bool:
    return bool(stack.preview and (stack.preview.errors or any(each.mandatory for each in stack.preview.verdicts)))


def _nodes(stack: Compared) -> str:
    was, now = _hardware(stack.before), _hardware(stack.after)
    steps = {name: now[name] - was[name] for name in {**was, **now} if now[name] != was[name]}
    new = "new: " if stack.before is None else ""
    return new + (", ".join(f"{step:+,} {name}" for name, step in steps.items()) or "the same nodes")


def _hardware(told: Told | None) -> Counter[str]:
    found: Counter[str] = Counter()
    for pool in told.pools.values() if told else ():
        found[pool["hardware"]] += pool["nodes"]
    return found


def _price(before: Told | None, after: Told) -> str:
    if before and before.problems:
        return f"USD {after.usd_per_hour:,.2f}/h"
    was = before or Told()
    bought = (after.usd_to_buy or 0.0) - (was.usd_to_buy or 0.0)
    purchase = f", {gain(bought)} to buy" if abs(bought) >= 1 else ""
    return f"{gain(after.usd_per_hour - was.usd_per_hour, '/h')}{purchase}"


def _gone(stack: Compared) -> str:
    if stack.preview is None:
        return "replacements not checked"
    kinds = Counter(step.op for step in stack.preview.gone)
    words = {"replace": "replaced", "delete": "destroyed"}
    said = [f"**{kinds[op]:,} {words[op]}**" for op in words if kinds[op]]
    return ", ".join(said) or "no replacement"


def _restarts(stack: Compared) -> str:
    again = restarts(stack)
    return f"{counted(len(again), 'workload')} restart{'s' if len(again) == 1 else ''}" if again else ""


def _policies(stack: Compared) -> str:
    broken = {each.policy for each in stack.preview.verdicts if each.mandatory} if stack.preview else set()
    return f"**{len(broken)} {'policy' if len(broken) == 1 else 'policies'} broken**" if broken else ""
