"""The VPC's subnets."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.addressing import subnets
from planner.vpc import VpcPlan
from tests.planner.stacks import planned, rules

ZONES = tuple(f"use1-az{index}" for index in range(1, 7))


NOTHING = VpcPlan(flow_logs=None, endpoints=(), endpoint_zones=())


@given(
    prefix=st.integers(16, 20),
    network=st.integers(0, 255),
    zones=st.integers(2, 6),
    gpu=st.integers(0, 5),
)
def test_subnets_divide_the_vpc(prefix: int, network: int, zones: int, gpu: int) -> None:
    """F02: for every VPC that settings allow: inside it, apart from each other, none below AWS's /28."""
    vpc = IPv4Network((int(IPv4Network("10.0.0.0/8").network_address) + (network << 16), prefix))
    placed = subnets(str(vpc), ZONES[:zones], ZONES[gpu % zones], (), ZONES[:zones], NOTHING)
    networks = [IPv4Network(subnet.cidr) for subnet in placed]
    assert all(part.subnet_of(vpc) and part.prefixlen <= 28 for part in networks)
    assert not any(a.overlaps(b) for index, a in enumerate(networks) for b in networks[:index])
    assert all(subnet.needed <= subnet.usable for subnet in placed)


def test_every_zone_has_its_roles_and_one_has_the_gpus() -> None:
    """F02, F05: public, control-plane and system subnets per zone; one GPU subnet, in the GPU zone."""
    placed = planned("prod").subnets
    zones = ("use2-az1", "use2-az2", "use2-az3")
    for role in ("public", "control-plane", "system"):
        assert tuple(subnet.zone_id for subnet in placed if subnet.role == role) == zones
    assert [subnet.zone_id for subnet in placed if subnet.role == "gpu"] == ["use2-az1"]
    assert len({subnet.name for subnet in placed}) == len(placed)


def test_subnets_stay_where_they_are_when_the_stack_grows() -> None:
    """A subnet whose range moved would be replaced: counts and appended zones move nothing."""
    before = {subnet.name: subnet.cidr for subnet in planned().subnets}
    changes = {"pools.1.count": 200, "pools.1.instanceType": "p5.48xlarge"}
    zones = {"platform.zones": ["use2-az1", "use2-az2", "use2-az3"]}
    after = {subnet.name: subnet.cidr for subnet in planned(changes={**changes, **zones}).subnets}
    assert before.items() <= after.items()


def test_control_plane_subnets_have_room_for_eks() -> None:
    """EKS wants 6 free addresses in each, even in the smallest VPC."""
    placed = planned(changes={"platform.vpcCidr": "10.1.0.0/20"}).subnets
    assert all(subnet.usable >= 6 for subnet in placed if subnet.role == "control-plane")


@pytest.mark.parametrize(("nodes", "fits"), [(40, True), (41, False)])
def test_gpu_subnet_is_measured_in_addresses(nodes: int, fits: bool) -> None:
    """F02: 2043 addresses of a /21 hold 40 nodes of 50 and FSx; one node more is refused before anything is made."""
    changes = {
        "platform.vpcCidr": "10.1.0.0/20",
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.count": nodes,
        "pools.2.count": 0,
        "serving.services": [],
        "budget.maxHourlyUsd": 9000,
    }
    assert rules(planned(changes=changes)) == ([] if fits else ["subnet-size"])
    assert [f"up to {nodes * 50 + 16}" in str(finding) for finding in planned(changes=changes).errors] == [True] * (
        not fits
    )
