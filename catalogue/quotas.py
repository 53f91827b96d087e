"""Service quotas of an AWS account that a cluster meets, with what a new account has.

AWS raises many of them with use, so an account's own numbers may be higher. A code that is None was not found in any
of AWS's pages: the console's Service Quotas page has it by the name.
"""

from dataclasses import dataclass
from enum import StrEnum

from catalogue.types import UsageClass


class QuotaUnit(StrEnum):
    """What a service quota counts."""

    VCPU = "vCPU"
    COUNT = "count"
    GIB = "GiB"
    TIB = "TiB"


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A service quota of an AWS account and region, with what a new account has. `code` as Service Quotas names it."""

    name: str
    service: str
    code: str | None
    default: float
    unit: QuotaUnit
    source: str


_EC2 = "AWS General Reference, Amazon EC2 instance type quotas"
_VPC = "VPC user guide, Amazon VPC quotas"
_EKS = "EKS user guide, service quotas"
_FSX = "FSx for Lustre user guide, quotas"
_VCPU = QuotaUnit.VCPU


def _vcpu(name: str, code: str | None, default: int = 0) -> Quota:
    return Quota(name=name, service="ec2", code=code, default=default, unit=_VCPU, source=_EC2)


def _count(name: str, service: str, code: str, default: int, source: str) -> Quota:
    return Quota(name=name, service=service, code=code, default=default, unit=QuotaUnit.COUNT, source=source)


def _fsx(name: str, code: str) -> Quota:
    return Quota(name=name, service="fsx", code=code, default=100_800, unit=QuotaUnit.GIB, source=_FSX)


_STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"
_ON_DEMAND = {
    "p": _vcpu("Running On-Demand P instances", "L-417A185B"),
    "g": _vcpu("Running On-Demand G and VT instances", "L-DB2E81BA"),
    "inf": _vcpu("Running On-Demand Inf instances", "L-1945791B"),
    "hpc": _vcpu("Running On-Demand HPC instances", "L-F7808C92"),
    "": _vcpu(f"Running On-Demand {_STANDARD} instances", "L-1216C47A", 5),
}
_SPOT = {
    "p4": _vcpu("All P4, P3 and P2 Spot Instance Requests", "L-7212CCBC"),
    "p5": _vcpu("All P5 Spot Instance Requests", "L-C4BD4855"),
    "p": _vcpu("the P Spot Instance Requests of the family", None),
    "g": _vcpu("All G and VT Spot Instance Requests", "L-3819A6DF"),
    "inf": _vcpu("All Inf Spot Instance Requests", "L-B5D1601B"),
    "": _vcpu(f"All {_STANDARD} Spot Instance Requests", "L-34B43A08", 5),
}
_BLOCKS = {
    "p4d.": _vcpu("Concurrent P4d Capacity Blocks per account", "L-2C8F52B3"),
    "p5.": _vcpu("Concurrent P5 Capacity Blocks per account", "L-DA6814F2"),
    "p5e.": _vcpu("Concurrent P5e Capacity Blocks per account", "L-C45F30BC"),
    "p5en.": _vcpu("Concurrent P5en Capacity Blocks per account", "L-4F9BB70B"),
    "": _vcpu("the concurrent Capacity Blocks of the family per account", None),
}

INSTANCE_QUOTAS = {UsageClass.ON_DEMAND: _ON_DEMAND, UsageClass.SPOT: _SPOT, UsageClass.CAPACITY_BLOCK: _BLOCKS}
"""The quota of an instance type by how it is bought: that of the longest prefix of its name."""

VPCS = _count("VPCs per Region", "vpc", "L-F678F1CE", 5, _VPC)
ELASTIC_IPS = _count("EC2-VPC Elastic IPs", "ec2", "L-0263D0A3", 5, _VPC)
NAT_GATEWAYS = _count("NAT gateways per Availability Zone", "vpc", "L-FE5A380F", 5, _VPC)
INTERFACES = _count("Network interfaces per Region", "vpc", "L-DF5E4CA3", 5000, _VPC)
INTERFACE_ENDPOINTS = _count("Interface VPC endpoints per VPC", "vpc", "L-29B6F2EB", 50, _VPC)
CLUSTERS = _count("Clusters", "eks", "L-1194D53C", 100, _EKS)
NODE_GROUPS = _count("Managed node groups per cluster", "eks", "L-6D54EA21", 30, _EKS)
NODES_PER_GROUP = _count("Nodes per managed node group", "eks", "L-BD136A63", 450, _EKS)
GP3_STORAGE = Quota(
    name="Storage for General Purpose SSD (gp3) volumes, in TiB",
    service="ebs",
    code="L-7A658B76",
    default=50,
    unit=QuotaUnit.TIB,
    source="EBS user guide, quotas",
)
FSX_STORAGE = {
    "SCRATCH_2": _fsx("Lustre Scratch storage capacity", "L-AD2FC696"),
    "PERSISTENT_2": _fsx("Lustre Persistent_2 storage capacity", "L-8F1B9C74"),
}
