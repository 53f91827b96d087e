"""What node_exporter's collectors read of a simulated node's interfaces and fabric devices. Pure.

Source: prometheus/node_exporter 1.12.1, collector/netdev_common.go, netclass_linux.go, infiniband_linux.go; sysfs as
prometheus/procfs reads it.
"""

from collections.abc import Callable, Iterable

from rehearsal.images.nodemetrics import Interface, NodeNow, Port
from rehearsal.kubelet import faults
from rehearsal.kubelet.exposition import Family, Sample, family


def netdev(node: NodeNow) -> list[Family]:
    """Counters of interfaces. Nothing is sent here, as pods have no network."""
    receive = ("bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast")
    transmit = ("bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed")
    return [
        family(
            f"node_network_{way}_{name}_total",
            "counter",
            f"Network device statistic {way}_{name}.",
            *(({"device": each.name}, 0.0) for each in node.interfaces),
        )
        for way, names in (("receive", receive), ("transmit", transmit))
        for name in names
    ]


def netclass(node: NodeNow) -> list[Family]:
    """State of interfaces; those that lost their link are down and count it."""
    down = {each.target for each in faults.lasting(node.faults, "ethernet-link")}
    lost = {each.name: sum(f.target == each.name for f in node.faults) for each in node.interfaces}
    healed = {each.name: lost[each.name] - (each.name in down) for each in node.interfaces}

    def over(name: str, kind: str, help: str, of: Callable[[Interface], float | None]) -> Family:
        found = [({"device": each.name}, of(each)) for each in node.interfaces]
        samples = [Sample(labels, value) for labels, value in found if value is not None]
        return Family(f"node_network_{name}", "counter" if kind == "counter" else "gauge", help, samples)

    def prop(name: str, of: Callable[[Interface], float | None], kind: str = "gauge") -> Family:
        return over(name, kind, f"Network device property: {name}", of)

    info = [
        Sample(
            {
                "device": each.name,
                "address": each.address,
                "broadcast": "ff:ff:ff:ff:ff:ff",
                "duplex": "",
                "operstate": "down" if each.name in down else "unknown" if each.name == "lo" else "up",
                "adminstate": "up",
                "ifalias": "",
            },
            1.0,
        )
        for each in node.interfaces
    ]
    return [
        over(
            "up",
            "gauge",
            "Value is 1 if operstate is 'up', 0 otherwise.",
            lambda each: float(each.name not in down and each.name != "lo"),
        ),
        Family("node_network_info", "gauge", "Non-numeric data from /sys/class/net/<iface>, value is always 1.", info),
        prop("carrier", lambda each: float(each.name not in down)),
        prop("carrier_changes_total", lambda each: float(lost[each.name] + healed[each.name]), "counter"),
        prop("carrier_down_changes_total", lambda each: float(lost[each.name]), "counter"),
        prop("carrier_up_changes_total", lambda each: float(healed[each.name]), "counter"),
        prop("mtu_bytes", lambda each: 65536.0 if each.name == "lo" else 9001.0),
        prop("speed_bytes", lambda each: None if each.speed_mbps is None else each.speed_mbps * 1e6 / 8),
    ]


def infiniband(node: NodeNow) -> list[Family]:
    """Ports; an EFA device has no counters that this collector knows but for `lifespan`, and is gone if it fails."""
    broken = [each.target for each in faults.lasting(node.faults, "ib-link")]
    there = [each for each in node.ports if not (each.efa and each.device in broken)]
    cards = [each for each in there if not each.efa]

    def over(name: str, kind: str, help: str, ports: Iterable[Port], of: Callable[[Port], float]) -> Family:
        samples = [Sample({"device": each.device, "port": "1"}, of(each)) for each in ports]
        return Family(f"node_infiniband_{name}", "counter" if kind == "counter" else "gauge", help, samples)

    about = {"board_id": "", "firmware_version": "", "hca_type": ""}
    info = [Sample({"device": each.device, **about}, 1.0) for each in there]
    downs = {each.device: sum(f.kind == "ib-link" and f.target == each.device for f in node.faults) for each in cards}
    errors = {
        "link_error_recovery_total": "Number of times the link successfully recovered from an error state",
        "symbol_error_total": "Number of minor link errors detected on one or more physical lanes.",
        "port_errors_received_total": "Number of packets containing an error that were received on this port",
    }
    return [
        Family(
            "node_infiniband_info",
            "gauge",
            "Non-numeric data from /sys/class/infiniband/<device>, value is always 1.",
            info,
        ),
        over(
            "state_id",
            "gauge",
            "State of the InfiniBand port",
            there,
            lambda each: 1.0 if each.device in broken else 4.0,
        ),
        over(
            "physical_state_id",
            "gauge",
            "Physical state of the InfiniBand port",
            there,
            lambda each: 2.0 if each.device in broken else 5.0,
        ),
        over(
            "rate_bytes_per_second", "gauge", "Maximum signal transfer rate", there, lambda each: each.bytes_per_second
        ),
        over(
            "link_downed_total",
            "counter",
            "Number of times the link failed to recover from an error state and went down",
            cards,
            lambda each: float(downs[each.device]),
        ),
        *(over(name, "counter", help, cards, lambda _: 0.0) for name, help in errors.items()),
        over(
            "lifespan_seconds",
            "gauge",
            "How long counters may be kept before they are read again.",
            [each for each in there if each.efa],
            lambda _: 0.0,
        ),
    ]
