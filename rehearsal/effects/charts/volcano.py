"""Chart volcano: scheduler and controllers with their real arguments, configuration and identities.

The admission webhook (`volcano-admission`, its hook Job and webhook configurations) is not rendered: its binary is not
rehearsed, and its `failurePolicy: Fail` would refuse everything. The queues `default` and `root` are made by the
controllers. Source: volcano-sh/volcano, installer/helm/chart/volcano 1.14.1.
"""

from __future__ import annotations

from typing import Any

import yaml

from rehearsal.effects.charts.manifests import READ, WRITE, Object, Release, Rule, at, merged

TOOLCHAIN_CRDS = "volcano"
SCHEDULER_CONF = "volcano-scheduler.conf"
DEFAULTS: Object = {
    "basic": {
        "image_registry": "docker.io",
        "image_tag_version": "v1.14.1",
        "image_pull_policy": "Always",
        "scheduler_image_name": "volcanosh/vc-scheduler",
        "controller_image_name": "volcanosh/vc-controller-manager",
    },
    "custom": {
        "scheduler_enable": True,
        "controller_enable": True,
        "scheduler_replicas": 1,
        "controller_replicas": 1,
        "scheduler_metrics_enable": True,
        "controller_metrics_enable": True,
        "leader_elect_enable": False,
        "scheduler_kube_api_qps": 2000,
        "scheduler_kube_api_burst": 2000,
        "scheduler_schedule_period": "1s",
        "scheduler_node_worker_threads": 20,
        "controller_kube_api_qps": 50,
        "controller_kube_api_burst": 100,
        "controller_worker_threads": 3,
        "controller_worker_threads_for_gc": 5,
        "controller_worker_threads_for_podgroup": 5,
        "scheduler_log_level": 3,
        "controller_log_level": 4,
    },
}
DEFAULT_CONFIGURATION: Object = {
    "actions": "enqueue, allocate, backfill",
    "tiers": [
        {"plugins": [{"name": "priority"}, {"name": "gang", "enablePreemptable": False}, {"name": "conformance"}]},
        {
            "plugins": [
                {"name": "overcommit"},
                {"name": "drf", "enablePreemptable": False},
                *({"name": name} for name in ("predicates", "proportion", "nodeorder", "binpack")),
            ]
        },
    ],
}
_VOLCANO = ("scheduling.incubator.k8s.io", "scheduling.volcano.sh")
_COMMON: tuple[Rule, ...] = (
    (["apiextensions.k8s.io"], ["customresourcedefinitions"], [*READ, "create", "delete"]),
    (["batch.volcano.sh"], ["jobs"], [*READ, "create", "update", "delete"]),
    (["batch.volcano.sh"], ["jobs/status", "jobs/finalizers"], ["update", "patch"]),
    ([""], ["events"], ["create", "list", "watch", "update", "patch"]),
    ([""], ["configmaps"], [*READ, "create", "delete", "update"]),
    ([""], ["nodes"], [*READ, "update", "patch"]),
    ([""], ["services"], [*READ, "create", "delete"]),
    (_VOLCANO, ["queues", "queues/status", "podgroups"], [*READ, *WRITE]),
    (["apps"], ["daemonsets", "replicasets", "statefulsets"], READ),
    (["coordination.k8s.io"], ["leases"], ["get", "create", "update", "watch"]),
    (["topology.volcano.sh"], ["hypernodes", "hypernodes/status"], [*READ, *WRITE]),
    (["shard.volcano.sh"], ["nodeshards", "nodeshards/status"], [*READ, *WRITE]),
)
SCHEDULER_RULES: tuple[Rule, ...] = (
    *_COMMON,
    ([""], ["pods"], [*READ, "patch", "delete"]),
    ([""], ["pods/status"], ["update"]),
    ([""], ["pods/binding"], ["create"]),
    ([""], ["persistentvolumeclaims", "persistentvolumes"], ["list", "watch", "update"]),
    ([""], ["namespaces", "replicationcontrollers", "resourcequotas"], READ),
    (
        ["storage.k8s.io"],
        ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"],
        ["list", "watch"],
    ),
    (["policy"], ["poddisruptionbudgets"], ["list", "watch"]),
    (["scheduling.k8s.io"], ["priorityclasses"], READ),
    (["nodeinfo.volcano.sh"], ["numatopologies"], [*READ, "delete"]),
    (["resource.k8s.io"], ["resourceclaims"], [*READ, "create", "update", "patch"]),
    (["resource.k8s.io"], ["resourceclaims/status"], ["update"]),
    (["resource.k8s.io"], ["deviceclasses", "resourceslices", "devicetaintrules"], [*READ, "create"]),
)
CONTROLLER_RULES: tuple[Rule, ...] = (
    *_COMMON,
    (["batch.volcano.sh"], ["cronjobs"], [*READ, "create", "update", "delete"]),
    (["batch.volcano.sh"], ["cronjobs/status", "cronjobs/finalizers"], ["update", "patch"]),
    (["bus.volcano.sh"], ["commands"], [*READ, "delete"]),
    ([""], ["pods"], [*READ, *WRITE]),
    ([""], ["pods/finalizers"], ["update", "patch"]),
    ([""], ["persistentvolumeclaims"], [*READ, "create"]),
    ([""], ["secrets"], ["get", "create", "delete", "update"]),
    (["flow.volcano.sh"], ["jobflows", "jobtemplates"], [*READ, "create", "delete", "update"]),
    (
        ["flow.volcano.sh"],
        ["jobflows/status", "jobs/finalizers", "jobtemplates/status", "jobtemplates/finalizers"],
        ["update", "patch"],
    ),
    (["scheduling.k8s.io"], ["priorityclasses"], [*READ, "create", "delete"]),
    (["networking.k8s.io"], ["networkpolicies"], ["get", "create", "delete"]),
    (["batch"], ["jobs"], ["get"]),
    (["config.volcano.sh"], ["colocationconfigurations"], READ),
)


def objects(release: Release) -> list[Object]:
    """The objects of the release. Raises TypeError for a scheduler configuration that is no text."""
    values = merged(DEFAULTS, release.values)
    made = _scheduler(release, values) if at(values, "custom.scheduler_enable") else []
    return made + (_controllers(release, values) if at(values, "custom.controller_enable") else [])


def _scheduler(release: Release, values: Object) -> list[Object]:
    custom, name, labels = values["custom"], f"{release.name}-scheduler", {"app": "volcano-scheduler"}
    mount = [{"name": "scheduler-config", "mountPath": "/volcano.scheduler"}]
    volume = [{"name": "scheduler-config", "configMap": {"name": f"{name}-configmap"}}]
    sockets = {"name": "klog-sock", "mountPath": "/tmp/klog-socks"}  # noqa: S108 - a path in the container
    container = {
        "args": [
            "--logtostderr",
            f"--scheduler-conf=/volcano.scheduler/{SCHEDULER_CONF}",
            *_named(custom, "scheduler-name", "scheduler_name"),
            "--enable-healthz=true",
            *(["--enable-metrics=true"] if custom.get("scheduler_metrics_enable") else []),
            *_leader(release, custom),
            *_named(custom, "kube-api-qps", "scheduler_kube_api_qps"),
            *_named(custom, "kube-api-burst", "scheduler_kube_api_burst"),
            *_named(custom, "schedule-period", "scheduler_schedule_period"),
            *_named(custom, "node-worker-threads", "scheduler_node_worker_threads"),
            *_named(custom, "feature-gates", "scheduler_feature_gates"),
            *_named(custom, "ignored-provisioners", "ignored_provisioners"),
            f"-v={custom['scheduler_log_level']}",
            "2>&1",
        ],
        "env": [{"name": "DEBUG_SOCKET_DIR", "value": "/tmp/klog-socks"}],  # noqa: S108
        "volumeMounts": [*mount, sockets],
    }
    pod = _pod(values, name, "scheduler", container, [*volume, {"name": "klog-sock", "emptyDir": {}}])
    return [
        release.configmap(f"{name}-configmap", {SCHEDULER_CONF: configuration(custom)}),
        release.account(name),
        *release.cluster_role(name, SCHEDULER_RULES, name),
        release.deployment(name, labels, pod, int(custom["scheduler_replicas"])),
        release.service(f"{name}-service", labels, "metrics", 8080),
    ]


def configuration(custom: Object) -> str:
    """The scheduler's configuration file: the override, or the chart's own."""
    override = custom.get("scheduler_config_override")
    if override is None:
        return yaml.safe_dump(DEFAULT_CONFIGURATION, sort_keys=False)
    if not isinstance(override, str):
        kind = type(override).__name__
        raise TypeError(f"volcano: custom.scheduler_config_override is YAML text, not a {kind}: dump it to a string")
    return override


def _controllers(release: Release, values: Object) -> list[Object]:
    custom, name, labels = values["custom"], f"{release.name}-controllers", {"app": "volcano-controller"}
    container = {
        "args": [
            "--logtostderr",
            "--enable-healthz=true",
            *(["--enable-metrics=true"] if custom.get("controller_metrics_enable") else []),
            *_leader(release, custom),
            *_named(custom, "scheduler-name", "scheduler_name"),
            *_named(custom, "kube-api-qps", "controller_kube_api_qps"),
            *_named(custom, "kube-api-burst", "controller_kube_api_burst"),
            *_named(custom, "worker-threads", "controller_worker_threads"),
            *_named(custom, "worker-threads-for-gc", "controller_worker_threads_for_gc"),
            *_named(custom, "worker-threads-for-podgroup", "controller_worker_threads_for_podgroup"),
            f"-v={custom['controller_log_level']}",
            "2>&1",
        ],
        "env": [
            {"name": "KUBE_POD_NAMESPACE", "value": release.namespace},
            {"name": "HELM_RELEASE_NAME", "value": release.name},
        ],
    }
    pod = _pod(values, name, "controller", container, [])
    override = custom.get("controller_config_override") or ""
    return [
        release.configmap(f"{release.name}-controller-configmap", {"volcano-controller.conf": str(override)}),
        release.account(name),
        *release.cluster_role(name, CONTROLLER_RULES, name),
        release.deployment(name, labels, pod, int(custom["controller_replicas"])),
        release.service(f"{name}-service", labels, "metrics", 8081),
    ]


def _pod(values: Object, name: str, part: str, container: Object, volumes: list[Object]) -> Object:
    """A pod with the per-component settings, or the defaults for all components."""
    basic, custom = values["basic"], values["custom"]

    def setting(kind: str) -> Any:
        return custom.get(f"{part}_{kind}") or custom.get(f"default_{kind}")

    image = f"{basic['image_registry']}/{basic[f'{part}_image_name']}:{basic['image_tag_version']}"
    resources = custom.get(f"{part}_resources") or {}
    main = {"name": name, "image": image, "imagePullPolicy": basic["image_pull_policy"], "resources": resources}
    secret = basic.get("image_pull_secret")
    return {
        "serviceAccountName": name,
        "priorityClassName": "system-cluster-critical",
        "tolerations": setting("tolerations"),
        "nodeSelector": setting("ns"),
        "affinity": setting("affinity"),
        "imagePullSecrets": [{"name": secret}] if secret else [],
        "containers": [{**main, **container}],
        "volumes": volumes,
    }


def _named(custom: Object, flag: str, key: str) -> list[str]:
    return [f"--{flag}={custom[key]}"] if custom.get(key) else []


def _leader(release: Release, custom: Object) -> list[str]:
    elected = bool(custom.get("leader_elect_enable"))
    return [f"--leader-elect={str(elected).lower()}"] + (
        [f"--leader-elect-resource-namespace={release.namespace}"] if elected else []
    )
