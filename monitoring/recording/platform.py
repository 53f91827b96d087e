"""What the services stand on: queues, certificates, autoscalers, operators, and the monitoring itself."""

from monitoring.rule import Group, Recording

SYSTEM_NAMESPACES = ("gpu-operator", "volcano-system", "kubeflow", "monitoring", "cert-manager", "gateway", "keda")
"""Where what runs the cluster runs; a name that a stack does not have selects nothing."""

_SYSTEM = f'namespace=~"{"|".join(SYSTEM_NAMESPACES)}"'
_OWN_NAMESPACE = '"namespace", "$1", "exported_namespace", "(.+)"'


def _missing(kind: str, wanted: str, there: str) -> Recording:
    """Pods that a workload of the system lacks. A DaemonSet of no node lacks none."""
    counted = f"max by (namespace, {kind})"
    return Recording(
        "gpucluster:operator:pods_missing",
        "max by (namespace, workload) (label_replace("
        f"{counted} ({wanted}{{{_SYSTEM}}}) - {counted} ({there}{{{_SYSTEM}}})"
        f', "workload", "$1", "{kind}", "(.+)"))',
        ("namespace", "workload"),
        constant={"kind": kind},
    )


PLATFORM = Group(
    name="platform",
    rules=(
        Recording(
            "gpucluster:queue:gangs_pending",
            'max by (queue) (label_replace(volcano_queue_pod_group_pending_count, "queue", "$1",'
            ' "queue_name", "(.+)"))',
            ("queue",),
        ),
        Recording(
            "gpucluster:queue:gangs_inqueue",
            'max by (queue) (label_replace(volcano_queue_pod_group_inqueue_count, "queue", "$1",'
            ' "queue_name", "(.+)"))',
            ("queue",),
        ),
        Recording(
            "gpucluster:certificate:expires_in_seconds",
            "min by (namespace, name) (label_replace("
            f"certmanager_certificate_expiration_timestamp_seconds > 0, {_OWN_NAMESPACE})) - time()",
            ("namespace", "name"),
        ),
        Recording(
            "gpucluster:certificate:overdue_seconds",
            "time() - max by (namespace, name) (label_replace("
            f"certmanager_certificate_renewal_timestamp_seconds > 0, {_OWN_NAMESPACE}))",
            ("namespace", "name"),
        ),
        Recording(
            "gpucluster:autoscaler:without_metric",
            "max by (namespace, horizontalpodautoscaler)"
            ' (kube_horizontalpodautoscaler_status_condition{condition="ScalingActive",status="false"}) and on'
            " (namespace, horizontalpodautoscaler) kube_horizontalpodautoscaler_status_current_replicas > 0",
            ("namespace", "horizontalpodautoscaler"),
        ),
        _missing("deployment", "kube_deployment_spec_replicas", "kube_deployment_status_replicas_available"),
        _missing(
            "daemonset",
            "kube_daemonset_status_desired_number_scheduled",
            "kube_daemonset_status_number_available",
        ),
        Recording("gpucluster:target:down", "count by (job, namespace) (up == 0)", ("job", "namespace")),
    ),
)
