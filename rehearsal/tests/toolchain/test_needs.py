"""A stack's resources tell which tools it needs; nothing else is built for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from rehearsal.toolchain import definitions, needs
from rehearsal.toolchain.families import BASE, FAMILIES
from rehearsal.toolchain.needs import Needs

DEPLOYMENT, RELEASE = "kubernetes:apps/v1:Deployment", "kubernetes:helm.sh/v3:Release"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def pod(image: object, kind: str = "containers") -> dict[str, Any]:
    return {"spec": {"template": {"spec": {kind: [{"name": "main", "image": image}]}}}}


def release(chart: str) -> tuple[str, Mapping[str, Any]]:
    return RELEASE, {"chart": chart, "values": {"basic": {"scheduler_image_name": UNKNOWN}}}


def test_every_rehearsal_has_a_control_plane_and_an_engine_and_nothing_else() -> None:
    assert set(BASE) == {"etcd", "pulumi", "kubernetes", "kwok"}


@pytest.mark.parametrize("chart", ["volcano", "oci://registry.example/charts/volcano", "./charts/volcano/"])
def test_volcanos_chart_needs_its_binaries_and_definitions(chart: str) -> None:
    assert needs.of([release(chart)]) == Needs(("crds", "volcano", "helm"), ("volcano",))


def test_a_chart_of_definitions_needs_no_binary_but_their_generator() -> None:
    assert needs.of([release("prometheus-operator-crds")]) == Needs(("crds",), ("prometheus-operator",))


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/kubeflow/training-v1/training-operator:v1.9.3",
        "localhost:5000/training-operator@sha256:" + "0" * 64,
        "training-operator",
    ],
)
def test_a_containers_image_needs_its_binary(image: str, kind: str) -> None:
    assert needs.of([(DEPLOYMENT, pod(image, kind))]) == Needs(("crds", "training"), ("training-operator",))


@pytest.mark.parametrize(
    ("resource", "families"),
    [
        (release("kube-prometheus-stack"), ("prometheus-operator", "prometheus", "alertmanager", "kube-state-metrics")),
        (release("prometheus-adapter"), ("prometheus-adapter",)),
        ((DEPLOYMENT, pod("quay.io/o/prometheus-operator:v1")), ("prometheus-operator", "prometheus", "alertmanager")),
        ((DEPLOYMENT, pod("registry.k8s.io/k/kube-state-metrics:v1")), ("kube-state-metrics",)),
    ],
)
def test_what_monitors_brings_its_own_binaries_and_those_of_the_pods_it_makes(
    resource: tuple[str, Mapping[str, Any]], families: tuple[str, ...]
) -> None:
    assert needs.of([resource]) == Needs(families, ())


@pytest.mark.parametrize("image", ["ghcr.io/mlflow/mlflow:v3.15.1-full", "public.ecr.aws/docker/library/postgres:17.7"])
def test_a_tracker_and_its_database_need_programs_in_python(image: str) -> None:
    assert needs.of([(DEPLOYMENT, pod(image))]) == Needs((), (), ("mlflow",))


@pytest.mark.parametrize(
    "resource",
    [
        (DEPLOYMENT, pod("nginx:1.29")),
        (DEPLOYMENT, pod(UNKNOWN)),
        (DEPLOYMENT, pod(None)),
        (DEPLOYMENT, {"metadata": {"name": "volcano"}, "spec": {"schedulerName": "volcano"}}),
        (RELEASE, {"chart": UNKNOWN}),
        (RELEASE, {"chart": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}}),
        ("aws:ecr/repository:Repository", {"image": "vc-scheduler", "chart": "volcano"}),
        ("kubernetes:core/v1:Namespace", {}),
    ],
)
def test_other_resources_need_nothing(resource: tuple[str, Mapping[str, Any]]) -> None:
    assert needs.of([resource]) == Needs((), ())


def test_only_what_is_lacking_is_provided(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(needs, "generated", lambda name: name == "volcano")
    monkeypatch.setattr(needs, "missing", lambda names: [name for name in names if name != "training"])
    monkeypatch.setattr(needs, "ensure", lambda names, _: done.extend(names))
    monkeypatch.setattr(needs, "crds", lambda name, _: done.append(f"CRDs of {name}"))
    Needs(("crds", "volcano"), ("volcano",)).provide(print)
    assert done == ["volcano"], "no generator without anything to generate"
    done.clear()
    Needs(("crds", "training"), ("training-operator",)).provide(print)
    assert done == ["crds", "CRDs of training-operator"]


def test_every_tool_is_wanted_by_something_and_says_what_it_serves() -> None:
    sets = {name for each in definitions.SETS.values() for name in each.wanted_by}
    for family in FAMILIES.values():
        assert family.serves
        assert set(family.seconds) == set(family.packages)
        assert all(each > 0 for each in family.seconds.values())
        assert all(mark.startswith(("image:", "chart:", "definitions")) for mark in family.wanted_by)
    assert all(mark.startswith(("image:", "chart:")) for mark in sets)
