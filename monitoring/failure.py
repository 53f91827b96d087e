"""A failure: what shows it, from when on, who acts, and what they do first (V01, AB09)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import Template
from typing import Any, Literal

from monitoring.thresholds import Codes, Threshold

Severity = Literal["critical", "warning", "info"]
Domain = Literal["user", "system", "hardware"]
Owner = Literal["platform", "hardware", "run", "service"]

OWNERS: Mapping[Owner, str] = {
    "platform": "who runs the cluster",
    "hardware": "who repairs or replaces machines (the cloud's support, or the data centre)",
    "run": "who owns the training run",
    "service": "who owns the model service",
}
ACTIONS = 3
ISOLATES = "isolates"
"""Label of alerts whose node new pods must not come to (node/isolation/isolate.py asks for it)."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """What to do, and the command of a shell or the query of Prometheus that does it. NODE, POD, RUN and the like stand
    for the alert's labels. Raises ValueError unless there is one of the two.
    """

    say: str
    command: str = ""
    query: str = ""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.query):
            raise ValueError(f"{self.say!r} needs a command or a query")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One row of the table. `expression` reads recorded names; `$name` in it is the limit of that name.

    `row` is the symptom of the taxonomy (V01) that it answers. A `symptom` is kept quiet while a cause fires in the
    same pool. If it `isolates`, the node that its alert names is no place for new pods. `span` is how long the
    expression must hold. `signal` says what is looked at and which exporter shows it.
    Raises ValueError for a limit that the expression does not use, or one that it lacks.
    """

    id: str
    alert: str
    title: str
    signal: str
    expression: str
    limits: Mapping[str, Threshold | Codes]
    span: str
    severity: Severity
    domains: tuple[Domain, ...]
    owner: Owner
    summary: str
    meaning: str
    causes: tuple[str, ...]
    actions: tuple[Action, ...]
    over: str
    link: str
    guards: tuple[str, ...] = ()
    row: str | None = None
    symptom: bool = False
    isolates: bool = False
    more: str = ""

    def __post_init__(self) -> None:
        used = set(re.findall(r"\$(\w+)", self.expression))
        if used != set(self.limits):
            raise ValueError(
                f"{self.id}: the expression uses the limits {sorted(used)}, and there are {sorted(self.limits)}"
            )
        if len(self.actions) != ACTIONS:
            raise ValueError(f"{self.id}: {len(self.actions)} first actions, and a page has {ACTIONS}")

    @property
    def query(self) -> str:
        """The expression with its limits."""
        return Template(self.expression).substitute({name: limit.text for name, limit in self.limits.items()})

    @property
    def page(self) -> str:
        """Its page, below docs/runbooks."""
        return f"{self.id}.md"

    def with_threshold(self, name: str, threshold: Threshold) -> "Failure":
        """With another limit of that name. Raises KeyError for one that is no threshold of this failure."""
        if not isinstance(self.limits.get(name), Threshold):
            raise KeyError(f"{self.id} has no threshold {name}")
        return replace(self, limits={**self.limits, name: threshold})

    def document(self, runbooks: str) -> dict[str, Any]:
        """The alert rule, with pages below the address `runbooks`."""
        return {
            "alert": self.alert,
            "expr": self.query,
            **({"for": self.span} if self.span != "0s" else {}),
            "labels": {
                "severity": self.severity,
                "domain": "-".join(self.domains),
                "owner": self.owner,
                "failure": self.id,
                "symptom": "yes" if self.symptom else "no",
                **({ISOLATES: "yes"} if self.isolates else {}),
            },
            "annotations": {"summary": self.summary, "runbook_url": f"{runbooks.rstrip('/')}/{self.page}"},
        }


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Failures of one subject, evaluated together."""

    name: str
    title: str
    failures: tuple[Failure, ...]
    interval: str = "30s"
