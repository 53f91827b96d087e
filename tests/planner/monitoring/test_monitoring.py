"""What watching takes: series, samples, disk, memory, room (X01, X10, X11)."""

from typing import Any

import pytest

from monitoring.counters import DCGM_COUNTERS
from planner.findings import Finding
from planner.monitoring.plan import BYTES_PER_SERIES, disk_gib, needed_gib
from planner.monitoring.types import ExporterPlan, MonitoringPlan
from tests.planner.stacks import planned, planned_metal
from tests.stacks.lustre_stack import with_lustre

GIB = 2**30


def watched(stack: str = "prod", **changes: Any) -> MonitoringPlan:
    """The numbers of a committed stack with that section, and other changes of it: pools_1_count=9."""
    found = planned(stack, {"monitoring": {}, **{key.replace("_", "."): value for key, value in changes.items()}})
    assert found.monitoring is not None
    return found.monitoring


def exporter(plan: MonitoringPlan, name: str) -> ExporterPlan:
    (found,) = [each for each in plan.exporters if each.name == name]
    return found


def findings(rule: str, stack: str = "prod", changes: dict[str, Any] | None = None) -> list[Finding]:
    return [each for each in planned(stack, changes).findings if each.rule == rule]


def test_without_the_section_nothing_is_planned() -> None:
    assert planned("lab").monitoring is None


def test_disk_is_retention_times_rate_times_bytes_x01() -> None:
    """Prometheus' formula: 15 days of 1,000 samples/s of 2 bytes, a tenth more, and three hours of the head."""
    blocks, head = 15 * 86_400 * 1000 * 2 * 1.1, 3 * 3600 * 1000 * 7
    assert needed_gib(1000, 15) == pytest.approx((blocks + head) / GIB)
    assert needed_gib(1000, 15) == pytest.approx(2.73, abs=0.01)
    assert needed_gib(2000, 15) == pytest.approx(2 * needed_gib(1000, 15))


def test_samples_are_series_by_interval() -> None:
    slow, fast = watched(monitoring={"scrapeSeconds": 60}), watched(monitoring={"scrapeSeconds": 30})
    assert slow.series == fast.series
    assert slow.samples_per_s == round(sum(each.series / each.every_s for each in slow.exporters))
    assert exporter(slow, "vllm").every_s == exporter(fast, "vllm").every_s == 15
    assert exporter(slow, "node-exporter").samples_per_s == exporter(fast, "node-exporter").samples_per_s / 2


def test_every_gpu_has_the_series_of_the_list_u02() -> None:
    """72 GPUs on 9 nodes, each with the list's counters, one of them for up to eight reasons of clock events."""
    per_gpu = sum(each.kind != "label" for each in DCGM_COUNTERS) + 7
    found = exporter(watched(), "dcgm-exporter")
    assert (found.targets, found.series) == (9, 72 * per_gpu)


def test_a_node_adds_its_processors_disks_and_cards_x04() -> None:
    """p5.48xlarge: 192 processors in 8 modes, 8 disks of its own and a volume, 32 EFA devices of 28 series."""
    more, less = (exporter(watched(pools_1_count=count), "node-exporter") for count in (9, 8))
    assert more.series - less.series == 620 + 192 * 8 + 9 * 27 + 32 * 28


def test_ports_of_racks_are_counted_x04() -> None:
    bare = {"monitoring": {}, "pools.1.maxCount": 32}
    more, less = (planned_metal({**bare, "pools.1.count": count}).monitoring for count in (9, 8))
    assert more
    assert less
    grown = exporter(more, "node-exporter").series - exporter(less, "node-exporter").series
    pool = planned_metal(bare).pools["training"]
    disks = 1 + (pool.nvme.count if pool.nvme else 0)
    assert grown == 620 + pool.server.cpu.threads * 8 + disks * 27 + pool.rails * 60


def test_two_thousand_gpus_fill_one_prometheus_and_its_disk() -> None:
    """256 x p5.48xlarge: 1.8 million series, 61,500 samples/s, 168 GiB for 15 days and 16 GiB of memory."""
    found = watched(pools_1_count=256)
    assert found.series == pytest.approx(1_843_470, rel=0.01)
    assert found.samples_per_s == pytest.approx(61_477, rel=0.01)
    assert found.needed_gib == pytest.approx(needed_gib(found.samples_per_s, 15), rel=0.01)
    assert (found.disk_gib, found.retention_size_gib) == (400, 320)
    assert found.needed_gib == pytest.approx(168, abs=2)
    memory = found.requests.prometheus.memory_mib
    assert 0 <= memory - (1024 + found.series * BYTES_PER_SERIES / 2**20) < 1024


def test_series_grow_with_the_nodes() -> None:
    """Beside what every cluster has, 256 nodes have 16 times the series of 16."""
    few, more, most = (watched(pools_1_count=count).series for count in (8, 16, 256))
    per_node = (more - few) / 8
    assert most - more == pytest.approx(240 * per_node, rel=0.001)


def test_a_few_more_nodes_ask_for_no_other_disk_and_no_other_prometheus() -> None:
    before, after = watched(pools_1_count=8), watched(pools_1_count=9)
    assert before.series < after.series
    assert (before.disk_gib, before.requests) == (after.disk_gib, after.requests)


@pytest.mark.parametrize(("needed", "disk"), [(0.1, 25), (20, 25), (20.1, 50), (166, 400)])
def test_disks_come_in_sizes_that_double(needed: float, disk: int) -> None:
    assert disk_gib(needed) == disk


def test_a_disk_of_ones_own_is_taken_as_it_is() -> None:
    found = watched(monitoring={"diskGib": 500})
    assert (found.disk_gib, found.retention_size_gib) == (500, 400)


def test_retention_that_its_disk_cannot_hold_is_refused_x01() -> None:
    told = {"retentionDays": 60, "diskGib": 30}
    (found,) = findings("metrics-disk", changes={"monitoring": told})
    assert found.path == "gpucluster:monitoring.diskGib"
    least = int(found.remedy.partition("at least ")[2].partition(";")[0])
    days = int(found.remedy.partition("keep ")[2].partition(" day")[0])
    assert findings("metrics-disk", changes={"monitoring": {**told, "diskGib": least}}) == []
    assert findings("metrics-disk", changes={"monitoring": {**told, "retentionDays": days}}) == []
    assert findings("metrics-disk", changes={"monitoring": {**told, "retentionDays": days + 1}}) != []


def test_a_storm_of_samples_is_refused_with_an_interval_that_is_none_x10() -> None:
    storm = {"pools.1.count": 256, "monitoring": {"scrapeSeconds": 10}}
    (found,) = findings("metrics-storm", changes=storm)
    assert found.path == "gpucluster:monitoring.scrapeSeconds"
    assert "most come from node-exporter" in found.sentence
    slower = int(found.remedy.removeprefix("set scrapeSeconds to "))
    assert findings("metrics-storm", changes={**storm, "monitoring": {"scrapeSeconds": slower}}) == []


def test_a_longer_interval_is_named_for_what_keeps_its_own_too_x10() -> None:
    """Rules are evaluated every 30 s whatever scrapeSeconds says: what they add leaves less for the exporters."""
    storm = {"pools.1.count": 1200, "monitoring": {"scrapeSeconds": 30}}
    (found,) = findings("metrics-storm", changes=storm)
    slower = int(found.remedy.removeprefix("set scrapeSeconds to "))
    assert findings("metrics-storm", changes={**storm, "monitoring": {"scrapeSeconds": slower}}) == []
    assert findings("metrics-storm", changes={**storm, "monitoring": {"scrapeSeconds": slower - 10}}) != []


def test_more_than_the_longest_interval_helps_is_another_cluster_x10() -> None:
    storm = {"pools.1.count": 2500, "monitoring": {"scrapeSeconds": 120}}
    (found,) = findings("metrics-storm", changes=storm)
    assert found.remedy == "divide the nodes among several clusters"


def test_a_prometheus_larger_than_a_node_of_the_system_pool_is_refused_x11() -> None:
    (found,) = findings("system-pool-room", changes={"pools.1.count": 256, "pools.0.instanceType": "m7i.xlarge"})
    assert found.path == "gpucluster:pools[0].instanceType"
    assert "Prometheus and the daemons beside it" in found.sentence


def test_a_system_pool_without_room_for_all_of_it_is_refused_x11() -> None:
    assert findings("system-pool-room", "dev") == []
    (found,) = findings("system-pool-room", "dev", {"monitoring": {}, "pools.0.instanceType": "m7i.large"})
    assert found.path == "gpucluster:pools[0].count"
    assert findings("system-pool-room", "dev", {"monitoring": None, "pools.0.instanceType": "m7i.large"}) == []


def test_a_protected_stack_tells_somebody_x02() -> None:
    told = {"receivers": [{"name": "a", "kind": "webhook", "secret": "url"}]}
    assert [each.path for each in findings("alerts-unheard", changes={"monitoring": {}})] == [
        "gpucluster:monitoring.receivers"
    ]
    assert findings("alerts-unheard", changes={"monitoring": told}) == []
    woken = {"receivers": [{**told["receivers"][0], "atLeast": "critical"}]}
    (found,) = findings("alerts-unheard", changes={"monitoring": woken})
    assert "nobody is told of a warning" in found.sentence
    assert findings("alerts-unheard", "dev", {"monitoring": {}}) == []


def test_what_is_watched_costs_its_disks() -> None:
    lines = {line.name: line.quantity for line in planned("prod", {"monitoring": {"diskGib": 99}}).prices.lines}
    assert lines["volumes of monitoring, GiB of gp3"] == 100
    assert "volumes of monitoring, GiB of gp3" not in {line.name for line in planned("lab").prices.lines}


def test_what_is_installed_is_told_where_it_is() -> None:
    def software(stack: str) -> str:
        return str(planned(stack).bom)

    assert "kube-prometheus-stack" in software("dev")
    assert "kube-prometheus-stack" not in software("lab")


def _own(*limits: tuple[str, str]) -> dict[str, Any]:
    thresholds = [{"failure": of, "limit": limit, "value": 80, "source": "data sheet"} for of, limit in limits]
    return {"monitoring": {"alerts": {"thresholds": thresholds}}}


def test_a_threshold_of_a_failure_that_there_is_replaces_the_tables() -> None:
    plan = planned("prod", _own(("gpu-hot", "celsius"), ("gpu-hot", "margin"), ("node-disk", "free")))
    assert [each for each in plan.findings if each.rule == "alert-threshold"] == []
    assert plan.monitoring is not None
    assert [(each.failure, each.limit) for each in plan.monitoring.alerts.thresholds][:1] == [("gpu-hot", "celsius")]


def test_a_threshold_that_is_nobodys_is_refused_st17() -> None:
    """Codes are no thresholds; the nearest names are told."""
    found = findings("alert-threshold", changes=_own(("gpu-hot", "kelvin"), ("gpu-memory", "xids")))
    assert [each.path for each in found] == [f"gpucluster:monitoring.alerts.thresholds[{index}]" for index in (0, 1)]
    assert "take one of: gpu-hot celsius" in found[0].remedy


def test_a_threshold_is_set_once_st17() -> None:
    (found,) = findings("alert-threshold", changes=_own(("gpu-hot", "celsius"), ("gpu-hot", "celsius")))
    assert found.sentence == "the threshold celsius of gpu-hot is set twice"


def test_isolation_leaves_nodes_of_each_pool_u05() -> None:
    """Pools of prod have 8 and 2 nodes; a system pool is not looked at."""
    plan = watched(monitoring={"isolation": {"most": 1}})
    assert plan.isolation is not None
    assert (plan.isolation.most, plan.isolation.pools) == (
        1,
        tuple(n for n, p in planned("prod").pools.items() if p.role != "system"),
    )
    assert findings("isolation-whole-pool", changes={"monitoring": {"isolation": {"most": 1}}}) == []
    (found,) = findings("isolation-whole-pool", changes={"monitoring": {"isolation": {"most": 8}}})
    assert (found.subject, found.remedy) == ("training", "set most to 7 or less")


def test_what_isolates_needs_room_too() -> None:
    with_it, without = watched(monitoring={"isolation": {}}), watched()
    assert with_it.room.asked_cpu_millicores - without.room.asked_cpu_millicores == 100


def test_pods_that_load_may_add_have_room_j12() -> None:
    """Of 500 millicores each: the system pool holds all that there may be, or the plan is refused."""
    gateway = {"domain": "llm.example.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}
    few, many = (
        planned("prod", {"monitoring": {}, "serving.gateway": {**gateway, **more}}).monitoring
        for more in ({}, {"maxReplicas": 6})
    )
    assert few
    assert many
    assert many.room.asked_cpu_millicores - few.room.asked_cpu_millicores == 4 * 500


def test_rates_of_the_file_system_are_planned_and_charged_x05() -> None:
    """Eight metrics a minute at 0.01 USD a thousand: 350,400 in a month of 730 hours are 3.50 USD."""
    asked, unasked = (planned("prod", {"monitoring": {"fileSystem": each}}) for each in (True, False))
    assert asked.monitoring
    assert unasked.monitoring
    assert asked.prices.monthly - unasked.prices.monthly == pytest.approx(3.504, abs=0.02)
    assert "350,400 metrics a month asked for at CloudWatch" in asked.prices.assumptions
    assert asked.monitoring.series - unasked.monitoring.series == exporter(asked.monitoring, "file system").series
    assert asked.monitoring.room.asked_memory_mib - unasked.monitoring.room.asked_memory_mib == 128
    (found,) = findings("closed-without-endpoint", changes={**_CLOSED, "monitoring": {"fileSystem": True}})
    assert (found.subject, found.path) == ("monitoring", "gpucluster:platform.network.endpoints")


def test_who_makes_no_servers_of_lustre_does_not_ask_them_for_rates_x05() -> None:
    """Those of the inventory are six, and nothing is charged."""
    (found,) = [each for each in planned_metal(_RATES).findings if each.rule == _NO_SERVERS]
    assert found.path == "gpucluster:monitoring.fileSystem"
    assert found.remedy == "remove fileSystem, or list them in the inventory without sharedFiles"
    assert _NO_SERVERS not in [each.rule for each in planned_metal({"monitoring": {}}).findings]
    served = planned_metal({**_RATES, "inventory": with_lustre()["gpucluster:inventory"]})
    assert _NO_SERVERS not in [each.rule for each in served.findings]
    assert served.monitoring
    told = exporter(served.monitoring, "file system")
    assert (told.targets, told.series) == (6, 54)


_NO_SERVERS, _RATES = "rates-without-servers", {"monitoring": {"fileSystem": True}}
_CLOSED: dict[str, Any] = {
    "platform.network.nat": "none",
    "platform.network.endpoints": ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"],
}
