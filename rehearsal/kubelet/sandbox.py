"""The sandbox of a pod: what a kubelet looks for before it makes the first container, and the address that it takes."""

from collections.abc import Mapping
from typing import Any

from rehearsal.kubelet import mounting, volumes
from rehearsal.kubelet.addresses import Addresses, ExhaustedError
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.nodeobject import is_ready
from rehearsal.kubelet.plugin_network import NoSubnetError, in_prefixes, pod_addresses, pod_subnet
from rehearsal.kubelet.world import World

Object = Mapping[str, Any]
_FAILED = "FailedCreatePodSandBox"


def lacking(world: World, pod: Object, host: Host, node: Object) -> volumes.Problem | None:
    """What the node's network, the pod's volumes or its runtime lack. A secret for pulling is told as missing alone."""
    if not pod["spec"].get("hostNetwork") and not is_ready(node):
        return volumes.Problem(
            "NetworkNotReady",
            "network is not ready: container runtime network not ready: NetworkReady=false "
            "reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
        )
    for problem in volumes.problems(pod, host.node, world.find, mounting.checker(world, host)):
        return problem
    for reference in pod["spec"].get("imagePullSecrets") or []:
        if world.find("secrets", reference["name"], pod["metadata"]["namespace"]) is None:
            text = f"Unable to retrieve some image pull secrets ({reference['name']}); attempting to pull may fail"
            world.events.emit(pod, "Warning", "FailedToRetrieveImagePullSecret", text, "kubelet", host.node)
    return _handler(world, pod, host)


def _handler(world: World, pod: Object, host: Host) -> volumes.Problem | None:
    """containerd knows a RuntimeClass' handler (internal/cri/server/sandbox_run.go); `nvidia` is its toolkit's."""
    name = pod["spec"].get("runtimeClassName")
    found = world.find("runtimeclasses", name, None) if name else None
    handler = found["handler"] if found else None
    if handler in (None, "runc", "nvidia") or handler in host.handlers:
        return None
    return volumes.Problem(
        _FAILED, f'Failed to create pod sandbox: rpc error: no runtime for "{handler}" is configured'
    )


def address(world: World, uid: str, host: Host, addresses: Addresses) -> str | volumes.Problem:
    """An address for the pod of this uid, of the range that the node's network plugin has, or why there is none."""
    block, most, plugin, prefixes = host.pods, None, "cilium-cni", False
    try:
        if block is None:
            plugin, most = "aws-cni", pod_addresses(world, host)
            prefixes = in_prefixes(world)
            block = str(world.aws.subnets()[pod_subnet(world, host)]["CidrBlock"])
        return addresses.take(uid, block, [host.address], host.node, most, prefixes=prefixes)
    except (ExhaustedError, NoSubnetError) as error:
        text = f'Failed to create pod sandbox: plugin type="{plugin}" name="{plugin}" failed (add): {error}'
        return volumes.Problem(_FAILED, text)
