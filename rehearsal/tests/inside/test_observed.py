"""A monitoring stack of the real binaries over simulated pods: scraping, rules, alerts, metrics for autoscalers."""

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import urllib3

from rehearsal import toolchain
from rehearsal.kube.client import ApiError
from rehearsal.tests.inside import observed, workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.tests.inside.observed import COUNTING, SHOP, WHERE

pytestmark = pytest.mark.engine


def url(site: Site, pod: str, port: int) -> str:
    address = site.plane.backends.find(WHERE, pod, port)
    assert address is not None, f"nothing listens on {port} of {pod}"
    return f"http://{address[0]}:{address[1]}"


def asked(site: Site, path: str, **fields: str) -> Any:
    answer = urllib3.request("GET", f"{url(site, 'prometheus-main-0', 9090)}/api/v1/{path}", fields=fields, timeout=5.0)
    assert answer.status == 200, answer.data
    return answer.json()["data"]


def value(site: Site, query: str) -> list[tuple[dict[str, str], str]]:
    return [(each["metric"], each["value"][1]) for each in asked(site, "query", query=query)["result"]]


@pytest.fixture(scope="module")
def stack(site: Site) -> Site:
    """The operator, Prometheus and Alertmanager running, and pods that count."""
    toolchain.ensure(["prometheus-operator", "prometheus", "alertmanager", "prometheus-adapter"])
    site.apply(*map(workloads.namespace, (WHERE, SHOP)), *observed.definitions())
    site.apply(*observed.operator(), *observed.counting())
    until(lambda: site.available(WHERE, "operator"), 60, "the operator is available")
    site.apply(*observed.alertmanager(), *observed.prometheus())
    for pod in ("prometheus-main-0", "alertmanager-main-0"):
        until(partial(ready, site, pod), 90, f"{pod} is ready")
    return site


def ready(site: Site, pod: str) -> bool:
    found = site.kube.get("v1", "Pod", pod, WHERE) or {}
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_a_monitor_scrapes_what_it_selects_and_one_that_selects_nothing_scrapes_nothing(stack: Site) -> None:
    COUNTING.set(3)
    stack.apply(
        observed.monitor("right", "counting", "web"),
        observed.monitor("wrong-label", "countin", "web"),
        observed.monitor("wrong-port", "counting", "metrics"),
    )
    until(lambda: value(stack, f'up{{namespace="{SHOP}"}} == 1'), 60, "the pod is scraped")
    (found,) = value(stack, "shop_waiting")
    assert (found[0]["pod"].startswith("counting-"), found[0]["service"], found[1]) == (True, "counting", "3")
    pools = {each["scrapePool"] for each in asked(stack, "targets", state="active")["activeTargets"]}
    assert f"serviceMonitor/{SHOP}/right/0" in pools
    assert not any("wrong" in each for each in pools)
    configured = asked(stack, "status/config")["yaml"]
    assert f"serviceMonitor/{SHOP}/wrong-label/0" in configured


def test_a_pod_that_stops_listening_is_down(stack: Site) -> None:
    (pod,) = [each["metadata"]["name"] for each in stack.pods(SHOP, "counting-")]
    address = stack.plane.backends.find(SHOP, pod, 8000)
    assert address is not None
    run = stack.effects.world.backends
    handler = run.handler(SHOP, pod, 8000)
    assert handler is not None
    run.remove(SHOP, pod, [8000])
    until(lambda: value(stack, f'up{{namespace="{SHOP}"}} == 0'), 30, "the target is down")
    run.answer(SHOP, pod, 8000, handler)
    until(lambda: value(stack, f'up{{namespace="{SHOP}"}} == 1'), 30, "the target is up again")


def test_a_rule_is_loaded_fires_and_its_alert_reaches_alertmanager(stack: Site) -> None:
    waiting = {"alert": "TooManyWait", "expr": "shop_waiting > 2", "labels": {"severity": "warning", "subject": "shop"}}
    worse = {
        "alert": "FarTooManyWait",
        "expr": "shop_waiting > 20",
        "labels": {"severity": "critical", "subject": "shop"},
    }
    stack.apply(observed.rule("shop", waiting, worse))
    COUNTING.set(3)
    until(
        lambda: [each for each in asked(stack, "rules")["groups"] if each["name"] == "shop"], 90, "the rule is loaded"
    )
    until(lambda: alerts(stack) == {"TooManyWait"}, 60, "the alert reaches Alertmanager")
    COUNTING.set(30)
    until(lambda: alerts(stack) == {"FarTooManyWait"}, 60, "the worse one keeps the other silent")
    COUNTING.set(0)
    stack.kube.delete(observed.rule("shop"))
    until(lambda: not [each for each in asked(stack, "rules")["groups"] if each["name"] == "shop"], 90, "it is gone")


def alerts(site: Site) -> set[str]:
    """The active alerts as amtool shows them; inhibited ones it leaves out."""
    amtool = toolchain.ensure(["alertmanager"])["amtool"]
    argv: list[str | Path] = [
        amtool,
        f"--alertmanager.url={url(site, 'alertmanager-main-0', 9093)}",
        "alert",
        "query",
        "-o",
        "simple",
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    return {line.split()[0] for line in done.stdout.splitlines()[1:]}


def test_a_rule_that_is_none_is_refused_by_the_operator(stack: Site) -> None:
    stack.apply(observed.webhook(), observed.certgen("patch", "--webhook-name=admission", "--patch-mutating=false"))
    until(lambda: stack.succeeded(WHERE, "admission-patch"), 60, "the API server knows the operator's certificate")
    with pytest.raises(ApiError, match=r'admission webhook "prometheusrulemutate.monitoring.coreos.com" denied'):
        stack.apply(observed.rule("bad", {"alert": "Never", "expr": "sum(shop_waiting"}))
    stack.kube.delete(observed.webhook())


def test_kube_state_metrics_tells_of_the_clusters_objects(stack: Site) -> None:
    stack.apply(*observed.kube_state_metrics(), observed.monitor("states", "states", "web"))
    until(lambda: stack.available(SHOP, "states"), 60, "kube-state-metrics is available")
    running = f'kube_pod_status_phase{{exported_namespace="{WHERE}",phase="Running"}} == 1'
    until(lambda: value(stack, running), 60, "pods are told of")
    assert "prometheus-main-0" in [metric["exported_pod"] for metric, _ in value(stack, running)]


def test_kubelets_and_the_api_server_are_scraped_by_those_who_may(stack: Site) -> None:
    tls = {"insecureSkipVerify": True}
    bearer = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    endpoint: dict[str, Any] = {
        "port": "https-metrics",
        "scheme": "https",
        "interval": "2s",
        "tlsConfig": tls,
        "bearerTokenFile": bearer,
    }
    endpoint["honorLabels"] = True
    endpoint["relabelings"] = [{"sourceLabels": ["__metrics_path__"], "targetLabel": "metrics_path"}]
    kubelet = observed.monitor("kubelet", "", "")
    kubelet["spec"] = {
        "namespaceSelector": {"matchNames": ["kube-system"]},
        "selector": {"matchLabels": {"app.kubernetes.io/name": "kubelet"}},
        "endpoints": [endpoint, {**endpoint, "path": "/metrics/cadvisor"}],
    }
    server = observed.monitor("apiserver", "", "")
    trusted = {"caFile": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt", "serverName": "kubernetes"}
    server["spec"] = {
        "namespaceSelector": {"matchNames": ["default"]},
        "selector": {"matchLabels": {"component": "apiserver"}},
        "endpoints": [{**endpoint, "port": "https", "tlsConfig": trusted}],
    }
    stack.apply(kubelet, server)
    nodes = len(stack.kube.list("v1", "Node"))
    up = 'count(up{{job="{}"}} == 1)'.format
    until(lambda: value(stack, up("kubernetes")) == [({}, "1")], 90, "the API server is scraped")
    until(lambda: value(stack, up("kubelet")) == [({}, str(2 * nodes))], 60, "every kubelet is scraped twice")
    assert value(stack, 'sum(kubelet_running_pods{job="kubelet"}) > 3')
    query = f'container_memory_working_set_bytes{{namespace="{WHERE}",pod="prometheus-main-0",container="prometheus"}}'
    assert value(stack, query)
    stack.kube.delete(kubelet)
    stack.kube.delete(server)


def test_an_autoscaler_moves_on_what_the_adapter_tells(stack: Site) -> None:
    COUNTING.set(0)
    stack.apply(observed.monitor("right", "counting", "web"), *observed.adapter())
    until(lambda: stack.available(WHERE, "adapter"), 60, "the adapter is available")
    path = f"/apis/custom.metrics.k8s.io/v1beta1/namespaces/{SHOP}/pods/*/shop_waiting"
    until(lambda: items(stack, path), 90, "the API server answers for the adapter")
    stack.apply(observed.autoscaler())
    COUNTING.set(10)
    until(lambda: len(stack.pods(SHOP, "counting-")) == 4, 90, "ten each are too many for one, and for two")
    COUNTING.set(0)
    until(lambda: len(stack.pods(SHOP, "counting-")) == 1, 120, "nobody waits")


def items(site: Site, path: str) -> list[Any]:
    try:
        return list(site.kube.call("GET", path)["items"])
    except ApiError as error:
        if error.code not in (404, 503):
            raise
        return []
