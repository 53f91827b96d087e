"""A failure: what shows it, above which limit, who acts, and what to do first (V01, AB09)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from string import Template
from typing import Any, Literal

from monitoring.thresholds import Codes, Threshold

Severity = Literal["critical", "warning", "info"]
Domain = Literal["user", "system", "hardware"]
Owner = Literal["platform", "hardware", "run", "service"]

OWNERS: Mapping[Owner, str] = {
    "platform": "the platform team",
    "hardware": "whoever repairs or replaces machines (cloud support, or the data centre)",
    "run": "the owner of the training run",
    "service": "the owner of the model service",
}
ACTIONS = 3
ISOLATES = "isolates"
"""Label of alerts whose node must get no new pods (node/isolation/isolate.py looks for it)."""
ON_HOST = "kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host"
"""How a command begins that runs in the node's own file system and namespaces."""
_LABELS = {
    "NODE": "node",
    "POD": "pod",
    "RUN": "run",
    "SERVICE": "service",
    "NAMESPACE": "namespace",
    "POOL": "pool",
    "CLAIM": "persistentvolumeclaim",
    "MOUNTPOINT": "mountpoint",
}
"""Placeholders of commands, and the alert's label that each stands for."""


@dataclass(frozen=True)
class Action:
    """What to do, and the shell command or the Prometheus query that does it. NODE, POD, RUN and the like stand for the
    alert's labels. Raises ValueError unless there is exactly one of the two.
    """

    say: str
    command: str = ""
    query: str = ""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.query):
            raise ValueError(f"{self.say!r} needs a command or a query")

    @property
    def told(self) -> str:
        """The action in one line of an alert's description: Prometheus fills in the labels that the alert has."""
        typed = re.sub(
            rf"\b({'|'.join(_LABELS)})\b(?!=)",
            lambda found: f'{{{{ or $labels.{_LABELS[found[1]]} "{found[1]}" }}}}',
            self.command or f"{self.query} (in Prometheus)",
        )
        return f"{self.say[0].lower()}{self.say[1:]}{'' if self.say.endswith('?') else ':'} {typed}"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One row of the table. `expression` reads recorded names; `$name` in it is the limit of that name.

    `row` is the symptom of the taxonomy (V01) that it covers. A `symptom` is inhibited while a cause fires in the same
    pool. If it `isolates`, the node that the alert names gets no new pods. `span` is how long the expression must hold.
    `signal` says what is measured, and by which exporter. `summary` says what is wrong, where and since when; `meaning`
    says what it costs. Raises ValueError if `limits` and the names in the expression differ.
    """

    id: str
    alert: str
    title: str
    signal: str
    expression: str
    limits: Mapping[str, Threshold | Codes] = field(default_factory=dict)
    span: str = "0s"
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
        used = set(re.findall(r"\$\{?(\w+)", self.expression))
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
            "annotations": {
                "summary": self.summary,
                "description": f"{self.meaning}\nFirst, {self.actions[0].told}",
                "runbook_url": f"{runbooks.rstrip('/')}/{self.page}",
            },
        }


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Failures of one subject, evaluated together."""

    name: str
    title: str
    failures: tuple[Failure, ...]
    interval: str = "30s"
