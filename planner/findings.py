"""Findings: what the planner has to say about a stack; the registry of the rules that make them; waivers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from enum import StrEnum
from functools import wraps
from typing import Any, Generic, TypeVar, TypeVarTuple, overload

from catalogue.echo import bare, echo
from settings.model import Waiver

Draft = TypeVar("Draft")
Things = TypeVarTuple("Things")
Look = Callable[[Draft], Iterable["Observation"]]
_LONG = re.compile(r"\S{81,}")
"""A word of a stack file that is longer than a person reads: images, addresses, names of rows."""
LookAtOne = Callable[[Draft, *Things], Iterable["Observation"]]
Each = Callable[[Draft], Iterable[tuple[str, *Things]]]


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What a rule saw. `path` is the settings path a person edits, below that of the thing a rule looks at, `subject`
    the thing a waiver can name.

    `inputs` are the numbers that the rule's formula took, by name, each with its unit: {"rate": "50 GB/s"}.
    """

    sentence: str
    remedy: str
    path: str = ""
    subject: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Finding(Observation):
    """What a rule says of a stack, at a path of its file. `waiver` is the reason why it was accepted, if it was."""

    rule: str
    severity: Severity
    waiver: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.sentence}; {self.remedy}"


@dataclass(frozen=True, kw_only=True)
class Rule(Generic[Draft]):
    """A rule: its id, the requirements and corrections it guards, and the function that looks at a draft plan.

    It looks at drafts of the type `about` only, which is how a rule belongs to one platform. `by_name` rules are
    waived subject by subject: a waiver without `subject` does not cover them. `formula` is what it computes, as text,
    and `source` where that or its limit is from.
    """

    id: str
    guards: tuple[str, ...]
    severity: Severity
    by_name: bool
    about: type[Draft]
    look: Look[Draft]
    formula: str
    source: str

    def findings(self, draft: Draft) -> Iterable[Finding]:
        """Everything this rule finds in `draft`."""
        for seen in self.look(draft):
            sentence = _LONG.sub(lambda word: bare(word[0]), seen.sentence)
            said = {**vars(seen), "path": f"gpucluster:{seen.path}", "sentence": sentence}
            yield Finding(rule=self.id, severity=self.severity, **said)


class Registry:
    """The rules by id, in the order in which they were registered."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule[Any]] = {}

    def about(self, draft: type[Draft]) -> tuple[Decorator[Draft], Decorator[Draft]]:
        """The decorators that register rules about drafts of this type: those that refuse, and those that warn."""
        return Decorator(self._rules, draft, Severity.ERROR), Decorator(self._rules, draft, Severity.WARNING)

    @property
    def rules(self) -> tuple[Rule[Any], ...]:
        """Every rule."""
        return tuple(self._rules.values())

    def findings(self, draft: object, waivers: Sequence[Waiver], today: date) -> tuple[Finding, ...]:
        """What all rules about such a draft find, with waivers applied, and what is wrong with the waivers."""
        looking = [rule for rule in self._rules.values() if isinstance(draft, rule.about)]
        found = [finding for rule in looking for finding in rule.findings(draft)]
        judged = tuple(self._waived(finding, waivers, today) for finding in found)
        about_waivers = (
            finding
            for index, waiver in enumerate(waivers)
            for finding in self._about_waiver(f"gpucluster:waivers[{index}]", waiver, found, today)
        )
        return (*judged, *about_waivers)

    def _covers(self, waiver: Waiver, finding: Finding) -> bool:
        if waiver.rule != finding.rule:
            return False
        if waiver.subject is None:
            return not self._rules[finding.rule].by_name
        return waiver.subject == finding.subject

    def _waived(self, finding: Finding, waivers: Sequence[Waiver], today: date) -> Finding:
        for waiver in waivers:
            if self._covers(waiver, finding) and waiver.until >= today:
                return replace(finding, waiver=f"{waiver.reason} (until {waiver.until.isoformat()})")
        return finding

    def _about_waiver(self, path: str, waiver: Waiver, found: Sequence[Finding], today: date) -> Iterable[Finding]:
        def finding(rule: str, severity: Severity, path: str, sentence: str, remedy: str) -> Finding:
            return Finding(rule=rule, severity=severity, path=path, sentence=sentence, remedy=remedy)

        if waiver.rule not in self._rules:
            near = get_close_matches(waiver.rule, self._rules, n=1)
            remedy = f"did you mean {near[0]}?" if near else "docs/reference/planner.md lists the rules"
            yield finding(
                "waiver-unknown", Severity.ERROR, f"{path}.rule", f"there is no rule {echo(waiver.rule)}", remedy
            )
            return
        if self._rules[waiver.rule].by_name and waiver.subject is None:
            sentence = f"{waiver.rule} is waived subject by subject, and this waiver names none"
            remedy = "add subject, with the name that the finding shows"
            yield finding("waiver-unnamed", Severity.ERROR, f"{path}.subject", sentence, remedy)
            return
        if waiver.until < today:
            sentence = f"the waiver of {waiver.rule} ended on {waiver.until.isoformat()}"
            remedy = "remove it, or decide again and set a later day"
            yield finding("waiver-expired", Severity.ERROR, f"{path}.until", sentence, remedy)
        elif not any(self._covers(waiver, seen) for seen in found):
            about = f" for {echo(waiver.subject)}" if waiver.subject else ""
            sentence = f"{waiver.rule} finds nothing{about} any more"
            yield finding("waiver-unused", Severity.WARNING, path, sentence, "remove the waiver")


class Decorator(Generic[Draft]):
    """`@rule("KJ01 N03", formula=..., source=...)` above a function that looks at a draft and yields observations.

    The rule is called as the function is, with hyphens. With `each` the function looks at one thing after the other:
    `each(draft)` gives them as (path, thing, ...), and the function gets the draft and all but the path, at which the
    paths of its observations begin. Their subject is the first thing's name, where they have no other.
    """

    def __init__(self, rules: dict[str, Rule[Any]], about: type[Draft], severity: Severity) -> None:
        self._rules, self._about, self._severity = rules, about, severity

    @overload
    def __call__(
        self, guards: str, *, formula: str, source: str, by_name: bool = ...
    ) -> Callable[[Look[Draft]], Look[Draft]]: ...
    @overload
    def __call__(
        self, guards: str, *, each: Each[Draft, *Things], formula: str, source: str, by_name: bool = ...
    ) -> Callable[[LookAtOne[Draft, *Things]], LookAtOne[Draft, *Things]]: ...
    def __call__(
        self,
        guards: str,
        *,
        formula: str,
        source: str,
        by_name: bool = False,
        each: Callable[[Draft], Iterable[tuple[Any, ...]]] | None = None,
    ) -> Callable[[Any], Any]:
        """Register the decorated function as a rule that `guards` codes. Raises ValueError if its name is taken."""

        def register(look: Callable[..., Iterable[Observation]]) -> Any:
            id_ = look.__name__.replace("_", "-")
            if id_ in self._rules:
                raise ValueError(f"two rules are called {id_}")
            self._rules[id_] = Rule(
                id=id_,
                guards=tuple(guards.split()),
                severity=self._severity,
                by_name=by_name,
                about=self._about,
                look=_of_each(each, look) if each else look,
                formula=formula,
                source=source,
            )
            return look

        return register


def _of_each(
    each: Callable[[Draft], Iterable[tuple[Any, ...]]], look: Callable[..., Iterable[Observation]]
) -> Look[Draft]:
    """What looks at all things of a draft, by what looks at one of them."""

    @wraps(look)
    def at_all(draft: Draft) -> Iterable[Observation]:
        for path, *things in each(draft):
            for seen in look(draft, *things):
                below = f"{path}.{seen.path}" if seen.path else path
                yield replace(seen, path=below, subject=seen.subject or getattr(things[0], "name", None))

    return at_all
