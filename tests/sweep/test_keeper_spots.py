"""A pool on spot that may fall back, under its real function and a test's clock: sizes only, no instance comes."""

from datetime import timedelta
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, until
from rehearsal.tests.cloud.world import Network, cluster_request, make_role
from tests.sweep.test_keeper import END, Kept

CAPACITIES = {"training": "SPOT", "training-on-demand": "ON_DEMAND"}
SPOT = {"spot": "training", "on_demand": "training-on-demand", "wait_minutes": 15, "again_hours": None}


class Spots:
    """A stack with a pool of two nodes, whose groups an `up` made empty."""

    def __init__(self, cloud: Cloud, network: Network, stack: str, **task: Any) -> None:
        self.eks, self.cluster = cloud.client("eks"), f"gpucluster-{stack}"
        make_role(cloud, f"keeper-{stack}", "lambda.amazonaws.com")
        self.kept = Kept(cloud, network, stack, rate="rate(1 minute)", spots=[{**SPOT, "nodes": 2}], **task)
        self.kept.extend(END + timedelta(days=30))
        role = "arn:aws:iam::123456789012:role/sweep-cluster"
        self.eks.create_cluster(**cluster_request(self.cluster, role, network))
        until(lambda: self.eks.describe_cluster(name=self.cluster)["cluster"]["status"] == "ACTIVE")
        for name, capacity in CAPACITIES.items():
            self.eks.create_nodegroup(
                clusterName=self.cluster,
                nodegroupName=name,
                subnets=[network.subnets[0]],
                nodeRole="arn:aws:iam::123456789012:role/sweep-node",
                capacityType=capacity,
                instanceTypes=["g6e.12xlarge"],
                amiType="AL2023_x86_64_NVIDIA",
                scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 2},
            )

    def after(self, minutes: float) -> list[tuple[int, int]]:
        """What the groups ask for and may ask for, spot first."""
        self.kept.clock.run(self.kept.clock.now + timedelta(minutes=minutes))
        groups = [self.eks.describe_nodegroup(clusterName=self.cluster, nodegroupName=name) for name in CAPACITIES]
        sizes = [each["nodegroup"]["scalingConfig"] for each in groups]
        return [(each["desiredSize"], each["maxSize"]) for each in sizes]

    def count(self, nodes: int) -> None:
        self.kept.change(spots=[{**SPOT, "nodes": nodes}])


@pytest.fixture
def make(cloud: Cloud, network: Network) -> Any:
    made: list[Spots] = []

    def one(stack: str, **task: Any) -> Spots:
        made.append(Spots(cloud, network, stack, **task))
        return made[-1]

    yield one
    for each in made:
        each.kept.clock.close()
        cloud.client("scheduler").delete_schedule(Name=f"{each.cluster}-keeper")


def test_another_count_moves_both_groups_and_empties_none(make: Any) -> None:
    """EKS refuses to ask for more than a group may have, and to let it have less than it asks for."""
    spots: Spots = make("counts")
    assert spots.after(2) == [(2, 2), (0, 2)]
    assert spots.after(16) == [(0, 2), (2, 2)], "none came on spot"
    spots.count(3)
    assert spots.after(3) == [(1, 3), (2, 3)]
    spots.count(1)
    assert spots.after(3) == [(0, 1), (1, 1)]


def test_another_count_of_the_night_holds_in_the_morning(make: Any) -> None:
    hours = {"time_zone": "UTC", "days": ["mon", "tue"], "start": "08:00", "end": "17:00"}
    pools = {"training": 2, "training-on-demand": 0}
    spots: Spots = make("nights", gpu_pools=pools, off_hours=hours)
    spots.kept.clock.now = END - timedelta(minutes=65)
    assert spots.after(4) == [(2, 2), (0, 2)]
    assert spots.after(6) == [(0, 2), (0, 2)]
    spots.count(4)
    spots.kept.change(gpu_pools=pools | {"training": 4})
    spots.kept.clock.now = END + timedelta(hours=13, minutes=59)
    assert spots.after(5) == [(4, 4), (0, 4)]
