"""Addresses of pods in blocks of 16: pods, addresses and interfaces of a node, subnets, and what is refused (F02)."""

import json
from dataclasses import replace

import pytest

from catalogue.instances import INSTANCES
from catalogue.tables import SHIPPED
from components.aws.addons import node_addons
from planner.addressing import AWS_RESERVED_ADDRESSES
from planner.aws import aws_draft
from planner.draft import registry
from planner.interfaces import addressed_pods, addresses_per_node, layout, max_pods, pod_addresses_per_node
from planner.types import AwsPlan
from tests.planner.stacks import TODAY, planned, settings

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
    draft = aws_draft(settings("dev", ON), SHIPPED, TODAY)
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
