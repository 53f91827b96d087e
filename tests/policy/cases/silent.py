"""What nothing refuses and nobody is told of: names in bindings and values, keys, monitors, order, jobs that stay."""

from dataclasses import replace
from functools import partial

from policy.graph import Graph
from tests.graph.changes import MISSING, Change, both, gone, put, unordered
from tests.policy.cases.case import Case

RUN, SERVER, COPY = "run-llama-3-70b-pretrain-job", "service-llama-3-70b-deployment", "dataset-web-text-copy"
STACK, BINDING = "monitoring-stack-chart-release", "training-operator-access-binding"
OPERATOR, MONITOR = "gpu-operator-release", "run-monitor-monitor"
PROMETHEUS = "values.prometheus.prometheusSpec"
POD = "spec.template.spec"
ASKER, KEYS = "smoke-llama-3-70b-request", f"{POD}.containers.0.env.1.valueFrom.secretKeyRef"
ALERTS = "rules-alerts"
RELEASED = {"release": "kube-prometheus-stack"}


def replaced_by(*paths: str) -> Change:
    """The run is replaced when these change."""
    return lambda graph: replace(
        graph, resources={**graph.resources, graph.one(RUN).urn: replace(graph.one(RUN), replace_on_changes=paths)}
    )


def labelled_alike(graph: Graph) -> Graph:
    """Every rule has the label of the release."""
    rules = [each.name for each in graph.of_type("PrometheusRule")]
    return both(*(put(name, "metadata.labels", RELEASED) for name in rules))(graph)


made = partial(Case, preview=False)
"""A case whose names a first preview does not know."""

BOUND, KEYED, NAMED = "bindings_give_rights", "keys_are_in_their_object", "charts_name_what_is_there"
FOUND, READ, FIT = "pod_monitors_find_their_pods", "monitors_and_rules_are_read", "metrics_fit_their_disk"
ANEW, STAY = "changed_runs_start_anew", "registered_jobs_stay"
CREDENTIALS, DEFINED = "pods_come_after_their_credentials", "definitions_come_first"

CASES = [
    Case(
        BOUND,
        put(BINDING, "subjects.0.namespace", "training"),
        "account training-operator in training, which",
        preview=False,
    ),
    made(BOUND, put(BINDING, "subjects.0.name", "operator"), "account operator in kubeflow, which"),
    Case(BOUND, put(BINDING, "roleRef.name", "training-operators"), "gives the ClusterRole training-operators"),
    made(BOUND, put("run-watch-binding", "roleRef.name", "watch"), "gives the Role watch, which"),
    Case(BOUND, put(BINDING, "roleRef.name", "cluster-admin"), None),
    Case(BOUND, put(BINDING, "roleRef.name", "volcano-admission"), None),
    Case(BOUND, put(BINDING, "subjects.0", {"kind": "Group", "name": "system:authenticated"}), None),
    Case(BOUND, put(BINDING, "subjects.0.namespace", "monitoring"), None),
    Case(
        KEYED,
        put(ASKER, f"{KEYS}.key", "hf-token"),
        "takes hf-token from the Secret llama-3-70b-keys-",
        preview=False,
    ),
    Case(
        KEYED, put(SERVER, f"{POD}.volumes.2.secret.items.0.key", "keys"), "takes keys from the Secret", preview=False
    ),
    Case(KEYED, both(put(ASKER, f"{KEYS}.key", "hf-token"), put(ASKER, f"{KEYS}.optional", True)), None),
    Case(KEYED, put(ASKER, KEYS, {"name": "of-somebody-else", "key": "x"}), None),
    Case(
        NAMED,
        put(OPERATOR, "values.dcgmExporter.config.name", "counters"),
        "names the ConfigMap counters in",
        preview=False,
    ),
    Case(
        NAMED,
        put(STACK, f"{PROMETHEUS}.storageSpec.volumeClaimTemplate.spec.storageClassName", "gp4"),
        "names the StorageClass gp4",
    ),
    Case(NAMED, put(STACK, "values.prometheus-node-exporter.priorityClassName", "nodes"), "PriorityClass nodes"),
    Case(
        NAMED,
        put(STACK, "values.alertmanager.alertmanagerSpec.configSecret", "routes"),
        "names the Secret routes",
        preview=False,
    ),
    Case(NAMED, put(STACK, f"{PROMETHEUS}.storageSpec.volumeClaimTemplate.spec.storageClassName", "gp2"), None),
    Case(NAMED, put(OPERATOR, "values.migManager.config.name", "default-mig-parted-config"), None),
    Case(
        FOUND,
        put(MONITOR, "spec.podMetricsEndpoints.0.port", "http"),
        "asks for the port http; its pods have",
        preview=False,
    ),
    Case(
        FOUND,
        put(MONITOR, "spec.selector", {"matchLabels": {"app": "run"}}),
        "selects no pod in training",
        preview=False,
    ),
    Case(FOUND, put(MONITOR, "spec.namespaceSelector", {"any": True}), None),
    Case(
        NAMED,
        put(OPERATOR, "values.devicePlugin.config", {"create": True, "name": "device-plugin", "data": {"any": "x"}}),
        None,
    ),
    Case(
        "restarts_agree",
        put(RUN, "spec.pytorchReplicaSpecs.Worker.restartPolicy", "Never"),
        "allows 25 failures and never restarts its Worker",
    ),
    Case(
        "restarts_agree",
        both(
            put(RUN, "spec.pytorchReplicaSpecs.Master.restartPolicy", "Never"),
            put(RUN, "spec.pytorchReplicaSpecs.Worker.restartPolicy", "Never"),
            put(RUN, "spec.runPolicy.backoffLimit", 0),
        ),
        None,
    ),
    Case(FOUND, put(MONITOR, "spec.selector", {"matchLabels": {"gpucluster/run": "llama-3-70b-pretrain"}}), None),
    Case(READ, put(STACK, f"{PROMETHEUS}.ruleSelectorNilUsesHelmValues", True), f"{ALERTS}: is not read"),
    Case(READ, put(STACK, f"{PROMETHEUS}.ruleSelectorNilUsesHelmValues", MISSING), f"{ALERTS}: is not read"),
    Case(READ, put(STACK, f"{PROMETHEUS}.podMonitorSelector", {"matchLabels": {"a": "b"}}), f"{MONITOR}: is not read"),
    Case(READ, both(put(STACK, f"{PROMETHEUS}.ruleSelectorNilUsesHelmValues", True), labelled_alike), None),
    Case(
        READ,
        both(
            put(STACK, f"{PROMETHEUS}.ruleSelectorNilUsesHelmValues", True),
            put(STACK, "values.prometheus.enabled", False),
        ),
        None,
    ),
    Case(FIT, put(STACK, f"{PROMETHEUS}.retentionSize", "50GB"), "up to 50GB of metrics on a volume of 50Gi"),
    Case(FIT, put(STACK, f"{PROMETHEUS}.retentionSize", "42GiB"), None),
    Case(FIT, put(STACK, f"{PROMETHEUS}.retentionSize", MISSING), None),
    Case(ANEW, replaced_by(), "is a PyTorchJob that is updated in place"),
    Case(ANEW, replaced_by("metadata"), "updated in place"),
    Case(ANEW, replaced_by("spec.pytorchReplicaSpecs", "spec.runPolicy"), None),
    Case(STAY, put(COPY, "spec.ttlSecondsAfterFinished", 600), "is deleted 600 s after it has ended"),
    Case(STAY, put("backup-llama-3-70b-pretrain-schedule", "spec.jobTemplate.spec.ttlSecondsAfterFinished", 600), None),
    Case(
        CREDENTIALS,
        unordered(COPY, *(f"dataset-web-text-identity{end}" for end in ("-association", "-role", "-policy"))),
        "dataset-web-text-copy: may start before dataset-web-text-identity-association",
        preview=False,
    ),
    Case(
        CREDENTIALS,
        unordered("log-collector-release", "pod-logs-identity-association"),
        "may start before pod-logs-identity-association",
        preview=False,
    ),
    Case(CREDENTIALS, gone("dataset-web-text-identity-association"), None),
    Case(DEFINED, unordered(MONITOR, "prometheus-operator-crds-release"), "may come before prometheus-operator-crds"),
    Case(
        DEFINED,
        both(unordered(MONITOR, "prometheus-operator-crds-release"), gone("prometheus-operator-crds-release")),
        None,
    ),
]
