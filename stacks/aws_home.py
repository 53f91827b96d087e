"""Directories of people on EFS, as the platform's homes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.aws.home import HomeArgs, HomeFiles
from components.aws.security_groups import NfsGroup, NfsGroupArgs
from components.storage.claims import ClaimSpec
from components.storage.home_claims import HomeClaims, HomeClaimsArgs
from planner.teams import HomePlan
from planner.types import AwsPlan
from stacks.aws_ground import Ground


@dataclass(frozen=True, kw_only=True)
class EfsHomes:
    """Claims on one EFS file system. `driver` is the CSI add-on, which must outlive them.

    It has no rights: its daemon mounts by the file system's DNS name, which leads to the mount target of the node's own
    zone, and its controller asks AWS only when a volume is to be made or deleted (aws-efs-csi-driver,
    pkg/driver/node.go, controller.go).
    """

    files: HomeFiles
    driver: pulumi.Resource
    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        args = HomeClaimsArgs(
            csi_driver="efs.csi.aws.com", handles=self.files.handles, claims=claims, driver=self.driver
        )
        return HomeClaims(name, args, self.opts).names


def home(
    plan: AwsPlan,
    base: Ground,
    nodes_group_id: pulumi.Output[str],
    drivers: Mapping[str, pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> EfsHomes | None:
    """Register the file system and its group; None where nobody asks for homes. `drivers` are add-ons by name."""
    if plan.home is None:
        return None
    group = NfsGroup("home-group", NfsGroupArgs(vpc_id=base.network.vpc_id, nodes_group_id=nodes_group_id), opts)
    args = _args(plan, plan.home, base, group.group_id)
    return EfsHomes(files=HomeFiles("home", args, opts), driver=drivers["aws-efs-csi-driver"], opts=opts)


def _args(plan: AwsPlan, wanted: HomePlan, base: Ground, group_id: pulumi.Output[str]) -> HomeArgs:
    """One mount target in a zone, beside its system nodes; GPU nodes of the zone mount by the same."""
    zones = [each.zone_id for each in plan.subnets if each.role == "system"]
    return HomeArgs(
        region=plan.deployment.region,
        partition=base.account.partition,
        account_id=base.account.id,
        subnet_ids=dict(zip(zones, base.network.subnet_ids("system"), strict=True)),
        group_id=group_id,
        key_arn=base.keys.arn,
        namespaces=wanted.namespaces,
        cold_days=wanted.cold_days,
        backed_up=wanted.backed_up,
        protect=plan.ownership.protect,
    )
