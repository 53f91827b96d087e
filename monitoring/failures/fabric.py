"""The fabric between nodes: links, silent packet loss, and runs that bypass it."""

from monitoring.failure import ON_HOST, Action, Failure, Subject
from monitoring.thresholds import Threshold

_CORDON = Action("Keep new gangs off the node", "kubectl cordon NODE")

FABRIC = Subject(
    name="fabric",
    title="Fabric",
    failures=(
        Failure(
            id="fabric-link",
            alert="FabricLinkDown",
            row="Infiniband link",
            title="A fabric link of a node is down",
            signal="State of ports that were active in the last day (node_exporter: infiniband); on AWS, EFA devices"
            " that disappeared, compared with what the node offered (kube-state-metrics)",
            expression="gpucluster:fabric:links_missing > 0",
            severity="critical",
            isolates=True,
            domains=("hardware",),
            owner="hardware",
            summary="Fabric links down on node {{ $labels.node }}: {{ $value }}.",
            meaning="NCCL binds each GPU to a NIC. With one port down, collectives time out, or the run restarts"
            " over the remaining NICs at a fraction of its speed.",
            causes=(
                "a cable, transceiver or switch port",
                "the NIC or its firmware",
                "on AWS, a NIC of the instance",
            ),
            actions=(
                _CORDON,
                Action("See which port is down", f"{ON_HOST} ibstat; {ON_HOST} rdma link"),
                Action(
                    "On premises, check links and errors of the whole fabric from the subnet manager's host; on"
                    " AWS, have the instance replaced",
                    "ibdiagnet --pc -P all=1",
                ),
            ),
            over="Every port is active, and every EFA device is back. Run an NCCL test on the node before you"
            " uncordon it; where its pool has a gate, the gate does so.",
            link="https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband",
            guards=("V01", "V03", "V04", "PF18"),
            more="Do not unload the driver to reset a NIC: the modules are mlx5_ib and mlx5_core, and without"
            " mlx5_core the node loses storage and network too. Reset one NIC with `mlxfwreset -d DEVICE reset` on a"
            " drained node, or reboot it.",
        ),
        Failure(
            id="fabric-flaps",
            alert="FabricLinkFlaps",
            title="A fabric link flaps or has many errors",
            signal="Link-down count of each port, symbol errors (node_exporter: infiniband)",
            expression="(increase(gpucluster:fabric:link_downed[12h]) >= $flaps or 3600 *"
            ' gpucluster:fabric:errors_per_second{kind="symbol"} > $symbols) unless on (node)'
            " gpucluster:fabric:links_missing > 0",
            limits={
                "flaps": Threshold(3, "times in 12 hours", "gpud: a link that is down 3 times in 12 h flaps"),
                "symbols": Threshold(
                    120, "symbol errors an hour", "NVSentinel: more than 120 symbol errors an hour are fatal"
                ),
            },
            span="1m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="Port {{ $labels.device }} of node {{ $labels.node }} flaps or has symbol errors: {{ $value |"
            " humanize }} in all.",
            meaning="The link works most of the time, but retransmits or drops packets. Steps become slower and"
            " uneven, until an NCCL timeout kills the run.",
            causes=("a dirty or loose transceiver", "a cable that is bent or too long", "a failing switch port"),
            actions=(
                Action("Find the end of the link that has the errors", "ibdiagnet --ber_test"),
                Action("Cordon the node, clean and reseat the transceiver, then swap the cable", "kubectl cordon NODE"),
                Action("Read the transceiver's diagnostics", f"{ON_HOST} mlxlink -d DEVICE -m -c"),
            ),
            over="No further flap in 12 hours, and fewer than 120 symbol errors an hour.",
            link="https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband",
            guards=("V04", "PF11"),
        ),
        Failure(
            id="fabric-drops",
            alert="FabricDropsPackets",
            title="The fabric drops packets",
            signal="Discards and out-of-buffer drops (node_exporter: infiniband), rx_drops (EFA)",
            expression="sum by (node, device, pool) (gpucluster:fabric:drops_per_second) > $drops",
            limits={
                "drops": Threshold(100, "packets a second", "NVSentinel: discards above 100 a second degrade a port")
            },
            span="1m",
            severity="warning",
            domains=("system", "hardware"),
            owner="platform",
            summary="Port {{ $labels.device }} of node {{ $labels.node }} has dropped {{ $value | humanize }}"
            " packets a second for a minute.",
            meaning="RDMA expects a lossless fabric. Each lost packet costs a timeout: runs slow down or stall, and"
            " no process reports an error.",
            causes=(
                "RoCE: priority flow control (PFC) or ECN is not set on one port of the path",
                "buffers that fill up behind one slow receiver: a hot GPU, a degraded PCIe link",
                "a switch port that lacks the fabric's configuration",
            ),
            actions=(
                Action(
                    "See whether one port drops, or all ports of a switch",
                    query="topk(20, sum by (node, device) (gpucluster:fabric:drops_per_second))",
                ),
                Action(
                    "On RoCE, compare the NIC's PFC and trust mode with those of other nodes",
                    f"{ON_HOST} mlnx_qos -i INTERFACE",
                ),
                Action("Look for retries in the run's NCCL log", "kubectl logs -n training POD | grep -i 'NCCL WARN'"),
            ),
            over="The drop rate is below the limit.",
            link="https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband",
            guards=("V05", "V09", "PF19", "P20"),
            more="PFC is set on every switch port of the path, in the switch's own configuration, and on the cards"
            " with `mlnx_qos`. NICs and switches must use the same priority: a pause for a priority that carries no"
            " traffic stops no sender, and packets are lost as without PFC.",
        ),
        Failure(
            id="run-on-tcp",
            alert="RunWithoutFabric",
            title="A multi-node run does not use the fabric",
            signal="Busy tensor cores (dcgm-exporter) while the NICs of its nodes send almost nothing (node_exporter,"
            " EFA)",
            expression="(gpucluster:run:tensor_active_ratio > $active and on (run)"
            " gpucluster:run:fabric_bytes_per_second < $bytes and on (run) gpucluster:run:nodes > 1) * on (run)"
            " group_left (pool) (gpucluster:run:expected_nodes / gpucluster:run:expected_nodes)",
            limits={
                "active": Threshold(
                    0.05,
                    "of the time",
                    "002:L323-331: training keeps SMs near 80 %; a run that saves or starts is below 5 %",
                ),
                "bytes": Threshold(
                    1_000_000,
                    "bytes a second over all of its nodes",
                    "one all-reduce of the gradients of a 1B model in bf16 a minute is 33 MB a second; EFA's"
                    " own keep-alives are far below 1 MB",
                ),
            },
            span="5m",
            severity="warning",
            domains=("user", "system"),
            owner="run",
            summary="Run {{ $labels.run }} trains on several nodes, but has sent almost nothing over the fabric for"
            " 5 minutes.",
            meaning="NCCL found no usable RDMA device and fell back to TCP sockets, which it logs at level INFO"
            " only. The run looks healthy but is 5 to 20 times slower than it should be.",
            causes=(
                "the image has no aws-ofi-nccl plugin, or NCCL_NET_PLUGIN names another one",
                "NCCL_IB_HCA or NCCL_SOCKET_IFNAME, copied from an older recipe, excludes the NICs",
                "the pod does not request the fabric's devices",
            ),
            actions=(
                Action(
                    "Read which transport NCCL chose: it should be NET/OFI or NET/IB, not NET/Socket",
                    "kubectl logs -n training RUN-master-0 | grep 'NCCL INFO NET'",
                ),
                Action(
                    "Check that the pod has the devices",
                    "kubectl exec -n training RUN-master-0 -- sh -c 'ls /dev/infiniband; env | grep ^NCCL'",
                ),
                Action("Compare with the environment that the plan sets", "make plan STACK=NAME"),
            ),
            over="The NICs send data while the run computes.",
            link="https://github.com/aws/aws-ofi-nccl",
            guards=("V08", "P20"),
            symptom=True,
        ),
    ),
)
