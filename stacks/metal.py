"""A GPU cluster on premises: control plane, network, nodes and storage, in the order of their needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any
from urllib.parse import urlsplit

import pulumi
import pulumi_command as command
import pulumi_kubernetes as k8s

from catalogue.metal_versions import CILIUM
from catalogue.versions import AWS_CLI_IMAGE
from components._base import physical_name
from components.layers import Fabric, HardwarePool, KubePlatform, Storage
from components.metal.cilium import cilium_values, controllers_denied, hosts_reached
from components.metal.host import Login
from components.metal.kubeadm import PORT
from components.platform.charts import Chart, ChartArgs
from components.platform.network_rules import Reach
from components.serving.entry import Entry
from planner.metal_types import MetalPlan
from planner.said import SiteStore
from planner.site import SitePlan
from planner.types import Plan
from stacks.charts import chart_source
from stacks.gpu_pools import gpu_pool
from stacks.metal_ceph import CephFiles, ceph_spec, deploy_ceph, objects_of
from stacks.metal_etcd import etcd_snapshots
from stacks.metal_fabric import fabric_devices, hyper_nodes, own_ports, pod_network
from stacks.metal_home import NfsHomes
from stacks.metal_lacking import lacking
from stacks.metal_machines import ControlPlane, FileServers, Machines, control_plane, file_servers, pools, storage_nodes
from stacks.metal_network import ceph_rules
from stacks.metal_slurm import deploy_slurm
from stacks.metal_storage import MountedFiles, Scratch, SiteObjects, local_volumes
from stacks.metal_watching import sensors, watching
from stacks.platform import Connections, KubeCluster, Platform

GIB_PER_TB = 1e12 / 2**30


@dataclass(frozen=True, kw_only=True)
class NamedHosts:
    """Hosts by their names, in policies of Cilium's. `after` is a node whose agent knows them."""

    after: pulumi.Resource
    opts: pulumi.ResourceOptions

    def reach(self, name: str, namespace: pulumi.Input[str], hosts: Sequence[str]) -> None:
        """Let a namespace's pods reach these hosts."""
        hosts_reached(name, namespace, hosts, after=self.after, opts=self.opts)


def deploy_metal(plan: Plan, config: pulumi.Config) -> Platform:
    """Register everything of the platform and return what services and workloads need of it. `config` has the keys.

    Raises RunError for a plan that cannot be deployed.
    """
    if not isinstance(plan, MetalPlan) or plan.site is None or plan.site.object_store is None:
        raise pulumi.RunError("\n".join(lacking(plan)))
    site, store, whole = plan.site, plan.site.object_store, plan
    plan = whole.of_kubernetes
    login = plan.supply.login
    ssh = command.Provider("command")
    over_ssh = pulumi.ResourceOptions(providers=[ssh])
    kube = KubePlatform("kube-platform", over_ssh)
    hardware = HardwarePool("hardware", over_ssh)
    machines = Machines(
        plan=whole,
        site=site,
        cluster=physical_name(pulumi.get_project(), pulumi.get_stack(), limit=63),
        login=Login(user=site.user, port=site.port, private_key=config.require_secret("sshKey")),
        key=config.require_secret("clusterKey"),
        registry_password=config.require_secret(login.secret) if login and login.secret else None,
    )
    served = file_servers(machines, hardware)
    control = control_plane(machines, kube, served.files)
    kubernetes = _kubernetes(control, machines.cluster, kube)
    in_cluster = pulumi.ResourceOptions(parent=kube, providers=[kubernetes])
    network = _network(plan, site, control, in_cluster)
    nodes = pools(machines, control, network, hardware)
    deploy_slurm(machines, nodes, served.files, hardware)
    through_kubernetes = pulumi.ResourceOptions(providers=[kubernetes])
    fabric = Fabric("fabric", through_kubernetes)
    storage = pulumi.ResourceOptions(parent=Storage("storage", through_kubernetes))
    system = next(nodes[name].nodes for name, pool in plan.pools.items() if pool.role == "system")
    controllers_denied("kube-platform-controllers-denied", site.bmc_cidr, after=system, opts=in_cluster)
    usable_tb = plan.storage.usable_tb if plan.storage else 0.0
    capacity_gib = max(1, int(usable_tb * GIB_PER_TB))
    key_id, key = config.require_secret("objectStoreKeyId"), config.require_secret("objectStoreKey")
    known = connections(site, store)
    ceph = None
    if site.ceph is not None:
        servers = storage_nodes(machines, control, network, hardware).nodes
        made = objects_of(site.ceph, key_id, key)
        rules = ceph_rules(known, site.ceph.public_cidr)
        ceph = deploy_ceph(ceph_spec(site.ceph, site, plan.supply), plan.supply, servers, system, made, rules, storage)
    # A pool of Ceph's goes when no volume is in it (Rook, CephBlockPool: PoolNotEmpty), and before the driver.
    block, remover = (ceph.block, None) if ceph else local_volumes(plan.supply, storage, after=system)
    objects = SiteObjects(
        store=store,
        image=plan.supply.image(AWS_CLI_IMAGE),
        key_id=key_id,
        key=key,
        made=ceph.bucket if ceph else None,
    )
    if objects.made is None:
        etcd_snapshots(plan, objects, in_cluster)
    return Platform(
        cluster=KubeCluster(
            name=machines.cluster,
            kubeconfig=control.credentials.kubeconfig,
            kubeconfig_command=kubeconfig_command(site),
            endpoint=pulumi.Output.from_input(f"https://{site.endpoint}:{PORT}"),
            open_to=[site.management_cidr],
            provider=kubernetes,
            ready=system,
        ),
        pools={
            name: gpu_pool(pool, pod_network(plan, pool), nodes[name].nodes)
            for name, pool in plan.pools.items()
            if pool.gpu is not None and pool.role != "system"
        },
        devices=fabric_devices(plan, site, known, fabric),
        hosts=NamedHosts(after=system, opts=in_cluster),
        hyper_nodes=hyper_nodes(plan),
        block=block,
        remover=remover,
        shared=CephFiles(capacity_gib=capacity_gib, shared=ceph.shared, opts=storage)
        if ceph
        else MountedFiles(capacity_gib=capacity_gib, opts=storage),
        snapshots=ceph.classes if ceph else None,
        local=Scratch(),
        objects=objects,
        entry=Entry(),
        home=_homes(site, served, storage),
        watching=watching(plan, site, sensors(site, plan.supply, config, system)),
        connections=known,
        layer=kube,
        providers=[kubernetes],
        outputs={
            "fabric": _fabric_lines(whole, site),
            "hardware": {"machines": len(site.hosts), **_slurm_lines(whole)},
            "storage": {
                "fileSystem": site.shared_files.source if site.shared_files else "CephFS" if site.ceph else None,
                "bucket": store.bucket,
            },
        },
    )


def _homes(site: SitePlan, served: FileServers, opts: pulumi.ResourceOptions) -> NfsHomes | None:
    server = site.home_server
    if server is None or served.home is None:
        return None
    return NfsHomes(address=server.address, served=served.home, opts=opts)


def kubeconfig_command(site: SitePlan) -> str:
    """What a person types to get the administrator's credentials, who may log in to the machine."""
    first = site.control_plane[0]
    return f"ssh -p {site.port} {site.user}@{first.address} sudo cat /etc/kubernetes/admin.conf"


def connections(site: SitePlan, store: SiteStore) -> Connections:
    """Pods ask the API server at the first address of Services, and reach it on machines of the control plane."""
    service = IPv4Network(site.service_cidr)[1]
    addresses = [f"{service}/32", f"{site.endpoint}/32", *(f"{host.address}/32" for host in site.control_plane)]
    found = urlsplit(store.endpoint)
    port = found.port or (443 if found.scheme == "https" else 80)
    return Connections(
        api=Reach(cidrs=addresses, ports=[443, PORT]),
        nodes=Reach(cidrs=[site.management_cidr]),
        objects=Reach(cidrs=store.cidrs, ports=[port]),
    )


def _kubernetes(control: ControlPlane, cluster: str, parent: pulumi.Resource) -> k8s.Provider:
    """The cluster's API. A kubeconfig with renewed certificates is the same cluster."""
    return k8s.Provider(
        "kubernetes",
        kubeconfig=control.credentials.kubeconfig,
        cluster_identifier=cluster,
        enable_server_side_apply=True,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def _network(plan: MetalPlan, site: SitePlan, control: ControlPlane, inside: pulumi.ResourceOptions) -> pulumi.Resource:
    interfaces = {host.management_nic for host in site.nodes if host.pool}
    interface = next(iter(interfaces)) if len(interfaces) == 1 else None
    system = {name for name, pool in plan.pools.items() if pool.role == "system"}
    untainted = [host for host in site.nodes if host.control_plane or host.pool in system]
    return Chart(
        "cilium",
        ChartArgs(
            source=chart_source(CILIUM, plan.supply),
            namespace="kube-system",
            values=cilium_values(
                endpoint=site.endpoint,
                pod_cidr=site.pod_cidr,
                interface=interface,
                operators=min(2, len(untainted)),
                alone=own_ports(plan) is None,
                names=any(team.reaches is not None for team in plan.teams),
            ),
            after=list(control.nodes.values()),
        ),
        inside,
    ).release


def _slurm_lines(plan: MetalPlan) -> dict[str, Any]:
    slurm = plan.slurm
    if slurm is None:
        return {}
    return {
        "slurm": {
            "controllers": [head.name for head in slurm.heads],
            "database": slurm.database.name,
            "machines": sum(len(each.hosts) for each in slurm.nodes),
            "gpus": sum(len(each.hosts) * each.gpus for each in slurm.nodes),
        }
    }


def _fabric_lines(plan: MetalPlan, site: SitePlan) -> dict[str, Any]:
    if plan.fabric is None:
        return {"kind": "ethernet", "management": site.management_cidr}
    day_one = plan.fabric.growth.day_one
    return {"kind": plan.fabric.kind, "switches": day_one.switches, "management": site.management_cidr}
