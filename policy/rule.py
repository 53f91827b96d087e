"""The form of a rule: a pure function over a graph, with where its knowledge is from and what to do about a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

from policy.graph import UNKNOWN, Graph

Finding = tuple[str, str]
"""(logical name of the resource, sentence: what is wrong with it, with the words and numbers that were seen)"""

Look = Callable[[Graph], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule. Called with a graph it yields what breaks it.

    `source` is where its knowledge is from (a vendor's page, an API reference, an issue); `remedy` says what to type.
    """

    look: Look
    source: str
    remedy: str

    @property
    def id(self) -> str:
        return self.look.__name__

    @property
    def holds(self) -> str:
        """The sentence that a good graph keeps, with the requirements and corrections it guards."""
        return (self.look.__doc__ or "").partition("\n\n")[0].strip()

    def __call__(self, graph: Graph) -> Iterable[Finding]:
        return self.look(graph)


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """A broken rule: which resource (logical name), and what is wrong with it."""

    rule: Rule
    resource: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.resource}: {self.sentence} [{self.rule.id}]"


def rule(*, source: str, remedy: str) -> Callable[[Look], Rule]:
    """The decorator that makes a rule of a function. Its name is the rule's id, its docstring says what holds."""

    def make(look: Look) -> Rule:
        return Rule(look=look, source=source, remedy=remedy)

    return make


def rules_of(*modules: ModuleType) -> tuple[Rule, ...]:
    """Every rule of these modules, in the order in which it stands there."""
    return tuple(
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, Rule) and each.look.__module__ == module.__name__
    )


def violations(graph: Graph, rules: Sequence[Rule]) -> list[Violation]:
    """Everything in the graph that breaks one of the rules, in the order of the rules.

    Findings about values that are unknown in a preview are dropped.
    """
    still = replace(graph, kept={})
    return [
        Violation(rule=each, resource=resource, sentence=sentence)
        for each in rules
        for resource, sentence in each(still)
        if UNKNOWN not in sentence
    ]
