"""What makes GPUs and InfiniBand cards of owned machines schedulable.

Sources: NVIDIA GPU Operator documentation, "Common chart customization options"; Network Operator v26.4.1, chart
values, hack/release.yaml (the components' images), api/v1alpha1 and manifests/state-rdma-shared-device-plugin;
k8s-rdma-shared-dev-plugin, README ("vendors" and "deviceIDs" of a resource).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from components.platform.pods import PodNetwork

Driver = Literal["host", "container"]

RDMA_NAME = "compute"
RDMA_RESOURCE = f"rdma/{RDMA_NAME}"
POLICY = "nic-cluster-policy"
"""The one name of a NicClusterPolicy that the operator reads (controllers/nicclusterpolicy_controller.go)."""

NVIDIA = "15b3"
SHARES = 63
"""Pods of a node that may hold the shared resource at once, as in the operator's examples."""


def gpu_operator_values(driver: Driver, *, infiniband: bool, gds: bool = False) -> dict[str, Any]:
    """What of the GPU Operator's chart follows from the machines. On images that bring the driver (DGX OS) it installs
    neither driver nor toolkit. Elsewhere it installs the open kernel modules, whose DMA-BUF lets cards read GPU memory,
    so that no peermem module is built against the cards' drivers. Another version of it does not end what runs: the
    operator would by itself take pods off nodes to replace it, so a person drains them (GPU Operator documentation,
    "GPU Driver Upgrades"). With `gds` it loads nvidia-fs beside them, which wants the open ones ("GPUDirect RDMA and
    GPUDirect Storage").
    """
    if driver == "host":
        return {"driver": {"enabled": False}, "toolkit": {"enabled": False}, "gds": {"enabled": False}}
    return {
        "driver": {
            "enabled": True,
            "kernelModuleType": "open",
            "rdma": {"enabled": False},
            "upgradePolicy": {"autoUpgrade": False},
        },
        "toolkit": {"enabled": True},
        "gds": {"enabled": gds},
        "gdrcopy": {"enabled": infiniband},
    }


def rdma_network(nccl: Mapping[str, str]) -> PodNetwork:
    """What a pod with a whole node needs of InfiniBand: the shared resource brings every compute card, and registering
    memory with a card locks it.
    """
    return PodNetwork(
        resources={RDMA_RESOURCE: 1}, shares=SHARES, between=between_nodes(nccl), capabilities=("IPC_LOCK",)
    )


def between_nodes(nccl: Mapping[str, str]) -> dict[str, str]:
    """NCCL says which cards it took, and takes no socket in their place."""
    return {**nccl, "NCCL_NET": "IB", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}


def network_operator_values(tolerations: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Values of the `network-operator` chart. Node features have one owner, the GPU Operator; the rules that tell nodes
    with cards of NVIDIA stay here.
    """
    return {
        "nfd": {"enabled": False, "deployNodeFeatureRules": True},
        "sriovNetworkOperator": {"enabled": False},
        "maintenanceOperator": {"enabled": False},
        "operator": {"tolerations": [dict(each) for each in tolerations]},
    }


def shared_cards(device_ids: Sequence[str], component: Mapping[str, str]) -> dict[str, Any]:
    """The device plugin of a NicClusterPolicy for compute cards, by their PCI ids, as one shared resource. Matched by
    vendor alone, the cards of storage and management would be in it.
    """
    resource = {
        "resourceName": RDMA_NAME,
        "rdmaHcaMax": SHARES,
        "selectors": {"vendors": [NVIDIA], "deviceIDs": sorted(device_ids), "linkTypes": ["infiniband"]},
    }
    config = json.dumps({"configList": [resource]}, sort_keys=True)
    return {"rdmaSharedDevicePlugin": {"image": "k8s-rdma-shared-dev-plugin", **component, "config": config}}


def nic_cluster_policy(
    parts: Mapping[str, Any], *, tolerations: Sequence[Mapping[str, str]], driver: Driver, doca: str, repository: str
) -> dict[str, Any]:
    """Spec of the NicClusterPolicy with `parts`. Where machines bring their drivers there is no `ofedDriver`; else they
    come from `repository`, of the release `doca`.
    """
    owned = {
        "image": "doca-driver",
        "repository": repository,
        "version": doca,
        "env": [{"name": "UNLOAD_STORAGE_MODULES", "value": "true"}, {"name": "ENABLE_NFSRDMA", "value": "false"}],
        "upgradePolicy": {"autoUpgrade": False},
    }
    return {
        **parts,
        "tolerations": [dict(each) for each in tolerations],
        **({"ofedDriver": owned} if driver == "container" else {}),
    }
