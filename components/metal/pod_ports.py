"""Fabric ports for single pods: virtual functions (SR-IOV), or whole ports.

Each port is a resource `nvidia.com/railN` and a network `railN` in the namespace of the pods, so that rail 3 of a pod
is rail 3 of its node. One resource for all ports would give a pod two functions of one port. The kubelet is not told
which socket a port is at: pods have ports of all sockets, whose hints contradict each other, and those of GPUs and
cores would not count either (Kubernetes documentation, "Topology Manager").

Sources: Network Operator v26.4.1, api/v1alpha1, manifests/state-hostdevice-network, state-multus-cni and
state-sriov-device-plugin, chart values; sriov-network-operator, api/v1 and bindata/manifests; nvidia-k8s-ipam, README;
sriov-network-device-plugin, README ("Device selectors"); Kubernetes network plumbing working group, network custom
resource definition de-facto standard (the annotation).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from components.metal.devices import NVIDIA, between_nodes
from components.platform.pods import PodNetwork
from components.platform.taints import ROLE_KEY

PREFIX = "nvidia.com"
NETWORKS_KEY = "k8s.v1.cni.cncf.io/networks"
JOINING = {ROLE_KEY: "training"}
"""Nodes whose ports go to pods."""

MULTUS_MEMORY = "256Mi"
"""By itself 50 MiB, in which Multus ends where many pods of a node start at once."""


def rail(number: int) -> str:
    """A port, the resource that it is offered as, and the network of its pods."""
    return f"rail{number}"


def pool_name(number: int) -> str:
    """The addresses of a port's pods."""
    return f"{rail(number)}-addresses"


def own_ports_network(ports: int, shares: int, nccl: Mapping[str, str]) -> PodNetwork:
    """What a pod with a whole node needs: one of each of its ports, of which there are `shares`, attached in order."""
    names = [rail(number) for number in range(ports)]
    return PodNetwork(
        resources={f"{PREFIX}/{name}": 1 for name in names},
        shares=shares,
        annotations={NETWORKS_KEY: ",".join(names)},
        between=between_nodes(nccl),
        capabilities=("IPC_LOCK",),
    )


def secondary_networks(component: Mapping[str, str]) -> dict[str, Any]:
    """Parts of a NicClusterPolicy by which pods are attached to a second network, with addresses of their own."""
    multus = {"name": "kube-multus", "requests": {"cpu": "100m", "memory": "50Mi"}, "limits": {"memory": MULTUS_MEMORY}}
    return {
        "secondaryNetwork": {
            "multus": {"image": "multus-cni", **component, "containerResources": [multus]},
            "cniPlugins": {"image": "plugins", **component},
        },
        "nvIpam": {"image": "nvidia-k8s-ipam", **component, "enableWebhook": False},
    }


def port_plugin(addresses: Sequence[Sequence[str]], component: Mapping[str, str]) -> dict[str, Any]:
    """The device plugin of a NicClusterPolicy for ports as they are, each by its PCI addresses on all machines: the
    interface's name is gone while a pod has it.
    """
    resources = [
        {
            "resourcePrefix": PREFIX,
            "resourceName": rail(number),
            "excludeTopology": True,
            "selectors": {"vendors": [NVIDIA], "pciAddresses": sorted(each), "isRdma": True},
        }
        for number, each in enumerate(addresses)
    ]
    config = json.dumps({"resourceList": resources}, sort_keys=True)
    return {"sriovDevicePlugin": {"image": "sriov-network-device-plugin", **component, "config": config}}


def sriov_values(images: Mapping[str, str]) -> dict[str, Any]:
    """Values of the `network-operator` chart for the part that makes virtual functions. Without its web hooks it needs
    no certificates.
    """
    return {
        "sriovNetworkOperator": {"enabled": True},
        "sriov-network-operator": {
            "operator": {"resourcePrefix": PREFIX, "admissionControllers": {"enabled": False}},
            "images": dict(images),
        },
    }


def address_pool(subnet: str, per_node: int) -> dict[str, Any]:
    """Spec of an IPPool. Nodes that have no such port get no block of it."""
    wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in JOINING.items()]
    return {
        "subnet": subnet,
        "perNodeBlockSize": per_node,
        "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": wanted}]},
    }


def function_policy(number: int, functions: int, *, infiniband: bool) -> dict[str, Any]:
    """Spec of a SriovNetworkNodePolicy: so many functions of a port, which host preparation gave its name."""
    return {
        "nodeSelector": dict(JOINING),
        "nicSelector": {"vendor": NVIDIA, "pfNames": [rail(number)]},
        "numVfs": functions,
        "resourceName": rail(number),
        "deviceType": "netdevice",
        "isRdma": True,
        "excludeTopology": True,
        "linkType": "ib" if infiniband else "eth",
    }


def function_network(number: int, namespace: str) -> dict[str, Any]:
    """Spec of a SriovIBNetwork or a SriovNetwork. The RDMA device goes into the pod with its interface, so that a pod
    sees its own alone.
    """
    return {**port_network(number, namespace), "linkState": "enable", "metaPlugins": json.dumps({"type": "rdma"})}


def port_network(number: int, namespace: str) -> dict[str, Any]:
    """Spec of a HostDeviceNetwork: the operator makes the network in that namespace, under the object's name."""
    ipam = json.dumps({"type": "nv-ipam", "poolName": pool_name(number)})
    return {"networkNamespace": namespace, "resourceName": rail(number), "ipam": ipam}
