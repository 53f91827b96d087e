"""Model services: errors, waiting, nobody there (V12)."""

from monitoring.failure import Action, Failure, Subject
from monitoring.thresholds import Threshold

_PODS = Action(
    say="See which replicas run, and their last events",
    command="kubectl describe pods -n inference -l app.kubernetes.io/instance=SERVICE",
)
_LOGS = Action(
    say="Read what vLLM says",
    command="kubectl logs -n inference -l app.kubernetes.io/instance=SERVICE -c vllm --tail=100",
)
_BURN = "Google, SRE Workbook, chapter 5: 14.4 times the budget of a service that is to answer 99.9 %, in 1 hour and"
" in 5 minutes"

SERVING = Subject(
    name="serving",
    title="Model services",
    failures=(
        Failure(
            id="service-errors",
            alert="ServiceErrors",
            title="A model service answers with errors",
            signal="Requests answered with 5xx, of all requests to /v1 (vLLM's HTTP metrics)",
            expression='gpucluster:serving:error_ratio{window="5m"} > $ratio and on (namespace, service)'
            ' gpucluster:serving:error_ratio{window="1h"} > $ratio',
            limits={"ratio": Threshold(value=0.0144, unit="of the requests", source=_BURN)},
            span="0s",
            severity="critical",
            domains=("user", "system", "hardware"),
            owner="service",
            summary="{{ $value | humanizePercentage }} of the requests to {{ $labels.service }} end in an error.",
            meaning="Users see errors now. At this rate a month's budget of errors is spent in two days.",
            causes=(
                "a replica whose engine died while its server still listens",
                "a replica that is stopped before its requests have ended",
                "a sick GPU of a replica: another alert names it then",
            ),
            actions=(
                _PODS,
                _LOGS,
                Action(
                    say="Delete the bad replica; the others answer meanwhile, if there are any",
                    command="kubectl delete pod -n inference POD",
                ),
            ),
            over="Fewer errors than the limit for 5 minutes.",
            link="https://sre.google/workbook/alerting-on-slos/",
            guards=("V12",),
            symptom=True,
        ),
        Failure(
            id="service-slow",
            alert="ServiceSlowToFirstToken",
            title="A model service takes long until the first token",
            signal="95th percentile of vLLM's time to the first token",
            expression='gpucluster:serving:time_to_first_token_seconds{quantile="0.95"} > $seconds unless on'
            " (namespace, service) (gpucluster:serving:requests_waiting > 0 and on (namespace, service)"
            " gpucluster:serving:replicas_ready >= on (namespace, service) gpucluster:serving:replicas_most)",
            limits={
                "seconds": Threshold(
                    value=2,
                    unit="seconds",
                    source="MLPerf Inference, Llama 2 70B, server scenario: 2,000 ms until the first token",
                )
            },
            span="5m",
            severity="warning",
            domains=("user", "system"),
            owner="service",
            summary="{{ $labels.service }} takes {{ $value | humanizeDuration }} until the first token (95 of 100"
            " requests take less).",
            meaning="People wait before anything appears. Long prompts take long by themselves; short ones wait"
            " because the batch is full or the cache is.",
            causes=(
                "prompts longer than planned",
                "a KV cache that is full, so that requests are set aside",
                "too few replicas while others start",
            ),
            actions=(
                Action(
                    say="Is it the queue or the prompts?",
                    query='gpucluster:serving:queue_seconds{quantile="0.95",service="SERVICE"}',
                ),
                Action(say="Is the cache full?", query='gpucluster:serving:kv_cache_usage_ratio{service="SERVICE"}'),
                Action(
                    say="See what the autoscaler wants, and what stops it",
                    command="kubectl describe hpa -n inference SERVICE",
                ),
            ),
            over="Below the limit at one evaluation.",
            link="https://docs.vllm.ai/en/latest/design/metrics.html",
            guards=("V12", "X14"),
            symptom=True,
        ),
        Failure(
            id="service-full",
            alert="ServiceFull",
            title="A model service has no further replica, and requests wait",
            signal="Waiting requests (vLLM) while as many replicas are ready as the plan allows (kube-state-metrics)",
            expression="gpucluster:serving:requests_waiting > 0 and on (namespace, service)"
            " gpucluster:serving:replicas_ready >= on (namespace, service) gpucluster:serving:replicas_most",
            limits={},
            span="10m",
            severity="warning",
            domains=("user",),
            owner="service",
            summary="{{ $value }} requests wait for {{ $labels.service }}, which has all the replicas it may have.",
            meaning="Demand is above what the stack file allows. Waiting grows until clients give up.",
            causes=("more use than planned", "one client without a limit", "replicas that are slower than planned"),
            actions=(
                Action(
                    say="See who asks: rates by replica",
                    query='sum by (pod) (rate(vllm:request_success_total{service="SERVICE"}[5m]))',
                ),
                Action(
                    say="Has the pool room for one more? Raise maxReplicas and look at the findings",
                    command="make plan STACK=NAME",
                ),
                _PODS,
            ),
            over="No request waits at one evaluation.",
            link="https://docs.vllm.ai/en/latest/design/metrics.html",
            guards=("V12",),
        ),
        Failure(
            id="service-down",
            alert="ServiceDown",
            title="No replica of a model service is ready",
            signal="Ready replicas of its Deployment (kube-state-metrics)",
            expression="gpucluster:serving:replicas_ready == 0 and on (namespace, service)"
            " gpucluster:serving:replicas_most > 0",
            limits={},
            span="5m",
            severity="critical",
            domains=("user", "system", "hardware"),
            owner="service",
            summary="No replica of {{ $labels.service }} is ready.",
            meaning="Every request to it fails. No service is meant to be without replicas: the least is one.",
            causes=(
                "weights that are not there, or do not fit",
                "no GPU left in its pool",
                "a new version that does not start",
            ),
            actions=(
                _PODS,
                _LOGS,
                Action(
                    say="Go back to what ran before, then correct the stack file: the next `pulumi up` would"
                    " bring the bad version again",
                    command="kubectl rollout undo deployment -n inference SERVICE",
                ),
            ),
            over="One replica is ready.",
            link="https://docs.vllm.ai/en/latest/usage/troubleshooting.html",
            guards=("V12",),
            symptom=True,
        ),
        Failure(
            id="autoscaler-blind",
            alert="AutoscalerWithoutMetric",
            title="An autoscaler cannot read its metric",
            signal="Condition ScalingActive false of a HorizontalPodAutoscaler (kube-state-metrics)",
            expression="gpucluster:autoscaler:without_metric == 1",
            limits={},
            span="1m",
            severity="critical",
            domains=("system",),
            owner="platform",
            summary="Autoscaler {{ $labels.namespace }}/{{ $labels.horizontalpodautoscaler }} cannot read its metric:"
            " replicas stay as they are.",
            meaning="The controller does not scale down on a metric that it cannot read, and it does not scale up"
            " either: a rise in demand is not answered.",
            causes=(
                "prometheus-adapter is down",
                "Prometheus does not scrape the service",
                "the metric was renamed in a new vLLM",
            ),
            actions=(
                Action(say="Read the autoscaler's own words", command="kubectl describe hpa -n NAMESPACE NAME"),
                Action(
                    say="Ask the adapter what it serves",
                    command="kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1",
                ),
                Action(say="Is the service scraped?", query='up{namespace="inference"}'),
            ),
            over="The condition ScalingActive is true again.",
            link="https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
        ),
    ),
)
