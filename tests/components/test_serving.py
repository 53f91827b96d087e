"""Model services and their weights (Q01-Q06, Y11, AA06; IN01-IN06, IN10, IN11)."""

from typing import Any

import pytest

from components.serving.inference import InferenceService
from components.serving.weights import Weights
from tests.components.samples import SAMPLES, built, service_args, weights_args


def service(**changes: Any) -> Any:
    return built(lambda opts: InferenceService("sample", service_args(**changes), opts))


def deployment(**changes: Any) -> dict[str, Any]:
    spec: dict[str, Any] = service(**changes).one("sample-deployment").inputs["spec"]
    return spec


def server(**changes: Any) -> dict[str, Any]:
    container: dict[str, Any] = deployment(**changes)["template"]["spec"]["containers"][0]
    return container


def test_the_autoscaler_alone_owns_the_replicas_q01_in06() -> None:
    assert "replicas" not in deployment()
    spec = service().one("sample-autoscaler").inputs["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 3)
    assert spec["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama"}


def test_it_scales_on_waiting_requests_per_pod_in05() -> None:
    """DC11: through the custom metrics API; GPU use is high long before a replica is full."""
    (metric,) = service().one("sample-autoscaler").inputs["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == "vllm_num_requests_waiting"
    assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "5"}


def test_it_adds_quickly_and_gives_up_slowly() -> None:
    behavior = service().one("sample-autoscaler").inputs["spec"]["behavior"]
    assert behavior["scaleUp"]["stabilizationWindowSeconds"] < behavior["scaleDown"]["stabilizationWindowSeconds"]


def test_the_model_is_served_under_the_services_name_q02_in03() -> None:
    assert server()["command"] == [
        "vllm",
        "serve",
        "/models/llama-1234",
        "--served-model-name=llama",
        "--tensor-parallel-size=2",
        "--max-model-len=8192",
        "--gpu-memory-utilization=0.9",
        "--port=8000",
    ]


def test_more_ranks_than_gpus_are_refused_q02() -> None:
    with pytest.raises(ValueError, match="4-way tensor parallelism on 2 GPUs a pod; give the pod that many"):
        deployment(tensor_parallel=4)


def test_no_nccl_variable_is_set_in02() -> None:
    assert {each["name"] for each in server()["env"]} == {"HF_TOKEN", "VLLM_API_KEY"}


def test_callers_need_a_key_and_both_tokens_are_references_in11() -> None:
    assert all(set(each) == {"name", "valueFrom"} for each in server()["env"])


def test_loading_has_the_time_it_takes_q04_in04() -> None:
    probe = server()["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 615
    assert deployment()["progressDeadlineSeconds"] > 615


def test_probes_container_and_service_agree_on_the_port_q04_q06() -> None:
    assert server()["ports"] == [{"name": "http", "containerPort": 8000}]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server()[probe]["httpGet"] == {"path": "/health", "port": "http"}
    (port,) = service().one("sample-service").inputs["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (8000, "http")


def test_the_service_is_internal_y11_q06() -> None:
    """IN07: no Ingress and no retired controller in front of it."""
    assert service().one("sample-service").inputs["spec"]["type"] == "ClusterIP"


def test_the_service_waits_for_its_deployment() -> None:
    """Services wait for endpoints and hold the engine's slots; before their Deployments they would starve them."""
    graph = service()
    assert graph.one("sample-deployment").urn in graph.one("sample-service").depends_on


def test_the_server_starts_when_the_weights_are_there_q05() -> None:
    graph = service()
    assert graph.one("before").urn in graph.one("sample-deployment").depends_on


def test_weights_are_mounted_where_the_copy_put_them_and_read_only_q05() -> None:
    mount = next(each for each in server()["volumeMounts"] if each["name"] == "models")
    copy = built(SAMPLES["weights"]).one("sample-copy").inputs["spec"]["template"]["spec"]
    written = copy["containers"][0]["volumeMounts"][0]
    assert (mount["mountPath"], mount["subPath"]) == (written["mountPath"], written["subPath"])
    assert mount["readOnly"] is True


def weights(source: str) -> tuple[dict[str, Any], str]:
    """The copy Job's inputs and the directory it fills."""
    graph = built(lambda opts: Weights("sample", weights_args(source), opts))
    inputs = graph.one("sample-copy").inputs
    copied_from, copied_to = inputs["spec"]["template"]["spec"]["containers"][0]["args"][2:4]
    assert copied_from == source
    return dict(inputs), str(copied_to)


def test_another_model_is_copied_beside_the_one_that_is_served() -> None:
    """The server's command names the directory, so that it rolls to the new one and never reads a mixture."""
    (first, here), (second, there) = weights("s3://models/llama"), weights("s3://models/llama-2")
    assert here.startswith("/models/llama-")
    assert there.startswith("/models/llama-")
    assert here != there
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_weights_are_copied_off_the_gpu_nodes_whose_processors_the_service_has() -> None:
    pod = weights("s3://models/llama")[0]["spec"]["template"]["spec"]
    assert not pod.keys() & {"nodeSelector", "tolerations"}


def test_a_full_pool_stops_one_pod_before_it_starts_the_next() -> None:
    assert deployment()["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert deployment(spare_replica=True)["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_gpus_are_limited_and_shared_memory_is_below_the_limit_q03_aa06() -> None:
    assert server()["resources"]["limits"] == server()["resources"]["requests"]
    assert server()["resources"]["limits"]["nvidia.com/gpu"] == "2"
    shm = next(each for each in deployment()["template"]["spec"]["volumes"] if each["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "4096Mi"}


def test_a_node_upgrade_may_take_one_pod_at_a_time() -> None:
    assert service().one("sample-disruption-budget").inputs["spec"]["maxUnavailable"] == 1


def test_metrics_are_scraped_at_the_services_port_q06() -> None:
    graph = service()
    monitor = graph.one("sample-monitor").inputs["spec"]
    assert monitor["endpoints"][0]["port"] == graph.one("sample-service").inputs["spec"]["ports"][0]["name"]
    assert monitor["selector"]["matchLabels"] == graph.one("sample-service").inputs["metadata"]["labels"]


def test_the_pods_have_no_token_for_the_api_server() -> None:
    assert deployment()["template"]["spec"]["automountServiceAccountToken"] is False


def test_a_token_stays_secret() -> None:
    assert built(SAMPLES["tokens"]).one("sample-hf").secret >= {"stringData"}
