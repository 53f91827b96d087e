"""What the services stand on: gangs that wait, operators, certificates, and the monitoring itself."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

PLATFORM = Subject(
    name="platform",
    title="Platform",
    failures=(
        Failure(
            id="gang-stuck",
            alert="GangStuck",
            title="A gang was let in, and its pods do not start",
            signal="PodGroups that are Inqueue, by queue (Volcano's controller)",
            expression="gpucluster:queue:gangs_inqueue > 0",
            limits={},
            span="15m",
            severity="warning",
            domains=("user", "system"),
            owner="platform",
            summary="{{ $value }} gangs of queue {{ $labels.queue }} were let in 15 minutes ago, and do not run.",
            meaning="The queue has room for the gang, and no set of nodes has: free GPUs are spread over too"
            " many nodes, nodes are cordoned, a taint is not tolerated, or an image cannot be pulled."
            " A gang starts whole or not at all.",
            causes=(
                "enough GPUs are free in all, and not on whole nodes",
                "cordoned or sick nodes, which the queue still counts",
                "a gate that has not measured the nodes yet, or found them bad: `kubectl get nodes -L gpucluster/gate`",
                "a selector that no node meets",
            ),
            actions=(
                Action(
                    say="Read why: the conditions of the gang's group", command="kubectl describe podgroups -n training"
                ),
                Action(
                    say="Read why: the events of one of its pods",
                    command="kubectl describe pod -n training RUN-master-0",
                ),
                Action(
                    say="Compare what the pool's nodes have with what pods took of it, and see which are"
                    " cordoned or tainted",
                    command="kubectl describe nodes -l gpucluster/pool=POOL | grep -E"
                    " '^(Name|Taints|Unschedulable):|nvidia.com/gpu'",
                ),
            ),
            over="The gang runs.",
            link="https://volcano.sh/en/docs/podgroup/",
        ),
        Failure(
            id="queue-waits",
            alert="QueueWaits",
            title="Gangs wait long for their queue",
            signal="PodGroups that are Pending, by queue (Volcano's controller)",
            expression="gpucluster:queue:gangs_pending > 0",
            limits={},
            span="1h",
            severity="info",
            domains=("user",),
            owner="run",
            summary="{{ $value }} gangs have waited for queue {{ $labels.queue }} for an hour.",
            meaning="The queue uses its share, or other queues use what they may take. Waiting is no fault as such. A"
            " run that was stopped for one of higher priority waits here too: who gives way is decided by priority"
            " classes and by the queues' shares, not by who used most last week.",
            causes=(
                "more runs than GPUs",
                "a share too small for the gang",
                "a run that ended long ago and still holds its pods",
            ),
            actions=(
                Action(say="See shares and use", command="kubectl get queues -o wide"),
                Action(
                    say="See which gangs wait, and which were preempted",
                    command="kubectl get podgroups -A; kubectl get events -A --field-selector reason=Evict",
                ),
                Action(say="End what nobody needs", command="kubectl delete pytorchjob -n training RUN"),
            ),
            over="The gang was admitted to its queue.",
            link="https://volcano.sh/en/docs/queue/",
            guards=("V06", "SL18"),
        ),
        Failure(
            id="operator-down",
            alert="OperatorDown",
            title="A part of the platform lacks pods",
            signal="Pods that Deployments and DaemonSets of the system's namespaces lack (kube-state-metrics)",
            expression="gpucluster:operator:pods_missing > 0",
            limits={},
            span="10m",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="{{ $labels.namespace }}/{{ $labels.workload }} lacks {{ $value }} pods.",
            meaning="What runs goes on, and nothing new starts. Without Volcano's scheduler no gang starts,"
            " without the training operator a job gets no pods, without a device plugin its node"
            " offers no GPU.",
            causes=(
                "an image that cannot be pulled",
                "no room on the system pool",
                "a version that does not fit the cluster's",
            ),
            actions=(
                Action(
                    say="See which pods, and why",
                    command="kubectl get pods -n NAMESPACE -o wide; kubectl get events -n NAMESPACE"
                    " --sort-by=.lastTimestamp",
                ),
                Action(say="Read what it said before it ended", command="kubectl logs -n NAMESPACE POD --previous"),
                Action(say="Bring the release back to what the stack file says", command="pulumi up --refresh"),
            ),
            over="Every pod of the workload is ready.",
            link="https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/",
        ),
        Failure(
            id="certificate-overdue",
            alert="CertificateNotRenewed",
            title="A certificate was not renewed in time",
            signal="Time since cert-manager wanted to renew it (cert-manager)",
            expression="gpucluster:certificate:overdue_seconds > $seconds",
            limits={
                "seconds": Threshold(
                    value=3600,
                    unit="seconds after the time to renew it",
                    source="cert-manager renews at two thirds of the lifetime; its first retry after a failure waits"
                    " one hour",
                )
            },
            span="1m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="Certificate {{ $labels.namespace }}/{{ $labels.name }} should have been renewed {{ $value |"
            " humanizeDuration }} ago.",
            meaning="The certificate works until it expires; from then on every client refuses the connection.",
            causes=(
                "DNS no longer points here, so that the challenge fails",
                "a rate limit of the issuer",
                "the issuer's own credentials or CA",
            ),
            actions=(
                Action(
                    say="Read the chain of reasons",
                    command="kubectl describe certificate,certificaterequest,order,challenge -n NAMESPACE",
                ),
                Action(
                    say="Read what cert-manager says",
                    command="kubectl logs -n cert-manager deploy/cert-manager --tail=100",
                ),
                Action(
                    say="Ask for it again when the cause is gone (cmctl is cert-manager's own command)",
                    command="cmctl renew -n NAMESPACE NAME",
                ),
            ),
            over="It was renewed: the time of its next renewal lies ahead again.",
            link="https://cert-manager.io/docs/troubleshooting/",
        ),
        Failure(
            id="target-down",
            alert="TargetDown",
            title="Something is not scraped",
            signal="Targets whose last scrape failed (Prometheus)",
            expression="gpucluster:target:down > 0",
            limits={},
            span="10m",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="{{ $value }} targets of {{ $labels.job }} in {{ $labels.namespace }} cannot be scraped.",
            meaning="What these targets measure is not seen: alerts on it cannot fire. A GPU node whose exporter is"
            " silent is a node that nobody watches.",
            causes=(
                "the exporter's pod is down or its node is",
                "a network policy or security group",
                "a port that was renamed",
            ),
            actions=(
                Action(
                    say="Read the error that Prometheus got",
                    command="kubectl port-forward -n monitoring svc/kube-prometheus-stack-prometheus 9090 # then"
                    " http://localhost:9090/targets",
                ),
                Action(
                    say="See which of the exporter's pods do not run, and on which nodes",
                    command="kubectl get pods -n NAMESPACE -o wide",
                ),
                Action(say="Read its log", command="kubectl logs -n NAMESPACE POD --tail=50"),
            ),
            over="The next scrape succeeds.",
            link="https://prometheus.io/docs/concepts/jobs_instances/",
            symptom=True,
        ),
        Failure(
            id="gpu-unwatched",
            alert="GpuUnwatched",
            title="A GPU node shows no GPU metrics",
            signal="Nodes that offer GPUs and have no temperature (kube-state-metrics, dcgm-exporter)",
            expression="gpucluster:node:gpus_allocatable > 0 and on (node) gpucluster:node:ready == 1 unless on (node)"
            " gpucluster:gpu:temperature_celsius",
            limits={},
            span="10m",
            severity="warning",
            domains=("system",),
            owner="platform",
            summary="Node {{ $labels.node }} offers {{ $value }} GPUs, and none of them is measured.",
            meaning="No alert about GPUs of this node can fire, and dashboards leave it out.",
            causes=(
                "dcgm-exporter does not run there: a taint that it does not tolerate",
                "its list names a field that this DCGM does not know: it ends at the start",
                "the monitor selects another port",
            ),
            actions=(
                Action(
                    say="See the exporter's pod of the node",
                    command="kubectl get pods -n gpu-operator -l app=nvidia-dcgm-exporter -o wide",
                ),
                Action(
                    say="Read its first lines",
                    command="kubectl logs -n gpu-operator -l app=nvidia-dcgm-exporter --tail=50",
                ),
                Action(say="Is there a monitor for it?", command="kubectl get servicemonitors -n gpu-operator"),
            ),
            over="Prometheus has temperatures of the node's GPUs again.",
            link="https://docs.nvidia.com/datacenter/dcgm/latest/gpu-telemetry/dcgm-exporter.html",
            guards=("DC10", "X07"),
        ),
        Failure(
            id="monitoring-disk",
            alert="PrometheusDiskFull",
            title="The disk of the monitoring fills up",
            signal="Used part of the claims in namespace monitoring (kubelet volume statistics)",
            expression='gpucluster:volume:used_ratio{namespace="monitoring"} > $used',
            limits={
                "used": Threshold(
                    value=0.9,
                    unit="of the volume",
                    source="Prometheus' documentation: retention by size at 80 to 85 % of the disk, so that 90 % mean"
                    " that it does not hold",
                )
            },
            span="5m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="Volume {{ $labels.persistentvolumeclaim }} is {{ $value | humanizePercentage }} full.",
            meaning="A full disk ends Prometheus: then there are no alerts, and autoscalers have no metrics.",
            causes=("more series than planned: a label with many values", "retention longer than the disk holds"),
            actions=(
                Action(
                    say="Find the metrics with most series", query="topk(10, count by (__name__) ({__name__=~'.+'}))"
                ),
                Action(say="Compare series and disk with the plan", command="make plan STACK=NAME"),
                Action(
                    say="Make the disk larger, or retention shorter, in the stack file",
                    command="make preview STACK=NAME",
                ),
            ),
            over="Less than the limit is used.",
            link="https://prometheus.io/docs/prometheus/latest/storage/",
        ),
    ),
)
