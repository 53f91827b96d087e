"""The variables of a machine's bundle, from the plan and the catalogue."""

import base64
from collections.abc import Mapping, Sequence

import pulumi

from components.metal import kubelet
from components.metal.bundle import chosen
from planner.fabric.lossless import CNP_DSCP
from planner.fabric.nccl import ROCE_DSCP, ROCE_PRIORITY
from planner.fabric.plan import joins
from planner.metal_types import MetalPlan
from planner.monitoring.types import watches_files
from planner.nodes import (
    EVICTION_MIB,
    GRACE_S,
    METAL_MAX_PODS,
    exclusive_spare_millicores,
    kubelet_memory_mib,
    reserved_cpu_millicores,
)
from planner.pool_types import MetalPoolPlan
from planner.site import HostPlan, SitePlan
from stacks import metal_home as homes
from stacks import metal_lustre as lustre
from stacks import metal_slurm_node as slurm_node
from stacks import metal_storage_node as storage_node
from stacks.metal_joining import Known, membership, release

SHARED_PATH = "/mnt/shared"
"""Where every node has the shared file system."""

LUSTRE_PARAMETERS = (
    "osc.*.max_pages_per_rpc=1024",
    "osc.*.max_rpcs_in_flight=16",
    "llite.*.max_read_ahead_mb=1024",
    "llite.*.max_read_ahead_per_file_mb=256",
)
"""Of a client. 1024 pages are 4 MiB, what servers take by themselves; 256 pages and 64 MiB of a file were the default
(Lustre operations manual, "Tuning the Client I/O RPC Stream", "Tuning File Readahead and Directory Statahead")."""

LOCAL_VOLUMES_PATH = "/mnt/local-volumes"
"""Where a system node has directories of its own disks that are mounted one by one, each a volume."""

LOCAL_VOLUMES = 8
"""Volumes of a system node's disks: Prometheus, Alertmanager and Grafana take one each, wherever they land."""

_OS, _KERNEL, _FREE_GIB, _SKEW_S, _DOWNLOADS = "ubuntu-22.04 ubuntu-24.04", "5.15", "50", "0.5", "5"
_KEPT = (
    "linux-image- linux-headers- linux-modules- nvidia- libnvidia- doca- mlnx- kubelet kubeadm kubectl containerd.io"
)

_MODULES, _GPU_MODULES = ("overlay", "br_netfilter"), ("ib_umad", "rdma_ucm")
_SYSCTLS: Mapping[str, str] = {
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.bridge.bridge-nf-call-ip6tables": "1",
    "net.ipv4.ip_forward": "1",
    "fs.inotify.max_user_instances": "8192",
    "fs.inotify.max_user_watches": "1048576",
    "vm.max_map_count": "262144",
}
"""What kubeadm and containers ask of the kernel (kubeadm, "Before you begin"; Kubernetes, container runtimes)."""


def concerns(plan: MetalPlan, site: SitePlan, host: HostPlan) -> tuple[str, ...]:
    """What of a machine is prepared. Servers of Lustre are no nodes, those of Ceph are."""
    served, slurms = site.lustre, host in site.slurm_nodes
    names = ["checks", "packages", "time", "modules", "sysctls", "bmc-network"]
    names += ["rails"] if host.rails else []
    names += ["roce"] if _lossless(plan, host) else []
    names += ["vfs"] if _functions(plan, host) else []
    if host not in site.nodes and not slurms:
        if host.storage == "nfs":
            return chosen(*names, *homes.CONCERNS)
        return chosen(*names, *(lustre.CONCERNS if served else ()))
    names += ["registry-login"] if plan.supply.login and not slurms else []
    if host.pool is None:
        return chosen(*names, *storage_node.CONCERNS)
    pool = plan.pools[host.pool]
    names += [] if slurms else ["swap", "containerd", "memlock", "kubelet"]
    names += ["nvme"] if host.disks else []
    names += ["local-volumes"] if host.disks and pool.role == "system" and not site.ceph else []
    names += ["lnet"] if served else []
    names += ["shared-files"] if site.shared_files else []
    names += ["lustre-client"] if site.shared_files and site.shared_files.kind == "lustre" else []
    names += ["acs"] if pool.gpus_per_node else []
    if pool.gpus_per_node and site.driver == "host":
        # Boards with eight GPUs join them by NVSwitches, which the fabric manager sets up.
        names += ["persistence", "clocks", *(["fabric-manager"] if pool.server.gpu_count == 8 else [])]
    if slurms and plan.slurm:
        names += slurm_node.roles(plan.slurm, host).concerns
    elif host.control_plane:
        names += ["control-plane" if host == site.control_plane[0] else "join", "invitations"]
    else:
        names += ["join"]
    return chosen(*names)


def _functions(plan: MetalPlan, host: HostPlan) -> int:
    """Virtual functions of each of a machine's ports on the fabric."""
    own = plan.fabric.pod_ports if plan.fabric else None
    return own.per_port if own and own.mode == "sriov" and _joins(plan.of_kubernetes, host) else 0


def _lossless(plan: MetalPlan, host: HostPlan) -> bool:
    """Whether the machine's ports on the fabric speak RoCE."""
    return plan.fabric is not None and plan.fabric.kind == "roce" and _joins(plan, host)


def _joins(plan: MetalPlan, host: HostPlan) -> bool:
    pool = plan.pools.get(host.pool or "")
    return pool is not None and joins(pool) and bool(host.rails)


def variables(
    plan: MetalPlan, site: SitePlan, host: HostPlan, cluster: str, known: Known
) -> dict[str, pulumi.Input[str]]:
    """Every variable that the machine's concerns read."""
    pool = plan.pools[host.pool] if host.pool else None
    functions = _functions(plan, host)
    told: dict[str, pulumi.Input[str]] = {
        "SERIAL": host.serial or "",
        "OS": slurm_node.OS if plan.slurm and slurm_node.roles(plan.slurm, host) != slurm_node.NOTHING else _OS,
        "MIN_KERNEL": _KERNEL,
        "MIN_FREE_GIB": _FREE_GIB,
        "MEMORY_GIB": str(pool.server.memory_gib) if pool else "0",
        # Functions are devices of their own, and need the IOMMU; without them it only slows GPUs down.
        "IOMMU": "pt" if functions else "off" if pool and pool.gpus_per_node else "any",
        **({"VFS": str(functions)} if functions else {}),
        **({"ROCE": f"{ROCE_DSCP}:{ROCE_PRIORITY}", "ROCE_CNP": str(CNP_DSCP)} if _lossless(plan, host) else {}),
        **packaged(plan, packages(plan, site, host)),
        **({"KEEP": f"{_KEPT} {lustre.KEPT}"} if site.lustre and pool is None and host not in site.nodes else {}),
        "NTP": " ".join(site.time_servers),
        "MAX_SKEW": _SKEW_S,
        "MODULES": " ".join(
            (
                *_MODULES,
                *(_GPU_MODULES if pool and pool.rails and site.driver == "host" else ()),
                *(storage_node.CLIENT_MODULES if pool and site.ceph else ()),
            )
        ),
        "BLACKLIST": "nouveau" if pool and pool.gpus_per_node else "",
        "SYSCTLS": "".join(f"{name}={value}\n" for name, value in _SYSCTLS.items()),
        "BMC_CIDR": site.bmc_cidr,
        # Who looks after controllers does it from the control plane's machines; its pods have no business there.
        "BMC_FROM": site.pod_cidr if host.control_plane else "all",
        "RAILS": " ".join(f"{address}=rail{number}" for number, address in enumerate(host.rails)),
        "RAIL_MTU": str(plan.fabric.mtu or "") if plan.fabric and host.rails else "",
        "ALLOW_RESET": host.serial if host.serial and host.may_reset else "",
    }
    if plan.slurm and host in site.slurm_nodes and pool:
        told |= _of_node(site, host, pool) | {"NVME_MOUNT": plan.slurm.scratch_path}
        return told | slurm_node.variables(plan, plan.slurm, host, known.key)
    if host not in site.nodes:
        if host.storage == "nfs":
            return told | homes.variables(site, host)
        return told | (lustre.variables(site.lustre, host, _watched_rate(plan)) if site.lustre else {})
    own = _of_node(site, host, pool) if pool else storage_node.variables(host)
    return told | _of_any_node(plan, host, known) | own | membership(plan, site, host, cluster, known)


def _watched_rate(plan: MetalPlan) -> float | None:
    """Bytes a second that the file system carries, where its servers are to tell what they do."""
    return plan.storage.read_gb_per_s * 1e9 if watches_files(plan.monitoring) and plan.storage else None


def _of_any_node(plan: MetalPlan, host: HostPlan, known: Known) -> dict[str, pulumi.Input[str]]:
    told: dict[str, pulumi.Input[str]] = {
        "PAUSE_IMAGE": plan.supply.image(release(plan).pause),
        "DOWNLOADS": _DOWNLOADS,
        "DRAINED": "yes" if host.drained else "no",
    }
    login = plan.supply.login
    if login is not None and known.registry_password is not None:
        told["REGISTRY"] = plan.supply.host
        told["REGISTRY_LOGIN"] = known.registry_password.apply(
            lambda password: base64.b64encode(f"{login.user}:{password}".encode()).decode()
        )
    return told


def _of_node(site: SitePlan, host: HostPlan, pool: MetalPoolPlan) -> dict[str, pulumi.Input[str]]:
    shared = site.shared_files
    return {
        "NVME": " ".join(host.disks),
        "NVME_MOUNT": "/var/lib/local-volumes" if pool.role == "system" else "/var/lib/kubelet",
        "ALLOW_FORMAT": host.serial if host.serial and host.may_format else "",
        "LOCAL_VOLUMES": str(LOCAL_VOLUMES),
        "LOCAL_VOLUMES_PATH": LOCAL_VOLUMES_PATH,
        "SHARED_KIND": shared.kind if shared else "",
        "SHARED_SOURCE": shared.source if shared else "",
        "SHARED_PATH": SHARED_PATH,
        **({"LNET": lustre.lnet(site.lustre, host)} if site.lustre else {}),
        "LUSTRE_PARAMETERS": " ".join(LUSTRE_PARAMETERS),
        # The layout is the file system's: one machine says it.
        "LUSTRE_STRIPES": str(shared.stripes) if shared and shared.stripes and host == site.control_plane[0] else "",
        "GPU_CLOCKS": f"{pool.gpu_clock_mhz},{pool.gpu_clock_mhz}" if pool.gpu_clock_mhz else "",
        "GPU_WATTS": str(pool.gpu_power_w or ""),
        "KUBELET": kubelet_patch(pool),
    }


def kubelet_patch(pool: MetalPoolPlan) -> str:
    """What the pool's kubelets keep from pods is what the plan counted with."""
    return kubelet.patch(
        kubelet.KubeletSpec(
            max_pods=METAL_MAX_PODS,
            reserved_cpu_millicores=reserved_cpu_millicores(pool.server.cpu.threads),
            reserved_memory_mib=kubelet_memory_mib(METAL_MAX_PODS),
            eviction_mib=EVICTION_MIB,
            grace_s=GRACE_S[pool.role],
            gpus=pool.gpus_per_node > 0,
            exclusive_spare_millicores=exclusive_spare_millicores(pool.server.cpu.threads)
            if pool.exclusive_cpus
            else 0,
        )
    )


def packaged(plan: MetalPlan, names: Sequence[str]) -> dict[str, pulumi.Input[str]]:
    """What the concern of packages reads, with these."""
    return {"PACKAGES": " ".join(names), "KUBERNETES_MINOR": plan.kubernetes_version, "KEEP": _KEPT}


def packages(plan: MetalPlan, site: SitePlan, host: HostPlan) -> list[str]:
    """NAME=VERSION of a machine's packages; without a version the one that is there, or the repositories' newest."""
    names = ["chrony="]
    if host in site.nodes:
        found = release(plan)
        names += [f"{name}={found.version}-{found.revision}" for name in ("kubelet", "kubeadm", "kubectl")]
        names += ["containerd.io="]
        mounted = site.shared_files is not None and site.shared_files.kind == "nfs"
        names += ["nfs-common="] if mounted or site.homes else []
    elif plan.slurm and host in site.slurm_nodes:
        names += slurm_node.roles(plan.slurm, host).packages
        names += ["nfs-common="] if site.shared_files and site.shared_files.kind == "nfs" else []
    elif host.storage == "nfs":
        names += homes.PACKAGES
    elif site.lustre:
        names += lustre.packages(site.lustre)
    names += ["mdadm=", "xfsprogs="] if host.pool and host.disks else []
    names += ["pciutils="] if host.pool and plan.pools[host.pool].gpus_per_node else []
    names += ["mstflint="] if _functions(plan, host) or _lossless(plan, host) else []
    return names
