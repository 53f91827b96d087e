"""The platform: gangs that wait, operators, certificates, and the monitoring itself."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

PLATFORM = Subject(
    name="platform",
    title="Platform",
    failures=(
        Failure(
            id="gang-stuck",
            alert="GangStuck",
            title="A gang was admitted, but its pods do not start",
            signal="PodGroups that are Inqueue, by queue (Volcano's controller)",
            expression="gpucluster:queue:gangs_inqueue > 0",
            span="15m",
            severity="warning",
            domains=("user", "system"),
            owner="platform",
            summary="Gangs of queue {{ $labels.queue }} that were admitted 15 minutes ago and do not run: {{ $value"
            " }}.",
            meaning="The queue has capacity for the gang, but no set of nodes fits it: free GPUs are spread over too"
            " many nodes, nodes are cordoned, a taint is not tolerated, or an image cannot be pulled. The run does"
            " not start, and its share of the queue is held meanwhile: a gang starts whole or not at all.",
            causes=(
                "enough GPUs are free in total, but not on whole nodes",
                "cordoned or unhealthy nodes, which the queue still counts as capacity",
                "a gate that has not tested the nodes yet, or failed them: `kubectl get nodes -L gpucluster/gate`",
                "a node selector that no node matches",
            ),
            actions=(
                Action("Read the reason in the conditions of the PodGroup", "kubectl describe podgroups -n training"),
                Action("Read the events of one of its pods", "kubectl describe pod -n training RUN-master-0"),
                Action(
                    "Compare capacity and requests of the pool's nodes, and see which are cordoned or tainted",
                    "kubectl describe nodes -l gpucluster/pool=POOL | grep -E"
                    " '^(Name|Taints|Unschedulable):|nvidia.com/gpu'",
                ),
            ),
            over="The gang runs.",
            link="https://volcano.sh/en/docs/podgroup/",
        ),
        Failure(
            id="queue-waits",
            alert="QueueWaits",
            title="Gangs have been pending for long",
            signal="PodGroups that are Pending, by queue (Volcano's controller)",
            expression="gpucluster:queue:gangs_pending > 0",
            span="1h",
            severity="info",
            domains=("user",),
            owner="run",
            summary="Gangs pending in queue {{ $labels.queue }} for an hour: {{ $value }}.",
            meaning="The queue has used up its share, or other queues have borrowed what is idle. Waiting is not a"
            " fault in itself. A run that was preempted by one of higher priority waits here too: who gives way is"
            " decided by priority classes and by the queues' shares, not by who used most last week.",
            causes=(
                "more runs than GPUs",
                "a share too small for the gang",
                "a run that nobody needs any more and still holds its GPUs",
            ),
            actions=(
                Action("See each queue's share and usage", "kubectl get queues -o wide"),
                Action(
                    "See which gangs are pending, and which were preempted",
                    "kubectl get podgroups -A; kubectl get events -A --field-selector reason=Evict",
                ),
                Action("Delete a run that nobody needs", "kubectl delete pytorchjob -n training RUN"),
            ),
            over="The gang was admitted to its queue.",
            link="https://volcano.sh/en/docs/queue/",
            guards=("V06", "SL18"),
        ),
        Failure(
            id="operator-down",
            alert="OperatorDown",
            title="A platform component is short of pods",
            signal="Missing pods of Deployments and DaemonSets in system namespaces (kube-state-metrics)",
            expression="gpucluster:operator:pods_missing > 0",
            span="10m",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="{{ $labels.namespace }}/{{ $labels.workload }} has been short of pods for 10 minutes (missing:"
            " {{ $value }}).",
            meaning="Running workloads go on, but new ones may not start: without Volcano's scheduler no gang"
            " starts, without the training operator a job gets no pods, without the device plugin a node offers no"
            " GPUs.",
            causes=(
                "an image that cannot be pulled",
                "no capacity left on the system pool",
                "a version that is incompatible with the cluster's",
            ),
            actions=(
                Action(
                    "See which pods are missing, and why",
                    "kubectl get pods -n NAMESPACE -o wide; kubectl get events -n NAMESPACE --sort-by=.lastTimestamp",
                ),
                Action("Read its log from before it was restarted", "kubectl logs -n NAMESPACE POD --previous"),
                Action("Restore the release to what the stack file says", "pulumi up --refresh"),
            ),
            over="Every pod of the workload is ready.",
            link="https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/",
        ),
        Failure(
            id="certificate-overdue",
            alert="CertificateNotRenewed",
            title="A certificate was not renewed in time",
            signal="Time since the renewal was due (cert-manager)",
            expression="gpucluster:certificate:overdue_seconds > $seconds",
            limits={
                "seconds": Threshold(
                    3600,
                    "seconds after the time to renew it",
                    "cert-manager renews at two thirds of the lifetime; its first retry after a failure waits one hour",
                )
            },
            span="1m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="Certificate {{ $labels.namespace }}/{{ $labels.name }} should have been renewed {{ $value |"
            " humanizeDuration }} ago.",
            meaning="The certificate is valid until it expires; from then on every client refuses the connection.",
            causes=(
                "DNS no longer points here, so the ACME challenge fails",
                "a rate limit of the issuer",
                "the issuer's own credentials or CA",
            ),
            actions=(
                Action(
                    "Follow the chain from the certificate to the failed challenge",
                    "kubectl describe certificate,certificaterequest,order,challenge -n NAMESPACE",
                ),
                Action("Read cert-manager's log", "kubectl logs -n cert-manager deploy/cert-manager --tail=100"),
                Action(
                    "Renew it once the cause is gone (cmctl is cert-manager's CLI)", "cmctl renew -n NAMESPACE NAME"
                ),
            ),
            over="The certificate was renewed.",
            link="https://cert-manager.io/docs/troubleshooting/",
        ),
        Failure(
            id="target-down",
            alert="TargetDown",
            title="Prometheus cannot scrape a target",
            signal="Targets whose last scrape failed (Prometheus)",
            expression="gpucluster:target:down > 0",
            span="10m",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="Targets of {{ $labels.namespace }}/{{ $labels.job }} that Prometheus could not scrape for 10"
            " minutes: {{ $value }}.",
            meaning="The metrics of these targets are missing, so alerts on them cannot fire: a GPU node without its"
            " exporter is unmonitored.",
            causes=(
                "the exporter's pod or its node is down",
                "a network policy or security group",
                "a port that was renamed",
            ),
            actions=(
                Action(
                    "Read the scrape error in Prometheus",
                    "kubectl port-forward -n monitoring svc/kube-prometheus-stack-prometheus 9090 # then"
                    " http://localhost:9090/targets",
                ),
                Action(
                    "See which of the exporter's pods are not running, and on which nodes",
                    "kubectl get pods -n NAMESPACE -o wide",
                ),
                Action("Read its log", "kubectl logs -n NAMESPACE POD --tail=50"),
            ),
            over="The next scrape succeeds.",
            link="https://prometheus.io/docs/concepts/jobs_instances/",
            symptom=True,
        ),
        Failure(
            id="gpu-unwatched",
            alert="GpuUnwatched",
            title="A GPU node shows no GPU metrics",
            signal="Nodes that offer GPUs but have no temperature metric (kube-state-metrics, dcgm-exporter)",
            expression="gpucluster:node:gpus_allocatable > 0 and on (node) gpucluster:node:ready == 1 unless on (node)"
            " gpucluster:gpu:temperature_celsius",
            span="10m",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="Node {{ $labels.node }} has had no GPU metrics for 10 minutes (GPUs unmonitored: {{ $value }}).",
            meaning="No GPU alert can fire for this node, and dashboards leave it out: a failing GPU there goes"
            " unnoticed.",
            causes=(
                "dcgm-exporter does not run there: a taint that it does not tolerate",
                "its list of metrics names a field that this DCGM version does not know, so it exits at start",
                "the ServiceMonitor selects another port",
            ),
            actions=(
                Action(
                    "Find the exporter's pod of the node",
                    "kubectl get pods -n gpu-operator -l app=nvidia-dcgm-exporter -o wide",
                ),
                Action("Read its log", "kubectl logs -n gpu-operator -l app=nvidia-dcgm-exporter --tail=50"),
                Action("Is there a ServiceMonitor for it?", "kubectl get servicemonitors -n gpu-operator"),
            ),
            over="Prometheus has the temperatures of the node's GPUs again.",
            link="https://docs.nvidia.com/datacenter/dcgm/latest/gpu-telemetry/dcgm-exporter.html",
            guards=("DC10", "X07"),
        ),
        Failure(
            id="monitoring-disk",
            alert="PrometheusDiskFull",
            title="The monitoring disk is filling up",
            signal="Used share of the claims in namespace monitoring (kubelet volume statistics)",
            expression='gpucluster:volume:used_ratio{namespace="monitoring"} > $used',
            limits={
                "used": Threshold(
                    0.9,
                    "of the volume",
                    "Prometheus' documentation: retention by size at 80 to 85 % of the disk, so that 90 % mean"
                    " that it does not hold",
                )
            },
            span="5m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="Volume {{ $labels.persistentvolumeclaim }} is {{ $value | humanizePercentage }} full.",
            meaning="Prometheus stops when its disk is full: then no alert fires, and autoscalers have no metrics.",
            causes=("more series than planned: a high-cardinality label", "a retention that the disk cannot hold"),
            actions=(
                Action(
                    "Find the metrics with the most series", query="topk(10, count by (__name__) ({__name__=~'.+'}))"
                ),
                Action("Compare the number of series and the disk with the plan", "make plan STACK=NAME"),
                Action("Enlarge the disk or shorten the retention in the stack file", "make preview STACK=NAME"),
            ),
            over="Usage is below the limit again.",
            link="https://prometheus.io/docs/prometheus/latest/storage/",
        ),
        Failure(
            id="block-ends",
            alert="BlockEnds",
            title="A capacity block ends within a day",
            signal="The block's times, as the last deployment planned them, while the pool has nodes",
            expression="gpucluster:pool:block_leaves_seconds - time() < $seconds and on (pool) gpucluster:node:pool",
            limits={
                "seconds": Threshold(
                    86400,
                    "seconds until its nodes are drained",
                    "EC2 user guide, Extend Capacity Blocks: an extension is asked for up to an hour before the end,"
                    " and had only where there is capacity; a day leaves a working day to decide",
                )
            },
            span="1m",
            severity="warning",
            domains=("user",),
            owner="run",
            summary="Block {{ $labels.reservation }} of pool {{ $labels.pool }} loses its nodes in"
            " {{ $value | humanizeDuration }}.",
            meaning="40 minutes before the block's end its nodes are drained, then EC2 ends them: a run saves and"
            " stops, and waits until its pool has nodes again.",
            causes=("the block was bought until then", "it was extended, and the stack file does not say so yet"),
            actions=(
                Action("Find what an extension or the next block costs", "make blocks STACK=NAME"),
                Action("Write the end of an extension into the stack file, and deploy", "make plan STACK=NAME"),
                Action("See which runs have pods there", "kubectl get pods -n training -o wide"),
            ),
            over="The stack knows a later end, or the pool has no nodes any more.",
            link="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-extend.html",
        ),
    ),
)
