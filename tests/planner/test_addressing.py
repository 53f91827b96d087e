"""The VPC's subnets, addresses in blocks of 16, and ground that exists."""

import json
from dataclasses import replace
from datetime import UTC, datetime, time
from ipaddress import IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.instances import INSTANCES
from catalogue.tables import SHIPPED
from components.aws.addons import node_addons
from planner.addressing import AWS_RESERVED_ADDRESSES, subnets
from planner.aws import aws_draft
from planner.draft import registry
from planner.interfaces import addressed_pods, addresses_per_node, layout, max_pods, pod_addresses_per_node
from planner.types import AwsPlan
from planner.vpc import VpcPlan
from tests.planner.stacks import DEAR, TODAY, planned, rules, settings

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
        **DEAR,
    }
    assert rules(planned(changes=changes)) == ([] if fits else ["subnet-size"])
    assert [f"up to {nodes * 50 + 16}" in str(finding) for finding in planned(changes=changes).errors] == [True] * (
        not fits
    )


ON = {"platform.network.prefixDelegation": True}


def test_an_efa_node_has_addresses_for_all_pods_that_eks_lets_in() -> None:
    """EFA takes places of card 0; with 16 addresses in each of the others nothing is short."""
    row = INSTANCES["p5.4xlarge"]
    interfaces = layout(row, fabric=True)
    assert addressed_pods(row, interfaces) < max_pods(row)
    assert addressed_pods(row, interfaces, prefixes=True) == max_pods(row)


def test_a_node_takes_whole_blocks_one_warm_and_one_for_each_interface_at_worst() -> None:
    """m7i.xlarge: 4 interfaces of 15, 58 pods by EKS' number, 56 of them with addresses: 4 blocks, one warm, and the
    interface that holds them.
    """
    row = INSTANCES["m7i.xlarge"]
    interfaces = layout(row, fabric=False)
    assert max_pods(row) == 58
    assert addresses_per_node(row, interfaces, prefixes=True) == (4 + 1 + 1) * 16
    assert addresses_per_node(row, interfaces, apart=True, prefixes=True) == 1
    assert pod_addresses_per_node(row, interfaces, prefixes=True) % 16 == 0


@pytest.mark.parametrize("name", INSTANCES)
def test_no_node_has_more_blocks_than_places(name: str) -> None:
    row = INSTANCES[name]
    interfaces = layout(row, fabric=True)
    blocks = addresses_per_node(row, interfaces, prefixes=True) // 16
    assert blocks <= row.cards[0].max_interfaces * row.addresses_per_interface
    assert addressed_pods(row, interfaces, prefixes=True) <= max_pods(row)


def gpu_subnet(plan: AwsPlan) -> tuple[int, int]:
    found = next(each for each in plan.subnets if each.role == "gpu")
    return found.needed, found.usable


def test_subnets_are_counted_in_blocks() -> None:
    (needed, usable), (_, single) = gpu_subnet(planned("dev", ON)), gpu_subnet(planned("dev"))
    assert needed % 16 == 0
    assert usable % 16 == 0
    assert usable == single + AWS_RESERVED_ADDRESSES - 32, "both ends have addresses that AWS keeps"


def test_pods_of_their_own_range_take_blocks_there_alone() -> None:
    plan = planned("dev", {**ON, "platform.network.podCidr": "100.64.0.0/16"})
    assert gpu_subnet(plan) == gpu_subnet(planned("dev", {"platform.network.podCidr": "100.64.0.0/16"}))
    assert all(each.needed % 16 == 0 for each in plan.subnets if each.role == "pods")


def test_interfaces_are_those_that_hold_the_blocks() -> None:
    plain, blocks = (planned("dev", changes).pools["system"].interfaces_per_node for changes in ({}, ON))
    assert blocks == 1
    assert plain > blocks


def test_older_instances_are_refused() -> None:
    draft = aws_draft(settings("dev", ON), SHIPPED, datetime.combine(TODAY, time(), UTC))
    old = replace(INSTANCES["g5.48xlarge"], type="p3.16xlarge")
    pools = {**draft.pools, "training": replace(draft.pools["training"], instance=old)}
    (rule,) = [each for each in registry.rules if each.id == "prefixes-need-nitro"]
    (found,) = rule.look(replace(draft, pools=pools))
    assert found.path == "pools[1].instanceType"
    assert list(rule.look(draft)) == []


def test_the_plugin_is_told_and_no_other_stacks_is() -> None:
    def plugin(**said: bool) -> dict[str, object]:
        (found,) = (each.configuration for each in node_addons(**said) if each.name == "vpc-cni")
        return dict(found or {})

    assert plugin(prefixes=True)["env"] == {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    both = json.dumps(plugin(prefixes=True, apart=True)["env"])
    assert "ENABLE_PREFIX_DELEGATION" in both
    assert "ENI_CONFIG_LABEL_DEF" in both
    assert "env" not in plugin()


KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
WEB = {"path": "/datasets/web", "source": "s3://acme-datasets/web"}
SOURCES = ({"bucket": "acme-datasets"}, {"bucket": "acme-model-weights"})


def in_vpc(system: str = "10.40.16.0/20", *, changes: dict[str, Any] | None = None, public: bool = False) -> Any:
    """The dev stack in a VPC in which one subnet of a zone holds nodes and control plane."""
    ranges = {"use2-az1": system, "use2-az2": "10.40.32.0/20"}
    rows = [
        {"id": f"subnet-0aaaaaaaaaaaaaaa{zone[-1]}", "role": role, "zone": zone, "cidr": ranges[zone]}
        for zone in ranges
        for role in ("system", "control-plane")
    ]
    rows.append({"id": "subnet-0aaaaaaaaaaaaaaa9", "role": "gpu", "zone": "use2-az1", "cidr": "10.40.64.0/18"})
    if public:
        rows.append({"id": "subnet-0aaaaaaaaaaaaaaa8", "role": "public", "zone": "use2-az1", "cidr": "10.40.0.0/24"})
    existing = {"vpcId": "vpc-0fe12d34c56b78a90", "subnets": rows}
    told = {"platform.vpcCidr": "10.40.0.0/16", "platform.network": {"existing": existing}}
    return planned(changes={**told, **(changes or {})})


def test_no_vpc_or_nat_gateway_is_paid_or_counted() -> None:
    own, theirs = planned(), in_vpc()
    assert theirs.nat_zones == ()
    gone = {each.name for each in own.prices.lines} - {each.name for each in theirs.prices.lines}
    assert gone == {"NAT gateway", "GB a month through the NAT gateway"}
    names = [{each.quota.name for each in found.quotas} for found in (own, theirs)]
    assert names[0] - names[1] == {"VPCs per Region", "EC2-VPC Elastic IPs", "NAT gateways per Availability Zone"}


def test_a_subnet_of_two_roles_holds_what_both_put_there() -> None:
    """The control plane's six addresses count beside the nodes': at the border they are one too many."""
    system = next(each for each in in_vpc().subnets if each.name == "system-use2-az1")
    needed = system.needed + 6
    size = 32 - (needed + 4).bit_length()
    assert 2 ** (32 - size) - 5 >= needed
    assert rules(in_vpc(f"10.40.16.0/{size}")) == []
    (finding,) = in_vpc(f"10.40.16.0/{size + 1}").errors
    assert finding.rule == "subnet-size"
    assert f"as system and control-plane subnet it takes up to {needed}" in finding.sentence


def test_a_gateway_outside_needs_a_public_subnet() -> None:
    gateway = {
        "reach": "internet",
        "domain": "llm.team-a.ai",
        "issuer": {"kind": "private-ca"},
        "callers": ["203.0.113.0/24"],
    }
    changes = {"serving.gateway": gateway}
    assert "existing-without-public" in rules(in_vpc(changes=changes))
    assert "existing-without-public" not in rules(in_vpc(changes=changes, public=True))
    assert "existing-without-public" not in rules(planned(changes=changes))


@pytest.mark.parametrize(("protect", "linked"), [(True, True), (True, False), (False, True)])
def test_a_protected_stack_is_told_that_links_end_backups(protect: bool, linked: bool) -> None:
    found = stored([WEB] if linked else [], protect=protect)
    assert ("association-backups" in rules(found)) is (protect and linked)
    assert found.file_system.backup_days == (7 if protect and not linked else 0)


def test_a_key_of_somebody_elses_is_told_of() -> None:
    assert "association-key" in rules(stored([WEB], sources=[{**SOURCES[0], "keyArn": KEY}, SOURCES[1]]))
    assert "association-key" not in rules(stored([WEB]))
    assert "association-key" not in rules(stored([], sources=[{**SOURCES[0], "keyArn": KEY}, SOURCES[1]]))


def stored(associations: list[Any], *, protect: bool = False, sources: list[Any] | None = None) -> Any:
    """The dev stack on a persistent file system."""
    lustre = {"deploymentType": "PERSISTENT_2", "capacityGib": 2400, "throughputMbpsPerTib": 125}
    storage = {"lustre": {**lustre, "associations": associations}, "sources": sources or list(SOURCES)}
    return planned(changes={"storage": storage, "lifecycle.protect": protect})


def test_prefixes_beside_others_addresses_are_warned_of() -> None:
    """F02: in subnets of the stack's own nothing else has addresses."""
    on = {"platform.network.prefixDelegation": True}
    assert "prefixes-scattered" in rules(in_vpc(changes=on))
    assert "prefixes-scattered" not in rules(planned(changes=on))
    assert "prefixes-scattered" not in rules(in_vpc())
