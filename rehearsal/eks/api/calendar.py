"""What time does to capacity blocks, under a clock of a test's: they begin, are emptied, lose their nodes, are over.

Sources: EC2 user guide, "Capacity Blocks for ML" (states; instances are ended from 30 minutes before the end); EKS user
guide, "Create a managed node group with Capacity Blocks for ML" (the scheduled action that scales a group to zero 40
minutes before the end, made with the group).
"""

from datetime import datetime, timedelta
from typing import Any

from rehearsal.cloud.account import ec2
from rehearsal.cloud.ec2.reservations import reservations
from rehearsal.cloud.ec2.use import live_instances
from rehearsal.eks.api.nodegroup_rules import template_of
from rehearsal.eks.api.store import Body, all_clusters

EMPTIED, TAKEN = timedelta(minutes=40), timedelta(minutes=30)
_SCHEDULED = "capacity_scaledowns"


def advance(region: str, moment: datetime) -> dict[str, str]:
    """Bring the region's capacity blocks to a moment; the state of each."""
    held = reservations(ec2(region))
    for each in held.values():
        if each["ReservationType"] == "capacity-block":
            _advance(region, each, moment)
    for place, cluster in all_clusters():
        for body in cluster.nodegroups.values() if place == region else ():
            _empty(region, body, held, moment)
    return {name: str(each["State"]) for name, each in held.items()}


def _advance(region: str, held: dict[str, Any], moment: datetime) -> None:
    end = held["EndDate"]
    if held["State"] == "scheduled" and moment >= held["StartDate"]:
        held["State"] = "active"
    if end is None or held["State"] not in ("active", "scheduled"):
        return
    if moment >= end - TAKEN:
        backend = ec2(region)
        taken = held["CapacityReservationId"]
        own = [each.id for each in live_instances(backend) if getattr(each, "taken_from", "") == taken]
        if own:
            backend.terminate_instances(own)
    if moment >= end:
        held["State"] = "expired"


def _empty(region: str, body: Body, held: dict[str, dict[str, Any]], moment: datetime) -> None:
    """EKS' own action. Its time is that of the group's making: nothing in its guide says that an extension moves it."""
    if body["capacityType"] != "CAPACITY_BLOCK":
        return
    schedule = ec2(region).__dict__.setdefault(_SCHEDULED, {})
    reservation = _reservation(region, body)
    end = held.get(reservation, {}).get("EndDate")
    due = schedule.setdefault((body["nodegroupArn"], reservation), end)
    if due is not None and moment >= due - EMPTIED:
        schedule[body["nodegroupArn"], reservation] = None
        body["scalingConfig"] |= {"minSize": 0, "desiredSize": 0}


def _reservation(region: str, body: Body) -> str:
    named = {key: body["launchTemplate"][key] for key in ("id", "version")}
    template = template_of(region, {"launchTemplate": named, "capacityType": body["capacityType"]})
    data = template.data if template else {}
    target = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    return str(target.get("CapacityReservationId", ""))
