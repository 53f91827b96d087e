"""Which network NCCL takes in a container, and what it says of it.

Sources: NCCL 2.30.7, src/plugin/net.cc (plugins of NCCL_NET_PLUGIN or libnccl-net.so, then InfiniBand, then sockets; of
NCCL_NET that one only), src/transport/net_ib (what it says of cards) and plugin_open.cc (libnccl-net-NAME.so);
aws-ofi-nccl 1.21, platform-aws.cpp (EFA unless FI_PROVIDER says otherwise; without EFA devices NCCL goes on without the
plugin), nccl_ofi_net.cpp (what it logs), nccl_ofi_interface_nvidia.cpp (its names).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rehearsal.images.contents import Inside

EFA = "vpc.amazonaws.com/efa"
RDMA = "rdma/"
"""Before the name of a resource that brings InfiniBand cards of the node (k8s-rdma-shared-dev-plugin, README)."""
OWN, OF_GPUS = "nvidia.com/", ("nvidia.com/gpu", "nvidia.com/mig-")
"""Before the names of ports and virtual functions (Network Operator, chart values and state-hostdevice-network), and of
what is none though its name begins alike.
"""
IB, SOCKET = "IB", "Socket"
OFI = frozenset({"ofi", "aws-ofi", "aws-ofi-nccl", ""})
_OFI_NAMES = frozenset({"ofi", "libfabric", "aws libfabric"})
_NOTHING = "Failed to initialize any NET plugin"


@dataclass(frozen=True)
class Network:
    """What NCCL's ranks talk over: `provider` is Libfabric's, or Socket; None: it ends with `why`.

    `lines` are those of its log at NCCL_DEBUG=INFO, `why` the reasons for not taking EFA.
    """

    provider: str | None
    lines: tuple[str, ...]
    why: str = ""


def choose(inside: Inside | None, env: Mapping[str, str], devices: int, cards: int = 0) -> Network:
    """The network of a rank on so many EFA devices, or InfiniBand cards, in an image of which all is there if nothing
    is known (None).
    """
    told = env.get("NCCL_NET_PLUGIN", inside.env.get("NCCL_NET_PLUGIN", "") if inside else "")
    names = [] if told.casefold() == "none" else told.split(",")
    found = next((name for name in names if inside is None or name in inside.plugins), None)
    lines, why = _loaded(names, found, told)
    wanted = env.get("NCCL_NET", "").casefold()
    if found in OFI:
        provider = env.get("FI_PROVIDER", "efa")
        if provider == "efa" and not devices:
            lines.append("NET/OFI No eligible providers were found")
            why = "the container has no EFA device"
        elif not wanted or wanted in _OFI_NAMES:
            fabric = "efa-direct" if provider == "efa" else provider
            count = devices if provider == "efa" else 1
            lines += [
                f"NET/OFI Selected provider is {provider}, fabric is {fabric} (found {count} nics)",
                f"Using network {env.get('NCCL_NET') or 'Libfabric'}",
            ]
            return Network(provider, tuple(lines), "" if provider == "efa" else f"FI_PROVIDER={provider}")
    if wanted in ("", IB.casefold()):
        if cards:
            return Network(IB, (*lines, f"NET/IB : Using {cards} cards", f"Using network {IB}"))
        lines.append("NET/IB : No device found.")
        why = "the container has no InfiniBand card" if wanted else why
    if wanted in ("", SOCKET.casefold()):
        why = "NCCL_NET=Socket" if wanted else why
        return Network(SOCKET, (*lines, "NET/Socket : Using [0]eth0", f"Using network {SOCKET}"), why)
    return Network(None, (*lines, _NOTHING), f"{_NOTHING} (NCCL_NET={env['NCCL_NET']}): {why}")


def spoken(network: Network, env: Mapping[str, str]) -> tuple[str, ...]:
    """What stands in the log: all at INFO about start or network, and how it ended from WARN on."""
    level = env.get("NCCL_DEBUG", "").upper()
    about = set(env.get("NCCL_DEBUG_SUBSYS", "INIT").upper().split(","))
    if level in ("INFO", "TRACE") and about & {"INIT", "NET", "ALL"}:
        return tuple(f"NCCL {'WARN' if line == _NOTHING else 'INFO'} {line}" for line in network.lines)
    return (f"NCCL WARN {_NOTHING}",) if network.provider is None and level == "WARN" else ()


def _loaded(names: list[str], found: str | None, told: str) -> tuple[list[str], str]:
    """Lines about loading the plugin, and why none for EFA came of it."""
    if found is None:
        files = " ".join(f"libnccl-net-{name}.so" if name else "libnccl-net.so" for name in names)
        why = f"the image has no {files}" if files else "NCCL_NET_PLUGIN=none"
        return ([f"NET/Plugin: Could not find: {files}"] if files else []), why
    file = f"libnccl-net-{found}.so" if found else "libnccl-net.so"
    why = "" if found in OFI else f"NCCL_NET_PLUGIN={told} is no plugin for EFA"
    return [f"NET/Plugin: Loaded net plugin from {file}"], why


def cards(limits: Mapping[str, object], attached: int | None = None) -> int:
    """Resources of InfiniBand among a container's limits. Of ports of its own it sees those that its pod is attached
    by, if that is known. Pure.
    """
    own = sum(
        int(str(count)) for name, count in limits.items() if name.startswith(OWN) and not name.startswith(OF_GPUS)
    )
    shared = sum(int(str(count)) for name, count in limits.items() if name.startswith(RDMA))
    return shared + (own if attached is None else min(own, attached))
