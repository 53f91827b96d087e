"""One rule and what it says of a stack: what it is for, what it computes, its verdict, its findings."""

from dataclasses import dataclass
from enum import StrEnum

from catalogue.echo import echo
from planner.draft import AwsDraft, Draft, MetalDraft, registry
from planner.findings import Finding, Rule, Severity
from settings.errors import meant


class Verdict(StrEnum):
    """What a rule says of a stack."""

    HOLDS = "holds"
    WAIVED = "waived"
    WARNS = "warns"
    REFUSES = "refuses"
    ELSEWHERE = "is about another platform"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A rule and its verdict on a stack. `platform` is None for a rule about every platform."""

    rule: str
    severity: Severity
    platform: str | None
    what: str
    guards: tuple[str, ...]
    formula: str | None
    source: str | None
    verdict: Verdict
    findings: tuple[Finding, ...]


class UnknownRuleError(Exception):
    """There is no such rule; the message names the near one, or all."""


def explain(id_: str, draft: Draft, findings: tuple[Finding, ...]) -> Explanation:
    """Explain a rule on a stack's draft and the findings of its plan. Raises UnknownRuleError."""
    rules = {rule.id: rule for rule in registry.rules}
    if id_ not in rules:
        raise UnknownRuleError(f"there is no rule {echo(id_)}; {meant(id_, list(rules))}")
    rule = rules[id_]
    applies = isinstance(draft, rule.about)
    mine = tuple(finding for finding in findings if finding.rule == id_)
    return Explanation(
        rule=rule.id,
        severity=rule.severity,
        platform=platform(rule),
        what=sentence(rule),
        guards=rule.guards,
        formula=rule.formula,
        source=rule.source,
        verdict=_verdict(mine) if applies else Verdict.ELSEWHERE,
        findings=mine,
    )


def platform(rule: Rule[Draft]) -> str | None:
    """The platform that a rule is about, None for both."""
    return {AwsDraft: "aws", MetalDraft: "metal"}.get(rule.about)


def sentence(rule: Rule[Draft]) -> str:
    """What a rule says of itself."""
    return " ".join((rule.look.__doc__ or "").split())


def _verdict(findings: tuple[Finding, ...]) -> Verdict:
    standing = {finding.severity for finding in findings if finding.waiver is None}
    if Severity.ERROR in standing:
        return Verdict.REFUSES
    if Severity.WARNING in standing:
        return Verdict.WARNS
    return Verdict.WAIVED if findings else Verdict.HOLDS
