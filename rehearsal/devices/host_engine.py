"""DCGM's host engine of EKS' node monitoring agent: its container, and the nodes that get one. Pure.

Source: aws/eks-node-monitoring-agent, charts/eks-node-monitoring-agent 1.7.0, templates/dcgm-daemonset.yaml and
values.yaml, dcgmAgent.affinity.
"""

from typing import Any

CONTAINER = "eks-node-monitoring-agent-dcgm"
PORT = 5555

_ALL = "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge"
_G7 = "2xlarge 4xlarge 8xlarge 12xlarge 24xlarge 48xlarge"
_SIZES = {
    "g3": "4xlarge 8xlarge 16xlarge",
    "g3s": "xlarge",
    "g4dn": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge metal",
    "g5": _ALL,
    "g5g": "xlarge 2xlarge 4xlarge 8xlarge 16xlarge metal",
    "g6": _ALL,
    "g6e": _ALL,
    "g6f": "large xlarge 2xlarge 4xlarge",
    "g7": _G7,
    "g7e": _G7,
    "gr6": "4xlarge 8xlarge",
    "gr6f": "4xlarge",
    "p2": "xlarge 8xlarge 16xlarge",
    "p3": "2xlarge 8xlarge 16xlarge",
    "p3dn": "24xlarge",
    "p4d": "24xlarge",
    "p4de": "24xlarge",
    "p5": "4xlarge 48xlarge",
    "p5e": "48xlarge",
    "p5en": "48xlarge",
    "p6-b200": "48xlarge",
    "p6-b300": "48xlarge",
    "p6e-gb200": "36xlarge",
    "p6e-gb300": "36xlarge",
}


def nvidia_nodes() -> dict[str, Any]:
    """The node affinity: its types, on amd64 alone, and none of the compute that AWS watches itself."""
    types = sorted(f"{family}.{size}" for family, sizes in _SIZES.items() for size in sizes.split())
    asked = [
        ("node.kubernetes.io/instance-type", "In", types),
        ("eks.amazonaws.com/compute-type", "NotIn", ["fargate", "auto", "hybrid"]),
        ("sagemaker.amazonaws.com/compute-type", "NotIn", ["hyperpod"]),
        ("kubernetes.io/arch", "In", ["amd64"]),
    ]
    terms = [{"matchExpressions": [{"key": key, "operator": how, "values": values} for key, how, values in asked]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
