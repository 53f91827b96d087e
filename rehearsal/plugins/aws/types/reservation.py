"""On-Demand Capacity Reservations. Source: terraform-provider-aws internal/service/ec2/ec2_capacity_reservation.go."""

from rehearsal.plugins.aws.life import describe
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Change, Row, Wait, words
from rehearsal.plugins.aws.tagging import ec2


def _after(obj: Object, change: Change) -> None:
    """Size and end can change; the provider sends the kind of end and the size each time, an end where one is set."""
    if change.first or not change.touches("instanceCount", "endDate", "endDateType"):
        return
    request = {"EndDateType": obj.inputs.get("endDateType", "unlimited"), "InstanceCount": obj.inputs["instanceCount"]}
    if end := obj.inputs.get("endDate"):
        request["EndDate"] = end
    obj.call("modify_capacity_reservation", CapacityReservationId=obj.id, **request)


def _cancel(obj: Object) -> None:
    """One that has ended, or that somebody cancelled, is none to the provider any longer."""
    if describe(obj) is not None:
        obj.call("cancel_capacity_reservation", CapacityReservationId=obj.id)


ROWS: dict[str, Row] = {
    "aws:ec2/capacityReservation:CapacityReservation": Row(
        create="create_capacity_reservation -> CapacityReservation",
        read="describe_capacity_reservations -> CapacityReservations[0]",
        delete=_cancel,
        id="{CapacityReservationId}",
        defaults={
            "ebsOptimized": False,
            "ephemeralStorage": False,
            "endDateType": "unlimited",
            "instanceMatchCriteria": "open",
            "tenancy": "default",
        },
        force_new=words(
            "availabilityZone ebsOptimized ephemeralStorage instanceMatchCriteria instancePlatform instanceType "
            "outpostArn placementGroupArn tenancy"
        ),
        later=words("instanceCount endDate endDateType"),
        after=_after,
        look=lambda _, found: {
            "instanceCount": found.get("TotalInstanceCount"),
            "arn": found.get("CapacityReservationArn"),
        },
        wait=Wait("State", ("active",), ("failed",)),
        gone="State=='cancelled' || State=='expired'",
        tags=ec2("capacity-reservation"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 10 * MINUTE),
    ),
}
