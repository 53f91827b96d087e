"""Node pools: what the launch template starts and what the node group says of it (F05, J09, NW10, NW11)."""

import base64
import json
import subprocess
import tomllib
from email import message_from_bytes
from typing import Any

import pytest

from catalogue.tables import SHIPPED
from catalogue.types import Interface, InterfaceType
from components.aws.addons import SERVICE_ADDONS, Addons, AddonsArgs
from components.aws.capacity import CapacityBlock
from components.aws.node_repair import Repair, RepairOverride
from components.aws.node_role import NodeRole, NodeRoleArgs
from components.aws.node_scripts import lustre_script
from components.aws.nodes import NodePool
from components.aws.user_data import OwnImage, user_data
from components.platform.taints import Taint, pool_taints, tolerations, tolerations_of_all_pools
from planner.interfaces import layout
from planner.nodes import allocatable_cpu_millicores, exclusive_spare_millicores
from rehearsal.eks import instances
from rehearsal.kubelet import nodeobject
from rehearsal.tests.inside import facts
from tests.components.samples import built
from tests.components.samples.aws_nodes import ENA, pool_args


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
    with pytest.raises(ValueError, match="EFA interfaces need their security group; pass efa_group_id"):
        pool(efa_group_id=None)


def test_a_cluster_placement_group_only_where_asked_for() -> None:
    (group,) = pool().of_type("PlacementGroup")
    assert group.inputs["strategy"] == "cluster"
    assert template()["placement"] == {"groupName": group.inputs["name"]}
    assert pool(placement_group=False).of_type("PlacementGroup") == []
    assert "placement" not in template(placement_group=False)


def test_nvme_becomes_one_raid_and_pods_are_left_to_eks_lf10() -> None:
    """LF10: a maxPods in the NodeConfig of a managed group without an AMI of its own would be overruled by EKS."""
    message = message_from_bytes(base64.b64decode(user_data() or ""))
    (part,) = list(message.walk())[1:]
    assert part.get_content_type() == "application/node.eks.aws"
    config = json.loads(str(part.get_payload()))
    assert config["spec"] == {"instance": {"localStorage": {"strategy": "RAID0"}}}
    assert (config["apiVersion"], config["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")


def test_a_node_of_an_efa_file_system_readies_its_client_before_the_kubelet() -> None:
    """G05: now and at each boot; nodeadm starts the kubelet after what cloud-init runs."""
    message = message_from_bytes(base64.b64decode(template(lustre_efa=8)["userData"]))
    config, script = list(message.walk())[1:]
    kinds = ["application/node.eks.aws", 'text/x-shellscript; charset="us-ascii"']
    assert [config["Content-Type"], script["Content-Type"]] == kinds
    text = str(script.get_payload())
    assert "\r" not in text.rstrip(), "bash takes a carriage return for a part of each line"
    assert text.rstrip() == lustre_script(8)
    assert "lnetctl udsp add --src efa --priority 0" in text
    read = subprocess.run(["/bin/bash", "-n"], input=text.rstrip(), capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_a_node_without_nvme_may_need_the_client_alone() -> None:
    message = message_from_bytes(base64.b64decode(template(local_nvme=False, lustre_efa=1)["userData"]))
    (script,) = list(message.walk())[1:]
    assert script.get_content_type() == "text/x-shellscript"


def test_a_node_of_bottlerocket_has_its_disks_and_huge_pages_by_settings() -> None:
    """In TOML, as the node reads it; its system's volume keeps the image's size."""
    inputs = template(ami_type="BOTTLEROCKET_x86_64_NVIDIA", hugepages=5128)
    told = tomllib.loads(base64.b64decode(inputs["userData"]).decode())["settings"]
    assert told["kernel"]["sysctl"] == {"vm.nr_hugepages": "5128"}
    (boot,) = told["bootstrap-commands"].values()
    assert (boot["essential"], boot["mode"]) == (True, "always")
    assert [each[:3] for each in boot["commands"]] == [
        ["apiclient", "ephemeral-storage", "init"],
        ["apiclient", "ephemeral-storage", "bind"],
    ]
    seen = instances.bottlerocket_config(inputs["userData"])
    assert seen["instance"] == {"localStorage": {"strategy": "RAID0"}}
    volumes = {each["deviceName"]: each["ebs"] for each in inputs["blockDeviceMappings"]}
    assert list(volumes) == ["/dev/xvda", "/dev/xvdb"]
    assert volumes["/dev/xvda"]["volumeSize"] == 4, "EC2 makes no volume without a size"
    assert volumes["/dev/xvdb"]["volumeSize"] == template()["blockDeviceMappings"][0]["ebs"]["volumeSize"]
    assert {each["encrypted"] for each in volumes.values()} == {"true"}


def test_a_node_of_bottlerocket_without_disks_and_efa_is_told_nothing() -> None:
    assert "userData" not in template(ami_type="BOTTLEROCKET_x86_64", local_nvme=False)


def test_nodes_without_nvme_ask_for_no_raid() -> None:
    assert base64.b64decode(template()["userData"]) == base64.b64decode(user_data() or "")
    assert "userData" not in template(local_nvme=False)


@pytest.mark.parametrize("strategy", ["MINIMAL", "DEFAULT"])
def test_an_update_goes_as_the_plan_says_lf07(strategy: str) -> None:
    """LF07: MINIMAL ends a node before it asks for its successor."""
    nodes = pool(update_strategy=strategy, max_unavailable=2).one("sample-nodes").inputs
    assert nodes["updateConfig"] == {"maxUnavailable": 2, "updateStrategy": strategy}


def test_sick_nodes_are_repaired_within_limits_lf13() -> None:
    """LF13: one at a time, none while too many are sick, other actions than EKS' own for some errors."""
    override = RepairOverride(
        condition="AcceleratedHardwareReady", reason="NvidiaXID13Error", wait_minutes=10, action="NoAction"
    )
    repaired = pool(repair=Repair(parallel=1, max_unhealthy=2, overrides=[override])).one("sample-nodes").inputs
    assert repaired["nodeRepairConfig"] == {
        "enabled": True,
        "maxParallelNodesRepairedCount": 1,
        "maxUnhealthyNodeThresholdCount": 2,
        "nodeRepairConfigOverrides": [
            {
                "nodeMonitoringCondition": "AcceleratedHardwareReady",
                "nodeUnhealthyReason": "NvidiaXID13Error",
                "minRepairWaitTimeMins": 10,
                "repairAction": "NoAction",
            }
        ],
    }
    assert pool(repair=None).one("sample-nodes").inputs["nodeRepairConfig"] == {"enabled": False}


def test_a_shell_on_a_node_is_an_option_lf13() -> None:
    """LF13: Session Manager needs its policy on the node role, and nobody gets it unasked."""

    def policies(**changes: Any) -> set[str]:
        args = NodeRoleArgs(partition="aws", **changes)
        graph = built(lambda opts: NodeRole("sample", args, opts))
        return {each.inputs["policyArn"].rpartition("/")[2] for each in graph.of_type("RolePolicyAttachment")}

    assert policies(session_manager=True) - policies(session_manager=False) == {"AmazonSSMManagedInstanceCore"}


def test_drivers_have_the_rights_they_use_lf12() -> None:
    """LF12: static FSx volumes call no controller, so FSx' has no role; EBS' makes volumes and has its policy."""
    args = AddonsArgs(cluster_name="lab", partition="aws", addons=SERVICE_ADDONS, versions={})
    graph = built(lambda opts: Addons("sample", args, opts))
    granted = {each.inputs["serviceAccount"] for each in graph.of_type("PodIdentityAssociation")}
    assert granted == {"ebs-csi-controller-sa"}
    assert "FSx" not in str([each.inputs for each in graph.of_type("RolePolicyAttachment")])
    installed = {each.inputs["addonName"]: each.inputs for each in graph.of_type("aws:eks/addon:Addon")}
    assert {"aws-fsx-csi-driver", "eks-node-monitoring-agent"} <= set(installed)
    told = json.loads(installed["eks-node-monitoring-agent"]["configurationValues"])
    assert told == {"dcgmAgent": {"tolerations": [{"operator": "Exists"}]}}, "or GPUs are called sick where taints are"


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


@pytest.mark.parametrize(
    ("effect", "word"),
    [("NoSchedule", "NO_SCHEDULE"), ("PreferNoSchedule", "PREFER_NO_SCHEDULE"), ("NoExecute", "NO_EXECUTE")],
)
def test_effects_of_taints_in_the_words_of_eks_and_of_pods(effect: Any, word: str) -> None:
    """EKS API reference, Taint."""
    taint = Taint(key="a", value="b", effect=effect)
    assert pool(taints=[taint]).one("sample-nodes").inputs["taints"] == [{"key": "a", "value": "b", "effect": word}]
    assert taint.toleration == {"key": "a", "operator": "Equal", "value": "b", "effect": effect}


def test_a_gang_does_not_tolerate_the_inference_pool_a08() -> None:
    gang = tolerations(pool_taints("training", "training", gpus=8))
    assert "gpucluster/pool" not in {each["key"] for each in gang}
    assert {each["key"] for each in tolerations_of_all_pools()} == {"nvidia.com/gpu", "gpucluster/pool"}


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


def test_what_the_keeper_scales_is_left_to_it_whole_z01() -> None:
    """Z01, PF10: an update of the most would send what is wanted along, as the state has it: none."""
    for kept in (pool(kept=True), block_pool(kept=True)):
        assert kept.one("sample-nodes").ignore_changes == ("scalingConfig",)


def test_only_a_blocks_size_is_left_to_others_pf10() -> None:
    """PF10: a pool without a block keeps its size, and its template names no market and no reservation."""
    graph = pool()
    assert graph.one("sample-nodes").ignore_changes == ()
    assert (
        not {"instanceMarketOptions", "capacityReservationSpecification"} & graph.one("sample-template").inputs.keys()
    )


OWN = OwnImage(
    ami="ami-0123456789abcdef0",
    cluster="acme",
    endpoint="https://acme.eks",
    authority="Q0E=",
    services="172.20.0.0/16",
    max_pods=50,
)


def test_an_image_of_the_users_own_is_the_templates_and_eks_chooses_none() -> None:
    """EKS API, CreateNodegroup: neither amiType nor version nor releaseVersion beside an image of the template's."""
    made = pool(own=OWN)
    assert made.one("sample-template").inputs["imageId"] == "ami-0123456789abcdef0"
    assert not {"amiType", "version", "releaseVersion"} & made.one("sample-nodes").inputs.keys()


def test_a_node_of_such_an_image_is_told_its_cluster_and_comes_with_labels_and_taints() -> None:
    taint = Taint(key="nvidia.com/gpu", value="present")
    data = template(own=OWN, labels={"gpucluster/pool": "training"}, taints=(taint,))["userData"]
    join, raid = list(message_from_bytes(base64.b64decode(data)).walk())[1:]
    assert json.loads(str(raid.get_payload()))["spec"] == {"instance": {"localStorage": {"strategy": "RAID0"}}}
    assert json.loads(str(join.get_payload()))["spec"] == {
        "cluster": {
            "name": "acme",
            "apiServerEndpoint": "https://acme.eks",
            "certificateAuthority": "Q0E=",
            "cidr": "172.20.0.0/16",
        },
        "kubelet": {
            "config": {
                "maxPods": 50,
                "registerWithTaints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
            },
            "flags": [
                "--node-labels=eks.amazonaws.com/nodegroup=training,"
                "eks.amazonaws.com/nodegroup-image=ami-0123456789abcdef0,gpucluster/pool=training"
            ],
        },
    }


def test_layers_come_side_by_side_where_the_pool_says_so() -> None:
    """nodeadm merges the parts; without the key a node's user data is as it was."""
    merged = instances.node_config(template(parallel_pulls=True)["userData"])
    assert merged == {"instance": {"localStorage": {"strategy": "RAID0"}}, "featureGates": {"FastImagePull": True}}
    assert b"featureGates" not in base64.b64decode(template()["userData"])


def test_a_kubelet_gives_pods_cpus_of_their_own_where_the_pool_says_so_aa03() -> None:
    """nodeadm merges the parts: how the disks are joined stays."""
    spare = exclusive_spare_millicores(192)
    merged = instances.node_config(user_data(exclusive_spare_millicores=spare))
    assert merged["instance"]["localStorage"] == {"strategy": "RAID0"}
    kubelet = merged["kubelet"]["config"]
    assert (kubelet["cpuManagerPolicy"], kubelet["topologyManagerPolicy"]) == ("static", "best-effort")
    assert kubelet["systemReserved"] == {"cpu": f"{spare}m"}
    assert kubelet["cpuManagerPolicyOptions"] == {"full-pcpus-only": "true"}
    assert "kubeReserved" not in kubelet, "it is nodeadm's"
    shown, usable = nodeobject.capacity(facts.host("p5.48xlarge", node_config=merged), 500)
    assert shown["cpu"] == "192"
    assert usable["cpu"] == f"{allocatable_cpu_millicores(192, exclusive=True)}m"
