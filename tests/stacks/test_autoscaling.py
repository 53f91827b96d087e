"""What serves the metrics that services scale by, on every platform (X12, LF06)."""

import yaml

from components.serving.monitor import SCRAPE_SECONDS
from tests.graph.stackfiles import run_program
from tests.stacks.platforms import Deployed, deployed, every_platform
from tests.stacks.test_wiring import HERE

ADAPTER = "metrics-adapter-release"


def scales(found: Deployed) -> bool:
    return any(service.scaling for service in found.plan.services.values())


@every_platform
def test_an_adapter_is_there_where_replicas_change(stack: str) -> None:
    found = deployed(stack)
    released = {each.name for each in found.graph.of_type("Release")}
    assert (ADAPTER in released) is (scales(found) and found.plan.monitoring is not None)


def test_it_serves_what_the_autoscalers_ask_for_and_no_more() -> None:
    graph = deployed("fake").graph
    (scaler,) = graph.of_type("HorizontalPodAutoscaler")
    asked = {each["pods"]["metric"]["name"] for each in scaler.inputs["spec"]["metrics"]}
    rules = graph.one(ADAPTER).inputs["values"]["rules"]
    assert {each["name"]["as"] for each in rules["custom"]} == asked
    assert rules["default"] is False
    assert "external" not in rules


def test_it_asks_the_prometheus_of_the_stack() -> None:
    graph = deployed("fake").graph
    adapter, stack = graph.one(ADAPTER).inputs, graph.one("monitoring-stack-chart-release").inputs
    service = f"{stack['name']}-prometheus.{stack['namespace']}.svc"
    assert adapter["values"]["prometheus"] == {"url": f"http://{service}", "port": 9090}
    assert adapter["namespace"] == stack["namespace"]


def test_it_forgets_no_metric_between_two_scrapes() -> None:
    graph = deployed("fake").graph
    monitor = graph.one("service-llama-monitor").inputs["spec"]
    assert {each["interval"] for each in monitor["endpoints"]} == {f"{SCRAPE_SECONDS}s"}
    looks = graph.one(ADAPTER).inputs["values"]["metricsRelistInterval"]
    assert int(looks.removesuffix("s")) >= 2 * SCRAPE_SECONDS


def test_its_two_replicas_keep_apart_by_the_label_that_the_chart_gives_them() -> None:
    """Source: chart prometheus-adapter 5.3.0, templates/_helpers.tpl; a label that no pod has spreads nothing."""
    (spread,) = deployed("fake").graph.one(ADAPTER).inputs["values"]["topologySpreadConstraints"]
    assert spread["labelSelector"] == {"matchLabels": {"app.kubernetes.io/name": "prometheus-adapter"}}


def test_without_monitoring_nothing_asks_for_an_adapter() -> None:
    """An adapter installed beside the stack serves the metrics then, as a waiver says: two cannot."""
    config = yaml.safe_load((HERE / "stack.yaml").read_text(encoding="utf-8"))["config"]
    waiver = {"rule": "autoscaler-unfed", "subject": "chat", "reason": "an adapter of our own", "until": "2099-12-31"}
    del config["gpucluster:monitoring"]
    config["gpucluster:waivers"].append(waiver)
    graph = run_program(config, stack="wired")
    assert graph.of_type("HorizontalPodAutoscaler")
    assert ADAPTER not in {each.name for each in graph.of_type("Release")}


def test_the_metrics_are_per_pod_and_its_own_models_alone_dc11() -> None:
    """A question names pods; the engines of one pod add up, and the fullest cache counts."""
    waiting, cache = deployed("fake").graph.one(ADAPTER).inputs["values"]["rules"]["custom"]
    overrides = {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}
    assert waiting == {
        "seriesQuery": 'vllm:num_requests_waiting{namespace!="",pod!=""}',
        "resources": {"overrides": overrides},
        "name": {"matches": "^vllm:num_requests_waiting$", "as": "vllm_num_requests_waiting"},
        "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
    }
    assert cache["seriesQuery"] == 'vllm:kv_cache_usage_perc{namespace!="",pod!=""}'
    assert cache["metricsQuery"] == "max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
