"""What the VPC CNI's variables say of pods' addresses: how many a node has, and from which subnet.

Sources: amazon-vpc-cni-k8s, README (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG, ENI_CONFIG_LABEL_DEF,
ENI_CONFIG_ANNOTATION_DEF, ENABLE_PREFIX_DELEGATION), docs/prefix-and-ip-target.md, and pkg/eniconfig/eniconfig.go: the
name of a node's ENIConfig is its annotation's value, else its label's, else "default". With custom networking the
primary interface holds no pods' addresses; where the ENIConfig is missing no further interface is made.
"""

from rehearsal.kube.errors import ApiError, Unreachable
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.world import World

PREFIX_ADDRESSES = 16
NAMED_BY = "k8s.amazonaws.com/eniConfig"
NO_ADDRESS = "add cmd: failed to assign an IP address to container"


class NoSubnetError(Exception):
    """The plugin knows no subnet for the pods of a node."""


def pod_addresses(world: World, host: Host) -> int:
    """Addresses that the VPC CNI can give to pods of a node: what its interfaces carry beside their own.

    With ENABLE_PREFIX_DELEGATION each place holds a /28 instead of an address.
    """
    env = _variables(world)
    interfaces = host.pod_interfaces - int(_is_on(env, "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"))
    places = interfaces * (host.machine.addresses_per_interface - 1)
    return places * (PREFIX_ADDRESSES if _is_on(env, "ENABLE_PREFIX_DELEGATION") else 1)


def in_prefixes(world: World) -> bool:
    """Whether a node takes whole /28 of its subnet for its pods."""
    return _is_on(_variables(world), "ENABLE_PREFIX_DELEGATION")


def pod_subnet(world: World, host: Host) -> str:
    """The id of the subnet of a node's pods: the node's own, or that of its ENIConfig. Raises NoSubnetError."""
    env = _variables(world)
    if not _is_on(env, "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"):
        return host.subnet
    metadata = (world.find("nodes", host.node) or {}).get("metadata", {})
    annotation = env.get("ENI_CONFIG_ANNOTATION_DEF") or NAMED_BY
    label = env.get("ENI_CONFIG_LABEL_DEF") or NAMED_BY
    name = (metadata.get("annotations") or {}).get(annotation) or (metadata.get("labels") or {}).get(label) or "default"
    try:
        found = world.kube.get("crd.k8s.amazonaws.com/v1alpha1", "ENIConfig", name)
    except (ApiError, Unreachable):
        found = None
    subnet = ((found or {}).get("spec") or {}).get("subnet", "")
    if subnet not in world.aws.subnets():
        raise NoSubnetError(NO_ADDRESS)
    return str(subnet)


def _variables(world: World) -> dict[str, str]:
    plugin = world.find("daemonsets", "aws-node", "kube-system") or {"spec": {"template": {"spec": {"containers": []}}}}
    return {
        each["name"]: str(each.get("value"))
        for container in plugin["spec"]["template"]["spec"]["containers"]
        for each in container.get("env") or []
    }


def _is_on(env: dict[str, str], name: str) -> bool:
    return env.get(name, "").lower() == "true"
