"""What a plan of on-premises machines leaves open that matters only once they are touched."""

from collections.abc import Iterator

from planner.metal_types import MetalPlan
from planner.types import Plan


def lacking(plan: Plan) -> Iterator[str]:
    """A sentence for each thing without which it cannot be deployed."""
    if not isinstance(plan, MetalPlan):
        raise TypeError(f"{type(plan).__name__} is the plan of no platform")
    site = plan.site
    if site is None:
        yield "gpucluster:inventory: names no machines, so the stack can be planned only (make plan); add it to deploy"
        return
    if site.object_store is None:
        yield (
            "gpucluster:inventory.objectStore: is missing, and weights and checkpoints have no place; name one"
            + (", or a bucket of Ceph's (storage.ceph.bucket)" if site.ceph else "")
        )
    if site.shared_files is None and site.ceph is None:
        yield (
            "gpucluster:inventory.sharedFiles: is missing, and nodes have nothing to mount; say what they mount, or "
            "give machines of Lustre their disks and targets"
        )
    if plan.monitoring and plan.monitoring.log_days and site.logs is None:
        yield "gpucluster:inventory.logs: is missing, and monitoring.logs has nowhere to go; name a Loki, or remove it"
    if plan.fabric and plan.fabric.kind == "roce" and plan.fabric.pod_ports is None:
        yield (
            "gpucluster:fabric.podDevices: is sharedDevice, and pods on roce need addresses on each rail; take sriov "
            "or hostDevice"
        )


MACHINE_SECRETS = {
    "sshKey": "machines let in who has a private key:",
    "clusterKey": "what machines join by is made of one secret (openssl rand -hex 32):",
    "objectStoreKeyId": "the object store asks for a key:",
    "objectStoreKey": "the object store asks for a key:",
}
"""Secrets of a stack of machines, and why each is needed (settings/secrets.py)."""
