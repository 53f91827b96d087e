"""Pods of charts and their nodes: each passes Pod Security `restricted`, or stands here with the reason (Y15).

Charts are rendered with the program's own values, by helm where the chart is at hand, else as it is played from the
inventory of its maker's files. Pods that operators make later are in no chart, and so not here.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import pytest

from catalogue.metal_versions import METAL_CHARTS
from catalogue.versions import CHARTS
from policy.graph import Graph, Resource
from policy.pods import pods
from policy.security import against_baseline, against_restricted
from rehearsal.charts import sources
from rehearsal.charts.chart import ChartError, Order
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered
from tests.stacks import test_outside, test_people, test_scaled, test_signatures
from tests.stacks.ceph_stack import with_ceph

pytestmark = pytest.mark.slow

CAPABILITIES = "capabilities that are not dropped"
ESCALATION = "no allowPrivilegeEscalation: false"
ROOT = "no runAsNonRoot: true"
SECCOMP = "no seccompProfile"
SILENT = frozenset({CAPABILITIES, ESCALATION, ROOT, SECCOMP})
"""What a chart breaks that says nothing about security."""
HOST = frozenset(
    {"hostNetwork", "hostPID", "a hostPort", "the hostPath", "privileged", "the capabilities", "runAsUser 0"}
)


class Why(NamedTuple):
    """What of `restricted` a workload does not keep, and the reason."""

    kinds: frozenset[str]
    reason: str


NODE = "its work is on the node: it places, measures or mounts what lies outside any pod"
SPEAKS = "it serves at the node's own address, before pods have addresses or beside them"
MAKER = "its maker's chart leaves it out; the namespace's level `baseline` holds the pod"
IN_LOOSE = "its maker's chart leaves it out; the operands beside it need the node, so their namespace refuses nothing"
ADDS = "its maker's chart drops all and adds DAC_OVERRIDE, to read certificates that belong to another user"
EXCEPTIONS: Mapping[str, Why] = {
    "aws-efa-k8s-device-plugin: DaemonSet aws-efa-k8s-device-plugin": Why(
        SILENT | {"hostNetwork", "privileged", "runAsUser 0", "the hostPath"}, NODE
    ),
    "cilium: DaemonSet cilium": Why(
        (SILENT - {SECCOMP}) | {"a hostPort", "hostNetwork", "privileged", "the capabilities", "the hostPath"}, NODE
    ),
    "cilium: Deployment cilium-operator": Why(frozenset({ROOT, "a hostPort", "hostNetwork"}), SPEAKS),
    "fluent-bit: DaemonSet fluent-bit": Why(SILENT | {"the hostPath"}, NODE),
    "gpu-operator: Deployment gpu-operator": Why(SILENT, IN_LOOSE),
    "gpu-operator: DaemonSet gpu-operator-node-feature-discovery-worker": Why(
        frozenset({SECCOMP, "the hostPath"}), NODE
    ),
    "gpu-operator: Deployment gpu-operator-node-feature-discovery-gc": Why(frozenset({SECCOMP}), IN_LOOSE),
    "gpu-operator: Deployment gpu-operator-node-feature-discovery-master": Why(frozenset({SECCOMP}), IN_LOOSE),
    "gpu-operator: Job gpu-operator-node-feature-discovery-prune": Why(frozenset({SECCOMP}), IN_LOOSE),
    "kube-prometheus-stack: DaemonSet kube-prometheus-stack-prometheus-node-exporter": Why(
        (SILENT - {ROOT}) | {"hostNetwork", "hostPID", "the hostPath"}, NODE
    ),
    "local-static-provisioner: DaemonSet local-static-provisioner": Why(SILENT | {"privileged", "the hostPath"}, NODE),
    "rook-ceph: Deployment ceph-csi-controller-manager": Why(frozenset({SECCOMP}), MAKER),
    "rook-ceph: Deployment rook-ceph-operator": Why(frozenset({ESCALATION, SECCOMP}), MAKER),
    **{
        f"volcano: {each}": Why(frozenset({CAPABILITIES}), ADDS)
        for each in (
            "Deployment volcano-admission",
            "Deployment volcano-controllers",
            "Deployment volcano-scheduler",
            "Job volcano-admission-init",
        )
    },
}


def looked_at() -> Iterator[Recorded]:
    """The committed stacks, and those of other tests that have what no committed one has."""
    for stack in ("dev", "prod", "metal"):
        yield graph_of(stack)
    yield registered(test_people.config(), stack="dev")
    yield registered(test_outside.config(), stack="dev")
    yield test_signatures.deployed()
    yield registered(test_scaled.scaled(), stack="dev")
    yield registered(with_ceph(), stack="metal")


@cache
def broken() -> Mapping[str, frozenset[str]]:
    """What each workload of a chart does not keep, by `chart: kind name`."""
    found: dict[str, set[str]] = {}
    for graph in looked_at():
        for release in graph.of_type("Release"):
            given = release.inputs
            apis = frozenset({"monitoring.coreos.com/v1"})
            order = Order(given["name"], given["namespace"], given.get("values") or {}, "1.36.3", apis)
            try:
                rendered = sources.find(given["chart"], given["version"]).render(order)
            except ChartError:
                continue  # no helm, and no inventory: the namespace's level still holds its pods
            for pod in pods(_graph(rendered)):
                said = (*against_baseline(pod), *against_restricted(pod))
                kinds = found.setdefault(f"{given['chart']}: {pod.owner}", set())
                kinds.update(_kind(sentence) for sentence in said)
    return {name: frozenset(kinds) for name, kinds in found.items()}


def _graph(rendered: Iterable[Mapping[str, Any]]) -> Graph:
    """What a chart makes, as if the program registered it."""
    found = {}
    for each in rendered:
        name = f"{each['kind']} {each['metadata']['name']}"
        token = f"kubernetes:{each['apiVersion']}:{each['kind']}"
        found[name] = Resource(urn=name, token=token, name=name, custom=True, inputs=each)
    return Graph(resources=found)


def _kind(sentence: str) -> str:
    return next((kind for kind in (*SILENT, *HOST) if sentence.startswith(kind)), sentence)


def test_every_pod_of_a_chart_is_restricted_or_has_a_reason() -> None:
    found = broken()
    assert len(found) >= 12
    reasons = {name: why.kinds for name, why in EXCEPTIONS.items() if name in found}
    assert {name: kinds for name, kinds in found.items() if kinds} == reasons


def test_most_pods_of_charts_need_no_reason() -> None:
    """Else the walk over charts would look at too little."""
    assert [name for name, kinds in broken().items() if not kinds and name.startswith("kube-prometheus-stack: ")]


def test_every_row_is_of_a_chart_that_is_pinned() -> None:
    assert {name.partition(":")[0] for name in EXCEPTIONS} <= {*CHARTS, *METAL_CHARTS}
