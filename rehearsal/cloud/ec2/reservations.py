"""Capacity reservations and capacity blocks, and who starts in them. A rehearsal orders blocks into the account.

Sources: EC2 API reference, DescribeCapacityReservations and CapacityReservation; EC2 user guide, "Capacity Blocks for
ML" and "Launch instances into an existing Capacity Reservation".
"""

from datetime import datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from rehearsal.cloud.account import ACCOUNT, ec2, now
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.use import live_instances

AMENDMENTS = Amendments()

TYPES = ("default", "capacity-block")
STATES = (
    *("active", "expired", "cancelled", "pending", "failed", "scheduled", "payment-pending", "payment-failed"),
    *("assessing", "delayed", "unsupported", "unavailable"),
)
PAGE = 100
_FILTERS = {
    "instance-type": "InstanceType",
    "availability-zone": "AvailabilityZone",
    "availability-zone-id": "AvailabilityZoneId",
    "state": "State",
    "reservation-type": "ReservationType",
}


def reservations(backend: Any) -> dict[str, dict[str, Any]]:
    """The reservations of a region by id; kept on moto's backend, so that a reset clears them."""
    found: dict[str, dict[str, Any]] = backend.__dict__.setdefault("capacity_reservations", {})
    return found


def set_reservation(region: str, reservation_id: str, order: dict[str, Any]) -> dict[str, Any]:
    """Put a reservation into the account, or change it; a state of ``null`` takes it away.

    ``{"instanceType", "zoneId", "count", "start", "end", "state", "type", "match"}``; times in ISO 8601.
    By default it is an active capacity block.
    """
    backend = ec2(region)
    if order.get("state", "active") is None:
        reservations(backend).pop(reservation_id, None)
        return {}
    missing = [key for key in ("instanceType", "zoneId", "count") if key not in order]
    if missing:
        raise ValueError(f"a reservation needs {', '.join(missing)}")
    kind, state = order.get("type", "capacity-block"), order.get("state", "active")
    if kind not in TYPES or state not in STATES:
        raise ValueError(f"{kind} is not one of {TYPES}, or {state} is not one of {STATES}")
    zone = next((each for each in backend.describe_availability_zones() if each.zone_id == order["zoneId"]), None)
    if zone is None:
        raise ValueError(f"{region} has no zone {order['zoneId']}")
    start = datetime.fromisoformat(order["start"]) if order.get("start") else now()
    end = datetime.fromisoformat(order["end"]) if order.get("end") else None
    reservations(backend)[reservation_id] = {
        "CapacityReservationId": reservation_id,
        "OwnerId": ACCOUNT,
        "CapacityReservationArn": f"arn:aws:ec2:{region}:{ACCOUNT}:capacity-reservation/{reservation_id}",
        "AvailabilityZone": zone.name,
        "AvailabilityZoneId": zone.zone_id,
        "InstanceType": order["instanceType"],
        "InstancePlatform": "Linux/UNIX",
        "Tenancy": "default",
        "TotalInstanceCount": int(order["count"]),
        "EbsOptimized": True,
        "EphemeralStorage": False,
        "State": state,
        "StartDate": start,
        "EndDate": end,
        "EndDateType": "limited" if end else "unlimited",
        "InstanceMatchCriteria": order.get("match", "targeted"),
        "CreateDate": now(),
        "ReservationType": kind,
    }
    return {}


@AMENDMENTS.operation(EC2Response)
def describe_capacity_reservations(self: Any) -> ActionResult:
    """By ids and filters, page by page; an unknown id is an error, an unmatched filter is not."""
    backend = self.ec2_backend
    wanted = self._get_param("CapacityReservationIds", [])
    found = [require_reservation(backend, each) for each in wanted] or list(reservations(backend).values())
    filters = self._filters_from_querystring()
    for name, values in filters.items():
        found = [each for each in found if _matches(backend, each, name, values)]
    start = int(self._get_param("NextToken") or 0)
    end = start + int(self._get_param("MaxResults") or PAGE)
    shown = [shown_reservation(backend, each) for each in found[start:end]]
    return ActionResult({"CapacityReservations": shown, "NextToken": str(end) if end < len(found) else None})


def _matches(backend: Any, held: dict[str, Any], name: str, values: list[str]) -> bool:
    tags = backend.tags.get(held["CapacityReservationId"], {})
    if name == "tag-key":
        return not tags.keys().isdisjoint(values)
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:")) in values
    if name not in _FILTERS:
        raise refusal("InvalidParameterValue", f"The filter '{name}' is invalid")
    return held[_FILTERS[name]] in values


def shown_reservation(backend: Any, held: dict[str, Any]) -> dict[str, Any]:
    """A reservation as the API describes it: with what is left of it, and its tags."""
    tags = backend.tags.get(held["CapacityReservationId"], {})
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    return {**held, "AvailableInstanceCount": available(backend, held), "Tags": listed}


def held_on_demand(backend: Any) -> list[tuple[str, int]]:
    """Type and number of what active On-Demand Capacity Reservations hold and nobody runs."""
    return [
        (str(each["InstanceType"]), available(backend, each))
        for each in reservations(backend).values()
        if each["ReservationType"] == "default" and each["State"] == "active"
    ]


def starts_in_held(backend: Any, data: dict[str, Any]) -> bool:
    """Whether a launch names an On-Demand Capacity Reservation, whose instances are counted and held already."""
    target = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    held = reservations(backend).get(target.get("CapacityReservationId", ""))
    return held is not None and held["ReservationType"] == "default"


def check_target(backend: Any, data: dict[str, Any], zone: str, count: int) -> str:
    """The id of the reservation that a launch names, if it may take the instances; empty if it names none."""
    target = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    wanted = target.get("CapacityReservationId")
    market = (data.get("InstanceMarketOptions") or {}).get("MarketType")
    if not wanted:
        if market == "capacity-block":
            raise refusal("InvalidParameterCombination", "A launch into a capacity block has to name its reservation")
        return ""
    held = require_reservation(backend, wanted)
    if held["State"] != "active":
        message = f"The capacity reservation '{wanted}' is in state {held['State']}, not active"
        raise refusal("InvalidCapacityReservationState", message)
    if (held["ReservationType"] == "capacity-block") is not (market == "capacity-block"):
        message = f"The capacity reservation '{wanted}' is of type {held['ReservationType']}, the market is {market}"
        raise refusal("InvalidParameterCombination", message)
    if (held["InstanceType"], held["AvailabilityZone"]) != (data["InstanceType"], zone):
        message = (
            f"The capacity reservation '{wanted}' is for {held['InstanceType']} in {held['AvailabilityZone']}, "
            f"the launch for {data['InstanceType']} in {zone}"
        )
        raise refusal("InvalidParameterValue", message)
    group = str(held.get("PlacementGroupArn", "")).rpartition("/")[2]
    if group and group != (data.get("Placement") or {}).get("GroupName"):
        message = f"The capacity reservation '{wanted}' is in placement group {group}, which the launch does not name"
        raise refusal("InvalidParameterCombination", message)
    if available(backend, held) < count:
        message = f"The capacity reservation '{wanted}' has {available(backend, held)} instances left, not {count}"
        raise refusal("ReservationCapacityExceeded", message)
    return str(wanted)


def require_reservation(backend: Any, reservation_id: str) -> dict[str, Any]:
    """The reservation of that id, or InvalidCapacityReservationId.NotFound."""
    if reservation_id not in reservations(backend):
        message = f"The capacity reservation id '{reservation_id}' does not exist"
        raise refusal("InvalidCapacityReservationId.NotFound", message)
    return reservations(backend)[reservation_id]


def available(backend: Any, held: dict[str, Any]) -> int:
    """How many more instances may start in it."""
    own = held["CapacityReservationId"]
    taken = [each for each in live_instances(backend) if getattr(each, "taken_from", "") == own]
    return int(held["TotalInstanceCount"]) - len(taken)
