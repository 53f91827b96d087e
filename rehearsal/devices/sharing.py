"""How often a device plugin offers a GPU: by the configuration that its node's label names.

Source: NVIDIA/k8s-device-plugin, cmd/config-manager (label nvidia.com/device-plugin.config, else DEFAULT_CONFIG, a file
of that name in the directory of all configurations; one that is not there is an error, and the plugin keeps waiting for
its file) and README, "Shared access to GPUs" (sharing.timeSlicing.resources, replicas).
"""

import yaml

from rehearsal.devices.gpus import GPU
from rehearsal.devices.operands import CONFIGURATIONS
from rehearsal.kubelet import volumes
from rehearsal.kubelet.program import Launch

LABEL = "nvidia.com/device-plugin.config"


def configurable(launch: Launch) -> bool:
    """Whether the container was given configurations to choose from."""
    return launch.mount_of(f"/{CONFIGURATIONS}") is not None


def turns(launch: Launch) -> int | None:
    """How many pods may have a GPU of this container's node; None while its configuration cannot be read."""
    if not configurable(launch):
        return 1
    labels = ((launch.world.find("nodes", launch.node) or {}).get("metadata") or {}).get("labels") or {}
    name = labels.get(LABEL) or launch.env.get("DEFAULT_CONFIG") or ""
    text = volumes.mounted(launch, f"/{CONFIGURATIONS}/{name}")
    if text is None:
        launch.log(f"specified config {name} does not exist")
        return None
    slicing = ((yaml.safe_load(text) or {}).get("sharing") or {}).get("timeSlicing") or {}
    found = [each["replicas"] for each in slicing.get("resources") or [] if each.get("name") == GPU]
    return int(found[0]) if found else 1
