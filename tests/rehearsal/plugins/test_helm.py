"""Helm releases against a real API server, with a chart that the tests register."""

from __future__ import annotations

import base64
import gzip
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.helm_store import Record, Store
from tests.rehearsal.kube.control_plane import ControlPlane
from tests.rehearsal.kube.engine import Aborted, Stack
from tests.rehearsal.kube.fixtures import control_plane, kube, namespace

__all__ = ["control_plane", "kube", "namespace"]
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


def render(chart: str, version: str, namespace: str, release: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A chart with one ConfigMap per name in `maps`, a Widget, and a Deployment of `replicas` pods."""
    if chart != "widgets":
        raise KeyError(f"chart {chart!r} is not rehearsed")
    if not isinstance(values.get("replicas", 0), int):
        raise ValueError("replicas is no number")  # noqa: TRY004 - what the effects raise for wrong values
    labels = {"app": release}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": f"x:{version}"}]}}
    spec = {"replicas": values.get("replicas", 0), "selector": {"matchLabels": labels}, "template": template}
    spec["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    hook = {"helm.sh/hook": "pre-install"}
    data = {"t": values.get("token", "")}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": release}, "spec": spec},
        {"apiVersion": "chart.example.com/v1", "kind": "Widget", "metadata": {"name": release}, "spec": {"v": version}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "hook", "annotations": hook}},
        *(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
            for name in values.get("maps", [])
        ),
    ]


@pytest.fixture(autouse=True)
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "crd.yaml"
    path.write_text(DEFINITION)
    known = {"replicas", "maps", "token"}
    effects = SimpleNamespace(
        render=render,
        unchecked=lambda *_: [],
        crds=lambda *_: [path],
        check_values=lambda _chart, _version, values: [
            f"{key}: no such value" for key in sorted(values.keys() - known)
        ],
    )
    monkeypatch.setitem(sys.modules, "rehearsal.effects.charts", effects)


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
    assert kube.get("batch/v1", "Job", "hook", namespace) is None
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
    _until(lambda: not _served(kube))
    fresh = Stack(stack.plugin._need()[0].settings.kubeconfig)
    with pytest.raises(Aborted, match=r'no matches for kind "Widget".*ensure CRDs are installed first'):
        fresh.up(RELEASE, "w", {**release(namespace, maps=["a"]), "skipCrds": True})
    assert config_maps(kube, namespace) == set()
    assert revisions(kube, namespace) == []


def _served(kube: Kube) -> bool:
    groups = kube.call("GET", "/apis")["groups"]
    return "chart.example.com" in {group["name"] for group in groups}


def _until(reached: Any) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_preview_renders_and_names_what_the_chart_makes(stack: Stack, kube: Kube, namespace: str) -> None:
    shown = stack.preview(RELEASE, "w", release(namespace, maps=["a"]))
    assert shown["resourceNames"]["ConfigMap/v1"] == ["a"]
    assert revisions(kube, namespace) == []


def test_what_the_chart_refuses_fails_in_the_preview(stack: Stack, namespace: str) -> None:
    wrong = {
        "values": release(namespace, replica=1),
        "chart": {**release(namespace), "chart": "oci://example.com/charts/gadgets"},
        "postrender": {**release(namespace), "postrender": "sed"},
    }
    said = {
        "values": "replica: no such value",
        "chart": "chart 'gadgets' is not rehearsed",
        "postrender": "not rehearsed",
    }
    for where, inputs in wrong.items():
        failures = stack.check(RELEASE, "w", inputs).failures
        assert [failure.property for failure in failures] == [where]
        assert said[where] in failures[0].reason
    failures = stack.check(RELEASE, "w", release(namespace, replicas="two")).failures
    assert "replicas is no number" in failures[0].reason


def test_a_local_chart_without_helm_is_refused_by_name(
    stack: Stack, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    failures = stack.check(RELEASE, "w", {**release(namespace), "chart": str(tmp_path)}).failures
    assert "no helm is on PATH" in failures[0].reason


def test_a_local_chart_is_rendered_by_helm_itself(
    stack: Stack, kube: Kube, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = tmp_path / "local"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("name: local\nversion: 0.1.0\n")
    helm = tmp_path / "helm"
    helm.write_text(f"""#!{sys.executable}
import json, sys
if sys.argv[1] == "template":
    values = json.load(sys.stdin)
    print(json.dumps({{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": sys.argv[2]}}, "data": values}}))
""")
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    stack.up(RELEASE, "w", {**release(namespace, token="t"), "chart": str(chart)})
    live = kube.get("v1", "ConfigMap", "w", namespace)
    assert live is not None
    assert live["data"] == {"token": "t"}


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
