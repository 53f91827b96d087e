"""From what is looked at to Prometheus' disk, memory and processors."""

from collections.abc import Mapping
from math import ceil

from catalogue.units import MIB_PER_GIB
from planner.inventory import asked_for_sensors, lustre_machines
from planner.monitoring.room import optional, requests, system_room
from planner.monitoring.series import exporters, fleet
from planner.monitoring.types import IsolationPlan, MonitoringPlan
from planner.pool_types import PoolPlan
from planner.serving.gateway import GatewayPlan
from planner.workload_types import RunPlan, ServicePlan
from settings.model import MetalSettings, Settings
from settings.monitoring import Monitoring

BYTES_PER_SAMPLE = 2
"""Prometheus documentation, Storage: "only 1-2 bytes per sample" in blocks, the upper end."""

HEAD_HOURS, HEAD_BYTES_PER_SAMPLE = 3, 7
"""What is not in a block yet lies in the write-ahead log: up to three hours (storage/: blocks of two, cut at one and a
half times that), about 14 bytes a sample, half of that compressed (Robust Perception, How much space does the WAL take
up)."""

COMPACTED = 0.1
"""The longest block covers a tenth of the retention, and lies there twice while it is written (Storage, Compaction)."""

FILLED = 0.8
"""Part of a disk that blocks may take: "at most 80-85 %" (Storage, Right-Sizing Retention Size)."""

_SMALLEST_GIB, _ALERTS_GIB = 25, 1
_GIB = 2**30
_SECONDS_PER_DAY = 86_400

BYTES_PER_SERIES, SERIES_PER_CORE = 2.5e9 / 300_000, 300_000
"""Grafana Mimir, Planning capacity, ingester: 2.5 GB of memory and a core for 300,000 series. It keeps them as
Prometheus does, in the head block of the same library."""

_BASE_MEMORY_MIB, _BASE_CPU_MILLICORES = 1024, 400
"""For queries, rules and compaction, beside what the series take."""

_MEMORY_STEP_MIB, _CPU_STEP_MILLICORES = 1024, 500
"""Steps, so that a few more nodes do not start Prometheus anew."""


def plan_monitoring(
    settings: Settings,
    pools: Mapping[str, PoolPlan],
    runs: Mapping[str, RunPlan],
    services: Mapping[str, ServicePlan],
    gateway: GatewayPlan | None,
) -> MonitoringPlan | None:
    """The numbers; None without the section."""
    wanted, queues = settings.monitoring, len(settings.scheduling.queues)
    if wanted is None:
        return None
    inventory = settings.inventory if isinstance(settings, MetalSettings) else None
    controllers = asked_for_sensors(inventory) if inventory else 0
    servers = (lustre_machines(inventory) if inventory else 1) if wanted.file_system else 0
    looked_at = exporters(fleet(pools.values(), runs, services, queues, controllers, servers), wanted.scrape_seconds)
    series = sum(each.series for each in looked_at)
    samples_per_s = sum(each.samples_per_s for each in looked_at)
    needed = needed_gib(samples_per_s, wanted.retention_days)
    disk = wanted.disk_gib or disk_gib(needed)
    asked = requests(*_rounded(series), sum(pool.count for pool in pools.values()))
    return MonitoringPlan(
        retention_days=wanted.retention_days,
        scrape_s=wanted.scrape_seconds,
        exporters=looked_at,
        series=series,
        samples_per_s=round(samples_per_s),
        needed_gib=round(needed, 1),
        disk_gib=disk,
        retention_size_gib=int(disk * FILLED),
        alerts_disk_gib=_ALERTS_GIB,
        requests=asked,
        receivers=wanted.receivers,
        log_days=wanted.logs.retention_days,
        alerts=wanted.alerts,
        room=system_room(list(pools.values()), asked, optional(settings, list(pools.values()), gateway)),
        isolation=_isolation(wanted, pools),
        file_system=wanted.file_system,
    )


def _isolation(wanted: Monitoring, pools: Mapping[str, PoolPlan]) -> IsolationPlan | None:
    if wanted.isolation is None:
        return None
    return IsolationPlan(
        pools=tuple(name for name, pool in pools.items() if pool.role != "system"), most=wanted.isolation.most
    )


def disk_gib(needed: float) -> int:
    """The disk for so many GiB of samples, in sizes that double: no claim grows by itself, so that a few more nodes ask
    for no other.
    """
    size = _SMALLEST_GIB
    while size * FILLED < needed:
        size *= 2
    return size


def needed_gib(samples_per_s: float, days: float) -> float:
    """Disk for so many days of samples: retention x samples a second x bytes a sample, and the head beside it."""
    blocks = days * _SECONDS_PER_DAY * samples_per_s * BYTES_PER_SAMPLE * (1 + COMPACTED)
    head = HEAD_HOURS * 3600 * samples_per_s * HEAD_BYTES_PER_SAMPLE
    return (blocks + head) / _GIB


def _rounded(series: int) -> tuple[int, int]:
    """Millicores and MiB for so many series."""
    memory = _BASE_MEMORY_MIB + series * BYTES_PER_SERIES / (_GIB / MIB_PER_GIB)
    cpu = _BASE_CPU_MILLICORES + series * 1000 / SERIES_PER_CORE
    return (
        ceil(cpu / _CPU_STEP_MILLICORES) * _CPU_STEP_MILLICORES,
        ceil(memory / _MEMORY_STEP_MIB) * _MEMORY_STEP_MIB,
    )
