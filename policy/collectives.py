"""Rules about NCCL and libfabric: which variables turn the fast path off, and who may speak to the fabric."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policy.gangs import EFA, GPU, amount, asks, together
from policy.graph import Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.topology import fitting
from policy.words import assignments, mounted, variables

SOCKETS = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
NETWORKS = "k8s.v1.cni.cncf.io/networks"
RDMA = re.compile(r"rdma/|nvidia\.com/(?!gpu|mig-)")
"""Names of resources that bring RDMA cards: shared, or a port's own (Network Operator, chart values)."""
PINS = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_MAX_NCHANNELS")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """What the pods of one object have between them: how many they are, the most GPUs of one, EFA or RDMA devices."""

    gang: int
    gpus: int
    efa: bool
    rdma: bool
    host: bool
    networks: bool


def _reach(pod: Pod, found: list[Pod]) -> Reach:
    siblings = [each for each in found if each.maker is pod.maker]
    return Reach(
        gang=together(pod, found),
        gpus=max(amount(each, GPU) for each in siblings),
        efa=any(asks(each, EFA) or "resourceClaims" in each.spec for each in siblings),
        rdma=any(RDMA.search(str(container.get("resources"))) for each in siblings for container in each.containers),
        host=bool(pod.spec.get("hostNetwork")),
        networks=NETWORKS in (pod.metadata.get("annotations") or {}),
    )


def _on(value: str) -> bool:
    return value not in ("", "0")


def _no_interface(value: str, reach: Reach) -> bool:
    """Whether NCCL finds no interface of a pod by this list of prefixes; after ^ it names those to leave out."""
    names = [each.strip() for each in value.lstrip("=^").split(",") if each.strip()]
    if value.startswith("^"):
        return any("eth0".startswith(each) for each in names)
    own = ("eth0", "net1", "net2") if reach.networks else ("eth0",)
    found = any(interface.startswith(each) for each in names for interface in own)
    return not found and (not reach.host or set(names) <= {"lo"})


def _without_efa(value: str) -> bool:
    providers = value.lstrip("^").replace(";", ",").split(",")
    return ("efa" in providers) == value.startswith("^")


Wrong = Callable[[str, Reach], bool]
OVERRIDES: tuple[tuple[tuple[str, ...], Wrong, str], ...] = (
    (
        ("NCCL_IB_DISABLE",),
        lambda value, reach: _on(value) and (reach.gang > 1 or reach.rdma or reach.efa),
        "its nodes then speak over sockets",
    ),
    (
        ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"),
        lambda value, reach: _on(value) and reach.gpus > 1,
        "its GPUs then speak past NVLink or shared memory",
    ),
    (
        ("NCCL_P2P_LEVEL",),
        lambda value, reach: value in ("LOC", "0") and reach.gpus > 1,
        "its GPUs then never use NVLink",
    ),
    (SOCKETS, _no_interface, "a pod's interface is eth0"),
    (PINS, lambda value, _: value != "", "NCCL chooses by size and topology, and a pin holds for every call"),
    (
        ("NCCL_NET",),
        lambda value, reach: (
            bool(value)
            and (reach.efa or reach.rdma)
            and (
                value.lower() == "socket"
                or (reach.efa and not any(each in value.lower() for each in ("ofi", "libfabric")))
            )
        ),
        "the devices that the pod asks for are then not used",
    ),
    (
        ("NCCL_NET_PLUGIN",),
        lambda value, reach: reach.efa and not any(each in value.lower() for each in ("ofi", "nccl-net")),
        "EFA is reached through aws-ofi-nccl alone",
    ),
    (
        ("FI_PROVIDER",),
        lambda value, reach: bool(value) and reach.efa and _without_efa(value),
        "the EFA devices that the pod asks for are then not used",
    ),
    (
        ("FI_PROVIDER",),
        lambda value, reach: value == "efa" and not reach.efa,
        f"the pod asks for no {EFA}, so libfabric finds no such provider",
    ),
    (
        ("FI_EFA_USE_DEVICE_RDMA",),
        lambda value, reach: value == "0" and reach.efa,
        "every transfer is then copied through host memory",
    ),
    (
        ("NCCL_IB_GID_INDEX", "NCCL_IB_HCA"),
        lambda value, reach: bool(value) and reach.efa,
        "EFA is not reached by NCCL's InfiniBand transport",
    ),
    (
        ("NCCL_IB_HCA",),
        lambda value, _: value[:1] not in ("=", "^") and bool({"mlx5", "mlx5_1"} & set(value.split(","))),
        "without a leading = each name is a prefix: mlx5_1 is mlx5_10 too",
    ),
    (
        ("NCCL_NET_GDR_LEVEL",),
        lambda value, _: value.isdigit() or value == "LOC",
        "numbers are old names of levels (5 is SYS); leave it out",
    ),
    (("NCCL_CROSS_NIC",), lambda value, reach: value == "1" and reach.gang > 1, "it takes traffic off its rail"),
    (
        ("CUDA_LAUNCH_BLOCKING",),
        lambda value, reach: _on(value) and reach.gpus > 0,
        "every kernel then waits for the one before it; it is for finding errors",
    ),
    (
        ("NCCL_DEBUG",),
        lambda value, reach: value.upper() == "TRACE" and reach.gang > 1,
        "every call of every rank is then written to the log; INFO says which transport is used",
    ),
    (("NCCL_TOPO",), lambda *_: True, "NCCL reads NCCL_TOPO_FILE"),
)
"""(variables, when their value is wrong, what it does)"""


@rule(
    source="NCCL 2.30: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html; "
    "aws-ofi-nccl; libfabric fi_provider(7), fi_efa(7)",
    remedy="leave the variable out; NCCL_SOCKET_IFNAME=eth0 in pods, FI_PROVIDER=efa and no NCCL_NET on EFA",
)
def collectives_take_the_fast_path(graph: Graph) -> Iterator[Finding]:
    """No variable keeps collectives off NVLink or the fabric, or names a missing interface (NC01 to NC09)."""
    found = list(pods(graph))
    for pod in found:
        reach = _reach(pod, found)
        given = [each for container in pod.containers for each in variables(graph, pod, container)]
        given += [each for text in mounted(graph, pod) for each in assignments(text)]
        for name, value in given:
            for names, wrong, why in OVERRIDES:
                if name in names and value is not None and "$" not in value and wrong(value, reach):
                    yield pod.owner, f"sets {name}={value}: {why}"


@rule(
    source="AWS EKS guide, Run machine learning training with EFA: pods ask for vpc.amazonaws.com/efa in limits",
    remedy=f"set {EFA} in limits and requests to the interfaces of the launch template",
)
def gangs_take_their_efa(graph: Graph) -> Iterator[Finding]:
    """A gang on nodes with EFA requests EFA devices, and all of them if it takes all GPUs (NW10, NW11)."""
    found = list(pods(graph))
    for pod in found:
        for pool in fitting(graph, pod) if asks(pod, GPU) and together(pod, found) > 1 else ():
            there, asked = f"{pool.efa} EFA interfaces ({pool.group.name})", amount(pod, EFA)
            if pool.efa and not asks(pod, EFA):
                yield pod.owner, f"is a gang on nodes with {there} but requests none: it would use TCP"
            elif 0 < asked < pool.efa and amount(pod, GPU) == pool.gpus:
                yield pod.owner, f"takes all GPUs of nodes with {there} and {asked} of these"
