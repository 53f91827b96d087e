"""Model services: errors, slow answers, full, down (V12)."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

_PODS = Action(
    "See which replicas run, and their recent events",
    "kubectl describe pods -n inference -l app.kubernetes.io/instance=SERVICE",
)
_LOGS = Action("Read vLLM's log", "kubectl logs -n inference -l app.kubernetes.io/instance=SERVICE -c vllm --tail=100")
_BURN = "Google, SRE Workbook, chapter 5: a burn rate of 14.4 against an SLO of 99.9 %, over both 1 hour and 5 minutes"

SERVING = Subject(
    name="serving",
    title="Model services",
    failures=(
        Failure(
            id="service-errors",
            alert="ServiceErrors",
            title="A model service answers with errors",
            signal="Share of requests to /v1 answered with 5xx (vLLM's HTTP metrics)",
            expression='gpucluster:serving:error_ratio{window="5m"} > $ratio and on (namespace, service)'
            ' gpucluster:serving:error_ratio{window="1h"} > $ratio',
            limits={"ratio": Threshold(0.0144, "of the requests", _BURN)},
            severity="critical",
            domains=("user", "system", "hardware"),
            owner="service",
            summary="{{ $value | humanizePercentage }} of the requests to {{ $labels.service }} failed with 5xx in"
            " the last 5 minutes.",
            meaning="Users see errors now. At this rate a month's error budget is spent in two days.",
            causes=(
                "a replica whose engine died while its HTTP server still listens",
                "a replica that is terminated before its requests have completed",
                "a replica's faulty GPU, which has its own alert",
            ),
            actions=(
                _PODS,
                _LOGS,
                Action(
                    "Delete the faulty replica; the others, if there are any, take its requests",
                    "kubectl delete pod -n inference POD",
                ),
            ),
            over="The error ratio is below the limit for 5 minutes.",
            link="https://sre.google/workbook/alerting-on-slos/",
            guards=("V12",),
            symptom=True,
        ),
        Failure(
            id="service-slow",
            alert="ServiceSlowToFirstToken",
            title="A model service is slow to the first token",
            signal="95th percentile of vLLM's time to the first token",
            expression='gpucluster:serving:time_to_first_token_seconds{quantile="0.95"} > $seconds unless on'
            " (namespace, service) (gpucluster:serving:requests_waiting > 0 and on (namespace, service)"
            " gpucluster:serving:replicas_ready >= on (namespace, service) gpucluster:serving:replicas_most)",
            limits={
                "seconds": Threshold(
                    2, "seconds", "MLPerf Inference, Llama 2 70B, server scenario: 2,000 ms until the first token"
                )
            },
            span="5m",
            severity="warning",
            domains=("user", "system"),
            owner="service",
            summary="{{ $labels.service }} has needed {{ $value | humanizeDuration }} to the first token (p95) for 5"
            " minutes.",
            meaning="Users wait before anything appears. Long prompts take long by themselves; short ones wait"
            " because the batch or the KV cache is full.",
            causes=(
                "prompts longer than planned",
                "a full KV cache, so that requests are preempted",
                "too few replicas while new ones start",
            ),
            actions=(
                Action(
                    "Is it the queue or the prompts? Near the time to the first token it is the queue: more"
                    " replicas. Far below it is the prompts: shorter ones, or prefixes that requests share",
                    query='gpucluster:serving:queue_seconds{quantile="0.95",service="SERVICE"}',
                ),
                Action(
                    "Is the cache full? Then requests are preempted and computed again: a lower maxNumSeqs, or"
                    " another replica",
                    query='gpucluster:serving:kv_cache_usage_ratio{service="SERVICE"}',
                ),
                Action(
                    "See what the autoscaler wants, and what keeps it from scaling",
                    "kubectl describe hpa -n inference SERVICE",
                ),
            ),
            over="It is below the limit again.",
            link="https://docs.vllm.ai/en/latest/design/metrics.html",
            guards=("V12", "X14"),
            symptom=True,
        ),
        Failure(
            id="service-full",
            alert="ServiceFull",
            title="A model service is at its maximum replicas, and requests wait",
            signal="Waiting requests (vLLM) while maxReplicas replicas are ready (kube-state-metrics)",
            expression="gpucluster:serving:requests_waiting > 0 and on (namespace, service)"
            " gpucluster:serving:replicas_ready >= on (namespace, service) gpucluster:serving:replicas_most",
            span="10m",
            severity="warning",
            domains=("user",),
            owner="service",
            summary="{{ $value }} requests wait for {{ $labels.service }}, which has been at its maximum replicas"
            " for 10 minutes.",
            meaning="Demand exceeds the capacity that the stack file allows. The queue grows until clients time out.",
            causes=(
                "more traffic than planned",
                "one client without a rate limit",
                "replicas that are slower than planned",
            ),
            actions=(
                Action(
                    "See the request rate of each replica",
                    query='sum by (pod) (rate(vllm:request_success_total{service="SERVICE"}[5m]))',
                ),
                Action(
                    "Does the pool fit another replica? Raise maxReplicas in the stack file and read the findings",
                    "make plan STACK=NAME",
                ),
                _PODS,
            ),
            over="No request waits any more.",
            link="https://docs.vllm.ai/en/latest/design/metrics.html",
            guards=("V12",),
        ),
        Failure(
            id="service-down",
            alert="ServiceDown",
            title="No replica of a model service is ready",
            signal="Ready replicas of its Deployment (kube-state-metrics)",
            expression="gpucluster:serving:replicas_ready == 0 and on (namespace, service)"
            " gpucluster:serving:replicas_most > 0 unless on (namespace, service)"
            " (min_over_time(gpucluster:serving:replicas_wanted[${waking}m]) == 0 and on (namespace, service)"
            " gpucluster:serving:goes_to_zero)",
            limits={
                "waking": Threshold(
                    15,
                    "minutes that a service with scaleToZero may load",
                    "planner/serving/startup.py: the startup probe waits 10 minutes or twice what the weights take",
                )
            },
            span="5m",
            severity="critical",
            domains=("user", "system", "hardware"),
            owner="service",
            summary="No replica of {{ $labels.service }} has been ready for 5 minutes.",
            meaning="Every request to it fails. A service with scaleToZero that nobody asks is left out, and so is one"
            " that has been waking for less than 15 minutes.",
            causes=(
                "weights that are missing, or do not fit into GPU memory",
                "no GPU left in its pool",
                "a new version that does not start",
            ),
            actions=(
                _PODS,
                _LOGS,
                Action(
                    "Roll back, then correct the stack file: the next `pulumi up` would deploy the bad version again",
                    "kubectl rollout undo deployment -n inference SERVICE",
                ),
            ),
            over="One replica is ready.",
            link="https://docs.vllm.ai/en/latest/usage/troubleshooting.html",
            guards=("V12",),
            symptom=True,
        ),
        Failure(
            id="scaler-errors",
            alert="ScalerErrors",
            title="KEDA cannot read what a service scales by",
            signal="Errors of the triggers of a ScaledObject (KEDA)",
            expression="gpucluster:serving:scaler_errors_per_second > 0",
            span="10m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="KEDA has failed for 10 minutes to read what {{ $labels.service }} scales by.",
            meaning="Replicas stay as they are. Without any nobody wakes the service: every request to it gets 503.",
            causes=(
                "Prometheus is down, or does not answer KEDA",
                "Prometheus reads no metrics of the gateway, or of the service's pods",
                "a metric was renamed in a new Traefik or vLLM",
            ),
            actions=(
                Action(
                    "Read which trigger fails, and with what words",
                    "kubectl logs -n keda deploy/keda-operator --tail=100",
                ),
                Action(
                    "Wake the service by hand until it is mended",
                    "kubectl annotate scaledobject -n inference SERVICE autoscaling.keda.sh/force-activation=true",
                ),
                Action("Are the gateway and the service scraped?", query='up{namespace=~"gateway|inference"}'),
            ),
            over="No trigger has failed for 5 minutes. Take the annotation away again (append `-` to its name).",
            link="https://keda.sh/docs/2.20/troubleshooting/",
            guards=("X12", "V12"),
        ),
        Failure(
            id="autoscaler-blind",
            alert="AutoscalerWithoutMetric",
            title="An autoscaler cannot read its metric",
            signal="Condition ScalingActive false of a HorizontalPodAutoscaler (kube-state-metrics)",
            expression="gpucluster:autoscaler:without_metric == 1",
            span="1m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="Autoscaler {{ $labels.namespace }}/{{ $labels.horizontalpodautoscaler }} cannot read its metric"
            " and no longer scales.",
            meaning="The HPA controller neither scales up nor down on a metric that it cannot read: when demand"
            " rises, requests queue.",
            causes=(
                "prometheus-adapter is down",
                "Prometheus does not scrape the service",
                "the metric was renamed in a new vLLM",
            ),
            actions=(
                Action("Read the autoscaler's conditions", "kubectl describe hpa -n NAMESPACE NAME"),
                Action(
                    "List the metrics that the adapter serves", "kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1"
                ),
                Action("Is the service scraped?", query='up{namespace="inference"}'),
            ),
            over="The condition ScalingActive is true again.",
            link="https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
        ),
    ),
)
