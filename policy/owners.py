"""Rules about who owns what: one daemon for a duty, one owner for a definition, one resource for an object."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policy.gangs import metadata_of, namespace_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.pods import is_kubernetes, pods
from policy.rule import Finding, rule
from policy.words import flags

IN_CHARTS = ("Release", "Chart")


@dataclass(frozen=True, kw_only=True, slots=True)
class Duty:
    """What one owner does for a cluster, and who may: charts by the switch that turns it on, images, add-ons.

    A switch is (path in the values, whether the chart has it on); no path means always.
    """

    what: str
    charts: Mapping[str, tuple[str, bool]]
    images: tuple[str, ...] = ()
    addons: tuple[str, ...] = ()


ALWAYS = ("", True)
DUTIES = (
    Duty(
        what="the NVIDIA device plugin",
        charts={"gpu-operator": ("devicePlugin.enabled", True), "nvidia-device-plugin": ALWAYS},
        images=("k8s-device-plugin",),
    ),
    Duty(
        what="node feature discovery",
        charts={
            "gpu-operator": ("nfd.enabled", True),
            "network-operator": ("nfd.enabled", True),
            "node-feature-discovery": ALWAYS,
            "nvidia-device-plugin": ("gfd.enabled", False),
        },
        images=("node-feature-discovery",),
    ),
    Duty(
        what="the DCGM exporter",
        charts={"gpu-operator": ("dcgmExporter.enabled", True), "dcgm-exporter": ALWAYS},
        images=("dcgm-exporter",),
        addons=("amazon-cloudwatch-observability",),
    ),
    Duty(
        what="the EFA device plugin",
        charts={"aws-efa-k8s-device-plugin": ALWAYS},
        images=("aws-efa-k8s-device-plugin",),
        addons=("aws-efa-k8s-device-plugin",),
    ),
    Duty(
        what="the node exporter",
        charts={
            "kube-prometheus-stack": ("nodeExporter.enabled", True),
            "prometheus": ("prometheus-node-exporter.enabled", True),
            "prometheus-node-exporter": ALWAYS,
        },
        images=("node-exporter",),
        addons=("prometheus-node-exporter",),
    ),
    Duty(
        what="kube-state-metrics",
        charts={
            "kube-prometheus-stack": ("kubeStateMetrics.enabled", True),
            "prometheus": ("kube-state-metrics.enabled", True),
            "kube-state-metrics": ALWAYS,
        },
        images=("kube-state-metrics",),
        addons=("kube-state-metrics",),
    ),
    Duty(
        what="the metrics server",
        charts={"metrics-server": ALWAYS},
        images=("metrics-server",),
        addons=("metrics-server",),
    ),
    *(
        Duty(what=f"the driver {name}", charts={name: ALWAYS}, images=(name,), addons=(name,))
        for name in ("aws-fsx-csi-driver", "aws-ebs-csi-driver", "aws-efs-csi-driver")
    ),
    Duty(
        what="the pod identity agent",
        charts={"eks-pod-identity-agent": ALWAYS},
        images=("eks-pod-identity-agent",),
        addons=("eks-pod-identity-agent",),
    ),
    Duty(what="cert-manager", charts={"cert-manager": ALWAYS}, addons=("cert-manager",)),
    Duty(what="Volcano", charts={"volcano": ALWAYS}, images=("vc-scheduler",)),
    Duty(what="the training operator", charts={}, images=("training-operator",)),
    Duty(what="the Prometheus operator", charts={"kube-prometheus-stack": ("prometheusOperator.enabled", True)}),
)

DEFINITIONS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "monitoring.coreos.com": {
        "prometheus-operator-crds": ALWAYS,
        "kube-prometheus-stack": ("crds.enabled", True),
    },
    "nfd.k8s-sigs.io": {
        "gpu-operator": ("nfd.enabled", True),
        "network-operator": ("nfd.enabled", True),
        "node-feature-discovery": ALWAYS,
    },
    "scheduling.volcano.sh": {"volcano": ALWAYS},
    "batch.volcano.sh": {"volcano": ALWAYS},
    "jobset.x-k8s.io": {"jobset": ALWAYS, "kubeflow-trainer": ("jobset.install", True)},
    "leaderworkerset.x-k8s.io": {"lws": ALWAYS, "kubeflow-trainer": ("dataCache.enabled", False)},
    "trainer.kubeflow.org": {"kubeflow-trainer": ("crds.enabled", True)},
    "cert-manager.io": {"cert-manager": ("crds.enabled", False)},
    "external-secrets.io": {"external-secrets": ("installCRDs", True)},
    "ceph.rook.io": {"rook-ceph": ("crds.enabled", True)},
    "keda.sh": {"keda": ("crds.install", True)},
    "slinky.slurm.net": {"slurm-operator-crds": ALWAYS, "slurm-operator": ("crds.enabled", False)},
}
"""By group of custom resources: the charts that bring its definitions, and the switch for them."""


def chart_of(release: Resource) -> str:
    """The name of a release's chart, without its repository, directory or version."""
    last = str(release.inputs.get("chart", "")).rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"-v?\d+\.\d+\.\d+[^/]*\.tgz$", "", last)


def value_at(values: Any, path: str) -> Any:
    """What stands at a dotted path of a chart's values, None where nothing does."""
    for step in path.split("."):
        values = values.get(step) if isinstance(values, Mapping) else None
    return values


def _by_charts(graph: Graph, charts: Mapping[str, tuple[str, bool]]) -> list[str]:
    found = []
    for each in graph.of_type(*IN_CHARTS):
        path, usual = charts.get(chart_of(each), ("", False))
        given = value_at(each.inputs.get("values"), path) if path else None
        if usual if given is None else given:
            found.append(each.name)
    return found


def owners_of(graph: Graph, duty: Duty) -> list[str]:
    """The logical names of the resources that do this."""
    found = _by_charts(graph, duty.charts)
    for pod in pods(graph):
        images = [program_of(each) for each in pod.containers]
        if pod.kind in ("DaemonSet", "Deployment") and pod.owner not in found and set(images) & set(duty.images):
            found.append(pod.owner)
    found += [each.name for each in graph.of_type("aws:eks/addon:Addon") if each.inputs.get("addonName") in duty.addons]
    return found


@rule(
    source="NVIDIA: values.yaml of gpu-operator and network-operator (nfd, devicePlugin, dcgmExporter); EKS add-ons "
    "and the charts of the same names",
    remedy="turn all but one off: devicePlugin.enabled, nfd.enabled, dcgmExporter.enabled, nodeExporter.enabled: "
    "false; or leave the second release, DaemonSet or add-on out",
)
def one_owner_per_daemon(graph: Graph) -> Iterator[Finding]:
    """One owner alone does for the nodes what two would do against each other (DC10, KJ27)."""
    for duty in DUTIES:
        first, *others = owners_of(graph, duty) or [""]
        for other in others:
            yield other, f"brings {duty.what}, which {first} brings already"


@rule(
    source="Helm: a CustomResourceDefinition belongs to one release; charts' crds/ and crds.enabled",
    remedy="let one release or object bring them, and turn them off in the others (crds.enabled, jobset.install)",
)
def one_owner_per_definition(graph: Graph) -> Iterator[Finding]:
    """One owner alone brings the definition of a custom resource (I03)."""
    for group, charts in DEFINITIONS.items():
        objects = [
            each.name
            for each in graph.of_type("CustomResourceDefinition")
            if is_kubernetes(each) and str(metadata_of(each).get("name", "")).endswith(f".{group}")
        ]
        by_charts = _by_charts(graph, charts)
        first, *others = by_charts or [""]
        for other in [*others, *(objects if first else [])]:
            yield other, f"brings definitions of {group}, which {first} brings already"


@rule(
    source="kubeflow/training-operator v1.9, cmd/training-operator.v1/main.go (--enable-scheme, all kinds without it); "
    "kubeflow/mpi-operator, manifests/base: both define mpijobs.kubeflow.org, as v1 and as v2beta1",
    remedy="start the training operator with --enable-scheme=pytorchjob and without the definition of its MPIJob, or "
    "leave the MPI operator out",
)
def mpi_jobs_have_one_operator(graph: Graph) -> Iterator[Finding]:
    """One operator alone serves MPIJob: the definition of the second one takes the first one's version away (N08)."""
    operators = [each for each in pods(graph) if each.kind == "Deployment"]
    mpi = [each.owner for each in operators for c in each.containers if program_of(c) == "mpi-operator"]
    for each in operators:
        for container in each.containers:
            if mpi and program_of(container) == "training-operator" and _serves(container, "mpijob"):
                yield (
                    each.owner,
                    f"serves MPIJob v1 beside the MPI operator {mpi[0]}, whose definition has the same name",
                )


def program_of(container: Mapping[str, Any]) -> str:
    """The last part of an image's name."""
    return str(container.get("image")).split("@")[0].rsplit("/", 1)[-1].partition(":")[0]


def _serves(container: Mapping[str, Any], kind: str) -> bool:
    """Whether the training operator is told to serve a kind of job; it serves all where none is named."""
    named = [value.lower() for name, value in flags(container) if name == "enable-scheme"]
    return not named or kind in named


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/",
    remedy="give one of them another metadata.name, or leave it out",
)
def objects_are_one(graph: Graph) -> Iterator[Finding]:
    """No two resources make one object (P2)."""
    seen: dict[tuple[str, ...], str] = {}
    for each in graph.resources.values():
        if not is_kubernetes(each) or not each.custom:
            continue
        name = each.inputs.get("name") if each.kind == "Release" else metadata_of(each).get("name")
        place = str(each.inputs.get("namespace")) if each.kind == "Release" else namespace_of(each)
        key = (each.provider.rsplit("::", 1)[0], each.token, place, str(name))
        if name and UNKNOWN not in key and key in seen and not each.kind.endswith("Patch"):
            yield each.name, f"is the {each.kind} {name} that {seen[key]} makes already"
        seen.setdefault(key, each.name)
