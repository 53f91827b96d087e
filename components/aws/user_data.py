"""User data of EKS nodes: a nodeadm NodeConfig in a MIME message, which EKS merges with its own for managed nodes."""

import base64
import json

BOUNDARY = "gpucluster-node-config"


def raid_config() -> dict[str, object]:
    """NodeConfig of nodeadm that makes one RAID 0 of all local NVMe and moves kubelet and containerd onto it.

    It says nothing of pods: EKS' own maxPods wins over it (EKS user guide, "How maxPods is determined").
    """
    spec = {"instance": {"localStorage": {"strategy": "RAID0"}}}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def user_data() -> str:
    """The MIME message in base64, as a launch template wants it. JSON is YAML, and does not depend on a YAML writer."""
    parts = [
        "MIME-Version: 1.0",
        f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"',
        "",
        f"--{BOUNDARY}",
        "Content-Type: application/node.eks.aws",
        "",
        json.dumps(raid_config(), indent=2, sort_keys=True),
        "",
        f"--{BOUNDARY}--",
        "",
    ]
    return base64.b64encode("\r\n".join(parts).encode()).decode()
