"""Kubelet settings that give a pod exclusive CPUs near its GPUs (AA03, O07).

The CPU manager gives whole CPUs to pods whose containers all, those that run first among them, are limited to what they
request, and wants some reserved that it never gives away. With `full-pcpus-only` it gives whole cores, so that no other
pod runs on the second thread of one, and refuses a container that asks for a part of one (SMTAlignmentError). The
topology manager places CPUs with the devices.

Sources: Kubernetes documentation, "Control CPU management policies on the node" and "Control Topology Management
Policies on a node"; kubelet.config.k8s.io/v1beta1; Kubernetes 1.36, pkg/kubelet/cm/cpumanager/policy_options.go (the
option is stable: no feature gate is asked) and policy_static.go (enforceSMTAlignment).
"""

from collections.abc import Mapping
from typing import Any

NEAR: Mapping[str, Any] = {
    "topologyManagerPolicy": "best-effort",
    "topologyManagerScope": "pod",
    "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
}
"""Devices of a pod at one socket where that can be had. A pod is never refused for it: one with all GPUs of a node
spans both sockets. Nor is `single-numa-node` asked for where models are served: replicas of one size that divides a
socket's GPUs lie at one socket as it is, and of several sizes one may be bound to a node whose free GPUs are at both,
as the scheduler knows no sockets, be refused there (TopologyAffinityError), made anew and refused again.
"""


def exclusive(spare_millicores: int) -> dict[str, Any]:
    """The fields of a kubelet's configuration: so much CPU is reserved beside what the kubelet reserves."""
    return {
        **NEAR,
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "systemReserved": {"cpu": f"{spare_millicores}m"},
    }
