"""How pods reach the fabric of on-premises machines: they share its ports, or get some of their own."""

from collections.abc import Iterator
from dataclasses import replace

import pulumi

from catalogue.metal_versions import DOCA_DRIVER, MELLANOX, NETWORK_OPERATOR, SRIOV_IMAGES
from catalogue.network_types import Link, NicRole, of_role
from components.layers import Fabric
from components.metal import pod_ports
from components.metal.devices import (
    POLICY,
    gpu_operator_values,
    network_operator_values,
    nic_cluster_policy,
    rdma_network,
    shared_cards,
)
from components.platform.hyper_nodes import LEAF_KEY, RACK_KEY, TIER_KEYS, UNIT_KEY, HyperNodeSpec
from components.platform.namespaces import Namespaces, NamespacesArgs, NamespaceSpec
from components.platform.network_rules import NetworkRules, NetworkRulesArgs
from components.platform.pods import PodNetwork
from components.platform.taints import label_value, tolerations_of_all_pools
from planner.fabric.near import domains
from planner.fabric.plan import FabricPlan, PodPorts
from planner.metal_types import MetalPlan
from planner.pool_types import MetalPoolPlan
from planner.site import HostPlan, SitePlan
from planner.teams import RUNS
from stacks.metal_network import cards_rules
from stacks.platform import Connections, DeviceChart, DeviceObject, Devices

NETWORK_NAMESPACE = "network-operator"
READY = "jsonpath={.status.state}=ready"
"""What the Network Operator says of its objects (api/v1alpha1, State)."""


def own_ports(plan: MetalPlan) -> PodPorts | None:
    """How pods get ports of their own; None where they share, or there is no fabric."""
    return plan.fabric.pod_ports if plan.fabric else None


def pod_network(plan: MetalPlan, pool: MetalPoolPlan) -> PodNetwork:
    """Pods of training pools reach the fabric; a service's replica lives on one node."""
    if plan.fabric is None or pool.role != "training" or not pool.rails:
        return PodNetwork()
    return replace(_devices(plan.fabric, pool), near=LEAF_KEY if domains(plan.above) else None)


def hyper_nodes(plan: MetalPlan) -> list[HyperNodeSpec]:
    """The fabric's parts, as Volcano knows them."""
    return [HyperNodeSpec(name=each.name, tier=each.tier, members=each.members) for each in domains(plan.above)]


def place_labels(plan: MetalPlan, host: HostPlan) -> dict[str, str]:
    """Where a machine stands: its rack and lowest unit, and the switches above it."""
    rack = {RACK_KEY: label_value(host.rack)} if host.rack else {}
    unit = {UNIT_KEY: str(host.unit)} if host.unit else {}
    return rack | unit | dict(zip(TIER_KEYS, plan.above.get(host.name, ()), strict=False))


def _devices(fabric: FabricPlan, pool: MetalPoolPlan) -> PodNetwork:
    if fabric.kind == "ethernet":
        return PodNetwork(between=fabric.nccl)
    if own := fabric.pod_ports:
        return pod_ports.own_ports_network(pool.rails, own.per_port, fabric.nccl)
    return rdma_network(fabric.nccl)


def infiniband(plan: MetalPlan) -> bool:
    """Whether pods use cards of InfiniBand."""
    return plan.fabric is not None and plan.fabric.kind == "infiniband"


def fabric_devices(plan: MetalPlan, site: SitePlan, known: Connections, fabric: Fabric) -> Devices:
    """The operators of GPUs and cards, and what they are told of this fabric."""
    own = own_ports(plan)
    gpus = gpu_operator_values(site.driver, infiniband=infiniband(plan), gds=site.gds)
    if not infiniband(plan) and own is None:
        return Devices(gpu_operator=gpus)
    inside = pulumi.ResourceOptions(parent=fabric)
    spec = NamespacesArgs(namespaces=[NamespaceSpec(name=NETWORK_NAMESPACE, pod_security="privileged")])
    names = Namespaces("network-namespaces", spec, inside).names
    repository = plan.supply.directory(MELLANOX)
    rules = {NETWORK_NAMESPACE: cards_rules(known, repository if site.driver == "container" else None)}
    NetworkRules("network-namespaces-rules", NetworkRulesArgs(rules=rules, names=names), inside)
    namespace = names[NETWORK_NAMESPACE]
    tolerated = tolerations_of_all_pools()
    functions = own is not None and own.mode == "sriov"
    images = {name: plan.supply.image(image) for name, image in SRIOV_IMAGES.items()}
    operator = DeviceChart(
        name="network-operator",
        chart=NETWORK_OPERATOR,
        namespace=namespace,
        values=network_operator_values(tolerated) | (pod_ports.sriov_values(images) if functions else {}),
    )
    component = {"repository": repository, "version": f"network-operator-v{NETWORK_OPERATOR.version}"}
    parts = shared_cards(_compute_cards(plan), component)
    if own is not None:
        parts = pod_ports.secondary_networks(component)
        if own.mode == "hostDevice":
            parts |= pod_ports.port_plugin(_addresses(plan, site), component)
    policy = DeviceObject(
        name=POLICY,
        api_version="mellanox.com/v1alpha1",
        kind="NicClusterPolicy",
        spec=nic_cluster_policy(
            parts, tolerations=tolerated, driver=site.driver, doca=DOCA_DRIVER, repository=repository
        ),
        ready=READY if own else None,
    )
    attached = _attached(plan, own, namespace) if own else ()
    return Devices(gpu_operator=gpus, charts=[operator], objects=[policy, *attached])


def _attached(plan: MetalPlan, own: PodPorts, namespace: pulumi.Output[str]) -> Iterator[DeviceObject]:
    """For each port the addresses of its pods, and its network where runs and gates are. The operator serves IPPools
    only once its policy is ready: their definition comes with nvIpam (manifests/state-nv-ipam-cni).
    """
    for number, subnet in enumerate(own.networks):
        pool = DeviceObject(
            name=pod_ports.pool_name(number),
            api_version="nv-ipam.nvidia.com/v1alpha1",
            kind="IPPool",
            namespace=namespace,
            spec=pod_ports.address_pool(subnet, own.per_port),
            after=[POLICY],
        )
        yield pool
        if own.mode == "hostDevice":
            yield DeviceObject(
                name=pod_ports.rail(number),
                api_version="mellanox.com/v1alpha1",
                kind="HostDeviceNetwork",
                spec=pod_ports.port_network(number, RUNS),
                ready=READY,
                after=[POLICY, pool.name],
            )
            continue
        yield DeviceObject(
            name=f"{pod_ports.rail(number)}-functions",
            api_version="sriovnetwork.openshift.io/v1",
            kind="SriovNetworkNodePolicy",
            namespace=namespace,
            spec=pod_ports.function_policy(number, own.per_port, infiniband=infiniband(plan)),
            after=[POLICY],
        )
        yield DeviceObject(
            name=pod_ports.rail(number),
            api_version="sriovnetwork.openshift.io/v1",
            kind="SriovIBNetwork" if infiniband(plan) else "SriovNetwork",
            namespace=namespace,
            spec=pod_ports.function_network(number, RUNS),
            after=[POLICY, pool.name],
        )


def _addresses(plan: MetalPlan, site: SitePlan) -> list[list[str]]:
    """PCI addresses of each port, in rail order, on any machine that joins the fabric."""
    found: dict[int, set[str]] = {}
    for host in site.nodes:
        if host.pool and plan.pools[host.pool].role == "training":
            for number, address in enumerate(host.rails):
                found.setdefault(number, set()).add(address)
    return [sorted(found[number]) for number in sorted(found)]


def _compute_cards(plan: MetalPlan) -> list[str]:
    """PCI ids of the compute cards of every pool that joins the fabric."""
    groups = [
        group
        for pool in plan.pools.values()
        if pool.role == "training"
        for group in of_role(pool.server.nics, NicRole.COMPUTE)
        if group.nic.generation.link is Link.INFINIBAND and group.nic.pci_device_id
    ]
    return sorted({str(group.nic.pci_device_id) for group in groups})
