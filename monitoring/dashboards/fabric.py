"""The network between nodes: InfiniBand, RoCE or EFA behind one name, and Ethernet (X04, P20)."""

from monitoring.dashboards.alerts import bounds
from monitoring.dashboards.model import Dashboard, Panel, Query, Section, Unit, Variable
from monitoring.dashboards.queries import per_second, planned
from monitoring.dashboards.references import References

_BYTES_PER_GB = 1e9


def fabric(plan: References) -> Dashboard:
    """All nodes, or some."""
    return Dashboard(
        uid="gpucluster-fabric",
        title="Fabric",
        description="Traffic, links, errors and congestion between nodes.",
        variables=(
            Variable(name="pool", label="pool", metric="gpucluster:fabric:transmitted_bytes_per_second"),
            Variable(
                name="node",
                label="node",
                metric='gpucluster:fabric:transmitted_bytes_per_second{pool=~"$pool"}',
            ),
        ),
        sections=(
            Section(title="Traffic", panels=_traffic(plan)),
            Section(title="Links and errors", panels=_errors()),
            Section(title="Congestion", panels=_congestion()),
            Section(title="Ethernet", panels=_ethernet()),
        ),
    )


def _fabric(name: str) -> str:
    return f'gpucluster:fabric:{name}{{pool=~"$pool", node=~"$node"}}'


def _traffic(plan: References) -> tuple[Panel, ...]:
    sent = f"sum by (pool, node) ({_fabric('transmitted_bytes_per_second')})"
    pools = plan.pools.items()
    rates = {name: each.fabric_gb_per_s and each.fabric_gb_per_s * _BYTES_PER_GB for name, each in pools}
    buses = {name: each.bus_gb_per_s and each.bus_gb_per_s * _BYTES_PER_GB for name, each in pools}
    return (
        Panel(
            title="Sent by a node",
            description="Nothing while a run on several nodes trains is a fall back to TCP. A ring sends what its bus "
            "bandwidth is: bursts of all-reduce come near that line, and stay below it where a link is slow.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[
                Query(f"max by (pool) ({sent})", "{{pool}} most"),
                Query(f"min by (pool) ({sent})", "{{pool}} least"),
                *planned("pool", rates, f"max by (pool) ({sent})", "all cards"),
                *planned("pool", buses, f"max by (pool) ({sent})", "bus bandwidth expected"),
            ],
            width=12,
            height=8,
        ),
        Panel(
            title="Received by a node",
            description="One node much below the others of its run is the slow one.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[
                Query(f"topk(10, sum by (node) ({_fabric('received_bytes_per_second')}))", "{{node}}"),
            ],
            width=12,
            height=8,
        ),
        Panel(
            title="Cards of the least busy nodes, sent",
            description="One card idle beside busy ones: its rail is down, or NCCL does not see it.",
            unit=Unit.BYTES_PER_SECOND,
            kind="bargauge",
            queries=[Query(f"bottomk(10, {_fabric('transmitted_bytes_per_second')})", "{{node}} {{device}}")],
            width=12,
        ),
        Panel(
            title="Imbalance between a node's cards",
            description="Near 0 all rails carry alike; above a half one is down or its traffic takes another way.",
            unit=Unit.PART,
            queries=[
                Query(
                    "topk(10, 1 - min by (node) ({sent}) / max by (node) ({sent} > 1e6))".format(
                        sent=_fabric("transmitted_bytes_per_second")
                    ),
                    "{{node}}",
                )
            ],
            most=1,
            width=12,
        ),
    )


def _errors() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Links that are down",
            description="A rail without a link slows every all-reduce; look at the cable, then at the switch's port.",
            unit=Unit.COUNT,
            queries=[Query('gpucluster:fabric:links_missing{pool=~"$pool", node=~"$node"}', "{{node}}")],
            decimals=0,
            nothing="none",
        ),
        Panel(
            title="Links that went down, in an hour",
            description="A link that flaps is a cable or transceiver on its way out.",
            unit=Unit.COUNT,
            queries=[
                Query(f"sum by (node, device) (increase({_fabric('link_downed')}[1h])) > 0", "{{node}} {{device}}")
            ],
            decimals=0,
            nothing="none",
        ),
        Panel(
            title="Errors a second",
            description="Symbol errors are the cable; overruns and timeouts are congestion or a switch.",
            unit=Unit.PER_SECOND,
            queries=[Query(f"sum by (node, kind) ({_fabric('errors_per_second')}) > 0", "{{node}} {{kind}}")],
            nothing="none",
        ),
    )


def _congestion() -> tuple[Panel, ...]:
    of_nodes = '{node=~"$node"}'
    marked = f"node_infiniband_np_ecn_marked_roce_packets_received_total{of_nodes}"
    notified = f"node_infiniband_np_cnp_packets_sent_total{of_nodes}"
    return (
        Panel(
            title="Packets dropped a second",
            description="A lossless fabric drops nothing: flow control is off somewhere on the way.",
            unit=Unit.PER_SECOND,
            queries=[Query(f"sum by (node) ({_fabric('drops_per_second')}) > 0", "{{node}}")],
            nothing="none",
            bounds=bounds("fabric-drops", "drops"),
        ),
        Panel(
            title="Waited for credits (InfiniBand)",
            description="Ticks a second in which a port had data and no credit: congestion beyond that port.",
            unit=Unit.PER_SECOND,
            queries=[
                Query(
                    f"topk(10, sum by (node) ({per_second(f'node_infiniband_port_transmit_wait_total{of_nodes}')}))",
                    "{{node}}",
                )
            ],
        ),
        Panel(
            title="Congestion marks (RoCE)",
            description="Marked packets in, notifications out: much of it means that several flows share one link.",
            unit=Unit.PER_SECOND,
            queries=[
                Query(f"sum by (node) ({per_second(marked)}) > 0", "{{node}} marked"),
                Query(f"sum by (node) ({per_second(notified)}) > 0", "{{node}} notified"),
            ],
            nothing="none",
        ),
    )


def _ethernet() -> tuple[Panel, ...]:
    sent = 'node_network_transmit_bytes_total{device!~"lo|veth.*|cali.*|eni.*|cni.*|docker.*", node=~"$node"}'
    return (
        Panel(
            title="Ethernet traffic, the ten busiest",
            description="A training node that sends GB/s here trains over TCP instead of its fabric.",
            unit=Unit.BYTES_PER_SECOND,
            queries=[Query(f"topk(10, sum by (node) ({per_second(sent)}))", "{{node}}")],
        ),
        Panel(
            title="Interfaces without a link",
            description="Storage or management is cut off on that side; a bond may still carry it.",
            unit=Unit.COUNT,
            queries=[
                Query(
                    'count by (node, device) (gpucluster:node:ethernet_up{node=~"$node"} == 0)', "{{node}} {{device}}"
                )
            ],
            decimals=0,
            nothing="none",
        ),
        Panel(
            title="Ethernet errors a second",
            description="Anything that lasts is a cable, a port, or a duplex mismatch.",
            unit=Unit.PER_SECOND,
            queries=[
                Query('sum by (node) (gpucluster:node:ethernet_errors_per_second{node=~"$node"}) > 0', "{{node}}")
            ],
            nothing="none",
        ),
    )
