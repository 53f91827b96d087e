"""Instance rows against another copy of DescribeInstanceTypes: the one that moto carries."""

import gzip
import inspect
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import moto
import pytest

from catalogue import instances
from catalogue.gpus import GPUS, H100
from catalogue.instances import INSTANCES, g6
from catalogue.instances.rows import equal_cards, graphics, plain_card, system
from catalogue.offerings import offered
from catalogue.types import Accelerator, Architecture, Nvme, UsageClass

FAMILIES = ("p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "g4dn", "g5", "g6", "g6e", "g7e")
ULTRASERVER = "p6e-gb200.36xlarge"
DESCRIBED = [name for name in INSTANCES if name != ULTRASERVER]
GPU_NAMES = {"RTX PRO 6000": "RTX PRO Server 6000", "A100 40GB": "A100", "A100 80GB": "A100"}


@cache
def _described() -> dict[str, Any]:
    data = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    types: dict[str, Any] = json.loads(gzip.decompress(data.read_bytes()))
    return types


def _carries_efa(card: dict[str, Any]) -> bool:
    return "efa" in card["InterfaceTypes"]


def _gbit_per_s(performance: str) -> float:
    """The network performance that EC2 words as `Up to 25 Gigabit`, `100 Gigabit` or `4x 100 Gigabit`."""
    found = re.fullmatch(r"(?:Up to )?(?:(\d+)x )?([\d.]+) Gigabit", performance)
    assert found
    return int(found[1] or 1) * float(found[2])


@pytest.mark.parametrize("name", DESCRIBED)
def test_row_agrees_with_ec2(name: str) -> None:
    """NW11, B07-B09: size, GPUs, cards, EFA limit, addresses, NVMe, usage classes and architecture."""
    row, told = INSTANCES[name], _described()[name]
    network = told["NetworkInfo"]
    assert row.vcpu == told["VCpuInfo"]["DefaultVCpus"]
    assert row.memory_gib * 1024 == told["MemoryInfo"]["SizeInMiB"]
    assert row.usage_classes == set(told["SupportedUsageClasses"])
    assert [row.architecture] == told["ProcessorInfo"]["SupportedArchitectures"]
    assert row.efa_max == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    assert row.addresses_per_interface == network["Ipv4AddressesPerInterface"]
    assert [(card.index, card.max_interfaces, card.efa) for card in row.cards] == [
        (card["NetworkCardIndex"], card["MaximumNetworkInterfaces"], _carries_efa(card))
        for card in network["NetworkCards"]
    ]
    assert row.network_gbit_per_s == _gbit_per_s(network["NetworkPerformance"])
    disks = [(disk["Count"], disk["SizeInGB"]) for disk in told.get("InstanceStorageInfo", {}).get("Disks", [])]
    assert ([(row.nvme.count, row.nvme.size_gb)] if row.nvme else []) == disks


@pytest.mark.parametrize("name", DESCRIBED)
def test_gpus_agree_with_ec2(name: str) -> None:
    """B02-B05: model, count and memory, within the difference between nominal and visible memory."""
    row = INSTANCES[name]
    gpus = _described()[name].get("GpuInfo", {}).get("Gpus", [])
    assert row.gpu_count == sum(gpu["Count"] for gpu in gpus)
    for gpu in gpus:
        assert row.gpu is not None
        assert GPU_NAMES.get(row.gpu.name, row.gpu.name) == gpu["Name"]
        assert 0.9 < gpu["MemoryInfo"]["SizeInMiB"] / 1024 / row.gpu.memory_gb < 1.05


@pytest.mark.parametrize("name", DESCRIBED)
def test_neuron_devices_agree_with_ec2(name: str) -> None:
    """PW16, Z04: an Inferentia type is known as one, and has no GPU."""
    devices = _described()[name].get("NeuronInfo", {}).get("NeuronDevices", [])
    assert INSTANCES[name].neuron_count == sum(device["Count"] for device in devices)


def test_kinds_of_accelerator() -> None:
    """PW16: inf2 is no GPU type; c5n and hpc6id have no accelerator at all."""
    assert INSTANCES["inf2.xlarge"].accelerator is Accelerator.NEURON
    assert INSTANCES["p5.48xlarge"].accelerator is Accelerator.GPU
    assert {INSTANCES[name].accelerator for name in ("c5n.18xlarge", "hpc6id.32xlarge", "m7i.large")} == {
        Accelerator.NONE
    }


def test_families_are_complete() -> None:
    """Every x86 size of the supported families that EC2 has is a row, so that a smaller test size is never missing."""
    offered = {name for name in _described() if name.partition(".")[0] in FAMILIES}
    assert offered <= set(INSTANCES)


def test_efa_count_is_not_the_number_of_cards() -> None:
    """NW11: p6-b300 has 17 cards and 16 EFA interfaces, and its card 0 carries none."""
    row = INSTANCES["p6-b300.48xlarge"]
    assert len(row.cards) == 17
    assert row.efa_max == 16
    assert not row.cards[0].efa


@pytest.mark.parametrize(
    ("name", "vcpu", "memory_gib", "gpus", "gpu_gb", "efa", "gbit_per_s", "usd"),
    [
        ("p5.48xlarge", 192, 2048, 8, 640, 32, 3200, 55.04),
        ("p5.4xlarge", 16, 256, 1, 80, 1, 100, 6.88),
        ("p5e.48xlarge", 192, 2048, 8, 1128, 32, 3200, None),
        ("p5en.48xlarge", 192, 2048, 8, 1128, 16, 3200, 63.30),
        ("p4d.24xlarge", 96, 1152, 8, 320, 4, 400, 21.96),
        ("p4de.24xlarge", 96, 1152, 8, 640, 4, 400, 27.45),
        ("p6-b200.48xlarge", 192, 2048, 8, 1440, 8, 3200, 113.93),
        ("p6-b300.48xlarge", 192, 4096, 8, 2144, 16, 6400, 142.42),
        ("g5.xlarge", 4, 16, 1, 24, 0, 10, 1.01),
        ("g5.12xlarge", 48, 192, 4, 96, 1, 40, 5.67),
        ("g5.48xlarge", 192, 768, 8, 192, 1, 100, 16.29),
        ("g6.xlarge", 4, 16, 1, 24, 0, 10, 0.80),
        ("g6.12xlarge", 48, 192, 4, 96, 1, 40, 4.60),
        ("g6.48xlarge", 192, 768, 8, 192, 1, 100, 13.35),
        ("g6e.xlarge", 4, 32, 1, 48, 0, 20, 1.86),
        ("g6e.48xlarge", 192, 1536, 8, 384, 4, 400, 30.13),
        ("g4dn.xlarge", 4, 16, 1, 16, 0, 25, 0.53),
        ("c5n.18xlarge", 72, 192, 0, 0, 1, 100, 3.89),
        ("hpc6id.32xlarge", 64, 1024, 0, 0, 2, 200, 5.70),
        ("inf2.xlarge", 4, 16, 0, 0, 0, 15, 0.76),
    ],
)
def test_reference_table(
    name: str, vcpu: int, memory_gib: int, gpus: int, gpu_gb: int, efa: int, gbit_per_s: float, usd: float | None
) -> None:
    """T3.9, NW11, Z04, PW14: the instance table. hpc6id.32xlarge has two EFA interfaces, as EC2 tells, not one."""
    row = INSTANCES[name]
    assert (row.vcpu, row.memory_gib, row.gpu_count, row.efa_max) == (vcpu, memory_gib, gpus, efa)
    assert row.gpu_count * (row.gpu.memory_gb if row.gpu else 0) == gpu_gb
    assert row.network_gbit_per_s == gbit_per_s
    assert (round(row.on_demand.usd_per_hour, 2) if row.on_demand else None) == usd


@pytest.mark.parametrize(
    ("name", "spot", "block"),
    [
        ("p5.48xlarge", (20, 22), (35, 39.5)),
        ("p5e.48xlarge", None, (39, 41)),
        ("p5en.48xlarge", (26.6, 39.8), None),
        ("p4d.24xlarge", (6.5, 19), (14.75, 14.75)),
        ("g5.xlarge", (0.3, 0.5), None),
        ("g5.12xlarge", (1.7, 2.5), None),
        ("g5.48xlarge", (5, 8), None),
        ("g6.xlarge", (0.25, 0.4), None),
        ("g6.12xlarge", (1.4, 2.2), None),
        ("g6.48xlarge", (4, 6), None),
        ("g4dn.xlarge", (0.16, 0.25), None),
    ],
)
def test_spot_and_block_prices_lie_where_they_were_seen(
    name: str, spot: tuple[float, float] | None, block: tuple[float, float] | None
) -> None:
    """T3.9, PW18: the prices of other ways to buy."""
    row = INSTANCES[name]
    for seen, price in ((spot, row.spot), (block, row.capacity_block)):
        if seen:
            assert price
            assert seen[0] <= price.usd_per_hour <= seen[1]


def test_spot_saves_less_than_the_advertised_ninety_percent() -> None:
    """PW18: p5en saves about 58 % and p5 about 62 %, not 70 to 90 %."""
    for name, saving in (("p5en.48xlarge", 0.58), ("p5.48xlarge", 0.62)):
        row = INSTANCES[name]
        assert row.on_demand
        assert row.spot
        assert 1 - row.spot.usd_per_hour / row.on_demand.usd_per_hour == pytest.approx(saving, abs=0.005)


def test_ultraserver_is_sold_in_blocks_and_is_arm() -> None:
    """NW11, Z04: P6e-GB200: 17 cards of which four carry EFA, capacity blocks only, no other way to buy."""
    row = INSTANCES[ULTRASERVER]
    assert row.usage_classes == {UsageClass.CAPACITY_BLOCK}
    assert row.architecture is Architecture.ARM64
    assert (len(row.cards), [card.index for card in row.cards if card.efa]) == (17, [1, 5, 9, 13])
    assert (row.gpu_count, row.nvme) == (4, Nvme(count=3, size_gb=7500))
    assert row.price(UsageClass.ON_DEMAND) is None
    assert row.capacity_block
    assert row.capacity_block.usd_per_hour * 18 == pytest.approx(761.904, abs=0.001)


def test_every_row_says_where_it_comes_from_and_its_prices_say_when() -> None:
    """PW14, PW18: rows and prices carry their source; a price carries its range and its day."""
    for row in INSTANCES.values():
        assert row.source
        for usage in UsageClass:
            price = row.price(usage)
            assert price is None or usage in row.usage_classes
            if price:
                assert price.low <= price.usd_per_hour <= price.high
                assert price.source
                assert price.as_of.year >= 2024
        if row.on_demand and row.spot:
            assert row.spot.usd_per_hour < row.on_demand.usd_per_hour


def test_gpu_labels_are_those_gfd_writes() -> None:
    """KJ21: no `NVIDIA-H100-SXM`, which no node ever has, and no blank in any label."""
    assert H100.product == "NVIDIA-H100-80GB-HBM3"
    assert not any(" " in gpu.product for gpu in GPUS.values())
    assert "NVIDIA-H100-SXM" not in {gpu.product for gpu in GPUS.values()}


def test_h100_clock_is_in_range() -> None:
    """HW16: the H100's clock ends at 1980 MHz; 2505 is out of range."""
    assert H100.max_sm_clock_mhz == 1980


@cache
def _offerings() -> dict[str, dict[str, set[str]]]:
    """Zone ids by type and region, in moto's copy of DescribeInstanceTypeOfferings."""
    found: dict[str, dict[str, set[str]]] = {name: {} for name in INSTANCES}
    folder = Path(moto.__file__).parent / "ec2" / "resources" / "instance_type_offerings" / "availability-zone-id"
    for file in folder.iterdir():
        for row in json.loads(gzip.decompress(file.read_bytes())):
            if row["InstanceType"] in found:
                zones = found[row["InstanceType"]].setdefault(file.name.partition(".")[0], set())
                zones.add(row["Location"])
    return found


@pytest.mark.parametrize("name", DESCRIBED)
def test_types_are_offered_where_ec2_says(name: str) -> None:
    """B01: regions and zones of every type, the odd sizes of a family too."""
    told = offered(name)
    assert told is not None
    assert {region: set(zones) for region, zones in told.items()} == _offerings()[name]


def test_a_module_with_rows_is_a_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C16: a new file of rows is all that a new family takes; no list of families is kept by hand."""
    written = Path(g6.__file__).read_text().replace(" g6.", " gr6.")
    (tmp_path / "gr6.py").write_text(written)
    monkeypatch.setattr(instances, "__path__", [*instances.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "catalogue.instances.gr6", raising=False)
    found = {row.type for row in instances._rows()}
    assert {"gr6.4xlarge", "gr6.48xlarge"} <= found
    assert set(INSTANCES) < found


@pytest.mark.parametrize("make", [graphics, system, equal_cards, plain_card])
def test_a_row_names_its_numbers(make: Callable[..., object]) -> None:
    """C16: a row has one field without a name at most, its type or how many cards."""
    kinds = [each.kind for each in inspect.signature(make).parameters.values()]
    assert len([kind for kind in kinds if kind is not inspect.Parameter.KEYWORD_ONLY]) <= 1
