"""The real Prometheus over a server under load and over the exporters of its node."""

import time
from functools import partial
from typing import Any

import pytest

from rehearsal import toolchain
from rehearsal.kubelet import orders
from rehearsal.kubelet.orders import Fault, Load
from rehearsal.tests.inside import observed, workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.tests.inside.observed import SHOP, WHERE

from .prometheus import Asked, Samples, answer

pytestmark = pytest.mark.engine
CHAT = "chat"
RPS = 400.0
"""Far more than one H100 with an 8B model can do."""


def server() -> list[dict[str, Any]]:
    """A model of a hub behind a Service, on one GPU."""
    limits = {"nvidia.com/gpu": "1"}
    main = workloads.container(
        "vllm/vllm-openai:v0.29.0",
        command=["vllm", "serve", "Qwen/Qwen3-8B", f"--served-model-name={CHAT}", "--port=8000"],
        resources={"limits": limits, "requests": limits},
        readinessProbe={"httpGet": {"path": "/health", "port": 8000}},
    )
    pod = {"containers": [main], "tolerations": workloads.TOLERATES_GPU}
    return [observed.deployment(CHAT, SHOP, pod), observed.service(CHAT, SHOP, 8000)]


def gpu_monitor() -> dict[str, Any]:
    made = observed.monitor("dcgm", "nvidia-dcgm-exporter", "gpu-metrics")
    made["metadata"]["namespace"] = "gpu-operator"
    return made


@pytest.fixture(scope="module")
def scraped(gpus: Site) -> Asked:
    """Asks Prometheus, once it runs and the server is ready."""
    toolchain.ensure(["prometheus-operator", "prometheus"])
    gpus.apply(*map(workloads.namespace, (WHERE, SHOP)), *observed.definitions(), *observed.operator())
    until(lambda: gpus.available(WHERE, "operator"), 60, "the operator is available")
    gpus.apply(*observed.prometheus(), *server())

    def ready() -> bool:
        found = gpus.kube.get("v1", "Pod", "prometheus-main-0", WHERE) or {}
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    until(ready, 120, "Prometheus is ready")
    gpus.apply(observed.monitor(CHAT, CHAT, "web"), gpu_monitor())

    def asked(query: str) -> Samples:
        address = gpus.plane.backends.find(WHERE, "prometheus-main-0", 9090)
        return answer(f"{address[0]}:{address[1]}", query) if address else []

    until(lambda: gpus.available(SHOP, CHAT), 60, "the server is ready")
    until(partial(asked, "vllm:num_requests_running"), 120, "Prometheus has scraped it")
    return asked


def test_prometheus_sees_requests_wait_under_load_and_none_when_it_ends(gpus: Site, scraped: Any) -> None:
    file, now = gpus.plane.directory / orders.FILE, time.time()
    load = Load(SHOP, CHAT, {"app": CHAT}, RPS, now, now + 600)
    ((labels, value),) = scraped("vllm:num_requests_waiting")
    assert (labels["model_name"], labels["service"], value) == (CHAT, CHAT, 0)
    orders.change(file, lambda before: orders.loaded(before, load))
    until(lambda: scraped("vllm:num_requests_waiting > 100"), 60, "requests wait")
    until(lambda: scraped("rate(vllm:generation_tokens_total[10s]) > 1000"), 60, "tokens are made")
    until(lambda: scraped(f'DCGM_FI_DEV_GPU_UTIL{{exported_namespace="{SHOP}"}} > 90'), 60, "its GPU is busy")
    orders.change(file, lambda before: orders.loaded(before, Load(SHOP, CHAT, {"app": CHAT}, 0.0, time.time(), 0.0)))
    assert not [each for each in orders.read(file).loads if each.on(time.time())]


def test_prometheus_sees_a_gpu_fall_off_the_bus(gpus: Site, scraped: Any) -> None:
    file = gpus.plane.directory / orders.FILE
    used = {pod["spec"]["nodeName"] for pod in gpus.pods(SHOP, CHAT)}
    (node,) = [each["metadata"]["name"] for each in gpus.nodes("train") if each["metadata"]["name"] not in used]
    query = f'DCGM_FI_DEV_XID_ERRORS{{Hostname="{node}"}}'
    until(lambda: [value for _, value in scraped(query)] == [0], 60, "no Xid at first")
    orders.change(file, lambda before: orders.broken(before, Fault(node, "gpu-unavailable", time.time())))
    until(lambda: [value for _, value in scraped(query)] == [79], 30, "the Xid is scraped")
    until(lambda: not scraped(f'DCGM_FI_DEV_GPU_TEMP{{Hostname="{node}"}}'), 30, "its other fields are gone")
    orders.change(file, lambda before: orders.healed(before, node, None, time.time()))
    until(lambda: [value for _, value in scraped(query)] == [0], 30, "and it is well again")
