"""How many more instances a launch may get: the account's vCPU quotas, and what EC2 has left of a type.

Sources: EC2 user guide, "Amazon EC2 instance type quotas" (vCPU of On-Demand and of Spot instances by family; those in
a Capacity Block do not count) and EC2 API reference, "Error codes" (VcpuLimitExceeded, MaxSpotInstanceCountExceeded,
InsufficientInstanceCapacity) and RunInstances (as many as can be had, at least MinCount).
"""

import re
from collections import Counter
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from rehearsal.cloud.account import ec2
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.reservations import held_on_demand, starts_in_held
from rehearsal.cloud.ec2.use import live_instances
from rehearsal.cloud.quotas import held, set_quota

GRANTED_TIMES = 2
_STANDARD = "acdhimrtz"
_FAMILIES = (
    (r"p[2-4]", "L-417A185B", "L-7212CCBC"),
    (r"p5", "L-417A185B", "L-C4BD4855"),
    (r"p", "L-417A185B", None),
    (r"g|vt", "L-DB2E81BA", "L-3819A6DF"),
    (r"inf", "L-1945791B", "L-B5D1601B"),
    (r"hpc", "L-F7808C92", None),
    (rf"[{_STANDARD}]", "L-1216C47A", "L-34B43A08"),
)
_APART = re.compile(r"trn|mac")
"""Families whose quotas nobody here takes from, though their names begin as others do."""


def quota_code(type_: str, market: str) -> str | None:
    """The quota whose vCPU an instance takes; None where no quota of this account counts it."""
    if market == "capacity-block" or _APART.match(type_):
        return None
    for pattern, on_demand, spot in _FAMILIES:
        if re.match(pattern, type_):
            return spot if market == "spot" else on_demand
    return None


def set_capacity(region: str, type_: str, order: dict[str, Any]) -> dict[str, Any]:
    """Say how many instances of a type EC2 can run in the region, ``{"count": number}``; ``{}`` for without end. With
    ``"market": "spot"`` it is said of spot instances alone, which are of what is left over (EC2 user guide, "How Spot
    Instances work").
    """
    if type_ not in INSTANCE_TYPES:
        raise ValueError(f"EC2 has no instance type {type_}")
    key = (type_, str(order["market"])) if "market" in order else type_
    if "count" in order:
        _ends(ec2(region))[key] = int(order["count"])
    else:
        _ends(ec2(region)).pop(key, None)
    return {}


def grant(region: str, order: dict[str, Any]) -> dict[str, Any]:
    """Raise the quotas of an account that asked for twice the instances in ``{"market": {"type": count}}``.

    What the account has already is never lowered.
    """
    wanted: Counter[str] = Counter()
    for market, counts in order.items():
        for type_, count in counts.items():
            code = quota_code(type_, market)
            if code is not None and type_ in INSTANCE_TYPES:
                wanted[code] += GRANTED_TIMES * int(count) * _vcpu(type_)
    for code, vcpu in wanted.items():
        if vcpu > held(region, "ec2", code):
            set_quota(region, "ec2", code, {"value": vcpu})
    return {}


def room(backend: Any, region: str, data: dict[str, Any], least: int, most: int) -> int:
    """How many of the `most` instances that a launch asks for it gets; refused if fewer than `least`."""
    type_ = str(data["InstanceType"])
    market = str((data.get("InstanceMarketOptions") or {}).get("MarketType") or "on-demand")
    if starts_in_held(backend, data):
        return most
    return _room(backend, region, type_, market, least, most)


def require_room(backend: Any, region: str, type_: str, count: int) -> None:
    """Refuse a reservation of more instances than EC2 has left, or than the account may have on demand."""
    _room(backend, region, type_, "on-demand", count, count)


def _room(backend: Any, region: str, type_: str, market: str, least: int, most: int) -> int:
    """What is held on demand and not run takes from the quota and from what EC2 has as if it ran."""
    code = quota_code(type_, market)
    running, idle = live_instances(backend), held_on_demand(backend)
    if code is not None:
        limit = held(region, "ec2", code)
        counted = [each for each in running if quota_code(each.instance_type, _market(each)) == code]
        used = sum(_vcpu(each.instance_type) for each in counted)
        used += sum(count * _vcpu(each) for each, count in idle if quota_code(each, "on-demand") == code)
        most = min(most, int((limit - used) // _vcpu(type_)))
        if most < least:
            raise _beyond_quota(limit, spot=market == "spot")
    if market != "capacity-block":
        most = min(most, _left(backend, type_, market, most))
        if most < least:
            message = f"We currently do not have sufficient {type_} capacity in the Availability Zone you requested."
            raise refusal("InsufficientInstanceCapacity", message)
    return most


def _left(backend: Any, type_: str, market: str, most: int) -> int:
    """What EC2 has left of a type, and in a market, where either has an end."""
    same = [each for each in live_instances(backend) if each.instance_type == type_]
    idle = sum(count for each, count in held_on_demand(backend) if each == type_)
    ends = _ends(backend)
    found = [most]
    if type_ in ends:
        found.append(ends[type_] - len(same) - idle)
    if (type_, market) in ends:
        found.append(ends[type_, market] - sum(_market(each) == market for each in same))
    return min(found)


def _beyond_quota(limit: float, spot: bool) -> Exception:
    if spot:
        return refusal("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
    message = (
        f"You have requested more vCPU capacity than your current vCPU limit of {limit:g} allows for the instance "
        "bucket that the specified instance type belongs to."
    )
    return refusal("VcpuLimitExceeded", message)


def _market(instance: Any) -> str:
    return str(getattr(instance, "lifecycle", None) or "on-demand")


def _vcpu(type_: str) -> int:
    return int(INSTANCE_TYPES[type_]["VCpuInfo"]["DefaultVCpus"])


def _ends(backend: Any) -> dict[str | tuple[str, str], int]:
    """By type, or by type and market. Kept on moto's backend, so that a reset clears it."""
    found: dict[str | tuple[str, str], int] = backend.__dict__.setdefault("capacity_ends", {})
    return found
