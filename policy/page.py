"""The page that lists every rule about what a program registers: `python -m policy.page [--check]`."""

import sys
from itertools import groupby
from pathlib import Path

from policy import RULES
from policy.rule import Rule

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "policy.md"

_HEAD = """# Rules about what is registered

Written by `make reference` from the rules themselves. They look at everything that one run of a program registers,
whoever wrote it: `make policy STACK=prod` runs them over a stack's program without an engine, the tests over every
committed stack, and the [policy pack](../../policy/pack/README.md) over any preview. What a first preview does not know
yet is not judged.

"""


def page() -> str:
    """The page, rules by subject in the order in which they are asked."""
    parts = [f"{len(RULES)} rules.\n"]
    for subject, members in groupby(RULES, key=lambda each: each.look.__module__.rpartition(".")[2]):
        title = {"aws": "AWS"}.get(subject, subject.capitalize())
        parts.append(f"\n## {title}\n\n| rule | what holds | remedy | source |\n|---|---|---|---|\n")
        parts += (f"| {' | '.join(_cells(rule))} |\n" for rule in members)
    return _HEAD + "".join(parts)


def _cells(rule: Rule) -> list[str]:
    holds = " ".join(rule.holds.split())
    return [f"`{rule.id}`", *(each.replace("|", "\\|") for each in (holds, rule.remedy, rule.source))]


def main(arguments: list[str]) -> int:
    """Write the page; with --check, only say whether the committed one is stale (1)."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m policy.page [--check]")
        return 2
    if not arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/reference/policy.md is not what policy/ says; type: make reference")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
