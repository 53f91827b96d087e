"""How much of a quota other stacks use, in the quota's unit."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from catalogue import quotas
from catalogue.quotas import Quota
from catalogue.types import UsageClass
from catalogue.units import GIB_PER_TIB
from doctor.account import AbsentError, Account
from doctor.case import Case

_LIVE = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
_PENDING_OR_AVAILABLE = [{"Name": "state", "Values": ["pending", "available"]}]
_STANDARD = re.compile(r"(im|is|[acdhimrtz])\d")
"""Families of the standard quotas; what matches no prefix is not necessarily one of them (trn, x, mac, u-)."""

Use = Callable[[Case, Account], float]


def taken(quota: Quota, case: Case, account: Account) -> float:
    """What others hold of `quota`. Quotas of one cluster are the stack's alone. Raises UnansweredError."""
    for usage in (UsageClass.ON_DEMAND, UsageClass.SPOT):
        for prefix, each in quotas.INSTANCE_QUOTAS[usage].items():
            if each == quota:
                return _vcpu(case, account, usage, prefix)
    count = _COUNTS.get(quota.name)
    return count(case, account) if count else 0


def _vcpu(case: Case, account: Account, usage: UsageClass, prefix: str) -> int:
    held = account.every("ec2", "DescribeInstances", "Reservations", Filters=_LIVE)
    others = [
        instance["InstanceType"]
        for reservation in held
        for instance in reservation["Instances"]
        if not case.own(instance.get("Tags"))
        and (instance.get("InstanceLifecycle") or UsageClass.ON_DEMAND) == usage
        and _counts(usage, prefix, instance["InstanceType"])
    ]
    if not others:
        return 0
    filters = [{"Name": "instance-type", "Values": sorted(set(others))}]
    told = account.every("ec2", "DescribeInstanceTypes", "InstanceTypes", Filters=filters)
    vcpu = {row["InstanceType"]: int(row["VCpuInfo"]["DefaultVCpus"]) for row in told}
    return sum(vcpu.get(name, 0) for name in others)


def _counts(usage: UsageClass, prefix: str, type_: str) -> bool:
    """Whether the quota of this prefix counts instances of a type."""
    longest = max((each for each in quotas.INSTANCE_QUOTAS[usage] if type_.startswith(each)), key=len)
    return longest == prefix and (prefix != "" or _STANDARD.match(type_) is not None)


def _vpcs(case: Case, account: Account) -> int:
    return sum(not case.own(vpc.get("Tags")) for vpc in account.every("ec2", "DescribeVpcs", "Vpcs"))


def _addresses(case: Case, account: Account) -> int:
    return sum(not case.own(each.get("Tags")) for each in account.every("ec2", "DescribeAddresses", "Addresses"))


def _nat_gateways(case: Case, account: Account) -> int:
    """Those of others in the GPU zone, where the stack's stands."""
    told = account.every("ec2", "DescribeNatGateways", "NatGateways", Filters=_PENDING_OR_AVAILABLE)
    subnets = [each["SubnetId"] for each in told if not case.own(each.get("Tags"))]
    if not subnets:
        return 0
    filters = [{"Name": "availability-zone-id", "Values": [case.settings.platform.gpu_zone]}]
    here = {each["SubnetId"] for each in account.every("ec2", "DescribeSubnets", "Subnets", Filters=filters)}
    return sum(subnet in here for subnet in subnets)


def _interfaces(case: Case, account: Account) -> int:
    """Interfaces carry no tags of those who make them for us (EKS, FSx), but they lie in the stack's own VPC."""
    own = {vpc["VpcId"] for vpc in account.every("ec2", "DescribeVpcs", "Vpcs") if case.own(vpc.get("Tags"))}
    held = account.every("ec2", "DescribeNetworkInterfaces", "NetworkInterfaces")
    return sum(each.get("VpcId") not in own for each in held)


def _clusters(case: Case, account: Account) -> int:
    def others(name: Any) -> bool:
        try:
            told = account.get("eks", "DescribeCluster", name=name)
        except AbsentError:
            return False
        return not case.own(told["cluster"].get("tags") or {})

    return sum(others(name) for name in account.every("eks", "ListClusters", "clusters"))


def _gp3_tib(case: Case, account: Account) -> float:
    filters = [{"Name": "volume-type", "Values": ["gp3"]}]
    held = account.every("ec2", "DescribeVolumes", "Volumes", Filters=filters)
    return sum(int(each["Size"]) for each in held if not case.own(each.get("Tags"))) / GIB_PER_TIB


def _lustre_gib(*types: str) -> Use:
    def count(case: Case, account: Account) -> int:
        held = account.every("fsx", "DescribeFileSystems", "FileSystems")
        return sum(
            int(each["StorageCapacity"])
            for each in held
            if (each.get("LustreConfiguration") or {}).get("DeploymentType") in types and not case.own(each.get("Tags"))
        )

    return count


_COUNTS: Mapping[str, Use] = {
    quotas.VPCS.name: _vpcs,
    quotas.ELASTIC_IPS.name: _addresses,
    quotas.NAT_GATEWAYS.name: _nat_gateways,
    quotas.INTERFACES.name: _interfaces,
    quotas.CLUSTERS.name: _clusters,
    quotas.GP3_STORAGE.name: _gp3_tib,
    quotas.FSX_STORAGE["SCRATCH_2"].name: _lustre_gib("SCRATCH_1", "SCRATCH_2"),
    quotas.FSX_STORAGE["PERSISTENT_2"].name: _lustre_gib("PERSISTENT_2"),
}
