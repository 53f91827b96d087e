"""Volcano: the scheduler's default configuration, which real schedulers read here, and switches.

Source: volcano-sh/volcano, installer/helm/chart/volcano (templates, config/volcano-scheduler.conf).
"""

from collections.abc import Iterator
from typing import Any

import yaml

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, flag, image, only_if, put, text

SCHEDULER_CONF = "volcano-scheduler.conf"
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
SECRET = "volcano-admission-secret"  # noqa: S105 - a name
_CONFIGURATION = On("ConfigMap", "*-scheduler-configmap")
# A component's name in values, and in the names of its objects.
_ALL = "ServiceAccount ConfigMap ClusterRole ClusterRoleBinding Role RoleBinding Service Deployment Job"
_COMPONENTS = {"scheduler": "scheduler", "controller": "controllers", "admission": "admission"}
_FLAGS = {
    "scheduler_kube_api_qps": "--kube-api-qps",
    "scheduler_kube_api_burst": "--kube-api-burst",
    "scheduler_schedule_period": "--schedule-period",
    "scheduler_node_worker_threads": "--node-worker-threads",
    "scheduler_feature_gates": "--feature-gates",
    "scheduler_log_level": "-v",
    "controller_kube_api_qps": "--kube-api-qps",
    "controller_kube_api_burst": "--kube-api-burst",
    "controller_worker_threads": "--worker-threads",
    "controller_worker_threads_for_gc": "--worker-threads-for-gc",
    "controller_worker_threads_for_podgroup": "--worker-threads-for-podgroup",
    "controller_log_level": "-v",
}
_POD_FIELDS = {"tolerations": "tolerations", "ns": "nodeSelector", "affinity": "affinity"}


def _always(objects: list[Object], _: Order) -> None:
    for each in _CONFIGURATION.places(objects):
        each["data"][SCHEDULER_CONF] = yaml.safe_dump(DEFAULT_CONFIGURATION, sort_keys=False)
    for container in _workload("scheduler").container.places(objects):
        directory = next(each["mountPath"] for each in container["volumeMounts"] if each["name"] == "klog-sock")
        container["env"] = [{"name": "DEBUG_SOCKET_DIR", "value": directory}]
    for pod in _workload("admission").pod.places(objects):
        certificates = next(each for each in pod["volumes"] if "secret" in each)
        certificates["secret"] = {"secretName": SECRET}


def _switches() -> Iterator[Switch]:
    everything = On("Deployment Job").container
    yield Switch("basic.image_registry", image(everything, "registry"))
    yield Switch("basic.image_tag_version", image(everything, "tag"))
    yield Switch("basic.image_pull_policy", put(everything, "imagePullPolicy"))
    for component in _COMPONENTS:
        yield from _of(component)
    for value, name in _FLAGS.items():
        yield Switch(f"custom.{value}", flag(_workload(value.partition("_")[0]).container, name))
    path = "custom.scheduler_config_override"
    yield Switch(path, text(_CONFIGURATION, SCHEDULER_CONF, f"volcano: {path}"))
    hooks = On("MutatingWebhookConfiguration ValidatingWebhookConfiguration")
    yield Switch("custom.admission_enable", only_if(hooks, On(_ALL, "*-admission*")))
    yield Switch("custom.scheduler_enable", only_if(On(_ALL, "*-scheduler*")))
    yield Switch("custom.controller_enable", only_if(On(_ALL, "*-controller*")))


def _of(component: str) -> Iterator[Switch]:
    workload = _workload(component)
    yield Switch(f"basic.{component}_image_name", image(workload.container, "path"))
    yield Switch(f"custom.{component}_replicas", put(workload, "spec", "replicas"))
    yield Switch(f"custom.{component}_resources", put(workload.container, "resources"))
    # The settings for all components come first: a component's own replaces them.
    for value, name in _POD_FIELDS.items():
        yield Switch(f"custom.default_{value}", put(workload.pod, name))
        yield Switch(f"custom.{component}_{value}", _replaced(workload, name))


def _replaced(workload: On, name: str) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for pod in workload.pod.places(objects if value else []):
            pod[name] = value
        return objects

    return effect


def _workload(component: str) -> On:
    return On("Deployment", f"*-{_COMPONENTS[component]}")


RULES = Rules(tuple(_switches()), _always)
