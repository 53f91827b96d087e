"""Violations as a person reads them."""

from collections.abc import Sequence
from itertools import groupby

from policy.rule import Rule, Violation


def report(found: Sequence[Violation], rules: Sequence[Rule], stack: str) -> str:
    """What breaks which rule, with what to do about it; one line where nothing does."""
    if not found:
        return f"{stack} keeps all {len(rules)} rules"
    parts = [f"{stack} breaks {len({each.rule.id for each in found})} of {len(rules)} rules"]
    for rule, members in groupby(found, key=lambda each: each.rule):
        lines = [f"  {each.resource} {each.sentence}" for each in members]
        parts += [f"\n{rule.id}: {rule.holds}", *lines, f"  remedy: {rule.remedy}", f"  source: {rule.source}"]
    return "\n".join(parts)
