"""Everything that is changed about moto, in one place."""

from importlib import import_module

from rehearsal.cloud import anomalies, budgets, iam, quotas
from rehearsal.cloud.ec2 import tags
from rehearsal.cloud.fsx import service as fsx_service
from rehearsal.eks.api import service as eks_service

MODULES = tuple(
    import_module(f"{package}.{name}")
    for package, names in {
        "rehearsal.cloud": "acm buckets dispatch ecr ecr_cache efs functions iam kms logs metrics polls route53 s3 "
        "secrets",
        "rehearsal.cloud.ec2": "addresses fleets flows groups interfaces launch made_reservations network offerings "
        "placement ranges reservations routes tags templates types volumes",
        "rehearsal.eks.api": "published",
    }.items()
    for name in names.split()
)
"""Those with amendments."""


def apply_all() -> None:
    """Put every amendment in place and make what the account always has; before the first request."""
    for module in MODULES:
        module.AMENDMENTS.apply()
    tags.know_more_kinds()
    eks_service.route()
    fsx_service.route()
    budgets.route()
    anomalies.route()
    quotas.route()
    iam.deployer()
