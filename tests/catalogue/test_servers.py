"""The server and storage server tables."""

from dataclasses import replace
from typing import Any

import pytest

from catalogue.gpus import L40S
from catalogue.metal_types import Cooling, Cpu, Media, PowerSupplies
from catalogue.network_types import NicRole
from catalogue.processors import CORES, cpu
from catalogue.servers import SERVERS
from catalogue.storage_servers import SSD_TB, STORAGE_SERVERS


@pytest.mark.parametrize(
    ("name", "processor", "cores", "gpu", "kw", "units", "rails"),
    [
        ("DGX A100", "AMD EPYC 7742", 128, "A100 80GB", 6.5, 6, 8),
        ("DGX H100", "Intel Xeon Platinum 8480C", 112, "H100", 10.2, 8, 8),
        ("DGX H200", "Intel Xeon Platinum 8480C", 112, "H200", 10.2, 8, 8),
        ("DGX B200", "Intel Xeon Platinum 8570", 112, "B200", 14.3, 10, 8),
        ("Supermicro AS-8125GS-TNHR", "AMD EPYC 9654", 192, "H100", 10.2, 8, 8),
        ("Dell PowerEdge XE9680", "Intel Xeon Platinum 8470", 104, "H100", 10.2, 6, 8),
        ("HPE Cray XD670", "Intel Xeon Platinum 8480+", 112, "H100", 10.2, 5, 8),
        ("Dell PowerEdge XE9680 HDR", "Intel Xeon Platinum 8592+", 128, "H100", 10.2, 6, 1),
        ("Supermicro SYS-821GE-TNHR H200", "Intel Xeon Platinum 8592+", 128, "H200", 10.2, 8, 8),
    ],
)
def test_rows_are_consistent_sets(
    name: str, processor: str, cores: int, gpu: str, kw: float, units: int, rails: int
) -> None:
    """HW01, B01, B07: DGX H100 comes with Xeon 8480C, an EPYC 9654 is an HGX build."""
    row = SERVERS[name]
    assert (row.cpu.model, row.cpu.sockets * row.cpu.cores) == (processor, cores)
    assert row.gpu is not None
    assert (row.gpu.name, row.gpu_count, row.max_w / 1000, row.rack_units, row.rails) == (gpu, 8, kw, units, rails)


def test_processors_as_sold() -> None:
    """HW08, HW09: 8592+ has 64 cores, EPYC 9754 128; Sapphire Rapids ends at 60, so 128 is two of 64."""
    assert (CORES["Intel Xeon Platinum 8592+"], CORES["AMD EPYC 9754"], CORES["AMD EPYC 9654"]) == (64, 128, 96)
    sapphire_rapids = ("8470", "8480+", "8480C", "8490H", "6430")
    assert max(cores for model, cores in CORES.items() if model.split()[-1] in sapphire_rapids) == 60
    assert cpu("Intel Xeon Platinum 8592+").threads == 256


def test_every_processor_is_a_known_one() -> None:
    """HW08: no shipped row names a processor with cores of its own."""
    assert all(CORES[row.cpu.model] == row.cpu.cores for row in SERVERS.values())


def test_the_xl675d_is_for_a100() -> None:
    """HW10: Apollo 6500 Gen10 Plus carries A100; H100 boxes of HPE and Dell are XD670 and XE9680."""
    of_h100 = {name for name, row in SERVERS.items() if row.gpu and row.gpu.name == "H100"}
    assert {"HPE Cray XD670", "Dell PowerEdge XE9680"} <= of_h100
    models = [row for name, row in SERVERS.items() if "XL675d" in name]
    assert [row.gpu.name for row in models if row.gpu] == ["A100 80GB"]


def test_air_unless_the_model_says_otherwise() -> None:
    """HW14, B18: DGX and HGX H100 are air-cooled; liquid is another model."""
    liquid = [name for name, row in SERVERS.items() if row.cooling is not Cooling.AIR]
    assert liquid == ["Supermicro SYS-421GE-TNHR2-LCC"]


def test_supplies_feed_their_server() -> None:
    """HW02, B16: every shipped row runs at full load without its redundant supplies; servers have one to spare."""
    for row in SERVERS.values():
        units = row.power_supplies
        assert (units.count - units.redundant) * units.watts >= row.max_w, row.name
        assert units.redundant >= 1 or not row.bmc, row.name
    dgx = SERVERS["DGX H100"].power_supplies
    assert (dgx.count, dgx.watts) == (6, 3300)


def test_memory_and_drives_of_a_node() -> None:
    """HW11, HW12, B08, B09: 2 TB and 8 x 3.84 TB in a DGX H100; 24 x 64 GB and 2 x 3.84 TB in the one-card server."""
    dgx, one_card = SERVERS["DGX H100"], SERVERS["Dell PowerEdge XE9680 HDR"]
    assert dgx.nvme is not None
    assert one_card.nvme is not None
    assert (dgx.memory_gib, dgx.nvme.count, dgx.nvme.size_gb) == (2048, 8, 3840)
    assert (one_card.memory_gib, one_card.nvme.count, one_card.nvme.size_gb) == (24 * 64, 2, 3840)


def test_devices_of_a_dgx_in_rail_order() -> None:
    """B10: eight of twelve devices are rails; mlx5_1, 2, 7 and 8 are for storage and management."""
    groups = {group.role: group for group in SERVERS["DGX H100"].nics}
    rails = groups[NicRole.COMPUTE].hcas
    assert [int(name.removeprefix("mlx5_")) for name in rails] == [0, 3, 4, 5, 6, 9, 10, 11]
    others = groups[NicRole.STORAGE].hcas + groups[NicRole.MANAGEMENT].hcas
    assert sorted(others) == ["mlx5_1", "mlx5_2", "mlx5_7", "mlx5_8"]
    for row in SERVERS.values():
        for group in row.nics:
            assert len(group.hcas) in (0, group.ports), row.name


def test_lab_boxes() -> None:
    """B06: desktop computers with one consumer GPU, no rails, no management controller."""
    rows = [SERVERS["Lab box RTX 3060"], SERVERS["Lab box RTX 3080"]]
    assert [row.gpu.memory_gb for row in rows if row.gpu] == [12, 10]
    assert not any(row.rails or row.bmc for row in rows)


def test_drives_of_sizes_that_are_sold() -> None:
    """ST04, ST05: no shipped SSD has 10 or 16 TB."""
    ssds = {row.drive_tb for row in STORAGE_SERVERS.values() if row.media is not Media.HDD}
    assert ssds <= SSD_TB
    assert not {10, 16} & SSD_TB


def test_every_storage_server_serves() -> None:
    """G18, G19, G22: drives, ports for storage, power, a place in a rack; metadata servers have 256 GiB or more."""
    for name, row in STORAGE_SERVERS.items():
        assert any(group.role is NicRole.STORAGE for group in row.nics), name
        assert min(row.drives, row.drive_tb, row.max_w, row.rack_units) > 0
        assert row.memory_gib >= 256 or name.startswith("Lab")
    assert {name.split()[0] for name in STORAGE_SERVERS} >= {"OSS", "MDS", "OSD"}


def _changed(row: Any, field: str) -> Any:
    return replace(row, **{field: 0})


@pytest.mark.parametrize("field", ["memory_gib", "max_w", "rack_units"])
def test_a_server_of_nothing_is_no_row(field: str) -> None:
    """B01: numbers that would be divided by are above 0."""
    with pytest.raises(ValueError, match=f"DGX H100: {field.replace('_', ' ')} is 0"):
        _changed(SERVERS["DGX H100"], field)


def test_gpus_have_a_model_and_a_number() -> None:
    """B01: neither GPUs without a model nor a model without GPUs."""
    with pytest.raises(ValueError, match="0 GPUs of H100"):
        replace(SERVERS["DGX H100"], gpu_count=0)
    with pytest.raises(ValueError, match="8 GPUs of no model"):
        replace(SERVERS["DGX H100"], gpu=None)


@pytest.mark.parametrize("count", [2, 6, 16])
def test_gpus_on_a_board_are_one_four_or_eight(count: int) -> None:
    """C03: cards in slots come in any number."""
    with pytest.raises(ValueError, match=f"DGX H100 has {count} GPUs of H100; boards of it have 1, 4 or 8"):
        replace(SERVERS["DGX H100"], gpu_count=count)
    assert replace(SERVERS["DGX H100"], gpu=L40S, gpu_count=count).gpu_count == count


@pytest.mark.parametrize("field", ["drives", "drive_tb", "drive_read_gb_per_s", "memory_gib", "rack_units"])
def test_a_storage_server_of_nothing_is_no_row(field: str) -> None:
    """B01: a server stores something, at some rate."""
    with pytest.raises(ValueError, match="must be above 0"):
        _changed(STORAGE_SERVERS["OSS 24x15.36TB NDR"], field)


@pytest.mark.parametrize(("count", "watts", "redundant"), [(0, 3000, 0), (2, 3000, 2), (2, 0, 1), (65, 3000, 1)])
def test_supplies_that_feed_nothing_are_no_part(count: int, watts: int, redundant: int) -> None:
    """HW02: at least one supply is not redundant."""
    with pytest.raises(ValueError, match="leave none"):
        PowerSupplies(count=count, watts=watts, redundant=redundant)


def test_processors_of_nothing_are_no_part() -> None:
    """B07: sockets and cores are at least one."""
    with pytest.raises(ValueError, match="sockets is 0"):
        Cpu(model="x", sockets=0, cores=8)


def test_rows_are_found_by_their_names() -> None:
    """B01: keys are names, and each row says where it is from."""
    servers = {name: (row.name, row.source) for name, row in SERVERS.items()}
    stores = {name: (row.name, row.source) for name, row in STORAGE_SERVERS.items()}
    for key, (name, source) in (servers | stores).items():
        assert key == name
        assert source, name
