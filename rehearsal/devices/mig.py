"""NVIDIA's MIG manager on its node: cuts the GPUs as the node's label says, and labels how that went.

Source: NVIDIA/mig-parted, deployments/gpu-operator (reconfigure-mig.sh: labels, states, the check for GPU clients) and
the configurations `all-disabled` and `all-PROFILE` of its default ConfigMap.
"""

from collections.abc import Mapping
from typing import Any

from rehearsal.devices import gpus
from rehearsal.devices.daemons import RETRY_SECONDS, Daemon, has_driver, label_node
from rehearsal.kubelet.program import Launch, Program

CONFIG = "nvidia.com/mig.config"
STATE = f"{CONFIG}.state"
WHOLE = "all-disabled"


def mig_manager(launch: Launch) -> Program:
    """Follows `nvidia.com/mig.config`: `pending`, then `success` or `failed` in `nvidia.com/mig.config.state`.

    A configuration nobody knows fails, one of another GPU's profile fails, and so does any while a pod holds a GPU.
    """
    refused: list[str] = []

    def look() -> float | None:
        labels = ((launch.world.find("nodes", launch.node) or {}).get("metadata") or {}).get("labels") or {}
        wanted = labels.get(CONFIG, WHOLE)
        if not has_driver(launch) or wanted == _present(launch, labels) or wanted in refused:
            return RETRY_SECONDS
        refused.clear()
        label_node(launch, {STATE: "pending"})
        problem = _problem(launch, wanted)
        if problem is None:
            launch.world.hosts.cut(launch.node, _profile(wanted))
        else:
            launch.log(f"{wanted}: {problem}")
            refused.append(wanted)
        label_node(launch, {STATE: "success" if problem is None else "failed"})
        return RETRY_SECONDS

    return Daemon(launch, look)


def _present(launch: Launch, labels: Mapping[str, str]) -> str:
    """The configuration that the machine has. The GPUs keep it when nobody looks: the label of a success says it."""
    hosts = launch.world.hosts
    if hosts.profile(launch.node) is None and labels.get(STATE) == "success" and _is_cut(labels):
        hosts.cut(launch.node, _profile(labels[CONFIG]))
    profile = hosts.profile(launch.node)
    return f"all-{profile}" if profile else WHOLE


def _is_cut(labels: Mapping[str, str]) -> bool:
    """Whether feature discovery has named the GPUs with the profile that the label asks for."""
    return labels.get("nvidia.com/gpu.product", "").endswith(f"-MIG-{_profile(labels.get(CONFIG, WHOLE))}")


def _profile(config: str) -> str | None:
    return None if config == WHOLE else config.removeprefix("all-")


def _problem(launch: Launch, config: str) -> str | None:
    host, profile = launch.world.hosts.get(launch.node), _profile(config)
    if host is None:
        return "the machine is gone"
    if profile is not None and not (config.startswith("all-") and gpus.slices(host.machine, profile)):
        return f"not a configuration of {host.machine.gpu_count} {host.machine.gpu}"
    holders = [pod["metadata"]["name"] for pod in launch.world.stores["pods"].all() if _holds(pod, launch.node)]
    return f"in use by {', '.join(sorted(holders))}" if holders else None


def _holds(pod: Mapping[str, Any], node: str) -> bool:
    if pod["spec"].get("nodeName") != node or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return False
    limits = ((each.get("resources") or {}).get("limits") or {} for each in pod["spec"]["containers"])
    return any(key == gpus.GPU or key.startswith("nvidia.com/mig-") for held in limits for key in held)
