"""A capacity block from before its start until after its end: the real function, under a clock of the test's (PF10)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import REGION, Cloud, until
from rehearsal.tests.cloud.world import Network, cluster_request, make_role
from tests.sweep.test_keeper import END, Kept

START, OVER = datetime(2026, 11, 23, 11, 30, tzinfo=UTC), datetime(2026, 11, 24, 11, 30, tzinfo=UTC)
FIRST, SECOND = "cr-0123456789abcdef0", "cr-0123456789abcdef1"


class Blocks:
    """A stack whose pool lies in two blocks, kept by its function."""

    def __init__(self, cloud: Cloud, network: Network, stack: str) -> None:
        self.cloud, self.cluster = cloud, f"gpucluster-{stack}"
        self.eks = cloud.client("eks")
        for block in (FIRST, SECOND):
            self.order(block)
        role = "arn:aws:iam::123456789012:role/sweep-cluster"
        self.eks.create_cluster(**cluster_request(self.cluster, role, network))
        until(lambda: self.eks.describe_cluster(name=self.cluster)["cluster"]["status"] == "ACTIVE")
        for number, block in enumerate((FIRST, SECOND), 1):
            self._group(network, f"training-{number}", block)
        self.kept = Kept(
            cloud,
            network,
            stack,
            rate="rate(1 minute)",
            blocks=[self.task(number, block) for number, block in enumerate((FIRST, SECOND), 1)],
        )
        self.kept.extend(END + timedelta(days=30))
        self.kept.clock.now = START - timedelta(minutes=3)

    def order(self, block: str, end: datetime = OVER, state: str = "scheduled") -> None:
        order = {"instanceType": "p5.48xlarge", "zoneId": "use1-az1", "count": 4, "state": state}
        times = {"start": START.isoformat(), "end": end.isoformat()}
        self.cloud.call("PUT", f"reservations/{REGION}/{block}", order | times)

    def _group(self, network: Network, name: str, block: str) -> None:
        data = {
            "InstanceType": "p5.48xlarge",
            "InstanceMarketOptions": {"MarketType": "capacity-block"},
            "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": block}},
        }
        made = self.cloud.client("ec2").create_launch_template(
            LaunchTemplateName=f"{self.cluster}-{name}", LaunchTemplateData=data
        )
        self.eks.create_nodegroup(
            clusterName=self.cluster,
            nodegroupName=name,
            subnets=[network.subnets[0]],
            nodeRole="arn:aws:iam::123456789012:role/sweep-node",
            capacityType="CAPACITY_BLOCK",
            amiType="AL2023_x86_64_NVIDIA",
            launchTemplate={"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"},
            scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 4},
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        )

    def task(self, number: int, block: str) -> dict[str, Any]:
        times = {"start": f"{START:%Y-%m-%dT%H:%M:%SZ}", "end": f"{OVER:%Y-%m-%dT%H:%M:%SZ}"}
        minutes = {"save_minutes": 45.0, "empty_minutes": 40.0}
        return {"group": f"training-{number}", "reservation": block, "nodes": 4, **times, **minutes}

    def at(self, moment: datetime) -> list[tuple[int, bool]]:
        """What the groups ask for when the clock is there, and whether their pods are told to end. Hours in which
        nothing happens are left out.
        """
        self.kept.clock.now = max(self.kept.clock.now, moment - minutes(4))
        self.kept.clock.run(moment)
        return [self._told(f"training-{number}") for number in (1, 2)]

    def _told(self, name: str) -> tuple[int, bool]:
        group = self.eks.describe_nodegroup(clusterName=self.cluster, nodegroupName=name)["nodegroup"]
        return group["scalingConfig"]["desiredSize"], "NO_EXECUTE" in [each["effect"] for each in group["taints"]]

    def news(self) -> list[str]:
        """Of what people were told, by the record."""
        return sorted({each for done in self.kept.told().blocks.values() for each in done.told})

    def close(self) -> None:
        self.kept.clock.close()
        self.cloud.client("scheduler").delete_schedule(Name=f"{self.cluster}-keeper")


@pytest.fixture
def blocks(cloud: Cloud, network: Network, request: pytest.FixtureRequest) -> Iterator[Blocks]:
    stack = request.node.name.replace("_", "-")[5:30].strip("-")
    make_role(cloud, f"keeper-{stack}", "lambda.amazonaws.com")
    made = Blocks(cloud, network, stack)
    yield made
    made.close()


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def test_from_before_its_start_until_after_its_end(blocks: Blocks) -> None:
    """Empty before, filled at the start, told to save at 45 minutes, emptied at 40, cleaned after; nobody's laptop."""
    assert blocks.at(START - minutes(1)) == [(0, False)] * 2
    assert blocks.at(START + minutes(1)) == [(4, False)] * 2
    assert blocks.at(OVER - minutes(46)) == [(4, False)] * 2
    assert blocks.at(OVER - minutes(45)) == [(4, True)] * 2
    assert blocks.news() == ["saves"]
    assert blocks.at(OVER - minutes(40)) == [(0, True)] * 2
    assert blocks.at(OVER + minutes(2)) == [(0, False)] * 2
    assert blocks.news() == ["over", "saves"]


def test_one_that_starts_late_is_filled_when_it_does(blocks: Blocks) -> None:
    blocks.order(SECOND, state="delayed")
    assert blocks.at(START + minutes(31)) == [(4, False), (0, False)]
    assert blocks.news() == ["late"]
    blocks.order(SECOND, state="active")
    assert blocks.at(START + minutes(33)) == [(4, False), (4, False)]


def test_another_number_of_nodes_comes_while_the_block_runs(blocks: Blocks) -> None:
    """Nobody else tells the group its most: EKS would refuse five nodes where it is four (UpdateNodegroupConfig)."""
    assert blocks.at(START + minutes(1)) == [(4, False)] * 2
    first, second = (blocks.task(number, block) for number, block in enumerate((FIRST, SECOND), 1))
    blocks.kept.change(blocks=[first | {"nodes": 5}, second | {"nodes": 3}])
    assert blocks.at(START + minutes(3)) == [(5, False), (3, False)]


def test_calls_that_fail_at_the_start_are_made_good(blocks: Blocks, cloud: Cloud) -> None:
    cloud.call(
        "POST", "faults", {"action": "UpdateNodegroupConfig", "code": "ServerException", "status": 500, "times": 9}
    )
    blocks.kept.clock.throttle = 3
    assert blocks.at(START + minutes(6)) == [(4, False)] * 2


def test_one_that_was_extended_goes_on(blocks: Blocks) -> None:
    """AWS knows of the extension, the stack file does not yet; EKS' own action still stands at the old end."""
    assert blocks.at(START + minutes(1)) == [(4, False)] * 2
    blocks.order(FIRST, end=OVER + timedelta(days=1), state="active")
    assert blocks.at(OVER - minutes(44)) == [(4, False), (4, True)]
    assert blocks.at(OVER - minutes(36)) == [(4, False), (0, True)]
    assert blocks.at(OVER + minutes(2)) == [(4, False), (0, False)]
    assert blocks.at(OVER + timedelta(days=1) - minutes(44)) == [(4, True), (0, False)]
