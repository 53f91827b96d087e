"""Everything that is changed about moto, in one place."""

from __future__ import annotations

from . import dispatch, iam, kms, logs, quotas, s3
from .ec2 import addresses, groups, interfaces, launch, network, placement, reservations, routes, tags, templates
from .eks import images
from .eks import service as eks_service
from .fsx import service as fsx_service

MODULES = (
    *(dispatch, iam, kms, logs, s3, images),
    *(addresses, groups, interfaces, launch, network, placement, reservations, routes, tags, templates),
)


def apply_all() -> None:
    """Put every amendment in place and make what the account always has; before the first request."""
    for module in MODULES:
        module.AMENDMENTS.apply()
    tags.know_placement_groups()
    eks_service.route()
    fsx_service.route()
    quotas.route()
    iam.deployer()
