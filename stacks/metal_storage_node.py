"""Ceph machines as dedicated nodes of the cluster, and what every node needs to use Ceph."""

from components.metal import kubelet
from components.metal.kubeadm import NodeSpec
from components.platform.taints import ROLE_KEY, Taint
from planner.nodes import EVICTION_MIB, METAL_MAX_PODS, kubelet_memory_mib, reserved_cpu_millicores
from planner.site import HostPlan

ROLE = "storage"
TAINT = Taint(key=ROLE_KEY, value=ROLE)
RACK_KEY = "topology.rook.io/rack"
"""Rook tells Ceph by this label in which rack an OSD is (Rook documentation, CephCluster CRD, "OSD Topology")."""

CONCERNS = ("swap", "containerd", "kubelet", "ceph-disks", "join")
"""Of such a machine, beside those of every machine. Drives are looked at before anything could take them."""

CLIENT_MODULES = ("ceph", "rbd")
"""What other nodes mount its file system and its volumes with."""

_THREADS = 64
"""Threads that its reserve is counted by: its row in the catalogue has none."""
_GRACE_S = 120


def spec(host: HostPlan) -> NodeSpec:
    """The node that the machine registers."""
    rack = {RACK_KEY: host.rack} if host.rack else {}
    return NodeSpec(name=host.name, address=host.address, labels={ROLE_KEY: ROLE, **rack}, taints=[TAINT])


def variables(host: HostPlan) -> dict[str, str]:
    """What its bundle reads beside what every node's does."""
    kept = kubelet.KubeletSpec(
        max_pods=METAL_MAX_PODS,
        reserved_cpu_millicores=reserved_cpu_millicores(_THREADS),
        reserved_memory_mib=kubelet_memory_mib(METAL_MAX_PODS),
        eviction_mib=EVICTION_MIB,
        grace_s=_GRACE_S,
        gpus=False,
    )
    return {
        "CEPH_DISKS": " ".join(host.disks),
        "ALLOW_FORMAT": host.serial if host.serial and host.may_format else "",
        "KUBELET": kubelet.patch(kept),
    }
