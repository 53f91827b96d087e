"""What an EC2 instance type has in it, as EC2 describes it (the stand-in answers with moto's copy of EC2's data).

Deliberately not the program's catalogue: the two must be able to disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Machine:
    """One instance type. Memory in MiB; `gpu_memory` per GPU in MiB; local NVMe in GB."""

    instance_type: str
    architecture: str
    vcpus: int
    memory: int
    gpu: str | None
    gpu_count: int
    gpu_memory: int
    interfaces: int
    addresses_per_interface: int
    local_nvme: int


def machine(raw: Mapping[str, Any]) -> Machine:
    """The facts of an instance type from its DescribeInstanceTypes entry."""
    network = raw["NetworkInfo"]
    gpus = [each for each in (raw.get("GpuInfo") or {}).get("Gpus", []) if each["Manufacturer"] == "NVIDIA"]
    return Machine(
        instance_type=raw["InstanceType"],
        architecture=raw["ProcessorInfo"]["SupportedArchitectures"][-1],
        vcpus=raw["VCpuInfo"]["DefaultVCpus"],
        memory=raw["MemoryInfo"]["SizeInMiB"],
        gpu=gpus[0]["Name"] if gpus else None,
        gpu_count=sum(each["Count"] for each in gpus),
        gpu_memory=gpus[0]["MemoryInfo"]["SizeInMiB"] if gpus else 0,
        interfaces=_interfaces_of_first_card(network),
        addresses_per_interface=network["Ipv4AddressesPerInterface"],
        local_nvme=(raw.get("InstanceStorageInfo") or {}).get("TotalSizeInGB", 0),
    )


def _interfaces_of_first_card(network: Mapping[str, Any]) -> int:
    """The VPC CNI puts pods on the first network card only (its ENI limits list does the same)."""
    first = network.get("DefaultNetworkCardIndex", 0)
    for card in network.get("NetworkCards", []):
        if card["NetworkCardIndex"] == first:
            return int(card["MaximumNetworkInterfaces"])
    return int(network["MaximumNetworkInterfaces"])
