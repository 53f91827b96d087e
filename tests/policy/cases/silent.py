"""What nothing refuses and nobody is told of: names in bindings and values, keys, monitors, order, jobs that stay."""

from dataclasses import replace
from functools import partial
from typing import Any

from policy.graph import Graph
from tests.graph.changes import MISSING, Change, both, gone, put, unordered
from tests.policy.cases.case import Case

RUN, SERVER, COPY = "run-llama-3-70b-pretrain-job", "service-llama-3-70b-deployment", "dataset-web-text-copy"
STACK, BINDING = "monitoring-stack-chart-release", "training-operator-access-binding"
OPERATOR, MONITOR, LIMITS = "gpu-operator-release", "run-monitor-monitor", "namespaces-training-limits"
PROMETHEUS = "values.prometheus.prometheusSpec"
POD = "spec.template.spec"
KEYS = f"{POD}.containers.0.env.0.valueFrom.secretKeyRef"
ROLLING = "spec.strategy.rollingUpdate"
ALERTS = "rules-alerts"
RELEASED = {"release": "kube-prometheus-stack"}


def in_both(path: str, value: Any) -> Change:
    """The input below the pods' spec is this in the master and in the workers."""
    roles = ("Master", "Worker")
    return both(*(put(RUN, f"spec.pytorchReplicaSpecs.{role}.template.spec.{path}", value) for role in roles))


def in_workers(path: str, value: Any) -> Change:
    return put(RUN, f"spec.pytorchReplicaSpecs.Worker.template.spec.{path}", value)


def told(name: str, value: str) -> Change:
    """The workers have one variable of this value more."""

    def change(graph: Graph) -> Graph:
        spec = graph.one(RUN).inputs["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
        env = [*spec["containers"][0]["env"], {"name": name, "value": value}]
        return in_workers("containers.0.env", env)(graph)

    return change


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
ALIKE, SAVED, LET_IN = "members_are_alike", "saves_can_be_written", "namespaces_limits_let_their_pods_in"
ROOM, WAIT, HOLD, FORMS = (
    "rollouts_have_room",
    "zonal_volumes_wait_for_pods",
    "queues_hold_their_gangs",
    "scheduler_forms_gangs",
)
NEEDED = "values.custom.scheduler_config_override"
CONFIGURED = "tiers:\n- plugins:\n  - name: gang\n"

NIC, CONFIG = "kube-platform-nic-cluster-policy", "spec.rdmaSharedDevicePlugin.config"
OTHER = '{"configList": [{"resourceName": "shared"}]}'
WITH_PREFIX = '{"configList": [{"resourcePrefix": "rdma", "resourceName": "compute"}]}'
MACHINE = "pods_find_their_machines"


def joining(old: str, new: str) -> Change:
    """Every GPU machine joins by another text."""

    def change(graph: Graph) -> Graph:
        found = [each for each in graph.of_type("Command") if old in str(each.inputs.get("stdin"))]
        assert found, old
        return both(*(put(each.name, "stdin", each.inputs["stdin"].replace(old, new)) for each in found))(graph)

    return change


DEVICES, REACHED, API = "rdma_devices_are_given", "fabric_plugins_reach_their_nodes", "cilium_finds_the_api"
on_metal = partial(Case, stack="metal")
FABRIC = [
    on_metal(
        MACHINE, joining("gpucluster/pool=training", "gpucluster/pool=train"), "with which none joins", preview=False
    ),
    on_metal(
        MACHINE,
        joining("- key: nvidia.com/gpu\n    value: present", "- key: reserved\n    value: gpus"),
        "does not tolerate reserved of the machines",
        preview=False,
    ),
    on_metal(MACHINE, joining("gpucluster/rack=r1", "gpucluster/rack=r9"), None, preview=False),
    on_metal(MACHINE, in_both("nodeSelector", {"gpucluster/pool": "training", "example.com/by-hand": "yes"}), None),
    on_metal(DEVICES, put(NIC, CONFIG, OTHER), "asks for rdma/compute; the device plugins give rdma/shared"),
    on_metal(DEVICES, put(NIC, CONFIG, WITH_PREFIX), None),
    on_metal(DEVICES, gone(NIC), None),
    on_metal(REACHED, put(NIC, "spec.tolerations", MISSING), "tolerates no taint nvidia.com/gpu", preview=False),
    on_metal(REACHED, put(NIC, "spec.tolerations", [{"operator": "Exists"}]), None),
    on_metal(API, put("cilium-release", "values.k8sServiceHost", MISSING), "has no k8sServiceHost"),
    on_metal(
        API,
        both(
            put("cilium-release", "values.k8sServiceHost", MISSING),
            put("cilium-release", "values.kubeProxyReplacement", "false"),
        ),
        None,
    ),
]

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
        put(SERVER, f"{KEYS}.key", "hf-token"),
        "takes hf-token from the Secret hf-token, which has token",
        preview=False,
    ),
    Case(
        KEYED, put(SERVER, f"{POD}.volumes.2.secret.items.0.key", "keys"), "takes keys from the Secret", preview=False
    ),
    Case(KEYED, both(put(SERVER, f"{KEYS}.key", "hf-token"), put(SERVER, f"{KEYS}.optional", True)), None),
    Case(KEYED, put(SERVER, KEYS, {"name": "of-somebody-else", "key": "x"}), None),
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
    Case(ALIKE, in_workers("containers.0.image", "trainer@sha256:0"), "and trainer@sha256:0 in pods of one job"),
    Case(ALIKE, told("NCCL_PROTO", "Simple"), "sets NCCL_PROTO otherwise"),
    Case(ALIKE, told("SEED", "7"), None),
    Case(ALIKE, in_both("containers.0.image", "trainer@sha256:0"), None),
    Case(SAVED, in_both("volumes.0.persistentVolumeClaim.readOnly", True), "to /checkpoints, which is mounted read-"),
    Case(SAVED, in_both("containers.0.volumeMounts.0.readOnly", True), "is mounted read-only"),
    Case(SAVED, in_both("containers.0.volumeMounts.0.mountPath", "/saves"), "to /checkpoints, which is gone with"),
    Case(SAVED, in_both("volumes.0", {"name": "checkpoints", "emptyDir": {}}), "which is gone with the pod"),
    Case(SAVED, in_both("containers.0.volumeMounts.0.mountPath", "/"), None),
    Case(
        LET_IN,
        put(LIMITS, "spec.limits.0.max", {"memory": "64Gi"}),
        "memory in pytorch, which namespaces-training",
        preview=False,
    ),
    made(LET_IN, put(LIMITS, "spec.limits.0.min", {"cpu": "2"}), "asks for 100m cpu in run-watch"),
    Case(LET_IN, put(LIMITS, "spec.limits.0.max", {"memory": "2Ti", "nvidia.com/gpu": "8"}), None),
    Case(LET_IN, put(LIMITS, "spec.limits.0", {"type": "Pod", "max": {"memory": "1Gi"}}), None),
    Case(ROOM, put(SERVER, ROLLING, {"maxSurge": 1, "maxUnavailable": 0}), "updates with 12 GPUs at once"),
    Case(ROOM, put(SERVER, "spec.strategy", MISSING), "updates with 12 GPUs at once"),
    Case(ROOM, put(SERVER, "spec.strategy", {"type": "Recreate"}), None),
    Case(
        ROOM,
        both(
            put(SERVER, ROLLING, {"maxSurge": "25%", "maxUnavailable": 0}),
            put("pool-inference-nodes", "scalingConfig.maxSize", 2),
        ),
        None,
    ),
    Case(WAIT, put("block-storage-gp3", "volumeBindingMode", "Immediate"), "binds at once, and nodes are in 3 zones"),
    Case(WAIT, put("block-storage-gp3", "volumeBindingMode", MISSING), "binds at once"),
    Case(
        WAIT,
        both(
            put("block-storage-gp3", "volumeBindingMode", MISSING),
            put("block-storage-gp3", "allowedTopologies", [{"matchLabelExpressions": []}]),
        ),
        None,
    ),
    Case(
        WAIT,
        put("local-volumes-class", "volumeBindingMode", "Immediate"),
        "binds at once to the disk of any node",
        stack="metal",
    ),
    Case(
        HOLD,
        put("queues-training", "spec.capability", {"nvidia.com/gpu": "32"}),
        "its queue training has 32",
        preview=False,
    ),
    Case(HOLD, put("queues-training", "spec.capability", {"cpu": "8"}), None),
    Case(
        HOLD,
        both(
            put("queues-training", "spec.capability", {"nvidia.com/gpu": "16"}),
            put(RUN, "spec.elasticPolicy", {"minReplicas": 1, "maxReplicas": 7}),
        ),
        None,
    ),
    Case(FORMS, put("volcano-release", NEEDED, f"actions: backfill, preempt\n{CONFIGURED}"), "no action allocate"),
    Case(FORMS, put("volcano-release", NEEDED, f"actions: enqueue, allocate, preempt\n{CONFIGURED}"), None),
    Case(
        "processes_share_memory", in_both("volumes.2.emptyDir", {"sizeLimit": "64Gi"}), "and its shared memory on disk"
    ),
    Case("processes_share_memory", in_both("volumes.2", {"name": "shm", "hostPath": {"path": "/dev/shm"}}), None),
    Case(
        "cards_may_lock_memory",
        in_both("containers.0.securityContext.capabilities", {"drop": ["ALL"]}),
        "without the capability IPC_LOCK",
        stack="metal",
    ),
    Case("cards_may_lock_memory", in_both("containers.0.securityContext", {"privileged": True}), None, stack="metal"),
    *FABRIC,
]
