"""Rules about storage: one change that trips each, and one that does not."""

from dataclasses import replace
from typing import Any

import pytest

from catalogue.metal_types import Media
from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from tests.planner.site import SITE, dataset, found, planned_site
from tests.planner.stacks import planned, rules

CHECKPOINT = {"everyMinutes": 30, "withinSeconds": 60}
OSD = "OSD 24x15.36TB NDR"
CEPH = {"server": OSD, "count": 6, "erasure": "4+2"}


def _with(name: str, **changes: Any) -> Catalogue:
    row = replace(SHIPPED.storage_servers[name], **changes)
    return replace(SHIPPED, storage_servers={**SHIPPED.storage_servers, name: row})


def test_a_site_without_faults() -> None:
    """Nothing is wrong with the site that the other tests change."""
    assert planned_site().errors == ()


def test_a_site_with_ceph_without_faults() -> None:
    """G09: nor with six OSD hosts in place of Lustre."""
    changes = {"storage": {"ceph": CEPH, "targetGbPerS": 150}}
    plan = planned_site(changes)
    assert plan.errors == ()
    assert plan.storage is not None
    assert (plan.storage.kind, plan.storage.lnet) == ("ceph", None)


@pytest.mark.parametrize(("target", "wrong"), [(400, False), (401, True)])
def test_target_within_what_the_servers_deliver(target: float, wrong: bool) -> None:
    """ST02, G04: four servers of 2 x 400 Gb/s read 400 GB/s."""
    seen = found("storage-throughput", {"storage.targetGbPerS": target})
    assert bool(seen) is wrong
    for finding in seen:
        assert "401 GB/s are more than the 400.0 GB/s that the servers' network delivers" in finding.sentence
        assert "take 5 servers, or 3 ports of 400 Gb/s in each" in finding.remedy
        assert finding.path == "gpucluster:storage.targetGbPerS"


def test_two_ports_of_ethernet_do_not_make_a_quarter_terabyte() -> None:
    """ST03: 250 GB/s from four servers of one dual 100GbE card each, which carry 100."""
    lustre = {"server": "OSS 48x7.68TB 100GbE", "count": 4, "mdsServer": "MDS 4x3.84TB 100GbE", "mdsCount": 2}
    changes = {"pools.1.server": "HPE Cray XD670", "storage.lustre": lustre, "storage.targetGbPerS": 250}
    (finding,) = found("storage-throughput", changes)
    assert "250 GB/s are more than the 100.0 GB/s that the servers' network delivers" in finding.sentence
    assert "5 ports of 100 Gb/s in each" in finding.remedy


def test_clients_ports_bound_the_target_too() -> None:
    """ST02: eight nodes with one 200 Gb/s card each take 200 GB/s from however many servers."""
    lustre = {"server": "OSS 24x7.68TB HDR", "count": 8, "mdsServer": "MDS 8x3.84TB HDR", "mdsCount": 2}
    changes = {
        "pools.1.server": "Dell PowerEdge XE9680 HDR",
        "storage.lustre": {**lustre, "network": "compute"},
        "storage.targetGbPerS": 250,
    }
    (finding,) = found("storage-throughput", changes)
    assert "that the clients' network delivers" in finding.sentence
    assert finding.remedy == "lower the target to 200: the nodes' ports carry no more"


@pytest.mark.parametrize(
    ("server", "mds", "paths"),
    [
        ("OSS 24x15.36TB NDR", "MDS 8x3.84TB NDR", []),
        ("OSS 48x7.68TB 100GbE", "MDS 8x3.84TB NDR", ["gpucluster:pools[1].server"]),
    ],
)
def test_both_ends_speak_the_same(server: str, mds: str, paths: list[str]) -> None:
    """KJ19: a DGX H100's storage ports are InfiniBand; Ethernet object servers are out of reach."""
    changes = {"storage.lustre.server": server, "storage.lustre.mdsServer": mds, "storage.targetGbPerS": None}
    seen = found("storage-network", changes)
    assert [finding.path for finding in seen] == paths
    assert all("has no ethernet port on the storage network" in finding.sentence for finding in seen)


def test_a_storage_server_needs_a_storage_card() -> None:
    """KJ19: a row whose cards are all for management is named, and nothing is planned with it."""
    row = SHIPPED.storage_servers["OSS 24x15.36TB NDR"]
    catalogue = _with(row.name, nics=(row.nics[1],))
    (finding,) = found("storage-network", catalogue=catalogue)
    assert finding.path == "gpucluster:storage.lustre.server"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"storage.lustre.drivesPerServer": 25}, "drivesPerServer"),
        ({"storage.lustre.nicsPerServer": 3}, "nicsPerServer"),
        ({"storage.lustre.drivesPerServer": 9}, "parity"),
    ],
)
def test_bays_cards_and_groups(changes: dict[str, Any], path: str) -> None:
    """G19: the row has 24 bays and two cards, and a group of 8+2 takes ten drives."""
    assert [finding.path for finding in found("lustre-servers", changes)] == [f"gpucluster:storage.lustre.{path}"]


def test_bays_cards_and_groups_at_their_edge() -> None:
    """G19: all bays, all cards, one group."""
    assert found("lustre-servers", {"storage.lustre.drivesPerServer": 24, "storage.lustre.nicsPerServer": 2}) == []
    assert found("lustre-servers", {"storage.lustre.drivesPerServer": 10}) == []


@pytest.mark.parametrize(("stripes", "wrong"), [(8, False), (9, True)])
def test_stripes(stripes: int, wrong: bool) -> None:
    """ST07: four servers with two groups each have 8 targets, though only 4 servers: 8 stripes are fine."""
    seen = found("lustre-stripes", {"storage.lustre.stripeCount": stripes})
    assert bool(seen) is wrong
    assert all("4 servers with 2 groups of 8+2 have 8" in finding.sentence for finding in seen)


@pytest.mark.parametrize(("count", "wrong"), [(1, True), (2, False)])
def test_metadata_servers(count: int, wrong: bool) -> None:
    """G18: a single metadata server is a warning."""
    assert bool(found("lustre-single-mds", {"storage.lustre.mdsCount": count})) is wrong


@pytest.mark.parametrize(("parity", "wrong"), [("8+1", True), ("8+2", False)])
def test_two_drives_may_fail(parity: str, wrong: bool) -> None:
    """G20: RAID-5 is a warning, RAID-6 is not."""
    assert bool(found("lustre-one-loss", {"storage.lustre.parity": parity})) is wrong


@pytest.mark.parametrize(
    ("count", "scheme", "wrong"),
    [
        (2, {"replicas": 3}, True),
        (3, {"replicas": 3}, False),
        (5, {"erasure": "4+2"}, True),
        (6, {"erasure": "4+2"}, False),
    ],
)
def test_ceph_hosts(count: int, scheme: dict[str, Any], wrong: bool) -> None:
    """G11: triple replication needs 3 hosts, 4+2 needs 6."""
    ceph = {"server": OSD, "count": count, **scheme}
    seen = found("ceph-hosts", {"storage": {"ceph": ceph}})
    assert bool(seen) is wrong
    assert all(f"there are {count}" in finding.sentence for finding in seen)


@pytest.mark.parametrize(
    ("scheme", "wrong"),
    [({"replicas": 2}, True), ({"replicas": 3}, False), ({"erasure": "4+1"}, True), ({"erasure": "4+2"}, False)],
)
def test_ceph_survives_two_losses(scheme: dict[str, Any], wrong: bool) -> None:
    """G09: two copies are a warning."""
    seen = found("ceph-one-loss", {"storage": {"ceph": {"server": OSD, "count": 6, **scheme}}})
    assert [finding.path for finding in seen] == ([f"gpucluster:storage.ceph.{next(iter(scheme))}"] if wrong else [])


@pytest.mark.parametrize(("memory", "wrong"), [(191, True), (192, False)])
def test_ceph_memory(memory: int, wrong: bool) -> None:
    """G11: 24 OSDs of 8 GiB."""
    catalogue = _with(OSD, memory_gib=memory)
    assert bool(found("ceph-memory", {"storage": {"ceph": CEPH}}, catalogue=catalogue)) is wrong


@pytest.mark.parametrize(("target", "wrong"), [(200, False), (208, True)])
def test_ceph_per_node(target: float, wrong: bool) -> None:
    """G16: eight nodes at 25 GB/s each are 200."""
    changes = {"storage": {"ceph": {**CEPH, "count": 40}, "targetGbPerS": target}}
    seen = found("ceph-node-read", changes)
    assert bool(seen) is wrong
    assert all("26.0 GB/s each" in finding.sentence for finding in seen)
    assert found("ceph-node-read", {"storage.targetGbPerS": 300}) == []


@pytest.mark.parametrize(("size", "media", "near"), [(10, Media.NVME, "7.68"), (16, Media.SAS_SSD, "15.36")])
def test_drives_that_nobody_sells(size: float, media: Media, near: str) -> None:
    """ST04, ST05: SSDs of 10 and of 16 TB do not exist; disks of 16 TB do."""
    name = "OSS 24x15.36TB NDR"
    (finding,) = found("drive-size", catalogue=_with(name, drive_tb=size, media=media))
    assert finding.remedy == f"set the row's driveTb to {near}"
    assert found("drive-size", catalogue=_with(name, drive_tb=16, media=Media.HDD)) == []


@pytest.mark.parametrize(("data", "wrong"), [(894, False), (895, True)])
def test_usable_capacity_holds_the_data(data: float, wrong: bool) -> None:
    """G28, ST05: 983.04 TB usable of 1,474.56 raw are 894.07 TiB."""
    seen = found("storage-capacity", {"storage.dataTib": data})
    assert bool(seen) is wrong
    assert all("of 1474.6 TB raw 983.0 TB are usable on Lustre" in finding.sentence for finding in seen)


@pytest.mark.parametrize(("seconds", "wrong"), [(4, True), (5, False)])
def test_checkpoint_in_its_time_on_aws(seconds: float, wrong: bool) -> None:
    """ST02, G23: 112.4 GB in 4 s are 28.1 GB/s, and 25 GB/s is what two p5 nodes carry over ENA."""
    lustre = {"deploymentType": "PERSISTENT_2", "capacityGib": 48000, "throughputMbpsPerTib": 1000}
    changes = {
        "pools.1.instanceType": "p5.48xlarge",
        "training.runs.0.nodes": 2,
        "training.runs.0.model": "llama-3-8b",
        "training.runs.0.method": "full",
        "training.runs.0.checkpoint": {**CHECKPOINT, "withinSeconds": seconds},
        "storage.lustre": lustre,
        "budget.maxHourlyUsd": 9000,
    }
    assert ("checkpoint-write" in rules(planned(changes=changes))) is wrong


def test_remedy_names_the_capacity() -> None:
    """ST18: 16.5 GB/s at 125 MB/s per TiB are 132 TiB, sold as 136,800 GiB."""
    changes = {
        "training.runs.0.model": "llama-3-70b",
        "training.runs.0.checkpoint": CHECKPOINT,
        "storage.lustre": {"deploymentType": "PERSISTENT_2", "capacityGib": 19200, "throughputMbpsPerTib": 125},
    }
    (finding,) = (seen for seen in planned("prod", changes).findings if seen.rule == "checkpoint-write")
    assert "a checkpoint of 988 GB written in 60 s takes 16.5 GB/s" in finding.sentence
    assert "FSx for Lustre writes 2.3 GB/s, where it would take 421 s" in finding.sentence
    assert (
        finding.remedy
        == "set storage.lustre.throughputMbpsPerTib to 1000 (+11.97 USD an hour) or set storage.lustre.capacityGib "
        "to 136800 (+23.36 USD an hour) or allow more seconds"
    )
    assert finding.path == "gpucluster:training.runs[0].checkpoint.withinSeconds"


def test_no_capacity_is_named_that_the_nodes_ports_cannot_use() -> None:
    """ST18: no file system is large enough for what the nodes' own ports do not carry."""
    run = {"model": "llama-3-70b", "checkpoint": {**CHECKPOINT, "withinSeconds": 0.2}}
    changes = {f"training.runs.0.{key}": value for key, value in run.items()}
    (finding,) = (seen for seen in planned("prod", changes).findings if seen.rule == "checkpoint-write")
    assert finding.remedy.startswith("allow more seconds, or set checkpoint.local")


def test_local_checkpoints_must_be_gone_before_the_next() -> None:
    """ST02: 988 GB in 5 minutes take 3.3 GB/s of a file system that writes 2.3, though training never waits for it."""
    changes = {
        "training.runs.0.model": "llama-3-70b",
        "training.runs.0.checkpoint": {"everyMinutes": 5, "withinSeconds": 60, "local": True},
        "storage.lustre": {"deploymentType": "PERSISTENT_2", "capacityGib": 19200, "throughputMbpsPerTib": 125},
    }
    (finding,) = (seen for seen in planned("prod", changes).findings if seen.rule == "checkpoint-write")
    assert finding.path == "gpucluster:training.runs[0].checkpoint.everyMinutes"
    changes["training.runs.0.checkpoint"] = {"everyMinutes": 30, "withinSeconds": 60, "local": True}
    assert not any(seen.rule == "checkpoint-write" for seen in planned("prod", changes).findings)


@pytest.mark.parametrize(
    ("checkpoint", "key", "remedy"),
    [
        (
            {"objectStoreHours": 1},
            "objectStoreHours",
            "set it to 2 or more, or give the copier nodes with a faster network",
        ),
        ({"objectStoreHours": 2}, None, ""),
        (
            {"objectStoreHours": 2, "keep": 1},
            "keep",
            "set it to 2 or more, or give the copier nodes with a faster network",
        ),
        (
            {"objectStoreHours": 12, "keep": 1},
            "keep",
            "set it to 2 or more, or give the copier nodes with a faster network",
        ),
    ],
)
def test_a_copy_is_whole_before_the_next_and_before_its_save_goes(
    checkpoint: dict[str, Any], key: str | None, remedy: str
) -> None:
    """T01: 988 GB, read twice at 0.39 GB/s, take 1.4 h; one save that is kept is there for the hour to the next."""
    changes = {"training.runs.0.checkpoint": {"everyMinutes": 60, "withinSeconds": 120, **checkpoint}}
    found = [seen for seen in planned("prod", changes).findings if seen.rule == "checkpoint-object-copy"]
    assert [seen.path for seen in found] == ([f"gpucluster:training.runs[0].checkpoint.{key}"] if key else [])
    assert all(seen.remedy == remedy and "takes one copier 1.4 h at 0.39 GB/s" in seen.sentence for seen in found)


def test_what_goes_on_to_the_file_system_more_rarely_asks_less_of_it() -> None:
    """ST02, T01: the 988 GB that were too much every five minutes are 0.55 GB/s every half hour."""
    checkpoint = {"everyMinutes": 5, "withinSeconds": 60, "local": True, "fileSystemMinutes": 30}
    changes = {
        "training.runs.0.checkpoint": checkpoint,
        "storage.lustre": {"deploymentType": "PERSISTENT_2", "capacityGib": 19200, "throughputMbpsPerTib": 125},
    }
    assert not any(seen.rule == "checkpoint-write" for seen in planned("prod", changes).findings)
    checkpoint["fileSystemMinutes"] = 6
    (finding,) = (seen for seen in planned("prod", changes).findings if seen.rule == "checkpoint-write")
    assert finding.path == "gpucluster:training.runs[0].checkpoint.fileSystemMinutes"


@pytest.mark.parametrize(("seconds", "wrong"), [(0.4, True), (0.5, False)])
def test_local_checkpoints_are_written_in_time(seconds: float, wrong: bool) -> None:
    """G23: 112.4 GB over 8 nodes are 14.05 GB each, which eight drives of 4 GB/s take in 0.44 s."""
    checkpoint = {"everyMinutes": 30, "withinSeconds": seconds, "local": True}
    assert bool(found("checkpoint-local-write", {"training.runs.0.checkpoint": checkpoint})) is wrong


@pytest.mark.parametrize(("seconds", "wrong"), [(0.8, True), (1.0, False)])
def test_runs_that_save_together(seconds: float, wrong: bool) -> None:
    """ST02: two runs of 112.4 GB ask for 225/seconds of 256 GB/s; one alone is within it."""
    checkpoint = {"everyMinutes": 30, "withinSeconds": seconds}
    run = {**SITE["training"]["runs"][0], "checkpoint": checkpoint}
    seen = found("checkpoints-together", {"training.runs": [run, {**run, "name": "second"}]})
    assert bool(seen) is wrong
    assert all("all 2 runs" in finding.sentence for finding in seen)


@pytest.mark.parametrize(
    ("gb", "staging", "path"),
    [
        (24_000, "full", None),
        (24_600, "full", "dataset.staging"),
        (24_600, "shard", None),
        (24_600, "none", None),
    ],
)
def test_what_is_staged_fits(gb: float, staging: str, path: str | None) -> None:
    """ST12: 80 % of 8 x 3.84 TB are 24,576 GB."""
    seen = found("nvme-capacity", dataset(gb, staging))
    assert [finding.path for finding in seen] == ([f"gpucluster:training.runs[0].{path}"] if path else [])


@pytest.mark.parametrize(("keep", "wrong"), [(1000, False), (1, False)])
def test_kept_checkpoints_of_a_small_model_fit(keep: int, wrong: bool) -> None:
    """ST12: 1000 checkpoints of 14.05 GB a node are 14,053 GB of 24,576."""
    checkpoint = {**CHECKPOINT, "local": True, "keep": keep}
    assert bool(found("nvme-capacity", {"training.runs.0.checkpoint": checkpoint})) is wrong


def test_kept_checkpoints_of_a_large_model_do_not() -> None:
    """ST12: 300 checkpoints of 988 GB over 8 nodes are 37,041 GB a node."""
    changes = {
        "training.runs.0.model": "llama-3-70b",
        "training.runs.0.checkpoint": {**CHECKPOINT, "local": True, "keep": 300},
    }
    (finding,) = found("nvme-capacity", changes)
    assert finding.path == "gpucluster:training.runs[0].checkpoint.keep"
    assert "37040.7 GB" in finding.sentence
