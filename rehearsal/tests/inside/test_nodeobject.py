"""What a node says of itself: capacity, labels, taints."""

import pytest

from rehearsal.devices import gpus
from rehearsal.eks import instances
from rehearsal.kubelet import nodeobject
from rehearsal.tests.inside import facts


def test_capacity_leaves_out_what_eks_reserves() -> None:
    shown, usable = nodeobject.capacity(facts.host("m7i.large", efa_interfaces=0), 20)
    assert shown["cpu"] == "2"
    assert usable["cpu"] == "1930m"
    assert int(usable["memory"].removesuffix("Ki")) < int(shown["memory"].removesuffix("Ki"))
    assert shown["pods"] == "29"
    assert "nvidia.com/gpu" not in shown


@pytest.mark.parametrize(
    ("type_", "pods"), [("p5.48xlarge", 100), ("p5.4xlarge", 110), ("p4d.24xlarge", 250), ("m7i.large", 29)]
)
def test_eks_says_how_many_pods_a_managed_node_takes_lf10(type_: str, pods: int) -> None:
    """LF10: by the places of the first card, at most 110 or 250, whatever the NodeConfig says."""
    config = {"kubelet": {"config": {"maxPods": 50}}}
    assert nodeobject.max_pods(facts.host(type_)) == pods
    assert nodeobject.max_pods(facts.host(type_, node_config=config)) == pods


def test_who_brings_an_ami_says_how_many_pods_lf10() -> None:
    """LF10: EKS adds nothing to the user data of a custom AMI; nodeadm takes its word, or counts without an end."""
    config = {"kubelet": {"config": {"maxPods": 50}}}
    assert nodeobject.max_pods(facts.host("p4d.24xlarge", ami_type="CUSTOM", node_config=config)) == 50
    assert nodeobject.max_pods(facts.host("p4d.24xlarge", ami_type="CUSTOM")) == 737


def test_a_node_of_bottlerocket_offers_its_gpus_by_itself() -> None:
    """EKS user guide, "EKS Bottlerocket NVIDIA AMIs"; huge pages as its settings say."""
    told = {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA", "ami_release": "1.66.0-1ad6b4a4"}
    node = facts.host(**told, node_config={"sysctl": {"vm.nr_hugepages": "100"}})
    shown, usable = nodeobject.capacity(node, 20)
    assert (shown["nvidia.com/gpu"], usable["nvidia.com/gpu"], shown["hugepages-2Mi"]) == ("1", "1", "200Mi")
    assert node.system == ("bottlerocket", "1.66.0")
    assert nodeobject.status(node, 20, "v1.36")["nodeInfo"]["osImage"] == "Bottlerocket OS 1.66.0"
    assert "nvidia.com/gpu" not in nodeobject.capacity(facts.host(), 20)[0]


def test_memory_is_kept_for_nodeadms_count_lf10() -> None:
    """LF10: 11 MiB for each of 737 pods, although EKS lets in 250."""
    shown, usable = nodeobject.capacity(facts.host("p4d.24xlarge", efa_interfaces=0), 20)
    kept = int(shown["memory"].removesuffix("Ki")) - int(usable["memory"].removesuffix("Ki"))
    assert kept == (255 + 11 * 737 + 100) * 1024


def test_efa_takes_places_that_carry_addresses_lf10() -> None:
    """LF10: of two interfaces of a p5's first card one is EFA's: 49 pods get an address where EKS lets in 100."""
    machine = facts.type_of("p5.48xlarge")
    described = [
        {"Attachment": {"DeviceIndex": index, "NetworkCardIndex": card}, "InterfaceType": kind, "Groups": []}
        for index, card, kind in ((0, 0, "interface"), (1, 0, "efa-only"), (0, 1, "efa-only"))
    ]
    instance = {
        **dict.fromkeys(("PrivateDnsName", "InstanceId", "ImageId", "SubnetId", "VpcId", "PrivateIpAddress"), "x"),
        "NetworkInterfaces": described,
    }
    host = instances.host(instance, machine, {"nodegroupName": "n"}, {"AvailabilityZone": "a"}, {})
    assert host.pod_interfaces == 1


def test_raid_of_local_nvme_becomes_the_nodes_storage() -> None:
    raid = facts.host(node_config={"instance": {"localStorage": {"strategy": "RAID0"}}})
    assert nodeobject.ephemeral_gib(raid, 20) == 3800 * 10**9 // 2**30
    assert nodeobject.ephemeral_gib(facts.host(), 20) == 20


def test_hugepages_come_with_efa_interfaces_and_cost_memory() -> None:
    with_efa, without = (nodeobject.capacity(facts.host(efa_interfaces=n), 20)[1] for n in (1, 0))
    assert with_efa["hugepages-2Mi"] == "10256Mi"
    assert without["hugepages-2Mi"] == "0Mi"
    assert int(with_efa["memory"][:-2]) == int(without["memory"][:-2]) - 10256 * 1024


def test_labels_and_taints_of_the_node_group() -> None:
    group = {
        "capacityType": "ON_DEMAND",
        "labels": {"pool": "train"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    }
    node = nodeobject.node(facts.host(), group, "us-west-2")
    labels = node["metadata"]["labels"]
    assert labels["pool"] == "train"
    assert labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] == "3"
    assert labels["topology.kubernetes.io/zone"] == "us-west-2a"
    assert node["spec"]["providerID"] == "aws:///us-west-2a/i-1"
    assert node["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_product_labels_are_the_vendors_strings() -> None:
    types = ("p5.48xlarge", "p4d.24xlarge", "p4de.24xlarge", "g6e.xlarge", "m7i.large")
    assert [gpus.discovery_labels(facts.type_of(name)).get("nvidia.com/gpu.product") for name in types] == [
        "NVIDIA-H100-80GB-HBM3",
        "NVIDIA-A100-SXM4-40GB",
        "NVIDIA-A100-SXM4-80GB",
        "NVIDIA-L40S",
        None,
    ]


def test_gpu_count_and_memory_are_labels_too() -> None:
    labels = gpus.discovery_labels(facts.type_of("p5.48xlarge"))
    assert labels["nvidia.com/gpu.count"] == "8"
    assert labels["nvidia.com/gpu.memory"] == "81559"
    assert labels["nvidia.com/mig.capable"] == "true"
