"""Names in played charts: those of the release, wherever the real chart puts them."""

import json
from typing import Any

from rehearsal.charts.played.names import fullname, marked
from rehearsal.tests.charts.facts import find, order


def test_a_release_is_marked_and_an_api_group_is_not() -> None:
    assert marked("kueue.x-k8s.io", ["kueue"]) == "kueue.x-k8s.io"
    assert marked("x-k8s.io", ["kueue"]) == "x-k8s.io"
    assert marked("dcgm-3.x", ["a"]) == "dcgm-3.x"
    assert marked("x", ["a"]) == "<<release>>"
    assert marked("x-a-b", ["a"]) == "<<fullname a>>-b"
    assert marked("x-ab", ["a"]) == "<<release>>-ab"
    assert marked("system:x-a:ns", ["a"]) == "system:<<fullname a>>:<<namespace>>"


def names(chart: str, release: str, **values: Any) -> list[str]:
    return [each["metadata"]["name"] for each in find(chart).render(order(release, "there", values))]


def test_a_release_called_like_the_chart_does_not_repeat_the_name() -> None:
    assert "metrics-server" in names("metrics-server", "metrics-server")
    assert "system:metrics-server" in names("metrics-server", "metrics-server")
    assert "own-metrics-server" in names("metrics-server", "own")
    assert "other" in names("metrics-server", "own", fullnameOverride="other")
    assert "own-ms" in names("metrics-server", "own", nameOverride="ms")


def test_a_sub_chart_has_a_full_name_of_its_own() -> None:
    assert "gpu-operator-node-feature-discovery-worker" in names("gpu-operator", "gpu-operator")
    assert "my-node-feature-discovery-worker" in names("gpu-operator", "my-node-feature-discovery")
    found = names("gpu-operator", "r", **{"node-feature-discovery": {"fullnameOverride": "nfd"}})
    assert {"nfd-worker", "nfd-master", "gpu-operator"} <= set(found)


def test_switches_find_objects_whatever_the_release_calls_them() -> None:
    own = {"fullnameOverride": "nfd", "gc": {"enable": False}, "master": {"replicaCount": 3}}
    made = find("gpu-operator").render(order("r", values={"node-feature-discovery": own}))
    assert "nfd-gc" not in [each["metadata"]["name"] for each in made]
    master = next(each for each in made if (each["kind"], each["metadata"]["name"]) == ("Deployment", "nfd-master"))
    assert master["spec"]["replicas"] == 3


def test_what_a_value_says_is_taken_as_it_is() -> None:
    """A `$namespace` or a name like the inventory's release in it is the user's."""
    text = "x: ${namespace} x-volcano ns\n"
    made = find("volcano").render(order("gang", values={"custom": {"scheduler_config_override": text}}))
    config = next(each for each in made if each["metadata"]["name"] == "gang-scheduler-configmap")
    assert config["data"]["volcano-scheduler.conf"] == text


def test_a_chart_that_names_by_the_release_alone_does_so() -> None:
    assert {"volcano-scheduler", "volcano-admission-init"} <= set(names("volcano", "volcano"))
    assert "gang-volcano" not in " ".join(names("volcano", "gang"))


def test_full_names_end_where_the_charts_helpers_cut_them() -> None:
    assert fullname("metrics-server", "r" * 60, {}) == "r" * 60 + "-me"
    assert fullname("metrics-server", "r" * 62, {}) == "r" * 62
    assert fullname("kube-prometheus-stack", "monitoring", {}) == "monitoring-kube-prometheus"


def test_release_and_namespace_are_named_wherever_the_chart_names_them() -> None:
    text = json.dumps(find("volcano").render(order("gang", "there")))
    assert "--webhook-service-name=gang-admission-service" in text
    assert "--webhook-namespace=there" in text
    assert "<<" not in text
    webhook = next(each for each in find("volcano").render(order("gang", "there")) if "webhooks" in each)
    assert webhook["webhooks"][0]["clientConfig"]["service"]["namespace"] == "there"
    assert "kube-system" in webhook["webhooks"][0]["namespaceSelector"]["matchExpressions"][0]["values"]
