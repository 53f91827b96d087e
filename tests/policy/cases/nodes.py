"""Nodes bought, wired and booted wrong, and right in another way than the shipped stacks'."""

import base64
from typing import Any

from policy.graph import UNKNOWN
from tests.graph.changes import MISSING, Change, both, put
from tests.policy.cases.case import Case

TEMPLATE, NODES = "pool-training-template", "pool-training-nodes"
SPARE = "pool-inference-template"
INTERFACE = "networkInterfaces"
TARGET = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"

CONFIG = '{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": {}}'
OWN_CONFIG = CONFIG.replace(
    "{}}", '{"cluster": {"name": "a", "apiServerEndpoint": "b", "certificateAuthority": "c", "cidr": "d"}}}'
)
YAML = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"


def block(**wrong: Any) -> Change:
    """The training pool in a capacity block, as it must be but for what is given."""
    inputs = {
        (TEMPLATE, "placement"): MISSING,
        (TEMPLATE, "instanceMarketOptions.marketType"): "capacity-block",
        (TEMPLATE, TARGET): "cr-0123456789abcdef0",
        (NODES, "capacityType"): "CAPACITY_BLOCK",
        (NODES, "instanceTypes"): MISSING,
    }
    changes = [put(name, path, wrong.pop(path.split(".")[0], value)) for (name, path), value in inputs.items()]
    return both(*changes, *(put(NODES, path, value) for path, value in wrong.items()))


def boots(ami: str, text: str, *others: Change) -> Change:
    """The training pool with this AMI and these user data."""
    data = base64.b64encode(text.encode()).decode()
    return both(put(NODES, "amiType", ami), put(TEMPLATE, "userData", data), *others)


def mime(content: str, kind: str = "application/node.eks.aws") -> str:
    return (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n'
        f"--x\nContent-Type: {kind}\n\n{content}\n\n--x--\n"
    )


AL2023, BOTTLEROCKET = "AL2023_x86_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA"

BLOCKS = [
    Case("blocks_are_bought_whole", block(), None),
    Case("blocks_are_bought_whole", block(placement={"groupName": "x"}), "into a placement group"),
    Case("blocks_are_bought_whole", block(instanceMarketOptions=MISSING), "has the market type None"),
    Case("blocks_are_bought_whole", block(capacityType="ON_DEMAND"), "has the capacity type ON_DEMAND"),
    Case("blocks_are_bought_whole", block(capacityReservationSpecification=MISSING), "names no reservation"),
    Case("blocks_are_bought_whole", block(instanceTypes=["p5.48xlarge"]), "lists instance types"),
    Case("blocks_are_bought_whole", block(subnetIds=["subnet-a", "subnet-b"]), "has 2 subnets"),
]
TOGETHER = [
    Case("efa_nodes_stand_together", block(), None),
    Case(
        "efa_nodes_stand_together",
        both(put(TEMPLATE, "placement", MISSING), put(TEMPLATE, TARGET, "cr-0123456789abcdef0")),
        None,
    ),
    Case("efa_nodes_stand_together", put(NODES, "subnetIds", UNKNOWN), None),
    Case("efa_nodes_stand_together", put(TEMPLATE, "placement", MISSING), "no placement group"),
    Case(
        "efa_nodes_stand_together",
        both(put(TEMPLATE, "placement", MISSING), put(NODES, "scalingConfig.maxSize", 1)),
        None,
    ),
    Case("efa_nodes_stand_together", put(TEMPLATE, "placement.groupName", "other"), "group other, which nothing"),
    Case("efa_nodes_stand_together", put("pool-training-placement", "strategy", "spread"), "the strategy spread"),
    Case("efa_nodes_stand_together", put(NODES, "subnetIds", ["subnet-a", "subnet-b"]), "EFA and 2 subnets"),
]
PRIMARY = [
    Case("primary_interface", put(TEMPLATE, f"{INTERFACE}.0.interfaceType", "efa"), "more than one EFA"),
    Case("primary_interface", put(SPARE, f"{INTERFACE}.0.interfaceType", "efa"), None),
    Case("primary_interface", put(SPARE, f"{INTERFACE}.0", {"interfaceType": "interface"}), None),
    Case("primary_interface", put(TEMPLATE, INTERFACE, MISSING), None),
    Case("primary_interface", put(TEMPLATE, f"{INTERFACE}.0.associatePublicIpAddress", "true"), "a public address"),
    Case("primary_interface", put(SPARE, f"{INTERFACE}.0.associatePublicIpAddress", True), None),
    Case("primary_interface", put(SPARE, f"{INTERFACE}.0.interfaceType", "efa-only"), "no address"),
    Case("primary_interface", put(SPARE, f"{INTERFACE}.0.deviceIndex", 1), "has 0 interfaces"),
    Case("primary_interface", put(SPARE, f"{INTERFACE}.0.networkCardIndex", 1), "has 0 interfaces"),
    Case("primary_interface", put(TEMPLATE, f"{INTERFACE}.1.deviceIndex", 0), "has 2 interfaces"),
    Case("primary_interface", put(TEMPLATE, f"{INTERFACE}.2.deviceIndex", 2), "device indices [2]"),
    Case("primary_interface", put(TEMPLATE, f"{INTERFACE}.3.networkCardIndex", 1), "on card 1 as device 0"),
    Case(
        "primary_interface",
        both(*(put(TEMPLATE, f"{INTERFACE}.3.{key}", 1) for key in ("networkCardIndex", "deviceIndex"))),
        "on the cards [1]",
    ),
]
FITTING = [
    Case("interfaces_fit_their_type", put(TEMPLATE, "instanceType", "p99.48xlarge"), None),
    Case("interfaces_fit_their_type", put(TEMPLATE, "instanceType", "p5en.48xlarge"), "p5en.48xlarge has 16 cards"),
    Case("interfaces_fit_their_type", put(TEMPLATE, "instanceType", "p6-b300.48xlarge"), "EFA on card 0"),
]
TEMPLATES = [
    Case("templates_leave_the_rest_to_eks", put(TEMPLATE, f"{INTERFACE}.0.subnetId", "subnet-a"), "names a subnet"),
    Case("templates_leave_the_rest_to_eks", put(TEMPLATE, "iamInstanceProfile", {"arn": "a"}), "instance profile"),
    Case("templates_leave_the_rest_to_eks", put(TEMPLATE, "instanceMarketOptions.marketType", "spot"), "buys spot"),
    Case("templates_leave_the_rest_to_eks", put(NODES, "instanceTypes", ["p5.48xlarge"]), "beside the one"),
    Case(
        "templates_leave_the_rest_to_eks",
        both(put(TEMPLATE, "instanceType", MISSING), put(NODES, "instanceTypes", ["p5.48xlarge"])),
        None,
    ),
    Case("templates_leave_the_rest_to_eks", put(NODES, "launchTemplate.id", "lt-0"), "that nothing creates"),
    Case("templates_leave_the_rest_to_eks", put(NODES, "diskSize", 500), "says diskSize"),
]
JOINING = [
    Case("nodes_are_in_the_clusters_group", put(TEMPLATE, f"{INTERFACE}.0.securityGroups", ["sg-0"]), "never join"),
    Case("nodes_are_in_the_clusters_group", put(SPARE, f"{INTERFACE}.0.securityGroups", []), "never join"),
    Case("nodes_are_in_the_clusters_group", put(SPARE, "vpcSecurityGroupIds", ["sg-0"]), None),
    Case(
        "nodes_are_in_the_clusters_group",
        both(put(SPARE, INTERFACE, MISSING), put(SPARE, "vpcSecurityGroupIds", ["sg-0"])),
        "never join",
    ),
    Case("nodes_are_in_the_clusters_group", put(SPARE, INTERFACE, MISSING), None),
]
BOOTING = [
    Case("ami_takes_user_data", boots(AL2023, mime(CONFIG)), None),
    Case("ami_takes_user_data", boots(AL2023, mime(YAML)), None),
    Case("ami_takes_user_data", boots(AL2023, mime("#!/bin/sh\ndate", "text/x-shellscript")), None),
    Case("ami_takes_user_data", boots(AL2023, CONFIG), "not MIME multipart"),
    Case("ami_takes_user_data", boots(AL2023, "[settings.host-containers]\n"), "not MIME multipart"),
    Case("ami_takes_user_data", boots(AL2023, mime(CONFIG, "text/plain")), "type text/plain"),
    Case("ami_takes_user_data", boots(AL2023, mime(CONFIG.replace("NodeConfig", "Node"))), "no NodeConfig"),
    Case("ami_takes_user_data", boots(AL2023, mime(CONFIG[:-1])), "no JSON"),
    Case("ami_takes_user_data", boots(AL2023, mime(CONFIG).replace("--x\n", "--y\n")), "between its boundaries"),
    Case(
        "ami_takes_user_data",
        boots(AL2023, mime("/etc/eks/bootstrap.sh c", "text/x-shellscript")),
        "by bootstrap.sh",
    ),
    Case("ami_takes_user_data", boots(BOTTLEROCKET, "[settings.kubernetes]\nmax-pods = 110\n"), None),
    Case("ami_takes_user_data", boots(BOTTLEROCKET, mime(CONFIG)), "not TOML"),
    Case("ami_takes_user_data", boots(BOTTLEROCKET, "max-pods = 110\n"), "without [settings]"),
    Case("ami_takes_user_data", boots("CUSTOM", "anything", put(TEMPLATE, "imageId", "ami-0")), None),
    Case("ami_takes_user_data", boots("CUSTOM", mime(OWN_CONFIG), put(TEMPLATE, "imageId", "ami-0")), None),
    Case("ami_takes_user_data", boots("CUSTOM", mime(CONFIG), put(TEMPLATE, "imageId", "ami-0")), "no cluster to join"),
    Case("ami_takes_user_data", boots("CUSTOM", "anything"), "names no image"),
    Case("ami_takes_user_data", put(TEMPLATE, "imageId", "ami-0"), "an image of its own beside amiType"),
    Case("ami_takes_user_data", put(NODES, "amiType", "AL2023_ARM_64_NVIDIA"), "which is x86_64"),
    Case("ami_takes_user_data", put(NODES, "amiType", "AL2_x86_64_GPU"), "up to Kubernetes 1.32"),
    Case("ami_takes_user_data", put(TEMPLATE, "userData", mime(CONFIG)), "not Base64"),
    Case("ami_takes_user_data", put(TEMPLATE, "userData", MISSING), None),
    Case("ami_takes_user_data", put(TEMPLATE, "userData", UNKNOWN), None),
]
VERSIONS = [
    Case("versions_follow_the_cluster", put(NODES, "version", "1.37"), "is of 1.37 in a cluster of 1.36"),
    Case("versions_follow_the_cluster", put("cluster-control-plane", "version", "1.40"), "in a cluster of 1.40"),
    Case("versions_follow_the_cluster", put("cluster-control-plane", "version", "1.39"), None),
    Case("versions_follow_the_cluster", put(NODES, "releaseVersion", "1.35.9-20260101"), "the AMI release 1.35.9"),
    Case("versions_follow_the_cluster", put(NODES, "releaseVersion", MISSING), None),
    Case(
        "versions_follow_the_cluster",
        both(put(NODES, "amiType", BOTTLEROCKET), put(NODES, "releaseVersion", "1.66.0-1ad6b4a4")),
        None,
    ),
    Case("versions_follow_the_cluster", put(NODES, "version", MISSING), None),
    Case("versions_follow_the_cluster", put("cluster-control-plane", "version", MISSING), None),
]
SOLD = [
    Case("types_are_sold_so", put(NODES, "capacityType", "SPOT"), None),
    Case("types_are_sold_so", put("pool-system-nodes", "capacityType", "CAPACITY_BLOCK"), "sold as on-demand, spot"),
    Case("types_are_sold_so", put(NODES, "scalingConfig.minSize", 9), "has 9 nodes at least"),
    Case("types_are_sold_so", put(NODES, "scalingConfig.desiredSize", 9), "9 now and 8 at most"),
]
UPDATED = [
    Case(
        "updates_need_no_spare_nodes", put(NODES, "updateConfig.updateStrategy", "DEFAULT"), "by the strategy DEFAULT"
    ),
    Case("updates_need_no_spare_nodes", put(NODES, "updateConfig", MISSING), "its placement may have none"),
    Case("updates_need_no_spare_nodes", put("pool-system-nodes", "updateConfig", MISSING), None),
]

CASES = [*BLOCKS, *TOGETHER, *PRIMARY, *FITTING, *TEMPLATES, *JOINING, *BOOTING, *VERSIONS, *SOLD, *UPDATED]
