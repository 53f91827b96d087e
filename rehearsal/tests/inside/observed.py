"""Objects of a small monitoring stack, as kube-prometheus-stack makes them, and a program that counts for it."""

import json
import threading
from typing import Any

import yaml

from rehearsal.cluster.pages import texts
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.images import Row
from rehearsal.kubelet.program import Launch, Program
from rehearsal.tests.inside import workloads
from rehearsal.toolchain.definitions import crds

Object = dict[str, Any]
WHERE, SHOP = "monitoring", "observed"
QUAY = "quay.io/prometheus"
RBAC = "rbac.authorization.k8s.io"
MONITORING = "monitoring.coreos.com/v1"


class Counting:
    """What every pod of the image `example.org/counting` tells on port 8000: a number that the test sets."""

    def __init__(self) -> None:
        self._waiting = 0
        self._lock = threading.Lock()

    def set(self, waiting: int) -> None:
        with self._lock:
            self._waiting = waiting

    def page(self) -> str:
        with self._lock:
            return f"# TYPE shop_waiting gauge\nshop_waiting {self._waiting}\n"

    def run(self, launch: Launch) -> Program:
        return Answering(launch, {8000: texts({"/metrics": self.page, "/health": lambda: ""})})


COUNTING = Counting()
ROWS = (Row(r"example\.org/counting", COUNTING.run),)


def definitions() -> list[Object]:
    """The operator's CustomResourceDefinitions."""
    return [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in crds("prometheus-operator")]


def deployment(name: str, where: str, pod: Object, **spec: Any) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": where},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def service(name: str, where: str, port: int, **more: Any) -> Object:
    ports = [{"name": "web", "port": more.pop("at", port), "targetPort": port}]
    meta = {"name": name, "namespace": where, "labels": {"app": name}}
    spec = {"selector": {"app": name}, "ports": ports, **more}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def operator() -> list[Object]:
    """The operator with the arguments of kube-prometheus-stack 88.5.3, and the hook that makes its certificate."""
    args = [
        "--kubelet-service=kube-system/kubelet",
        "--kubelet-endpoints=true",
        "--kubelet-endpointslice=false",
        "--localhost=127.0.0.1",
        "--prometheus-config-reloader=quay.io/prometheus-operator/prometheus-config-reloader:v0.93.1",
        "--config-reloader-cpu-request=0",
        "--config-reloader-memory-request=0",
        "--thanos-default-base-image=quay.io/thanos/thanos:v0.42.4",
        "--secret-field-selector=type!=kubernetes.io/dockercfg,type!=helm.sh/release.v1",
        "--web.enable-tls=true",
        "--web.cert-file=/cert/cert",
        "--web.key-file=/cert/key",
        "--web.listen-address=:10250",
        "--web.tls-min-version=VersionTLS13",
    ]
    probe = {"httpGet": {"path": "/healthz", "port": 10250, "scheme": "HTTPS"}}
    image = "quay.io/prometheus-operator/prometheus-operator:v0.93.1"
    mounts = [{"name": "cert", "mountPath": "/cert"}]
    main = workloads.container(image, args=args, readinessProbe=probe, livenessProbe=probe, volumeMounts=mounts)
    volumes = [{"name": "cert", "secret": {"secretName": "admission"}}]
    pod = {"serviceAccountName": "operator", "containers": [main], "volumes": volumes}
    return [
        workloads.account("operator", WHERE),
        workloads.admin("operator", WHERE),
        certgen("create", f"--host=operator,operator.{WHERE}.svc"),
        deployment("operator", WHERE, pod),
        service("operator", WHERE, 10250, at=443),
    ]


def certgen(command: str, *args: str) -> Object:
    """A hook of the chart: `create` before it is installed, `patch` after."""
    words = [command, *args, f"--namespace={WHERE}", "--secret-name=admission"]
    main = workloads.container("ghcr.io/jkroepke/kube-webhook-certgen:1.8.7", args=words)
    return workloads.job(f"admission-{command}", WHERE, {"serviceAccountName": "operator", "containers": [main]})


def webhook() -> Object:
    """The operator looks at rules before they are taken."""
    rules = [{"apiGroups": ["monitoring.coreos.com"], "apiVersions": ["*"], "resources": ["prometheusrules"]}]
    path = "/admission-prometheusrules/validate"
    hook = {
        "name": "prometheusrulemutate.monitoring.coreos.com",
        "rules": [{**rules[0], "operations": ["CREATE", "UPDATE"]}],
        "clientConfig": {"service": {"namespace": WHERE, "name": "operator", "path": path}},
        "admissionReviewVersions": ["v1", "v1beta1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "admission"},
        "webhooks": [hook],
    }


def kube_state_metrics() -> list[Object]:
    """kube-state-metrics for pods, with the ports and probes of its chart."""
    probes = {
        f"{kind}Probe": {"httpGet": {"path": path, "port": port}}
        for kind, path, port in (("liveness", "/livez", 8080), ("readiness", "/readyz", 8081))
    }
    image = "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.20.0"
    main = workloads.container(image, args=["--port=8080", "--resources=pods"], **probes)
    return [
        workloads.account("states", SHOP),
        workloads.admin("states", SHOP),
        deployment("states", SHOP, {"serviceAccountName": "states", "containers": [main]}),
        service("states", SHOP, 8080),
    ]


def prometheus() -> list[Object]:
    """Prometheus with the rights that the chart gives it, and an Alertmanager that sends to nobody."""
    reads = {"apiGroups": [""], "resources": ["nodes", "nodes/metrics", "services", "endpoints", "pods"]}
    rules = [{**reads, "verbs": ["get", "list", "watch"]}, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    subject = {"kind": "ServiceAccount", "name": "prometheus", "namespace": WHERE}
    target = {"namespace": WHERE, "name": "alertmanager-operated", "port": "web"}
    everything: Object = {}
    spec = {
        "image": f"{QUAY}/prometheus:v3.14.0-distroless",
        "version": "v3.14.0",
        "serviceAccountName": "prometheus",
        "scrapeInterval": "2s",
        "evaluationInterval": "2s",
        "retention": "2h",
        **{f"{kind}Selector": everything for kind in ("serviceMonitor", "podMonitor", "rule")},
        **{f"{kind}NamespaceSelector": everything for kind in ("serviceMonitor", "podMonitor", "rule")},
        "alerting": {"alertmanagers": [target]},
    }
    return [
        workloads.account("prometheus", WHERE),
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "prometheus"}, "rules": rules},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "prometheus"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "prometheus"},
            "subjects": [subject],
        },
        {
            "apiVersion": MONITORING,
            "kind": "Prometheus",
            "metadata": {"name": "main", "namespace": WHERE},
            "spec": spec,
        },
        service("prometheus", WHERE, 9090, selector={"operator.prometheus.io/name": "main"}),
    ]


def alertmanager(replicas: int = 1) -> list[Object]:
    """Alertmanager with a default route to a receiver that does nothing, and one that mails."""
    config = {
        "global": {"smtp_smarthost": "mail.example.org:25", "smtp_from": "a@example.org"},
        "route": {"receiver": "nobody", "group_wait": "1s", "routes": [{"receiver": "mail", "matchers": ["to=mail"]}]},
        "receivers": [{"name": "nobody"}, {"name": "mail", "email_configs": [{"to": "b@example.org"}]}],
        "inhibit_rules": [
            {"source_matchers": ["severity=critical"], "target_matchers": ["severity=warning"], "equal": ["subject"]}
        ],
    }
    meta = {"name": "main", "namespace": WHERE}
    secret = {"name": "alertmanager-main", "namespace": WHERE}
    spec = {"image": f"{QUAY}/alertmanager:v0.34.0", "version": "v0.34.0", "replicas": replicas}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": secret,
            "stringData": {"alertmanager.yaml": yaml.dump(config)},
        },
        {"apiVersion": MONITORING, "kind": "Alertmanager", "metadata": meta, "spec": spec},
    ]


def counting() -> list[Object]:
    """A Deployment whose pods count, behind a Service."""
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    main = workloads.container("example.org/counting:1", ports=[{"containerPort": 8000}], readinessProbe=probe)
    return [deployment("counting", SHOP, {"containers": [main]}), service("counting", SHOP, 8000)]


def monitor(name: str, selects: str, port: str) -> Object:
    return {
        "apiVersion": MONITORING,
        "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": SHOP},
        "spec": {"selector": {"matchLabels": {"app": selects}}, "endpoints": [{"port": port, "interval": "2s"}]},
    }


def rule(name: str, *rules: Object) -> Object:
    return {
        "apiVersion": MONITORING,
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": SHOP},
        "spec": {"groups": [{"name": name, "rules": list(rules)}]},
    }


def adapter() -> list[Object]:
    """prometheus-adapter as its chart 5.3.0 deploys it, for one metric of pods."""
    query = "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
    resources = {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}}
    rules = [{"seriesQuery": 'shop_waiting{pod!=""}', "resources": resources, "metricsQuery": query}]
    args = [
        "/adapter",
        "--secure-port=6443",
        "--cert-dir=/tmp/cert",
        f"--prometheus-url=http://prometheus.{WHERE}.svc:9090",
        "--metrics-relist-interval=5s",
        "--config=/etc/adapter/config.yaml",
    ]
    probe = {"httpGet": {"path": "/healthz", "port": 6443, "scheme": "HTTPS"}}
    mounts = [{"name": "config", "mountPath": "/etc/adapter/"}, {"name": "tmp", "mountPath": "/tmp"}]
    image = "registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0"
    main = workloads.container(image, args=args, readinessProbe=probe, volumeMounts=mounts)
    volumes = [{"name": "config", "configMap": {"name": "adapter"}}, {"name": "tmp", "emptyDir": {}}]
    group, version = "custom.metrics.k8s.io", "v1beta1"
    served = {"name": "adapter", "namespace": WHERE, "port": 443}
    meta = {"name": "adapter", "namespace": WHERE}
    return [
        workloads.account("adapter", WHERE),
        workloads.admin("adapter", WHERE),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta,
            "data": {"config.yaml": json.dumps({"rules": rules})},
        },
        deployment("adapter", WHERE, {"serviceAccountName": "adapter", "containers": [main], "volumes": volumes}),
        service("adapter", WHERE, 6443, at=443),
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {
                "service": served,
                "group": group,
                "version": version,
                "insecureSkipTLSVerify": True,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
            },
        },
        _reads_metrics(),
        _allowed(group),
    ]


def _reads_metrics() -> Object:
    rules = [{"apiGroups": ["custom.metrics.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "reads-metrics"}, "rules": rules}


def _allowed(group: str) -> Object:
    """The HPA controller may read the metrics, as the chart's binding lets it."""
    subject = {"kind": "ServiceAccount", "name": "horizontal-pod-autoscaler", "namespace": "kube-system"}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"hpa-reads-{group}"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reads-metrics"},
        "subjects": [subject],
    }


def autoscaler() -> Object:
    """From 1 to 4 pods, 5 waiting for each; it may go down at once."""
    metric = {"metric": {"name": "shop_waiting"}, "target": {"type": "AverageValue", "averageValue": "5"}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "counting", "namespace": SHOP},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "counting"},
            "minReplicas": 1,
            "maxReplicas": 4,
            "metrics": [{"type": "Pods", "pods": metric}],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
        },
    }
