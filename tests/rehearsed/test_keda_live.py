"""From one replica to none, back, and to the most, by KEDA as it is played and the real HPA controller (Q08, X12).

The ScaledObject is the one that a stack registers, with seconds in the place of its minutes. What Prometheus would say
is said by a pod that the test holds; that its real answers are these is tests/monitoring's.
"""

import base64
import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest

from rehearsal.cluster.pages import Answer, Request
from rehearsal.cluster.pki import Authority
from rehearsal.images.table import known
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.images import Row
from rehearsal.kubelet.program import Launch, Program
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.toolchain.families import BASE
from tests.graph import schema_kubernetes
from tests.stacks.test_scale_to_zero import NAME, graph

pytestmark = [pytest.mark.engine, pytest.mark.scale]

API, IDLE_SECONDS = "keda.sh/v1alpha1", 6
SERVER = "keda-operator-metrics-apiserver.keda.svc"


class Prometheus:
    """What it says to each query, by a word of it; nothing of `gone` ones."""

    def __init__(self) -> None:
        self.asked, self.waiting, self.there = 0.0, 0.0, True

    def run(self, launch: Launch) -> Program:
        return Answering(launch, {9090: self._answer})

    def _answer(self, request: Request) -> Answer:
        query = parse_qs(request.query)["query"][0]
        value = self.asked if "traefik" in query else self.waiting if query.startswith("sum(vllm:num") else 0.0
        result = [{"metric": {}, "value": [time.time(), str(value)]}] if self.there else []
        return Answer(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}))


PROMETHEUS = Prometheus()


def serving(name: str, where: str, image: str, port: int) -> list[dict[str, Any]]:
    """A Deployment of one pod and its Service."""
    labels = {"app": name}
    container = {"name": "main", "image": image, "ports": [{"containerPort": port}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    meta = {"name": name, "namespace": where}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": labels, "ports": [{"port": port}]},
        },
    ]


def scaled_object() -> dict[str, Any]:
    """As it is registered, with seconds."""
    found: dict[str, Any] = json.loads(json.dumps(dict(graph().one(f"service-{NAME}-scaled-object").inputs)))
    spec = found["spec"]
    spec |= {"pollingInterval": 1, "cooldownPeriod": IDLE_SECONDS, "initialCooldownPeriod": IDLE_SECONDS}
    for way in spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"].values():
        way["stabilizationWindowSeconds"] = 0
        way["policies"][0]["periodSeconds"] = 1
    for trigger in spec["triggers"]:
        if "serverAddress" in trigger["metadata"]:
            trigger["metadata"]["serverAddress"] = "http://prometheus.monitoring.svc:9090"
    return found


def certificate(site: Site) -> None:
    """What cert-manager would make and inject."""
    authority = Authority("keda")
    pair = authority.server("keda-operator", [SERVER])
    data = {"ca.crt": authority.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kedaorg-certs", "namespace": "keda"}}
    site.apply({**secret, "data": {name: base64.b64encode(each).decode() for name, each in data.items()}})
    bundle = {"spec": {"caBundle": base64.b64encode(authority.certificate).decode()}}
    site.kube.patch("apiregistration.k8s.io/v1", "APIService", "v1beta1.external.metrics.k8s.io", None, bundle)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster with a node, KEDA with the program's values but for certificates, and the service's Deployment."""
    if (vendors := schema_kubernetes.upstream()) is not None:
        os.environ["GPUCLUSTER_UPSTREAM"] = str(vendors)
    images = known([Row(r"example\.org/prometheus", PROMETHEUS.run)])
    made = Site(tmp_path_factory.mktemp("zero"), "zero", images, BASE)
    try:
        for addon in ("vpc-cni", "kube-proxy"):
            made.account.addon(addon)
        made.account.nodegroup("system", 1, made.account.template("system", "m7i.2xlarge"), "AL2023_x86_64_STANDARD")
        values: dict[str, Any] = json.loads(json.dumps(dict(graph().one("keda-release").inputs["values"])))
        del values["certificates"], values["prometheus"]["operator"]["serviceMonitor"]
        made.apply(*map(workloads.namespace, ("inference", "monitoring")))
        made.install("keda", "keda", values)
        certificate(made)
        made.apply(*serving("prometheus", "monitoring", "example.org/prometheus:1", 9090))
        made.apply(*serving(NAME, "inference", "example.org/model:1", 8000))
        until(lambda: made.available("keda", "keda-operator"), 120, "KEDA runs")
        until(lambda: made.available("keda", SERVER.partition(".")[0]), 120, "its metrics server runs")
        until(lambda: made.available("inference", NAME), 120, "the model runs")
        made.apply(scaled_object())
        yield made
    finally:
        made.stop()


def replicas(site: Site) -> int:
    found = site.kube.get("apps/v1", "Deployment", NAME, "inference") or {}
    return int(found["spec"]["replicas"])


def said(site: Site, condition: str) -> str:
    status = (site.kube.get(API, "ScaledObject", NAME, "inference") or {}).get("status") or {}
    return next((each["status"] for each in status.get("conditions") or [] if each["type"] == condition), "")


def becomes(site: Site, number: int, seconds: float, what: str) -> None:
    until(lambda: replicas(site) == number, seconds, f"{what}: {number} replicas")


def test_the_way_to_zero_and_back(site: Site) -> None:
    """In one, since each step begins where the last one ended."""
    until(lambda: said(site, "Ready") == "True", 30, "KEDA has made its HPA")
    (hpa,) = site.kube.list("autoscaling/v2", "HorizontalPodAutoscaler", "inference")
    assert hpa["metadata"]["name"] == f"keda-hpa-{NAME}"
    assert replicas(site) == 1
    becomes(site, 0, 60, "nobody asks")

    PROMETHEUS.there = False
    time.sleep(2 * IDLE_SECONDS)
    assert replicas(site) == 0
    assert said(site, "Fallback") == "True"
    PROMETHEUS.there = True

    PROMETHEUS.asked = 1
    becomes(site, 1, 30, "a request came to the gateway")
    PROMETHEUS.waiting = 12
    becomes(site, 2, 120, "requests wait, as the HPA controller hears from KEDA's metrics server")

    PROMETHEUS.there, PROMETHEUS.asked, PROMETHEUS.waiting = False, 0, 0
    until(lambda: said(site, "Fallback") == "True", 60, "its triggers fail")
    time.sleep(20 + IDLE_SECONDS)
    assert replicas(site) == 2
    PROMETHEUS.there = True
    becomes(site, 0, 120, "nobody asks again")


def test_a_pod_of_the_namespace_wakes_it(site: Site) -> None:
    """As the smoke request does."""
    spec = {"containers": [workloads.container("example.org/asks:1")]}
    pod = workloads.pod("asks", "inference", spec)
    pod["metadata"]["labels"] = {"gpucluster/wakes": NAME}
    site.apply(pod)
    becomes(site, 1, 30, "a pod wakes it")
    site.kube.delete(pod)
    becomes(site, 0, 90, "it is gone")


def test_without_the_object_its_hpa_is_gone_and_replicas_stay(site: Site) -> None:
    site.kube.delete(scaled_object())
    until(lambda: not site.kube.list("autoscaling/v2", "HorizontalPodAutoscaler", "inference"), 60, "the HPA is gone")
    assert site.kube.get(API, "ScaledObject", NAME, "inference") is None
    assert replicas(site) == 0
