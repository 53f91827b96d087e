"""The dashboards of the committed stacks, and of stacks that have what those leave out."""

from functools import cache

from monitoring.dashboards import Dashboard, dashboards
from monitoring.dashboards.references import References, StorageReference
from planner.references import references
from tests.planner.stacks import planned, planned_metal

PROD, METAL = references(planned("prod")), references(planned_metal())

PLANS: dict[str, References] = {
    "dev": references(planned("dev")),
    "prod": PROD,
    "metal": METAL,
    "rates": references(planned("prod", {"monitoring.fileSystem": True})),
    "ceph": References(
        nodes=3,
        gpus=0,
        storage=StorageReference(kind="ceph", read_gb_per_s=10, write_gb_per_s=5, usable_tb=100),
    ),
}
"""What was planned, by stack; the last has neither pools nor runs nor services nor prices."""


@cache
def boards(plan: str) -> dict[str, Dashboard]:
    """The dashboards by the last word of their uid."""
    return {each.uid.removeprefix("gpucluster-"): each for each in dashboards(PLANS[plan])}
