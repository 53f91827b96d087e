"""What is watched, how long it is kept, and who is told. Without the section there is no Prometheus."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.alerts import Alerts
from settings.secrets import SecretKey
from settings.sections import Path, Section, SectionError
from settings.types import Matching, Name

Severity = Literal["critical", "warning", "info"]

Address = Annotated[str, Matching(r"[^\s@,]+@[^\s@,]+", "an e-mail address")]
LogDays = Literal[
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653
]
"""What CloudWatch Logs keeps logs for (API reference, PutRetentionPolicy)."""


Channel = Annotated[str, Matching(r"[#@]\S{1,79}", "a channel such as '#gpu-cluster'")]


class Mail(Section):
    """A mailbox, and the server that takes mail for it: with STARTTLS, as `username` with the receiver's secret."""

    to: Address
    sender: Address
    server: Annotated[
        str, Matching(r"[a-zA-Z0-9.-]+:\d{1,5}", "HOST:PORT of a mail server, as in smtp.example.com:587")
    ]
    username: Annotated[str, Field(min_length=1, max_length=128)]


class Receiver(Section):
    """A receiver of alerts of a severity and above.

    The secret is the address of an incoming webhook (slack), an integration key of the Events API v2 (pagerduty), an
    address that takes a POST (webhook), or the password of a mailbox (email).
    """

    name: Name
    kind: Literal["slack", "pagerduty", "webhook", "email"]
    secret: SecretKey
    at_least: Severity = "warning"
    channel: Channel | None = None
    mail: Mail | None = None

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        problems: list[tuple[Path, str]] = []
        for kind, key in (("slack", "channel"), ("email", "mail")):
            given = getattr(self, key) is not None
            if kind == self.kind and not given:
                problems.append(((key,), f"is missing, and the kind is {kind}; add it"))
            elif kind != self.kind and given:
                problems.append(((key,), f"belongs to kind {kind}, and the kind is {self.kind}; remove it"))
        if problems:
            raise SectionError(problems)
        return self


class Logs(Section):
    """Logs of pods and nodes."""

    retention_days: LogDays = 30


class Isolation(Section):
    """Nodes with a hardware or system alert are cordoned automatically, until ten minutes after it ends."""

    most: Annotated[
        int,
        Field(ge=1, le=64, description="nodes cordoned per pool at a time; if more are broken, a person has to look"),
    ] = 1


class Monitoring(Section):
    """Prometheus, Alertmanager, Grafana, exporters and log collection.

    Prometheus keeps `retentionDays` of samples on a disk that the planner sizes unless `diskGib` does.
    """

    retention_days: Annotated[int, Field(ge=1, le=400)] = 15
    disk_gib: Annotated[
        int | None, Field(ge=1, le=16_384, description="Prometheus' disk in GiB; None = as the retention needs")
    ] = None
    scrape_seconds: Annotated[int, Field(ge=10, le=120, description="scrape interval in seconds")] = 30
    receivers: tuple[Receiver, ...] = ()
    logs: Logs = Field(default_factory=Logs)
    alerts: Alerts = Field(default_factory=Alerts)
    file_system: Annotated[
        bool,
        Field(
            description="true = rates and filling of Lustre as its servers tell: of FSx by CloudWatch, which charges"
            " each query, of servers in the inventory by themselves; false = what the nodes' mounts say"
        ),
    ] = False
    isolation: Isolation | None = Field(
        default=None, description="left out = broken nodes are not cordoned automatically"
    )
