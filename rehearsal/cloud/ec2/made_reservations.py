"""On-Demand Capacity Reservations that an account makes, changes and cancels itself.

Sources: EC2 API reference, CreateCapacityReservation (fails where EC2 has too little of the type, and beyond the
On-Demand quota), ModifyCapacityReservation (what can be changed; EndDate is wanted by EndDateType limited and by no
other), CancelCapacityReservation (instances that run in it go on); EC2 user guide, "Reserve compute capacity with EC2
On-Demand Capacity Reservations" (instances that are held count against the quota as those that run) and "Use Capacity
Reservations with cluster placement groups" (a launch names the group and the reservation).
"""

from datetime import UTC, datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from rehearsal.cloud.account import ACCOUNT, hex_id, now
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.capacity import require_room
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.launch_rules import require_instance_type
from rehearsal.cloud.ec2.placement import placement_groups
from rehearsal.cloud.ec2.reservations import available, require_reservation, reservations, shown_reservation

AMENDMENTS = Amendments()

MATCHES = ("open", "targeted")
ENDS = ("unlimited", "limited")


@AMENDMENTS.operation(EC2Response)
def create_capacity_reservation(self: Any) -> ActionResult:
    """Active at once, or refused: no part of it is held."""
    backend, region = self.ec2_backend, self.region
    type_, count = str(self._get_param("InstanceType")), int(self._get_param("InstanceCount"))
    zone = _zone(backend, self._get_param("AvailabilityZone"), self._get_param("AvailabilityZoneId"))
    match = self._get_param("InstanceMatchCriteria") or "open"
    if match not in MATCHES:
        raise refusal("InvalidParameterValue", f"Value ({match}) for parameter instanceMatchCriteria is invalid.")
    end = _end(self._get_param("EndDateType"), self._get_param("EndDate"))
    group = _group(backend, self._get_param("PlacementGroupArn"))
    require_instance_type(type_, region, zone.name)
    require_room(backend, region, type_, count)
    made = hex_id("cr")
    reservations(backend)[made] = {
        "CapacityReservationId": made,
        "OwnerId": ACCOUNT,
        "CapacityReservationArn": f"arn:aws:ec2:{region}:{ACCOUNT}:capacity-reservation/{made}",
        "AvailabilityZone": zone.name,
        "AvailabilityZoneId": zone.zone_id,
        "InstanceType": type_,
        "InstancePlatform": self._get_param("InstancePlatform"),
        "Tenancy": self._get_param("Tenancy") or "default",
        "TotalInstanceCount": count,
        "EbsOptimized": bool(self._get_bool_param("EbsOptimized", False)),
        "EphemeralStorage": bool(self._get_bool_param("EphemeralStorage", False)),
        "State": "active",
        "StartDate": now(),
        "EndDate": end,
        "EndDateType": "limited" if end else "unlimited",
        "InstanceMatchCriteria": match,
        "CreateDate": now(),
        "ReservationType": "default",
        **({"PlacementGroupArn": group["GroupArn"]} if group else {}),
    }
    backend.create_tags([made], self._parse_tag_specification().get("capacity-reservation", {}))
    return ActionResult({"CapacityReservation": shown_reservation(backend, reservations(backend)[made])})


@AMENDMENTS.operation(EC2Response)
def modify_capacity_reservation(self: Any) -> ActionResult:
    """Its size and its end. It is never smaller than what runs in it."""
    backend = self.ec2_backend
    held = _require_active(backend, self._get_param("CapacityReservationId"))
    if (wanted := self._get_param("InstanceCount")) is not None:
        count, runs = int(wanted), held["TotalInstanceCount"] - available(backend, held)
        if count < runs:
            raise refusal("InvalidParameterValue", f"{runs} instances run in the reservation, which is to hold {count}")
        more = count - int(held["TotalInstanceCount"])
        if more > 0:
            require_room(backend, self.region, held["InstanceType"], more)
        held["TotalInstanceCount"] = count
    if kind := self._get_param("EndDateType"):
        held["EndDate"] = _end(kind, self._get_param("EndDate"))
        held["EndDateType"] = kind
    return ActionResult({"Return": True})


@AMENDMENTS.operation(EC2Response)
def cancel_capacity_reservation(self: Any) -> ActionResult:
    """End a reservation, which is described as cancelled for a while."""
    _require_active(self.ec2_backend, self._get_param("CapacityReservationId"))["State"] = "cancelled"
    return ActionResult({"Return": True})


def _require_active(backend: Any, reservation_id: str) -> dict[str, Any]:
    held = require_reservation(backend, reservation_id)
    if held["State"] != "active" or held["ReservationType"] != "default":
        message = f"The capacity reservation '{reservation_id}' is a {held['ReservationType']} one, {held['State']}"
        raise refusal("InvalidCapacityReservationState", message)
    return held


def _zone(backend: Any, name: str | None, identity: str | None) -> Any:
    for each in backend.describe_availability_zones():
        if each.name == name or each.zone_id == identity:
            return each
    raise refusal("InvalidParameterValue", f"Value ({name or identity}) for parameter availabilityZone is invalid.")


def _end(kind: str | None, moment: Any) -> datetime | None:
    if (kind or "unlimited") not in ENDS:
        raise refusal("InvalidParameterValue", f"Value ({kind}) for parameter endDateType is invalid.")
    if (kind == "limited") is not bool(moment):
        raise refusal("InvalidParameterCombination", "EndDate goes with EndDateType limited, and with no other")
    if not moment:
        return None
    end = moment if isinstance(moment, datetime) else datetime.fromisoformat(str(moment))
    end = end if end.tzinfo else end.replace(tzinfo=UTC)
    if end <= now():
        raise refusal("InvalidParameterValue", f"The end date {end.isoformat()} is in the past")
    return end


def _group(backend: Any, arn: str | None) -> dict[str, Any] | None:
    if not arn:
        return None
    found = next((each for each in placement_groups(backend).values() if each["GroupArn"] == arn), None)
    if found is None:
        raise refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{arn}' is unknown.")
    if found["Strategy"] != "cluster":
        raise refusal("InvalidParameterValue", f"'{arn}' is of strategy {found['Strategy']}, not cluster")
    return found
