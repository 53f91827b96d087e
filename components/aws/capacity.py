"""What holds instances for a pool: a capacity block, or a reservation on demand."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component

BLOCK_MARKET = aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")


@dataclass(frozen=True, kw_only=True)
class CapacityBlock:
    """The capacity block that a pool starts in: its reservation, and the nodes to ask for now, 0 before it begins.

    EKS empties the group 40 minutes before the block's end by itself, and somebody fills it at the start, so from then
    on the number of nodes is no longer this program's.
    """

    reservation_id: pulumi.Input[str]
    nodes: int


@dataclass(frozen=True, kw_only=True)
class HeldCapacity:
    """An On-Demand Capacity Reservation of `count` instances in the zone of that name (us-east-2a), until `ends`
    (RFC 3339), which is made with the pool and cancelled after its nodes.
    """

    count: int
    zone: pulumi.Input[str]
    ends: str | None = None


def held_for(
    owner: Component, instance_type: str, held: HeldCapacity, placement: aws.ec2.PlacementGroup | None
) -> aws.ec2.CapacityReservation:
    """Register what holds the instances as a child of `owner`.

    Targeted: an open one is taken by any instance of the type that the account starts.
    """
    return aws.ec2.CapacityReservation(
        owner.named("reservation"),
        availability_zone=held.zone,
        instance_type=instance_type,
        instance_platform="Linux/UNIX",
        instance_count=held.count,
        instance_match_criteria="targeted",
        ebs_optimized=True,
        end_date_type="limited" if held.ends else "unlimited",
        end_date=held.ends,
        placement_group_arn=placement.arn if placement else None,
        tags=owner.tags("reservation"),
        opts=owner.child(),
    )


def started_in(
    identity: pulumi.Input[str] | None,
) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Instances start in a block, or in a targeted reservation, only if they name it."""
    if identity is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_target=(
            aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
                capacity_reservation_id=identity
            )
        )
    )
