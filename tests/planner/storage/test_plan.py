"""From settings to the numbers of the shared file system."""

import pytest

from catalogue.tables import SHIPPED
from planner.storage.need import Staging
from planner.storage.plan import run_io
from tests.planner.site import dataset, planned_site, site
from tests.planner.stacks import planned, saving


def test_a_runs_checkpoint_follows_its_model() -> None:
    """G23: 14 bytes for each of 8,030,261,248 parameters are 112.4 GB; minutes become seconds."""
    io = run_io(site().training.runs[0], SHIPPED.models, {})
    assert io.checkpoint_gb == pytest.approx(112.42, abs=0.01)
    assert (io.nodes, io.saving, io.staging) == (8, saving(keep=3), Staging.NONE)


def test_adapters_are_small() -> None:
    """G23: LoRA trains 2 % of an 8B model, and saves no more than that."""
    (full,), (lora,) = (site({"training.runs.0.method": method}).training.runs for method in ("full", "lora"))
    sizes = [run_io(run, SHIPPED.models, {}).checkpoint_gb for run in (full, lora)]
    assert 0.01 < sizes[1] / sizes[0] < 0.03


@pytest.mark.parametrize("missing", ["training.runs.0.checkpoint", "training.runs.0.model"])
def test_a_run_that_says_nothing_about_checkpoints_saves_none(missing: str) -> None:
    """G23: without a model or a checkpoint section there is no size to plan with; the dataset counts all the same."""
    changes = {**dataset(500, "shard"), missing: None}
    if missing.endswith("model"):
        changes["training.runs.0.checkpoint"] = None
    io = run_io(site(changes).training.runs[0], SHIPPED.models, {"text": 500})
    assert (io.checkpoint_gb, io.dataset_gb, io.staging) == (0, 500, Staging.SHARD)


def test_the_site() -> None:
    """G04, KJ19: four servers of 2 x 400 Gb/s read 400 GB/s, eight clients of 2 x 400 could take 800.

    24 x 4 GB/s a server: 20 drives in groups of 8+2 write 80 x 0.8, four servers 256 GB/s. 96 x 15.36 TB are 1,474.6.
    """
    storage = planned_site().storage
    assert storage is not None
    assert storage.read is not None
    assert (storage.read.servers_network, storage.read.clients_network, storage.read_gb_per_s) == (400, 800, 400)
    assert storage.write_gb_per_s == pytest.approx(256)
    assert (storage.kind, storage.lnet, storage.osts, storage.clients) == ("lustre", "o2ib", 8, 8)
    assert [storage.raw_tb, storage.usable_tb] == pytest.approx([1474.56, 983.04])


def test_one_card_per_node_bounds_the_file_system() -> None:
    """ST02, T3.8: eight servers with one 200 Gb/s card each read 8 x 25 = 200 GB/s over the compute fabric."""
    changes = {
        "pools.1.server": "Dell PowerEdge XE9680 HDR",
        "fabric.switch": "QM8700",
        "storage.lustre": {
            "server": "OSS 24x7.68TB HDR",
            "count": 8,
            "mdsServer": "MDS 8x3.84TB HDR",
            "mdsCount": 2,
            "network": "compute",
        },
    }
    storage = planned_site(changes).storage
    assert storage is not None
    assert storage.read is not None
    assert (storage.read.servers_network, storage.read.clients_network) == (400, 200)
    assert storage.read_gb_per_s == 200


def test_what_must_fit_is_the_larger_of_data_and_runs() -> None:
    """G28: 100 TiB are 109.95 TB; a dataset of 200 TB and three checkpoints of 112 GB are 200.3 TB."""
    data = planned_site({"storage.dataTib": 100}).storage
    runs = planned_site({"storage.dataTib": 100, **dataset(200_000)}).storage
    assert data is not None
    assert runs is not None
    assert data.needed_tb == pytest.approx(109.951, abs=0.001)
    assert runs.needed_tb == pytest.approx(200.337, abs=0.001)


def test_how_long_reading_back_and_staging_take() -> None:
    """T3.8: 112.4 GB at 400 GB/s are 0.28 s; a full copy of 1 TB to 8 nodes with 32 GB/s of NVMe each takes 31.25 s."""
    storage = planned_site(dataset(1000, "full")).storage
    assert storage is not None
    run = storage.runs["pretrain"]
    assert run.restore_s == pytest.approx(0.281, abs=0.001)
    assert run.staging_s == pytest.approx(31.25)
    bare = planned_site({"training.runs.0.checkpoint": None}).storage
    assert bare is not None
    assert (bare.runs["pretrain"].restore_s, bare.runs["pretrain"].staging_s) == (None, None)


@pytest.mark.parametrize(("network", "lnet"), [("compute", "o2ib"), ("storage", "tcp")])
def test_lustre_on_a_roce_fabric(network: str, lnet: str) -> None:
    """KJ19: over RoCE's own ports Lustre takes verbs; over a network of its own, plain Ethernet."""
    own = {"name": "own", "like": "HPE Cray XD670", "nics": _ethernet_cards()}
    lustre = {
        "server": "OSS 24x7.68TB 200GbE",
        "count": 4,
        "mdsServer": "MDS 8x3.84TB 200GbE",
        "mdsCount": 2,
        "network": network,
    }
    changes = {
        "catalogue": {"servers": [own]},
        "pools.1.server": "own",
        "fabric": {"kind": "roce", "switch": "SN5600", "pfc": True, "ecn": True},
        "storage.lustre": lustre,
    }
    storage = planned_site(changes).storage
    assert storage is not None
    assert storage.lnet == lnet


def _ethernet_cards() -> list[dict[str, object]]:
    return [
        {"nic": "ConnectX-7 400GbE", "count": 8, "role": "compute"},
        {"nic": "ConnectX-7 200GbE", "count": 2, "role": "storage"},
    ]


def test_unknown_servers_leave_storage_unplanned() -> None:
    """B01: there is a finding about the row, and no numbers."""
    plan = planned_site({"storage.lustre.server": "OSS 25x15.36TB NDR"})
    assert plan.storage is None
    assert [finding.rule for finding in plan.errors] == ["storage-server-unknown"]


def test_fsx_of_a_committed_stack() -> None:
    """G26, ST18: prod has 19,200 GiB at 1000 MB/s per TiB: 18.75 GB/s, 20.6 TB; its nodes read over ENA."""
    storage = planned("prod").storage
    assert storage.kind == "fsx"
    assert storage.read_gb_per_s == storage.write_gb_per_s == pytest.approx(18.75)
    assert storage.raw_tb == pytest.approx(20.615, abs=0.001)
    assert storage.usable_tb == pytest.approx(0.9 * storage.raw_tb)
