"""The page that lists every rule of the planner."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import planner.rules.metal  # noqa: F401
from planner.draft import registry
from planner.faces.explain import platform, sentence
from planner.findings import Rule

_HEAD = """# Rules of the planner

Written by `make reference` from the rules themselves. A rule of severity *error* stops a deployment before anything is
registered; a *warning* is shown and does not stop it. `make plan STACK=prod EXPLAIN=<rule>` shows a rule at work on a
stack. A finding is suppressed in the stack file (`waivers`), with a reason and until a day.
Which known mistake each answers: [codes](codes.md).

"""


def page() -> str:
    """The page, rules by subject in the order in which they are asked."""
    rules = sorted(registry.rules, key=_subject)
    parts = [f"{len(rules)} rules.\n"]
    for subject, members in groupby(rules, key=_subject):
        parts.append(f"\n## {subject.capitalize()}\n\n")
        parts.append("| rule | | what holds | formula | source |\n|---|---|---|---|---|\n")
        parts += (f"| {' | '.join(_cells(rule))} |\n" for rule in members)
    return _HEAD + "".join(parts)


def _subject(rule: Rule[Any]) -> str:
    """The module that has the rule."""
    return rule.look.__module__.rpartition(".")[2].replace("_", " ")


def _cells(rule: Rule[Any]) -> Iterator[str]:
    about = platform(rule)
    yield f"`{rule.id}`"
    yield f"{rule.severity}{f', {about}' if about else ''}"
    yield _escaped(sentence(rule))
    yield f"`{_escaped(rule.formula)}`" if rule.formula else ""
    yield _escaped(rule.source or "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
