"""Helm releases against a real API server, with a chart of the tests' own."""

import base64
import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.charts import sources
from rehearsal.charts.chart import ChartError
from rehearsal.charts.rendered import HelmChart
from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.helm_store import Record, Store
from rehearsal.tests.inside.account import until
from rehearsal.tests.kube.control_plane import ControlPlane
from rehearsal.tests.kube.engine import Aborted, Stack
from rehearsal.tests.plugins.charts import written

pytestmark = pytest.mark.engine

RELEASE = "kubernetes:helm.sh/v3:Release"
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.chart.example.com}
spec:
  group: chart.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


TEMPLATES = """
{{- if kindIs "string" .Values.replicas }}{{ fail "replicas is no number" }}{{ end }}
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: c, image: "x:{{ .Chart.Version }}"}]}
---
apiVersion: chart.example.com/v1
kind: Widget
metadata: {name: {{ .Release.Name }}}
spec: {v: {{ .Chart.Version | quote }}}
{{- range .Values.maps }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ . }}}
data: {t: {{ $.Values.token | quote }}}
{{- end }}
"""


@pytest.fixture(autouse=True)
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart `widgets` of any version: a Deployment of `replicas` pods, a Widget, a ConfigMap per name in `maps`."""

    def find(name: str, version: str) -> HelmChart:
        if name != "widgets":
            raise ChartError("chart", f"chart {name!r} is not rehearsed")
        files = {
            "Chart.yaml": f"name: widgets\nversion: {version}\n",
            "values.yaml": "replicas: 0\nmaps: []\ntoken: ''\n",
            "templates/all.yaml": TEMPLATES,
            "crds/widgets.yaml": DEFINITION,
        }
        return HelmChart(written(tmp_path / version, files), "the test")

    monkeypatch.setattr(sources, "find", find)


@pytest.fixture
def stack(control_plane: ControlPlane, namespace: str) -> Iterator[Stack]:
    made = Stack(control_plane.kubeconfig(), namespace=namespace)
    yield made
    made.destroy()


def release(namespace: str, version: str = "1.0.0", **values: Any) -> dict[str, Any]:
    return {
        "chart": "widgets",
        "version": version,
        "name": "w",
        "namespace": namespace,
        "repositoryOpts": {"repo": "https://charts.example.com"},
        "timeout": 30,
        "values": values,
    }


def hopeless(namespace: str, version: str = "1.0.0", **values: Any) -> dict[str, Any]:
    """A release whose pod never runs, and that does not wait long for it."""
    return {**release(namespace, version, replicas=1, **values), "timeout": 3}


def revisions(kube: Kube, namespace: str) -> list[tuple[int, str]]:
    return [(record.revision, record.status) for record in Store(kube).history(namespace, "w")]


def config_maps(kube: Kube, namespace: str) -> set[str]:
    return {item["metadata"]["name"] for item in kube.list("v1", "ConfigMap", namespace)} - {"kube-root-ca.crt"}


def test_install_upgrade_with_pruning_and_uninstall(stack: Stack, kube: Kube, namespace: str) -> None:
    assert stack.up(RELEASE, "w", release(namespace, maps=["a", "b"])) == "create"
    assert stack.state["w"].id == f"{namespace}/w"
    status = stack.state["w"].outputs["status"]
    assert (status["revision"], status["status"], status["version"]) == (1, "deployed", "1.0.0")
    live = kube.get("v1", "ConfigMap", "a", namespace)
    assert live is not None
    assert live["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
    assert live["metadata"]["annotations"] == {
        "meta.helm.sh/release-name": "w",
        "meta.helm.sh/release-namespace": namespace,
    }
    assert stack.state["w"].outputs["resourceNames"]["ConfigMap/v1"] == [f"{namespace}/a", f"{namespace}/b"]
    assert stack.up(RELEASE, "w", release(namespace, maps=["a", "b"])) == "same"

    assert stack.up(RELEASE, "w", release(namespace, "1.1.0", maps=["b", "c"])) == "update"
    assert config_maps(kube, namespace) == {"b", "c"}
    assert revisions(kube, namespace) == [(1, "superseded"), (2, "deployed")]
    widget = kube.get("chart.example.com/v1", "Widget", "w", namespace)
    assert widget is not None
    assert widget["spec"] == {"v": "1.1.0"}

    stack.delete("w")
    assert config_maps(kube, namespace) == set()
    assert kube.get("apps/v1", "Deployment", "w", namespace) is None
    assert revisions(kube, namespace) == []
    definition = "widgets.chart.example.com"
    assert kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition) is not None


def test_definitions_are_made_once_and_never_changed(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(RELEASE, "w", release(namespace))
    before = kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.chart.example.com")
    stack.up(RELEASE, "w", release(namespace, "1.1.0"))
    after = kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.chart.example.com")
    assert before is not None
    assert after is not None
    assert before["metadata"]["generation"] == after["metadata"]["generation"]


def test_skipped_definitions_fail_the_install_before_anything_is_made(stack: Stack, kube: Kube, namespace: str) -> None:
    kube.delete(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.chart.example.com"},
        }
    )
    until(lambda: not _served(kube), 60, "the kind is served no longer")
    fresh = Stack(stack.plugin._need()[0].settings.kubeconfig)
    with pytest.raises(Aborted, match=r'no matches for kind "Widget".*ensure CRDs are installed first'):
        fresh.up(RELEASE, "w", {**release(namespace, maps=["a"]), "skipCrds": True})
    assert config_maps(kube, namespace) == set()
    assert revisions(kube, namespace) == []


def _served(kube: Kube) -> bool:
    groups = kube.call("GET", "/apis")["groups"]
    return "chart.example.com" in {group["name"] for group in groups}


def test_what_the_chart_refuses_fails_in_the_preview(stack: Stack, namespace: str) -> None:
    wrong = {
        "values": release(namespace, replica=1),
        "chart": {**release(namespace), "chart": "gadgets"},
        "postrender": {**release(namespace), "postrender": "sed"},
        "lint": {**release(namespace), "lint": True},
    }
    said = {
        "values": "chart widgets 1.0.0 has no value replica",
        "chart": "chart 'gadgets' is not rehearsed",
        "postrender": "not rehearsed",
        "lint": "not rehearsed",
    }
    for where, inputs in wrong.items():
        failures = stack.check(RELEASE, "w", inputs).failures
        assert [failure.property for failure in failures] == [where]
        assert said[where] in failures[0].reason
    failures = stack.check(RELEASE, "w", release(namespace, replicas="two")).failures
    assert "replicas is no number" in failures[0].reason


def test_an_object_of_somebody_else_stops_the_install(stack: Stack, kube: Kube, namespace: str) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}
    kube.create(theirs)
    with pytest.raises(Aborted, match=f"ConfigMap {namespace}/a exists and cannot be imported"):
        stack.up(RELEASE, "w", release(namespace, maps=["a", "b"]))
    assert config_maps(kube, namespace) == {"a"}
    assert revisions(kube, namespace) == []
    stack.up(RELEASE, "w", release(namespace))
    with pytest.raises(Aborted, match="unable to continue with update"):
        stack.up(RELEASE, "w", release(namespace, maps=["a"]))


def test_a_name_in_use_is_not_taken(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(RELEASE, "w", release(namespace))
    other = Stack(stack.plugin._need()[0].settings.kubeconfig)
    with pytest.raises(Aborted, match="cannot re-use a name that is still in use"):
        other.up(RELEASE, "w", release(namespace))


def test_a_failed_install_stays_and_is_repaired_by_an_upgrade(stack: Stack, kube: Kube, namespace: str) -> None:
    with pytest.raises(Aborted) as failed:
        stack.up(RELEASE, "w", hopeless(namespace, maps=["a"]))
    text = "\n".join(failed.value.reasons)
    assert f"Deployment {namespace}/w is not ready: 0 of 1 replicas are ready" in text
    assert f"pod {namespace}/w-" in text
    assert revisions(kube, namespace) == [(1, "failed")]
    assert stack.refresh("w") is not None
    assert "failed" in stack.state["w"].reasons[0]
    assert stack.up(RELEASE, "w", release(namespace, maps=["a"])) == "update"
    assert revisions(kube, namespace)[-1] == (2, "deployed")


def test_an_atomic_install_that_fails_leaves_nothing(stack: Stack, kube: Kube, namespace: str) -> None:
    with pytest.raises(Aborted, match="uninstalled due to atomic") as failed:
        stack.up(RELEASE, "w", {**hopeless(namespace, maps=["a"]), "atomic": True})
    assert failed.value.failed is None
    assert config_maps(kube, namespace) == set()
    assert revisions(kube, namespace) == []


def test_an_atomic_upgrade_that_fails_goes_back(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(RELEASE, "w", {**release(namespace, maps=["a"]), "atomic": True})
    with pytest.raises(Aborted, match="rolled back due to atomic"):
        stack.up(RELEASE, "w", {**hopeless(namespace, "1.1.0", maps=["b"]), "atomic": True})
    assert config_maps(kube, namespace) == {"a"}
    assert revisions(kube, namespace) == [(1, "superseded"), (2, "failed"), (3, "deployed")]
    deployment = kube.get("apps/v1", "Deployment", "w", namespace)
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 0


def test_cleanup_on_fail_removes_what_the_upgrade_added(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(RELEASE, "w", release(namespace, maps=["a"]))
    wrong = {**hopeless(namespace, maps=["a", "b"]), "cleanupOnFail": True}
    with pytest.raises(Aborted, match="is not ready"):
        stack.up(RELEASE, "w", wrong)
    assert config_maps(kube, namespace) == {"a"}
    assert revisions(kube, namespace) == [(1, "deployed"), (2, "failed")]


def test_skip_await_does_not_wait(stack: Stack, namespace: str) -> None:
    assert stack.up(RELEASE, "w", {**release(namespace, replicas=1), "skipAwait": True}) == "create"


def test_an_interrupted_operation_blocks_the_next_and_refresh_shows_it(
    stack: Stack, kube: Kube, namespace: str
) -> None:
    stack.up(RELEASE, "w", release(namespace, maps=["a"]))
    Store(kube).add(Record("w", namespace, 2, "pending-upgrade", "widgets", "1.0.0", {"maps": ["a"]}))
    with pytest.raises(Aborted, match=r"another operation .* is in progress"):
        stack.up(RELEASE, "w", release(namespace, maps=["b"]))
    stack.refresh("w")
    assert "pending-upgrade" in stack.state["w"].reasons[0]


def test_refresh_shows_an_upgrade_by_others_and_an_uninstall(stack: Stack, kube: Kube, namespace: str) -> None:
    wanted = release(namespace, maps=["a"])
    stack.up(RELEASE, "w", wanted)
    seen = stack.refresh("w")
    assert seen is not None
    assert {key: seen[key] for key in wanted} == wanted
    Store(kube).add(Record("w", namespace, 2, "deployed", "widgets", "2.0.0", {"maps": ["z"]}))
    seen = stack.refresh("w")
    assert seen is not None
    assert (seen["version"], seen["values"]) == ("2.0.0", {"maps": ["z"]})
    for record in Store(kube).history(namespace, "w"):
        Store(kube).remove(record)
    assert stack.refresh("w") is None


def test_a_missing_namespace_is_made_only_when_asked(stack: Stack, kube: Kube) -> None:
    wanted = {**release("made-by-helm"), "skipAwait": True}
    with pytest.raises(Aborted, match='namespaces "made-by-helm" not found'):
        stack.up(RELEASE, "w", wanted)
    stack.up(RELEASE, "w", {**wanted, "createNamespace": True})
    stack.destroy()
    kube.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made-by-helm"}})


def test_secret_values_lie_only_in_the_record_and_the_objects(stack: Stack, kube: Kube, namespace: str) -> None:
    stack.up(RELEASE, "w", release(namespace, token="hunter2", maps=["a"]), secrets={("values", "token")})
    state = stack.state["w"]
    clear = state.properties["values"]["token"]
    assert clear["4dabf18193072939515e22adb298388d"] == "1b47061264138c4ac30d75fd1eb44270"
    assert str(state.properties).count("hunter2") == 1
    secret = kube.get("v1", "Secret", "sh.helm.release.v1.w.v1", namespace)
    assert secret is not None
    assert secret["type"] == "helm.sh/release.v1"
    stored = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
    assert (stored["config"]["token"], stored["info"]["status"]) == ("hunter2", "deployed")


def test_a_release_brings_kinds_that_others_wait_for(stack: Stack, kube: Kube, namespace: str) -> None:
    widget = {
        "apiVersion": "chart.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "own", "namespace": namespace},
        "spec": {},
    }
    token = "kubernetes:chart.example.com/v1:Widget"
    assert stack.preview(token, "own", widget)["metadata"]["name"] == "own"
    timer = threading.Timer(0.5, stack.up, args=(RELEASE, "w", release(namespace)))
    timer.start()
    stack.up(token, "own", widget)
    timer.join()
    assert kube.get("chart.example.com/v1", "Widget", "own", namespace) is not None
    stack.delete("own")
