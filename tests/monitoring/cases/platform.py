"""Model services, and what everything stands on."""

from tests.monitoring.cases.case import Case
from tests.monitoring.healthy import dcgm, gone, in_cluster, rising, scaler_errors, series, served, still, turns

_LLAMA = {"namespace": "inference", "service": "llama"}
_HPA = {"namespace": "inference", "horizontalpodautoscaler": "llama"}
_PROMETHEUS = {"namespace": "monitoring", "persistentvolumeclaim": "prometheus-0"}


PLATFORM: dict[str, Case] = {
    "service-errors": Case(
        firing={
            served("http_requests_total", handler="/v1/completions", method="POST", status="5xx"): rising(15),
        },
        silent={
            served("http_requests_total", handler="/v1/completions", method="POST", status="5xx"): rising(4),
        },
        labels=({**_LLAMA, "window": "5m"},),
        summary="4.762% of the requests to llama failed with 5xx in the last 5 minutes.",
    ),
    "service-slow": Case(
        firing={
            served("vllm:time_to_first_token_seconds_bucket", le="1.0"): rising(0),
            served("vllm:time_to_first_token_seconds_bucket", le="0.5"): rising(0),
        },
        silent={
            served("vllm:time_to_first_token_seconds_bucket", le="1.0"): rising(280),
            served("vllm:time_to_first_token_seconds_bucket", le="0.5"): rising(200),
        },
        labels=({**_LLAMA, "quantile": "0.95"},),
        summary="llama has needed 2.425s to the first token (p95) for 5 minutes.",
    ),
    "service-full": Case(
        firing={
            served("vllm:num_requests_waiting"): turns(0, 12),
            in_cluster("kube_deployment_status_replicas_ready", namespace="inference", deployment="llama"): still(2),
        },
        silent={served("vllm:num_requests_waiting"): turns(0, 12)},
        labels=(_LLAMA,),
        summary="12 requests wait for llama, which has been at its maximum replicas for 10 minutes.",
    ),
    "service-down": Case(
        firing={
            in_cluster("kube_deployment_status_replicas_ready", namespace="inference", deployment="llama"): turns(1, 0)
        },
        silent={
            in_cluster("kube_deployment_status_replicas_ready", namespace="inference", deployment="other"): still(0),
            in_cluster("kube_deployment_status_replicas_ready", namespace="inference", deployment="draft"): still(0),
            in_cluster("kube_deployment_spec_replicas", namespace="inference", deployment="draft"): turns(
                0, 1, minute=10
            ),
        },
        labels=(_LLAMA,),
        summary="No replica of llama has been ready for 5 minutes.",
    ),
    "block-ends": Case(
        firing={in_cluster("kube_node_labels", node="p5-a", label_gpucluster_pool="booked"): still(1)},
        silent={in_cluster("kube_node_labels", node="p5-b", label_gpucluster_pool="later"): still(1)},
        labels=({"pool": "booked", "reservation": "cr-1"},),
        summary="Block cr-1 of pool booked loses its nodes in 23h 50m 0s.",
    ),
    "scaler-errors": Case(
        firing={scaler_errors(): rising(1)},
        silent={scaler_errors(): turns(0, 1)},
        labels=({"namespace": "inference", "service": "draft"},),
        summary="KEDA has failed for 10 minutes to read what draft scales by.",
        minute=25,
    ),
    "autoscaler-blind": Case(
        firing={
            in_cluster(
                "kube_horizontalpodautoscaler_status_condition", **_HPA, condition="ScalingActive", status="false"
            ): turns(0, 1)
        },
        silent={
            in_cluster(
                "kube_horizontalpodautoscaler_status_condition", **_HPA, condition="ScalingActive", status="false"
            ): turns(0, 1),
            in_cluster("kube_horizontalpodautoscaler_status_current_replicas", **_HPA): still(0),
        },
        labels=(_HPA,),
        summary="Autoscaler inference/llama cannot read its metric and no longer scales.",
    ),
    "gang-stuck": Case(
        firing={series("volcano_queue_pod_group_inqueue_count", queue_name="training"): turns(0, 1)},
        silent={series("volcano_queue_pod_group_inqueue_count", queue_name="training"): turns(0, 1, minute=18)},
        labels=({"queue": "training"},),
        summary="Gangs of queue training that were admitted 15 minutes ago and do not run: 1.",
        minute=30,
    ),
    "queue-waits": Case(
        firing={series("volcano_queue_pod_group_pending_count", queue_name="training"): turns(0, 3)},
        silent={series("volcano_queue_pod_group_pending_count", queue_name="training"): turns(0, 3, minute=20)},
        labels=({"queue": "training"},),
        summary="Gangs pending in queue training for an hour: 3.",
        minute=75,
    ),
    "operator-down": Case(
        firing={
            in_cluster(
                "kube_deployment_status_replicas_available", namespace="volcano-system", deployment="volcano-scheduler"
            ): turns(1, 0)
        },
        silent={
            in_cluster("kube_deployment_spec_replicas", namespace="team", deployment="own"): still(1),
            in_cluster("kube_deployment_status_replicas_available", namespace="team", deployment="own"): still(0),
        },
        labels=({"namespace": "volcano-system", "workload": "volcano-scheduler", "kind": "deployment"},),
        summary="volcano-system/volcano-scheduler has been short of pods for 10 minutes (missing: 1).",
    ),
    "certificate-overdue": Case(
        firing={
            series(
                "certmanager_certificate_renewal_timestamp_seconds",
                name="llama",
                exported_namespace="inference",
                namespace="cert-manager",
            ): still(60)
        },
        silent={
            series(
                "certmanager_certificate_renewal_timestamp_seconds",
                name="llama",
                exported_namespace="inference",
                namespace="cert-manager",
            ): still(2_000)
        },
        labels=({"namespace": "inference", "name": "llama"},),
        summary="Certificate inference/llama should have been renewed 1h 13m 0s ago.",
        minute=74,
    ),
    "target-down": Case(
        firing={
            series("up", job="nvidia-dcgm-exporter", namespace="gpu-operator", instance="10.0.0.9:8080"): turns(1, 0)
        },
        silent={
            series("up", job="nvidia-dcgm-exporter", namespace="gpu-operator", instance="10.0.0.9:8080"): turns(
                1, 0, minute=12
            )
        },
        labels=({"job": "nvidia-dcgm-exporter", "namespace": "gpu-operator"},),
        summary="Targets of gpu-operator/nvidia-dcgm-exporter that Prometheus could not scrape for 10 minutes: 1.",
    ),
    "gpu-unwatched": Case(
        firing={},
        silent={dcgm("DCGM_FI_DEV_GPU_TEMP", "gpu-c", 0): gone(48, minute=12)},
        labels=({"node": "gpu-c", "pool": "serve"},),
        summary="Node gpu-c has had no GPU metrics for 10 minutes (GPUs unmonitored: 1).",
        gone=(dcgm("DCGM_FI_DEV_GPU_TEMP", "gpu-c", 0),),
    ),
    "monitoring-disk": Case(
        firing={series("kubelet_volume_stats_available_bytes", **_PROMETHEUS, node="system-a"): turns(5e10, 9e9)},
        silent={series("kubelet_volume_stats_available_bytes", **_PROMETHEUS, node="system-a"): turns(5e10, 1.2e10)},
        labels=(_PROMETHEUS,),
        summary="Volume prometheus-0 is 91% full.",
    ),
}
