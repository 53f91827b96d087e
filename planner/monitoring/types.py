"""What the planner says of monitoring: numbers only."""

from dataclasses import dataclass

from settings.alerts import Alerts
from settings.monitoring import Receiver


@dataclass(frozen=True, kw_only=True)
class ExporterPlan:
    """What is scraped every `every_s` seconds: `series` of all its `targets` together."""

    name: str
    targets: int
    series: int
    every_s: int

    @property
    def samples_per_s(self) -> float:
        """Samples that it adds, per second."""
        return self.series / self.every_s


@dataclass(frozen=True, kw_only=True)
class PodRequest:
    """What a container requests."""

    cpu_millicores: int
    memory_mib: int


@dataclass(frozen=True, kw_only=True)
class Requests:
    """Requests by container. `reloader` stands beside Prometheus and Alertmanager, the last three run on every node."""

    prometheus: PodRequest
    alertmanager: PodRequest
    grafana: PodRequest
    dashboard_loader: PodRequest
    state_metrics: PodRequest
    operator: PodRequest
    reloader: PodRequest
    node_exporter: PodRequest
    fabric_counters: PodRequest
    log_collector: PodRequest


@dataclass(frozen=True, kw_only=True)
class SystemRoom:
    """What everything on the system pools requests together, and what their nodes offer; `largest_*` is one pod's."""

    asked_cpu_millicores: int
    asked_memory_mib: int
    offered_cpu_millicores: int
    offered_memory_mib: int
    largest_cpu_millicores: int
    largest_memory_mib: int
    node_cpu_millicores: int
    node_memory_mib: int


@dataclass(frozen=True, kw_only=True)
class IsolationPlan:
    """Broken nodes of `pools` get no new pods, `most` of each at a time."""

    pools: tuple[str, ...]
    most: int


@dataclass(frozen=True, kw_only=True)
class MonitoringPlan:
    """Prometheus and what it looks at. Of a disk of `disk_gib` it may fill `retention_size_gib`, and `needed_gib` is
    what the samples of `retention_days` take. Alertmanager's disk holds silences and what it told whom. With
    `file_system` the rates of the shared one are read.
    """

    retention_days: int
    scrape_s: int
    exporters: tuple[ExporterPlan, ...]
    series: int
    samples_per_s: int
    needed_gib: float
    disk_gib: int
    retention_size_gib: int
    alerts_disk_gib: int
    requests: Requests
    receivers: tuple[Receiver, ...]
    log_days: int
    alerts: Alerts
    room: SystemRoom
    isolation: IsolationPlan | None
    file_system: bool = False


def watches_files(monitoring: MonitoringPlan | None) -> bool:
    """Whether servers of the shared file system are asked for their rates."""
    return monitoring is not None and monitoring.file_system
