"""User data of EKS nodes: a nodeadm NodeConfig in a MIME message, which EKS merges with its own for managed nodes."""

import base64
import json

BOUNDARY = "gpucluster-node-config"


def node_config(*, max_pods: int, raid: bool) -> dict[str, object]:
    """NodeConfig of nodeadm. `raid` makes one RAID 0 of all local NVMe and moves kubelet and containerd onto it."""
    spec: dict[str, object] = {"kubelet": {"config": {"maxPods": max_pods}}}
    if raid:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def user_data(*, max_pods: int, raid: bool) -> str:
    """The MIME message in base64, as a launch template wants it. JSON is YAML, and does not depend on a YAML writer."""
    parts = [
        "MIME-Version: 1.0",
        f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"',
        "",
        f"--{BOUNDARY}",
        "Content-Type: application/node.eks.aws",
        "",
        json.dumps(node_config(max_pods=max_pods, raid=raid), indent=2, sort_keys=True),
        "",
        f"--{BOUNDARY}--",
        "",
    ]
    return base64.b64encode("\r\n".join(parts).encode()).decode()
