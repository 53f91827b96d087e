"""Settings that an on-premises stack needs to be deployed, but not to be planned."""

from collections.abc import Iterator

from catalogue.supply import Supply
from planner.metal_types import MetalPlan
from planner.types import Plan


def lacking(plan: Plan) -> Iterator[str]:
    """A sentence for each thing without which it cannot be deployed."""
    if not isinstance(plan, MetalPlan):
        raise TypeError(f"{type(plan).__name__} is not the plan of a known platform")
    site = plan.site
    if site is None:
        yield "gpucluster:inventory: is missing, so the stack can only be planned (make plan); add it to deploy"
        return
    if site.object_store is None:
        yield (
            "gpucluster:inventory.objectStore: is missing, so weights and checkpoints have no place; set it"
            + (", or a bucket of Ceph's (storage.ceph.bucket)" if site.ceph else "")
        )
    if site.shared_files is None and site.ceph is None:
        yield (
            "gpucluster:inventory.sharedFiles: is missing, so nodes have nothing to mount; set it, or give the"
            " Lustre machines their disks and targets"
        )
    if plan.monitoring and plan.monitoring.log_days and site.logs is None:
        yield (
            "gpucluster:inventory.logs: is missing, so monitoring.logs has no destination; name a Loki, or remove"
            " monitoring.logs"
        )
    if plan.fabric and plan.fabric.kind == "roce" and plan.fabric.pod_ports is None:
        yield (
            "gpucluster:fabric.podDevices: is sharedDevice, but pods on roce need addresses on each rail; use sriov"
            " or hostDevice"
        )


def machine_secrets(supply: Supply) -> dict[str, str]:
    """Secrets of a stack of machines, and why each is needed (settings/secrets.py)."""
    login = supply.login
    return {
        "sshKey": "machines need an SSH private key:",
        "clusterKey": "join tokens are derived from one secret (openssl rand -hex 32):",
        "objectStoreKeyId": "the object store needs a key:",
        "objectStoreKey": "the object store needs a key:",
        **({login.secret: f"{supply.host} asks who pulls:"} if login and login.secret else {}),
    }
