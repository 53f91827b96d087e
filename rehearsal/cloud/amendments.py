"""Everything that is changed about moto, in one place."""

from __future__ import annotations

from rehearsal.cloud import anomalies, buckets, budgets, dispatch, ecr, functions, iam, kms, logs, quotas, s3
from rehearsal.cloud.ec2 import (
    addresses,
    flows,
    groups,
    interfaces,
    launch,
    network,
    offerings,
    placement,
    reservations,
    routes,
    tags,
    templates,
    volumes,
)
from rehearsal.cloud.fsx import service as fsx_service
from rehearsal.eks.api import images
from rehearsal.eks.api import service as eks_service

MODULES = (
    *(buckets, dispatch, ecr, functions, iam, kms, logs, s3, images),
    *(
        addresses,
        flows,
        groups,
        interfaces,
        launch,
        network,
        offerings,
        placement,
        reservations,
        routes,
        tags,
        templates,
        volumes,
    ),
)


def apply_all() -> None:
    """Put every amendment in place and make what the account always has; before the first request."""
    for module in MODULES:
        module.AMENDMENTS.apply()
    tags.know_placement_groups()
    eks_service.route()
    fsx_service.route()
    budgets.route()
    anomalies.route()
    quotas.route()
    iam.deployer()
