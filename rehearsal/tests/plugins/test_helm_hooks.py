"""What Helm does around a release's objects: hooks, definitions, checks before anything is done, rollback."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.engine import lookup
from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.helm_store import Store
from rehearsal.tests.kube.control_plane import ControlPlane
from rehearsal.tests.kube.engine import Aborted, Stack
from rehearsal.tests.plugins.charts import written

engine = pytest.mark.engine

RELEASE = "kubernetes:helm.sh/v3:Release"
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.hooks.example.com}}
spec:
  group: hooks.example.com
  scope: Namespaced
  names: {{plural: {plural}, singular: {singular}, kind: {kind}, listKind: {kind}List}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {{type: object, properties: {{size: {{type: integer}}, mode: {{type: string, enum: [a, b]}}}}}}
"""
HOOK = """
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  annotations:
    helm.sh/hook: {events}
    helm.sh/hook-weight: "{weight}"
    helm.sh/hook-delete-policy: "{policy}"
"""
JOB = """
---
apiVersion: batch/v1
kind: Job
metadata:
  name: work
  annotations: {"helm.sh/hook": "pre-upgrade,pre-rollback"}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {fails: "{{ .Values.jobFails }}"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: x}]}
"""
OWN = """
apiVersion: hooks.example.com/v1
kind: Gadget
metadata: {name: g}
spec: {{ toJson .Values.gadget }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
data:
  revision: "{{ .Release.Revision }}"
  upgrade: "{{ .Release.IsUpgrade }}"
  version: "{{ .Capabilities.KubeVersion }}"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {"helm.sh/resource-policy": keep}}
{{- if .Capabilities.APIVersions.Has "hooks.example.com/v1/Part" }}
---
apiVersion: hooks.example.com/v1
kind: Part
metadata: {name: p}
{{- end }}
"""
HOOKS = "".join(
    HOOK.format(name=name, events=when, weight=order, policy=policy)
    for name, when, order, policy in (
        ("late", "pre-install,pre-upgrade", "10", "before-hook-creation"),
        ("first", "pre-install", "-5", "before-hook-creation"),
        ("second", "pre-install", "", "before-hook-creation"),
        ("gone", "pre-install", "11", "hook-succeeded"),
        ("after", "post-install,post-upgrade", "0", ""),
        ("farewell", "post-delete", "0", ""),
        ("back", "post-rollback", "0", ""),
    )
)


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    return written(
        tmp_path / "chart",
        {
            "Chart.yaml": "name: gadgets\nversion: 1.0.0\nappVersion: '7'\n",
            "values.yaml": "jobFails: false\ngadget: {size: 1}\n",
            "crds/gadgets.yaml": DEFINITION.format(plural="gadgets", singular="gadget", kind="Gadget"),
            "templates/own.yaml": OWN,
            "templates/hooks.yaml": HOOKS + JOB,
            "charts/parts/Chart.yaml": "name: parts\nversion: 1.0.0\n",
            "charts/parts/crds/parts.yaml": DEFINITION.format(plural="parts", singular="part", kind="Part"),
        },
    )


@pytest.fixture
def stack(control_plane: ControlPlane, namespace: str, kube: Kube) -> Iterator[Stack]:
    """A stack in a cluster whose pods end at once: badly where they say so."""
    made, stop = Stack(control_plane.kubeconfig(), namespace=namespace), threading.Event()
    thread = threading.Thread(target=_end_pods, args=(kube, namespace, stop))
    thread.start()
    yield made
    made.destroy()
    stop.set()
    thread.join()
    for plural in ("gadgets", "parts"):
        definition = _definition(plural)
        kube.delete(definition)
        deadline = time.monotonic() + 20
        while kube.get(definition["apiVersion"], definition["kind"], definition["metadata"]["name"]) is not None:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _end_pods(kube: Kube, namespace: str, stop: threading.Event) -> None:
    while not stop.wait(0.1):
        for pod in kube.list("v1", "Pod", namespace):
            if pod["status"]["phase"] == "Pending":
                fails = pod["metadata"].get("annotations", {}).get("fails") == "true"
                phase = {"status": {"phase": "Failed" if fails else "Succeeded"}}
                with contextlib.suppress(ApiError):
                    kube.patch("v1", "Pod", pod["metadata"]["name"], namespace, phase, "status")


def _definition(plural: str) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.hooks.example.com"},
    }


def release(chart: Path, namespace: str, more: Any = None, **values: Any) -> dict[str, Any]:
    wanted = {"chart": str(chart), "name": "w", "namespace": namespace, "timeout": 20, "values": values}
    return {**wanted, **(more or {})}


def map_of(kube: Kube, namespace: str, name: str) -> Any:
    return kube.get("v1", "ConfigMap", name, namespace)


def born(kube: Kube, namespace: str, name: str) -> int:
    """A number that grows from one object to the next; the objects asked for are never changed."""
    return int(map_of(kube, namespace, name)["metadata"]["resourceVersion"])


def revisions(kube: Kube, namespace: str) -> list[tuple[int, str]]:
    return [(record.revision, record.status) for record in Store(kube).history(namespace, "w")]


@engine
def test_hooks_run_by_event_weight_and_name(stack: Stack, kube: Kube, namespace: str, chart: Path) -> None:
    stack.up(RELEASE, "w", release(chart, namespace))
    order = ["first", "second", "late", "own", "after"]
    assert sorted(order, key=lambda name: born(kube, namespace, name)) == order
    assert map_of(kube, namespace, "gone") is None
    assert map_of(kube, namespace, "farewell") is None
    assert "labels" not in map_of(kube, namespace, "first")["metadata"]
    before = map_of(kube, namespace, "first"), map_of(kube, namespace, "late")
    stack.up(RELEASE, "w", release(chart, namespace, gadget={"size": 2}))
    assert map_of(kube, namespace, "first") == before[0]
    assert map_of(kube, namespace, "late")["metadata"]["uid"] != before[1]["metadata"]["uid"]
    work = kube.get("batch/v1", "Job", "work", namespace)
    assert work is not None
    assert work["status"]["succeeded"] == 1
    stack.delete("w")
    assert map_of(kube, namespace, "farewell") is not None
    assert map_of(kube, namespace, "own") is None
    assert map_of(kube, namespace, "kept") is not None
    assert kube.get("batch/v1", "Job", "work", namespace) is not None


@engine
def test_disabled_hooks_are_not_run(stack: Stack, kube: Kube, namespace: str, chart: Path) -> None:
    """The official provider's inputs say which: `disableWebhooks` at install, `disableCRDHooks` at upgrade."""
    stack.up(RELEASE, "w", release(chart, namespace, {"disableWebhooks": True}))
    assert map_of(kube, namespace, "first") is None
    quiet = {"disableWebhooks": True, "disableCRDHooks": True}
    stack.up(RELEASE, "w", release(chart, namespace, quiet, gadget={"size": 2}))
    assert map_of(kube, namespace, "late") is None
    stack.up(RELEASE, "w", release(chart, namespace, {"disableWebhooks": True}, gadget={"size": 3}))
    assert map_of(kube, namespace, "late") is not None


@engine
def test_a_failing_hook_fails_the_upgrade_before_its_objects(
    stack: Stack, kube: Kube, namespace: str, chart: Path
) -> None:
    stack.up(RELEASE, "w", release(chart, namespace))
    with pytest.raises(Aborted) as failed:
        stack.up(RELEASE, "w", release(chart, namespace, gadget={"size": 2}, jobFails=True))
    text = "\n".join(failed.value.reasons)
    assert f"pre-upgrade hooks failed: Job {namespace}/work failed: BackoffLimitExceeded" in text
    assert kube.get("hooks.example.com/v1", "Gadget", "g", namespace)["spec"] == {"size": 1}  # type: ignore[index]
    assert revisions(kube, namespace) == [(1, "deployed"), (2, "failed")]


@engine
def test_an_atomic_upgrade_goes_back_with_the_hooks_of_the_revision_that_worked(
    stack: Stack, kube: Kube, namespace: str, chart: Path
) -> None:
    stack.up(RELEASE, "w", release(chart, namespace, {"atomic": True}))
    with pytest.raises(Aborted, match=r"rolled back due to atomic being set: pre-upgrade hooks failed"):
        stack.up(RELEASE, "w", release(chart, namespace, {"atomic": True}, jobFails=True))
    assert revisions(kube, namespace) == [(1, "superseded"), (2, "failed"), (3, "deployed")]
    assert map_of(kube, namespace, "back") is not None
    job = kube.get("batch/v1", "Job", "work", namespace)
    assert job is not None
    assert job["spec"]["template"]["metadata"]["annotations"]["fails"] == "false"


@engine
def test_an_atomic_install_whose_hook_fails_leaves_nothing(
    stack: Stack, kube: Kube, namespace: str, chart: Path
) -> None:
    hooks = chart / "templates/hooks.yaml"
    hooks.write_text(hooks.read_text().replace("pre-upgrade,pre-rollback", "post-install"))
    with pytest.raises(Aborted, match=r"uninstalled due to atomic being set: post-install hooks failed"):
        stack.up(RELEASE, "w", release(chart, namespace, {"atomic": True}, jobFails=True))
    assert map_of(kube, namespace, "own") is None
    assert map_of(kube, namespace, "farewell") is not None
    assert revisions(kube, namespace) == []


@engine
def test_definitions_are_installed_with_those_of_sub_charts_and_never_upgraded(
    stack: Stack, kube: Kube, namespace: str, chart: Path
) -> None:
    stack.up(RELEASE, "w", release(chart, namespace))
    # The sub-chart's definition was there before the chart asked for what the cluster serves.
    assert kube.get("hooks.example.com/v1", "Part", "p", namespace) is not None
    crd = chart / "crds/gadgets.yaml"
    crd.write_text(crd.read_text().replace("size:", "weight: {type: integer}, size:"))
    stack.up(RELEASE, "w", release(chart, namespace, gadget={"size": 2}))
    live = kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.hooks.example.com")
    assert live is not None
    schema = live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert set(schema["properties"]["spec"]["properties"]) == {"size", "mode"}
    stack.delete("w")
    assert kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.hooks.example.com") is not None


@engine
@pytest.mark.parametrize(
    ("gadget", "said"),
    [
        ({"weight": 2}, r"unknown field Gadget\.spec\.weight"),
        ({"size": "big"}, r"Gadget\.spec\.size must be of type integer, not 'big'"),
        ({"mode": "c"}, r"Gadget\.spec\.mode must be one of a, b, not 'c'"),
    ],
)
def test_objects_are_checked_against_the_installed_definitions_before_hooks_lf08(
    stack: Stack, kube: Kube, namespace: str, chart: Path, gadget: dict[str, Any], said: str
) -> None:
    """LF08: the new chart's own definition does not help, since an upgrade does not install it."""
    with pytest.raises(Aborted, match=said):
        stack.up(RELEASE, "w", release(chart, namespace, gadget=gadget))
    assert map_of(kube, namespace, "first") is None
    assert revisions(kube, namespace) == []
    stack.up(RELEASE, "w", release(chart, namespace))
    uid = map_of(kube, namespace, "late")["metadata"]["uid"]
    crd = chart / "crds/gadgets.yaml"
    crd.write_text(crd.read_text().replace("size:", "weight: {type: integer}, size:"))
    with pytest.raises(Aborted, match=said):
        stack.up(RELEASE, "w", release(chart, namespace, {"disableOpenapiValidation": True}, gadget=gadget))
    assert map_of(kube, namespace, "late")["metadata"]["uid"] == uid
    assert revisions(kube, namespace) == [(1, "deployed")]


@engine
def test_built_in_kinds_are_checked_too(stack: Stack, kube: Kube, namespace: str, chart: Path) -> None:
    own = chart / "templates/own.yaml"
    own.write_text(own.read_text().replace("\ndata:", "\ndate:"))
    with pytest.raises(Aborted, match=r"ConfigMap [^:]*/own: unknown field ConfigMap\.date"):
        stack.up(RELEASE, "w", release(chart, namespace))
    assert map_of(kube, namespace, "first") is None


@engine
def test_templates_know_version_revision_and_operation(stack: Stack, kube: Kube, namespace: str, chart: Path) -> None:
    stack.up(RELEASE, "w", release(chart, namespace))
    assert map_of(kube, namespace, "own")["data"] == {"revision": "1", "upgrade": "false", "version": "v1.36.3"}
    assert stack.state["w"].outputs["status"]["appVersion"] == "7"
    assert stack.up(RELEASE, "w", release(chart, namespace)) == "same"
    seen = stack.refresh("w")
    assert seen is not None
    assert seen["chart"] == str(chart)
    stack.up(RELEASE, "w", release(chart, namespace, gadget={"size": 2}))
    assert map_of(kube, namespace, "own")["data"] == {"revision": "2", "upgrade": "true", "version": "v1.36.3"}


@engine
def test_old_revisions_are_forgotten_and_values_are_kept_as_helm_does(
    stack: Stack, kube: Kube, namespace: str, chart: Path
) -> None:
    for size in (1, 2, 3):
        stack.up(RELEASE, "w", release(chart, namespace, {"maxHistory": 2, "description": "d"}, gadget={"size": size}))
    history = Store(kube).history(namespace, "w")
    assert [(each.revision, each.status, each.description) for each in history] == [
        (2, "superseded", "d"),
        (3, "deployed", "d"),
    ]
    stack.up(RELEASE, "w", release(chart, namespace))
    assert kube.get("hooks.example.com/v1", "Gadget", "g", namespace)["spec"] == {"size": 3}  # type: ignore[index]
    stack.up(RELEASE, "w", release(chart, namespace, {"resetValues": True}))
    assert kube.get("hooks.example.com/v1", "Gadget", "g", namespace)["spec"] == {"size": 1}  # type: ignore[index]


@engine
def test_an_install_that_was_killed_is_undone_and_an_upgrade_forgotten(
    stack: Stack, kube: Kube, namespace: str, chart: Path
) -> None:
    """The next engine may give the release another name: nothing would own the first one's objects."""
    store = Store(kube)
    stack.up(RELEASE, "w", release(chart, namespace))
    stack.up(RELEASE, "w", release(chart, namespace, gadget={"size": 2}))
    store.set_status(store.history(namespace, "w")[-1], "pending-upgrade")
    assert lookup.release(kube, "w", namespace) == [f"{namespace}/w"]
    assert [number for number, _ in revisions(kube, namespace)] == [1]
    store.set_status(store.history(namespace, "w")[0], "pending-install")
    assert lookup.release(kube, "w", namespace) == []
    assert revisions(kube, namespace) == []
    assert map_of(kube, namespace, "own") is None
