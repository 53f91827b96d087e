"""Capacity blocks that are on offer. What is on offer a rehearsal puts into the account; nothing can be bought.

Sources: EC2 API reference, DescribeCapacityBlockOfferings and CapacityBlockOffering (botocore's service model has the
same texts); EC2 user guide, "Capacity Blocks for ML": 1 to 14 days by the day, whole weeks up to 182 days, at most 64
instances.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from rehearsal.cloud.account import ec2
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal

AMENDMENTS = Amendments()
MOST_INSTANCES, DAY, WEEK = 64, 24, 7 * 24
_BY_DAY, _LONGEST = 14 * DAY, 182 * DAY


def set_offering(region: str, offering_id: str, order: dict[str, Any]) -> dict[str, Any]:
    """Put an offering into the region: ``{"instanceType", "zoneId", "count", "start", "days", "fee"}``; a fee of null
    takes it away.
    """
    backend = ec2(region)
    held = _offerings(backend)
    if order.get("fee") is None:
        held.pop(offering_id, None)
        return {}
    zone = next((each for each in backend.describe_availability_zones() if each.zone_id == order["zoneId"]), None)
    if zone is None:
        raise ValueError(f"{region} has no zone {order['zoneId']}")
    start = datetime.fromisoformat(order["start"])
    held[offering_id] = {
        "CapacityBlockOfferingId": offering_id,
        "InstanceType": order["instanceType"],
        "AvailabilityZone": zone.name,
        "InstanceCount": int(order["count"]),
        "StartDate": start,
        "EndDate": start + timedelta(days=int(order["days"])),
        "CapacityBlockDurationHours": int(order["days"]) * DAY,
        "UpfrontFee": f"{float(order['fee']):.2f}",
        "CurrencyCode": "USD",
        "Tenancy": "default",
    }
    return {}


def _offerings(backend: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = backend.__dict__.setdefault("capacity_block_offerings", {})
    return found


@AMENDMENTS.operation(EC2Response)
def describe_capacity_block_offerings(self: Any) -> ActionResult:
    """The offerings of a type, a number of instances and a duration, between two dates."""
    hours, count = int(self._get_param("CapacityDurationHours")), int(self._get_param("InstanceCount") or 1)
    type_ = self._get_param("InstanceType")
    if not type_:
        raise refusal("MissingParameter", "The request must contain the parameter InstanceType")
    by_day = hours % DAY == 0 and DAY <= hours <= _BY_DAY
    if not by_day and not (hours % WEEK == 0 and _BY_DAY < hours <= _LONGEST):
        raise refusal("InvalidParameterValue", f"Value ({hours}) for parameter capacityDurationHours is invalid")
    if not 1 <= count <= MOST_INSTANCES:
        raise refusal("InvalidParameterValue", f"Value ({count}) for parameter instanceCount is invalid")
    earliest, latest = _moment(self._get_param("StartDateRange")), _moment(self._get_param("EndDateRange"))
    found = [
        each
        for each in _offerings(self.ec2_backend).values()
        if (each["InstanceType"], each["InstanceCount"], each["CapacityBlockDurationHours"]) == (type_, count, hours)
        and (earliest is None or each["StartDate"] >= earliest)
        and (latest is None or each["EndDate"] <= latest)
    ]
    return ActionResult({"CapacityBlockOfferings": found})


def _moment(given: Any) -> datetime | None:
    """A parameter as moto gives it: a datetime without its zone, which is UTC, or text."""
    if given is None:
        return None
    found = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    return found if found.tzinfo else found.replace(tzinfo=UTC)
