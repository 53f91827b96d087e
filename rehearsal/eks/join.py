"""Whether a new instance would become a node of its cluster. One function per rule; each gives what is wrong or None.

Source of the rules: EKS user guide, "Troubleshoot problems with Amazon EKS clusters and nodes" (nodes fail to join),
"View Amazon EKS security group requirements for clusters" and "Amazon EKS node IAM role".
"""

import ipaddress
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.cloud.seen.network import End, Groups, Routes
from rehearsal.kubelet.hosts import Host

WORKER = ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy")
REGISTRY = ("AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly")
CNI = ("AmazonEKS_CNI_Policy",)
ENDPOINTS_WITHOUT_INTERNET = {"ec2", "ecr.api", "ecr.dkr", "s3", "sts"}


@dataclass(frozen=True)
class Situation:
    """What decides about joining. `cluster` as DescribeCluster; policies are names of managed policies."""

    host: Host
    cluster: Mapping[str, Any]
    groups: Groups
    routes: Routes
    dns_support: bool
    dns_hostnames: bool
    role_policies: Collection[str]
    cni_identity: bool
    access_entry_type: str | None
    control_plane_addresses: tuple[str, ...] = ()

    @property
    def vpc_config(self) -> Mapping[str, Any]:
        config: Mapping[str, Any] = self.cluster["resourcesVpcConfig"]
        return config

    @property
    def control_plane(self) -> End:
        """The interfaces EKS puts into the cluster's subnets: the cluster security group and additional ones."""
        config = self.vpc_config
        groups = [config.get("clusterSecurityGroupId"), *config.get("securityGroupIds", [])]
        return End(tuple(group for group in groups if group), self.control_plane_addresses)


def configured(it: Situation) -> str | None:
    """Into user data beside an image of somebody's own EKS merges nothing, and nodeadm wants to know the cluster.

    Source: EKS user guide, "Customize managed nodes with launch templates", Specifying an AMI; awslabs/amazon-eks-ami,
    nodeadm/internal/api/validator.go.
    """
    if it.host.ami_type != "CUSTOM":
        return None
    told = it.host.node_config.get("cluster") or {}
    for member, words in _CLUSTER.items():
        if not told.get(member):
            return f"nodeadm: {words} is missing in cluster configuration"
    if told["name"] != it.cluster["name"] or told["apiServerEndpoint"] != it.cluster["endpoint"]:
        return f"nodeadm joins {told['name']} at {told['apiServerEndpoint']}, which is another cluster"
    return None


_CLUSTER = {
    "name": "Name",
    "apiServerEndpoint": "Apiserver endpoint",
    "certificateAuthority": "Certificate authority",
    "cidr": "CIDR",
}


def registers(it: Situation) -> str | None:
    """The kubelet must reach the API server on 443: inside the VPC if the private endpoint is on."""
    if it.vpc_config.get("endpointPrivateAccess"):
        if it.groups.passes(it.host.primary, it.control_plane, "tcp", 443):
            return None
        return (
            f"security groups {_names(it.host.primary)} of {it.host.instance_id} may not reach the control plane's "
            f"{_names(it.control_plane)} on TCP 443: attach the cluster security group to the nodes"
        )
    anywhere = End((), ("203.0.113.1",))
    if not it.groups.leaves(it.host.primary, anywhere, "tcp", 443):
        return f"security groups {_names(it.host.primary)} do not let {it.host.instance_id} out on TCP 443"
    if not it.routes.way_out(it.host.subnet, it.host.vpc, it.host.public):
        return f"subnet {it.host.subnet} has no route to the cluster's public endpoint"
    return None


def answers(it: Situation) -> str | None:
    """The control plane must reach the kubelet on 10250 (logs, exec, metrics; EKS's health check of the node)."""
    if it.groups.passes(it.control_plane, it.host.primary, "tcp", 10250):
        return None
    return (
        f"the control plane's {_names(it.control_plane)} may not reach {_names(it.host.primary)} of "
        f"{it.host.instance_id} on TCP 10250: attach the cluster security group to the nodes"
    )


def resolves(it: Situation) -> str | None:
    """The node must resolve the API server's name: EKS requires DNS support and DNS hostnames in the VPC."""
    if it.dns_support and it.dns_hostnames:
        return None
    missing = "enableDnsHostnames" if it.dns_support else "enableDnsSupport"
    return f"{it.host.vpc} has {missing} off, so nodes cannot resolve the cluster's endpoint"


def pulls(it: Situation) -> str | None:
    """The node must reach ECR, EC2, STS and S3: by a default route out, or by endpoints in the VPC."""
    if it.routes.way_out(it.host.subnet, it.host.vpc, it.host.public):
        return None
    missing = ENDPOINTS_WITHOUT_INTERNET - it.routes.services_inside(
        it.host.vpc, it.host.subnet, it.host.primary, it.groups
    )
    if not missing:
        return None
    lacks = f"{it.host.vpc} lacks endpoints that it reaches for {', '.join(sorted(missing))}"
    return f"subnet {it.host.subnet} has no way out and {lacks}"


def is_worker(it: Situation) -> str | None:
    """The node role needs AmazonEKSWorkerNodePolicy."""
    return _lacks(it, WORKER)


def may_pull(it: Situation) -> str | None:
    """The node role needs a policy to pull from ECR."""
    return _lacks(it, REGISTRY)


def may_network(it: Situation) -> str | None:
    """The VPC CNI needs its policy: on the node role, or on a pod identity role of kube-system/aws-node."""
    return None if it.cni_identity else _lacks(it, CNI)


def may_authenticate(it: Situation) -> str | None:
    """The API server lets a node in only if an access entry of type EC2_LINUX maps its role."""
    if it.access_entry_type in ("EC2_LINUX", "EC2"):
        return None
    what = f"is of type {it.access_entry_type}" if it.access_entry_type else "is missing"
    return f"the access entry of node role {it.host.role} {what}; nodes need one of type EC2_LINUX"


def runs_the_image(it: Situation) -> str | None:
    """The AMI type must be built for the instance's architecture."""
    arm = any(word in it.host.ami_type + it.host.image_name for word in ("ARM_64", "arm64"))
    wanted = "arm64" if arm else "x86_64"
    if it.host.machine.architecture == wanted:
        return None
    machine = it.host.machine
    return f"AMI type {it.host.ami_type} does not run on {machine.instance_type} ({machine.architecture})"


RULES: tuple[Callable[[Situation], str | None], ...] = (
    runs_the_image,
    configured,
    resolves,
    pulls,
    registers,
    answers,
    is_worker,
    may_pull,
    may_network,
    may_authenticate,
)


def problems(it: Situation) -> list[str]:
    """Everything that keeps the instance from becoming a node; empty if it joins."""
    return [problem for rule in RULES if (problem := rule(it)) is not None]


def addresses_of_control_plane(subnets: Mapping[str, Mapping[str, Any]], cluster: Mapping[str, Any]) -> tuple[str, ...]:
    """An address per control-plane subnet, for rules that name address ranges instead of groups."""
    blocks = [subnets[each]["CidrBlock"] for each in cluster["resourcesVpcConfig"]["subnetIds"] if each in subnets]
    return tuple(str(ipaddress.ip_network(block)[5]) for block in blocks)


def _lacks(it: Situation, policies: tuple[str, ...]) -> str | None:
    if any(policy in it.role_policies for policy in policies):
        return None
    return f"node role {it.host.role} lacks {' or '.join(policies)}"


def _names(end: End) -> str:
    return ", ".join(end.groups) or "(no security group)"
