"""Node pools: what the launch template starts and what the node group says of it (F05, J09, NW10, NW11)."""

import base64
import json
from email import message_from_bytes
from typing import Any

import pytest

from catalogue.tables import SHIPPED
from catalogue.types import Interface, InterfaceType
from components.aws.nodes import CapacityBlock, NodePool
from components.aws.user_data import user_data
from components.platform.taints import pool_taints, tolerations, tolerations_of_all_pools
from planner.interfaces import layout
from tests.components.samples import ENA, built, pool_args


def pool(**changes: Any) -> Any:
    return built(lambda opts: NodePool("sample", pool_args(**changes), opts))


def template(**changes: Any) -> dict[str, Any]:
    return dict(pool(**changes).one("sample-template").inputs)


@pytest.mark.parametrize(
    ("instance", "efa"), [("p5.4xlarge", 1), ("p4d.24xlarge", 4), ("p5.48xlarge", 32), ("p6-b300.48xlarge", 16)]
)
def test_every_interface_carries_the_clusters_group_and_the_efa_group_nw11(instance: str, efa: int) -> None:
    made = template(interfaces=layout(SHIPPED.instances[instance], True))["networkInterfaces"]
    assert sum(each["interfaceType"] == "efa-only" for each in made) == efa
    assert all(each["securityGroups"] == ["sg-cluster", "sg-efa"] for each in made)
    assert (made[0]["networkCardIndex"], made[0]["deviceIndex"], made[0]["interfaceType"]) == (0, 0, "interface")
    assert len({(each["networkCardIndex"], each["deviceIndex"]) for each in made}) == len(made)
    assert all(each["deleteOnTermination"] == "true" for each in made)


def test_nodes_without_efa_stay_out_of_the_efa_group() -> None:
    """NW06: RDMA passes every network policy, so the security group alone keeps the fabric apart."""
    (made,) = template(interfaces=(ENA,), placement_group=False)["networkInterfaces"]
    assert made["securityGroups"] == ["sg-cluster"]


def test_efa_without_its_group_is_refused() -> None:
    with pytest.raises(ValueError, match="EFA interfaces need their group; give efa_group_id"):
        pool(efa_group_id=None)


def test_a_cluster_placement_group_only_where_asked_for() -> None:
    (group,) = pool().of_type("PlacementGroup")
    assert group.inputs["strategy"] == "cluster"
    assert template()["placement"] == {"groupName": group.inputs["name"]}
    assert pool(placement_group=False).of_type("PlacementGroup") == []
    assert "placement" not in template(placement_group=False)


def test_a_managed_groups_template_names_neither_subnet_nor_profile_nor_image() -> None:
    made = template()
    assert not {"iamInstanceProfile", "imageId", "vpcSecurityGroupIds"} & made.keys()
    assert all("subnetId" not in each for each in made["networkInterfaces"])


def test_nvme_becomes_one_raid_and_pods_are_limited_to_their_addresses() -> None:
    message = message_from_bytes(base64.b64decode(user_data(max_pods=58, raid=True)))
    (part,) = list(message.walk())[1:]
    assert part.get_content_type() == "application/node.eks.aws"
    config = json.loads(str(part.get_payload()))
    assert config["spec"] == {
        "instance": {"localStorage": {"strategy": "RAID0"}},
        "kubelet": {"config": {"maxPods": 58}},
    }
    assert (config["apiVersion"], config["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")


def test_nodes_without_nvme_ask_for_no_raid() -> None:
    assert b"RAID0" not in base64.b64decode(user_data(max_pods=58, raid=False))


def test_the_node_group_follows_the_template_and_pins_its_image_i03() -> None:
    graph = pool()
    nodes = graph.one("sample-nodes").inputs
    assert nodes["launchTemplate"] == {"id": graph.one("sample-template").id, "version": "1"}
    assert (nodes["amiType"], nodes["releaseVersion"]) == ("AL2023_x86_64_NVIDIA", "1.36.2-20260728")
    assert "instanceTypes" not in nodes


@pytest.mark.parametrize(("count", "sizes"), [(2, (2, 2, 2)), (0, (0, 0, 1))])
def test_a_pool_has_a_fixed_size(count: int, sizes: tuple[int, int, int]) -> None:
    """PF09: nothing switches nodes off and on behind the plan's back."""
    scaling = pool(count=count).one("sample-nodes").inputs["scalingConfig"]
    assert (scaling["minSize"], scaling["desiredSize"], scaling["maxSize"]) == sizes


def test_gpu_nodes_are_tainted_and_inference_nodes_twice_kj22() -> None:
    assert pool_taints("system", "system", gpus=0) == ()
    assert [taint.key for taint in pool_taints("training", "training", gpus=8)] == ["nvidia.com/gpu"]
    assert [(taint.key, taint.value) for taint in pool_taints("inference", "inference", gpus=1)] == [
        ("nvidia.com/gpu", "present"),
        ("gpucluster/pool", "inference"),
    ]
    assert pool().one("sample-nodes").inputs["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    ]


def test_a_gang_does_not_tolerate_the_inference_pool_a08() -> None:
    gang = tolerations(pool_taints("training", "training", gpus=8))
    assert "gpucluster/pool" not in {each["key"] for each in gang}
    assert {each["key"] for each in tolerations_of_all_pools()} == {"nvidia.com/gpu", "gpucluster/pool"}


def test_mandatory_tags_reach_what_the_template_starts() -> None:
    kinds = {each["resourceType"]: each["tags"] for each in template()["tagSpecifications"]}
    assert set(kinds) == {"instance", "volume", "network-interface"}
    assert all(tags["owner"] == "ml" and tags["Name"] == "sample-node" for tags in kinds.values())


def test_a_node_role_is_complete_before_a_node_takes_it() -> None:
    from tests.components.samples import SAMPLES

    policies = {
        each.inputs["policyArn"].rsplit("/", 1)[-1]
        for each in built(SAMPLES["node-role"]).of_type("RolePolicyAttachment")
    }
    assert policies == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"}


def test_only_the_efa_kinds_ask_for_the_group() -> None:
    made = template(interfaces=(Interface(0, 0, InterfaceType.EFA),))["networkInterfaces"]
    assert made[0]["securityGroups"] == ["sg-cluster", "sg-efa"]


BLOCK = CapacityBlock(reservation_id="cr-0123456789abcdef0", nodes=2)


def block_pool(**changes: Any) -> Any:
    block = {"capacity_type": "CAPACITY_BLOCK", "placement_group": False, "block": BLOCK}
    return pool(**{**block, **changes})


def test_a_block_is_named_by_template_and_group_pf10() -> None:
    """PF10: EC2 starts instances in a block only with its market type and reservation; EKS wants no instance types."""
    graph = block_pool()
    made = graph.one("sample-template").inputs
    assert made["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert made["capacityReservationSpecification"] == {
        "capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}
    }
    assert made["instanceType"] == "p5.4xlarge"
    assert "placement" not in made
    nodes = graph.one("sample-nodes").inputs
    assert nodes["capacityType"] == "CAPACITY_BLOCK"
    assert "instanceTypes" not in nodes


@pytest.mark.parametrize(("now", "sizes"), [(0, (0, 0, 2)), (2, (0, 2, 2))])
def test_a_block_may_be_empty_before_its_start_and_at_its_end_pf10(now: int, sizes: tuple[int, int, int]) -> None:
    """PF10: a desired count above zero fails before the start, and EKS empties the group before the end."""
    nodes = block_pool(block=CapacityBlock(reservation_id="cr-1", nodes=now)).one("sample-nodes")
    scaling = nodes.inputs["scalingConfig"]
    assert (scaling["minSize"], scaling["desiredSize"], scaling["maxSize"]) == sizes
    assert nodes.ignore_changes == ("scalingConfig.desiredSize",)


def test_only_a_blocks_size_is_left_to_others_pf10() -> None:
    """PF10: a pool without a block keeps its size, and its template names no market and no reservation."""
    graph = pool()
    assert graph.one("sample-nodes").ignore_changes == ()
    assert (
        not {"instanceMarketOptions", "capacityReservationSpecification"} & graph.one("sample-template").inputs.keys()
    )
