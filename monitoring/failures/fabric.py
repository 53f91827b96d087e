"""The fabric between nodes: links, silent loss, and traffic that takes another way."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

_CORDON = Action(say="Keep gangs off the node", command="kubectl cordon NODE")
_LINKS = "kubectl debug node/NODE -it --image=busybox --profile=sysadmin -- chroot /host"

FABRIC = Subject(
    name="fabric",
    title="Fabric",
    failures=(
        Failure(
            id="fabric-link",
            alert="FabricLinkDown",
            row="Infiniband link",
            title="A fabric link of a node is down",
            signal="State of ports that were active in the last day (node_exporter: infiniband); on AWS EFA devices"
            " that have left the system, against what the node offered (kube-state-metrics)",
            expression="gpucluster:fabric:links_missing > 0",
            limits={},
            span="0s",
            severity="critical",
            isolates=True,
            domains=("hardware",),
            owner="hardware",
            summary="Node {{ $labels.node }} has lost {{ $value }} links of its fabric.",
            meaning="NCCL binds each GPU to a card. With one port down its collectives time out, or the run begins"
            " again over the cards that are left, at a fraction of the speed.",
            causes=(
                "a cable, transceiver or switch port",
                "the card or its firmware",
                "on AWS the card of the instance",
            ),
            actions=(
                _CORDON,
                Action(say="See which port is down", command=f"{_LINKS} ibstat; {_LINKS} rdma link"),
                Action(
                    say="On racks of your own: look at the links and errors of the whole fabric, on the"
                    " subnet manager's host. On AWS: have the instance replaced",
                    command="ibdiagnet --pc -P all=1",
                ),
            ),
            over="Every port is active, and there are as many EFA devices as the node offered. Measure the"
            " node with NCCL before gangs get it back; a gate of its pool does so.",
            link="https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband",
            guards=("V01", "V03", "V04", "PF18"),
            more="Do not unload the driver to reset a card: the modules are mlx5_ib and mlx5_core, and without"
            " mlx5_core the node loses storage and network too. Reset one card with `mlxfwreset -d DEVICE reset` on a"
            " drained node, or reboot it.",
        ),
        Failure(
            id="fabric-flaps",
            alert="FabricLinkFlaps",
            title="A fabric link goes down again and again, or has many errors",
            signal="Times that a port went down, symbol errors (node_exporter: infiniband)",
            expression="(increase(gpucluster:fabric:link_downed[12h]) >= $flaps or 3600 *"
            ' gpucluster:fabric:errors_per_second{kind="symbol"} > $symbols) unless on (node)'
            " gpucluster:fabric:links_missing > 0",
            limits={
                "flaps": Threshold(
                    value=3, unit="times in 12 hours", source="gpud: a link that is down 3 times in 12 h flaps"
                ),
                "symbols": Threshold(
                    value=120,
                    unit="symbol errors an hour",
                    source="NVSentinel: more than 120 symbol errors an hour are fatal",
                ),
            },
            span="1m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Port {{ $labels.device }} of node {{ $labels.node }} flaps or has symbol errors ({{ $value |"
            " humanize }}).",
            meaning="The link works most of the time, and repeats or drops packets. Steps get slower and less even;"
            " one day NCCL's timeout ends the run.",
            causes=("a dirty or loose transceiver", "a cable bent or too long", "a switch port"),
            actions=(
                Action(say="See which end has errors", command="ibdiagnet --ber_test"),
                Action(
                    say="Clean and reseat, then swap the cable; keep gangs off meanwhile", command="kubectl cordon NODE"
                ),
                Action(say="Read the module's values", command=f"{_LINKS} mlxlink -d DEVICE -m -c"),
            ),
            over="No further flap in 12 hours, and fewer than 120 symbol errors an hour.",
            link="https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband",
            guards=("V04", "PF11"),
        ),
        Failure(
            id="fabric-drops",
            alert="FabricDropsPackets",
            title="The fabric drops packets",
            signal="Discards and packets without a buffer (node_exporter: infiniband), rx_drops (EFA)",
            expression="sum by (node, device, pool) (gpucluster:fabric:drops_per_second) > $drops",
            limits={
                "drops": Threshold(
                    value=100, unit="packets a second", source="NVSentinel: discards above 100 a second degrade a port"
                )
            },
            span="1m",
            severity="warning",
            domains=("system", "hardware"),
            owner="platform",
            summary="Port {{ $labels.device }} of node {{ $labels.node }} drops {{ $value | humanize }} packets a"
            " second.",
            meaning="RDMA expects a fabric that loses nothing. Each loss costs a timeout: a run gets slower"
            " or stands still, and no process reports an error.",
            causes=(
                "RoCE: priority flow control (PFC) or ECN is missing on one port of the way",
                "a buffer that fills because one receiver is slow: a hot GPU, a bad PCIe link",
                "a switch port without the fabric's settings",
            ),
            actions=(
                Action(
                    say="See whether one port drops, or all ports of a switch",
                    query="topk(20, sum by (node, device) (gpucluster:fabric:drops_per_second))",
                ),
                Action(
                    say="RoCE: compare the card's PFC and trust mode with the other nodes",
                    command=f"{_LINKS} mlnx_qos -i INTERFACE",
                ),
                Action(
                    say="Look at the run's NCCL log for retries",
                    command="kubectl logs -n training POD | grep -i 'NCCL WARN'",
                ),
            ),
            over="Fewer drops than the limit at one evaluation.",
            link="https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband",
            guards=("V05", "V09", "PF19", "P20"),
            more="PFC is set on every switch port of the way, with the switch's own configuration, and on"
            " the cards with `mlnx_qos`. Cards and switches must name the same priority: a pause for"
            " a priority that carries no traffic stops nobody, and packets are lost as without PFC.",
        ),
        Failure(
            id="run-on-tcp",
            alert="RunWithoutFabric",
            title="A run on several nodes does not use the fabric",
            signal="Tensor cores at work (dcgm-exporter) while the cards of its nodes send nothing (node_exporter,"
            " EFA)",
            expression="(gpucluster:run:tensor_active_ratio > $active and on (run)"
            " gpucluster:run:fabric_bytes_per_second < $bytes and on (run) gpucluster:run:nodes > 1) * on (run)"
            " group_left (pool) (gpucluster:run:expected_nodes / gpucluster:run:expected_nodes)",
            limits={
                "active": Threshold(
                    value=0.05,
                    unit="of the time",
                    source="002:L323-331: training keeps SMs near 80 %; a run that saves or starts is below 5 %",
                ),
                "bytes": Threshold(
                    value=1_000_000,
                    unit="bytes a second over all of its nodes",
                    source="one all-reduce of the gradients of a 1B model in bf16 a minute is 33 MB a second; EFA's"
                    " own keep-alives are far below 1 MB",
                ),
            },
            span="5m",
            severity="warning",
            domains=("user", "system"),
            owner="run",
            summary="Run {{ $labels.run }} computes on several nodes, and its fabric carries almost nothing.",
            meaning="NCCL found no RDMA device that it can use and took TCP sockets instead, which it says at"
            " level INFO only. The run looks healthy and is 5 to 20 times slower than it could be.",
            causes=(
                "the image has no aws-ofi-nccl plugin, or NCCL_NET_PLUGIN names another one",
                "NCCL_IB_HCA or NCCL_SOCKET_IFNAME of an older recipe excludes the cards",
                "the pod did not ask for the fabric's devices",
            ),
            actions=(
                Action(
                    say="Read what NCCL chose: NET/OFI or NET/IB, not NET/Socket",
                    command="kubectl logs -n training RUN-master-0 | grep 'NCCL INFO NET'",
                ),
                Action(
                    say="See whether the pod has the devices",
                    command="kubectl exec -n training RUN-master-0 -- sh -c 'ls /dev/infiniband; env | grep ^NCCL'",
                ),
                Action(say="Compare with what the plan sets", command="make plan STACK=NAME"),
            ),
            over="The cards send while the run computes.",
            link="https://github.com/aws/aws-ofi-nccl",
            guards=("V08", "P20"),
            symptom=True,
        ),
    ),
)
