"""Heat and power: what slows GPUs down, or takes a whole pool down."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Codes, Threshold

_EXPORTER = "dcgm-exporter"
_SAMPLES = Threshold(
    3,
    "of the 10 samples of 5 minutes",
    "gpud: hardware slowdown of 0.6 events a minute is a fault; dcgm-exporter takes a sample every 30 s",
)
_CLOCKS = Action(
    "Read why the clocks are held down, and how hot each GPU is",
    "kubectl exec -n gpu-operator $(kubectl get pod -n gpu-operator -l app=nvidia-device-plugin-daemonset"
    " --field-selector spec.nodeName=NODE -o name) -- nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",
)
_CORDON = Action("Keep new gangs off the node: the slowest GPU sets the pace for all", "kubectl cordon NODE")

HEAT = Subject(
    name="heat",
    title="Heat and power",
    failures=(
        Failure(
            id="gpu-throttled",
            alert="GpuThermalThrottle",
            title="A GPU throttles because of heat",
            signal=f"Clock event reasons hw_thermal and sw_thermal ({_EXPORTER}), not a temperature: GPU and driver"
            " throttle themselves, each product at its own limit",
            expression='sum by (node, gpu, pool) (gpucluster:gpu:clock_event_samples{clock_event=~"$events"}) >='
            " $samples",
            limits={
                "events": Codes(
                    values=("hw_thermal", "sw_thermal"),
                    source="dcgm-exporter 4.8.2, internal/pkg/collector/clock_events_collector.go",
                ),
                "samples": _SAMPLES,
            },
            span="1m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} throttled because of heat in {{ $value }} of"
            " 10 samples in the last 5 minutes.",
            meaning="The GPU lowers its own clocks to stay below its temperature limit. A throttled GPU loses 10 to"
            " 30 % of its speed, and every other GPU of the gang waits for it.",
            causes=(
                "too little air or coolant: a fan, a filter, a pump, a kinked hose",
                "supply too warm: facility water is 12 to 15 C, the node's own loop about 40 C at its inlet - two"
                " different loops",
                "thermal paste or a cold plate that lost contact: one GPU is hot and its neighbours are not",
            ),
            actions=(
                _CLOCKS,
                Action(
                    "Find out whether it is one GPU, one node or a rack: compare the nodes in Prometheus",
                    query="max by (node) (gpucluster:gpu:temperature_celsius)",
                ),
                _CORDON,
            ),
            over="No thermal clock event for 5 minutes under load.",
            link="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
            guards=("H14", "H15", "HW17", "HW18", "P20", "U10", "V03"),
            more="On premises: read the coolant's temperature at the supply (12 to 15 C on the facility's side) and"
            " at the node's inlet (40 C), and check that the pump runs or that the standby pump took over. On AWS"
            " have the instance replaced: in a placement group, stop and start does not reliably move it to other"
            " hardware.",
        ),
        Failure(
            id="gpu-hot",
            alert="GpuHot",
            title="A GPU is near its temperature limit",
            signal=f"GPU temperature, and degrees left until the slowdown threshold ({_EXPORTER})",
            expression="(gpucluster:gpu:temperature_celsius >= $celsius or gpucluster:gpu:temperature_margin_celsius"
            " <= $margin) unless on (node, gpu) sum by (node, gpu)"
            ' (gpucluster:gpu:clock_event_samples{clock_event=~"hw_thermal|sw_thermal"}) > 0',
            limits={
                "celsius": Threshold(
                    85,
                    "C",
                    "requirement H14 as corrected by HW17: a default for a warning; parts slow down at 87 to 89 C",
                ),
                "margin": Threshold(
                    2,
                    "C below the slowdown threshold",
                    "HW17: drivers show a margin (T.Limit); 87 C operating against 89 C slowdown are 2 C",
                ),
            },
            span="5m",
            severity="warning",
            domains=("hardware",),
            owner="hardware",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} has been {{ if gt $value 20.0 }}at {{ $value"
            " }} C{{ else }}within {{ $value }} C of its slowdown threshold{{ end }} for 5 minutes.",
            meaning="The GPU does not throttle yet: training still runs at full speed, and there is time to check"
            " the cooling. Once it throttles, its gang loses 10 to 30 % of its speed.",
            causes=(
                "a fan or pump that is slowing down",
                "supply air or water that is too warm",
                "a higher load than planned",
            ),
            actions=(
                _CLOCKS,
                Action(
                    "See whether it has crept up: degrees above last week, in Prometheus",
                    query="topk(10, gpucluster:gpu:temperature_drift_celsius)",
                ),
                Action(
                    "Tell the data centre which rack, or open a case with the cloud", "kubectl get node NODE -o wide"
                ),
            ),
            over="Temperature and margin are within their limits again.",
            link="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
            guards=("H14", "HW17", "ST17", "X02", "X13"),
        ),
        Failure(
            id="gpu-power-brake",
            alert="GpuPowerBrake",
            title="A GPU is power-braked",
            signal=f"Clock event reasons hw_power_brake and hw_slowdown without heat ({_EXPORTER})",
            expression='sum by (node, gpu, pool) (gpucluster:gpu:clock_event_samples{clock_event=~"$events"}) >='
            " $samples unless on (node, gpu) sum by (node, gpu)"
            ' (gpucluster:gpu:clock_event_samples{clock_event=~"hw_thermal|sw_thermal"}) > 0',
            limits={
                "events": Codes(
                    values=("hw_power_brake", "hw_slowdown"),
                    source="dcgm-exporter 4.8.2: power brake is asserted by the server; power_cap alone is normal at"
                    " full load",
                ),
                "samples": _SAMPLES,
            },
            span="1m",
            severity="critical",
            domains=("hardware",),
            owner="hardware",
            summary="GPU {{ $labels.gpu }} of node {{ $labels.node }} was power-braked by its server in {{ $value }}"
            " of 10 samples in the last 5 minutes.",
            meaning="The server makes its GPUs halve their clocks because a power supply failed or the node draws"
            " more than the remaining ones deliver. The gang runs at the pace of these GPUs. One more failed supply"
            " takes the node down; a tripped breaker takes down every node behind it.",
            causes=(
                "a power supply failed or lost its feed: redundancy is gone",
                "an overloaded PDU or circuit",
                "power supplies too small for the node: a DGX H100 has six of 3.3 kW; two of 2 kW are not enough",
            ),
            actions=(
                Action(
                    "See which nodes are braked together: they share a rack or a circuit",
                    query='count by (node) (gpucluster:gpu:clock_event_samples{clock_event="hw_power_brake"} > 0)',
                ),
                Action(
                    "On premises, read the state of the power supplies from the node's BMC; on AWS, have the"
                    " instance replaced",
                    "make power STACK=NAME NODE=NODE WHAT=status",
                ),
                _CORDON,
            ),
            over="No power brake for 5 minutes, and every power supply is healthy.",
            link="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
            guards=("V11", "T13", "HW02", "U10"),
        ),
        Failure(
            id="nodes-lost-together",
            alert="NodesLostTogether",
            title="Several nodes of a pool were lost at once",
            signal="Nodes that do not report to the API server, by pool (kube-state-metrics)",
            expression="count by (pool) (gpucluster:node:unreachable == 1 and on (node)"
            " max_over_time(gpucluster:node:ready[15m]) == 1) >= $nodes",
            limits={
                "nodes": Threshold(
                    2,
                    "nodes within 15 minutes",
                    "002:L275-285 puts two nodes on a breaker; by chance, at 6.5 failures in 1,000 node-days"
                    " (RSC-1), two of 64 nodes fail within 15 minutes once in a year and a half",
                )
            },
            severity="critical",
            domains=("hardware", "system"),
            owner="hardware",
            summary="{{ $value }} nodes of pool {{ $labels.pool }} stopped reporting within 15 minutes.",
            meaning="Nodes that fail together share something: a breaker, a PDU, a cooling loop, a switch, a"
            " placement group. Every gang on them has stopped and restarts from its last checkpoint. Find the shared"
            " part before you repair nodes one by one.",
            causes=("a breaker tripped", "a cooling loop stopped and nodes shut down", "a switch or uplink is down"),
            actions=(
                Action(
                    "See what the lost nodes have in common",
                    "kubectl get nodes -l gpucluster/pool=POOL -L topology.kubernetes.io/zone -o wide",
                ),
                Action(
                    "Ask the data centre about the rack's breakers and cooling loops, or check the cloud's"
                    " instance status",
                    "aws ec2 describe-instance-status --include-all-instances --filters"
                    " Name=instance-status.status,Values=impaired,initializing",
                ),
                Action(
                    "Cordon the rest of the pool until the shared part is found, so that runs do not restart"
                    " over and over",
                    "kubectl get nodes -l gpucluster/pool=POOL -o name | xargs kubectl cordon",
                ),
            ),
            over="All but one of the nodes report again. A node that is still silent after 15 minutes gets its own"
            " alert (NodeUnreachable).",
            link="https://kubernetes.io/docs/reference/node/node-status/#condition",
            guards=("V11", "T13"),
        ),
    ),
)
