"""Instance rows against another copy of DescribeInstanceTypes: the one that moto carries."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import moto
import pytest

from catalogue.gpus import GPUS, H100
from catalogue.instances import INSTANCES

FAMILIES = ("p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "g5", "g6", "g6e")


@cache
def _described() -> dict[str, Any]:
    data = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    types: dict[str, Any] = json.loads(gzip.decompress(data.read_bytes()))
    return types


def _carries_efa(card: dict[str, Any]) -> bool:
    return "efa" in card["InterfaceTypes"]


@pytest.mark.parametrize("name", INSTANCES)
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
    disks = [(disk["Count"], disk["SizeInGB"]) for disk in told.get("InstanceStorageInfo", {}).get("Disks", [])]
    assert ([(row.nvme.count, row.nvme.size_gb)] if row.nvme else []) == disks


@pytest.mark.parametrize("name", INSTANCES)
def test_gpus_agree_with_ec2(name: str) -> None:
    """B02-B05: model, count and memory, within the difference between nominal and visible memory."""
    row = INSTANCES[name]
    gpus = _described()[name].get("GpuInfo", {}).get("Gpus", [])
    assert row.gpu_count == sum(gpu["Count"] for gpu in gpus)
    for gpu in gpus:
        assert row.gpu is not None
        assert row.gpu.name.split()[0] == gpu["Name"]
        assert 0.9 < gpu["MemoryInfo"]["SizeInMiB"] / 1024 / row.gpu.memory_gb < 1.05


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


def test_prices_carry_date_range_and_source() -> None:
    """PW14, PW18: every price says when and where; spot is dearer nowhere than its own range allows."""
    for row in INSTANCES.values():
        for price in (row.on_demand, row.spot):
            if price:
                assert price.low <= price.usd_per_hour <= price.high
                assert price.source
                assert price.as_of.year >= 2026
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
