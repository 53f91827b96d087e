"""Model services and their weights (Q01-Q06, Y11, AA06; IN01-IN06, IN10, IN11)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from components.serving.arguments import Directory, Engine, LoraModule, compiled_path, serve_command
from components.serving.inference import InferenceService
from components.serving.placement import Placement
from components.serving.smoke import SmokeRequest
from components.storage.staged import Staged
from tests.components.samples import SAMPLES, built
from tests.components.samples.serving import SCALING, engine, service_args, smoke_args
from tests.components.samples.storage import weights_args


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


def test_replicas_that_do_not_change_are_the_deployments_own_lf06() -> None:
    """An autoscaler without its metric would warn without end; two owners of `replicas` would fight."""
    assert deployment(replicas=2)["replicas"] == 2
    assert service(replicas=2).of_type("HorizontalPodAutoscaler") == []


def test_it_scales_on_metrics_of_its_pods_in05() -> None:
    """DC11: by the pods' own averages, in the custom metrics API; GPU use is high long before a replica is full."""
    targets = {"vllm_num_requests_waiting": "5", "vllm_kv_cache_usage_perc": "800m"}
    scaled = service(replicas=replace(SCALING, targets=targets)).one("sample-autoscaler").inputs["spec"]
    assert {each["type"] for each in scaled["metrics"]} == {"Pods"}
    assert [each["pods"]["metric"]["name"] for each in scaled["metrics"]] == list(targets)
    averages = [{"type": "AverageValue", "averageValue": quantity} for quantity in targets.values()]
    assert [each["pods"]["target"] for each in scaled["metrics"]] == averages


@pytest.mark.parametrize("spread", [False, True])
def test_a_replica_is_drawn_to_the_nodes_with_most_gpus_taken_q09(spread: bool) -> None:
    """IN10: a pod of a GPUs and one of b draw each other by a x b, so that a node counts by the GPUs taken on it."""

    def weights(gpus: int) -> dict[int, int]:
        placement = Placement(pool="chats", gpus=gpus, node_gpus=8, spread=spread)
        template = deployment(placement=placement)["template"]
        assert (
            template["metadata"]["labels"].items() >= {"gpucluster/pool": "chats", "gpucluster/gpus": str(gpus)}.items()
        )
        terms = template["spec"]["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        for each in terms:
            assert each["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
            assert each["podAffinityTerm"]["labelSelector"]["matchLabels"]["gpucluster/pool"] == "chats"
        return {
            int(each["podAffinityTerm"]["labelSelector"]["matchLabels"]["gpucluster/gpus"]): each["weight"]
            for each in terms
        }

    found = {gpus: weights(gpus) for gpus in range(1, 9)}
    assert found[2] == {1: 2, 2: 4, 3: 6, 4: 8, 5: 10, 6: 12, 7: 14, 8: 16}
    assert all(found[a][b] == found[b][a] for a in found for b in found)


def test_no_weight_is_larger_than_kubernetes_takes() -> None:
    terms = deployment(placement=Placement(pool="big", gpus=16, node_gpus=40, spread=False))["template"]["spec"][
        "affinity"
    ]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    sizes = [each["podAffinityTerm"]["labelSelector"]["matchLabels"]["gpucluster/gpus"] for each in terms]
    assert sizes == ["1", "2", "3", "4", "5", "6", "7", "8", "16", "32"]
    assert [each["weight"] for each in terms] == [16, 32, 48, 64, 80, 96, 100, 100, 100, 100]


def test_replicas_that_spread_have_a_node_each_q09() -> None:
    placement = Placement(pool="chats", gpus=2, node_gpus=4, spread=True)
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "llama"}
    (constraint,) = deployment(placement=placement)["template"]["spec"]["topologySpreadConstraints"]
    assert constraint == {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
        "matchLabelKeys": ["pod-template-hash"],
        "nodeTaintsPolicy": "Honor",
    }


def test_the_model_is_served_under_the_services_name_q02_in03() -> None:
    assert server()["command"] == [
        "vllm",
        "serve",
        "/models/llama-1234",
        "--served-model-name=llama",
        "--tensor-parallel-size=2",
        "--max-model-len=8192",
        "--load-format=safetensors",
        "--gpu-memory-utilization=0.9",
        "--shutdown-timeout=90",
        "--host=127.0.0.1",
        "--port=8001",
    ]


def test_more_ranks_than_gpus_are_refused_q02() -> None:
    with pytest.raises(ValueError, match="4-way tensor parallelism on 2 GPUs a pod; give the pod that many"):
        deployment(engine=engine(tensor_parallel=4))


def test_no_nccl_variable_is_set_in02() -> None:
    assert {each["name"] for each in server()["env"]} == {"HF_HUB_OFFLINE", "VLLM_CACHE_ROOT"}


def test_callers_need_a_key_and_the_server_holds_no_secret_in11() -> None:
    """The door has the keys. The server's model is local: it asks no hub, and gets no token for one."""
    assert all(set(each) == {"name", "value"} for each in server()["env"])
    door = deployment()["template"]["spec"]["containers"][1]
    assert "door-keys" in {each["name"] for each in door["volumeMounts"]}
    assert "door-keys" not in {each["name"] for each in server()["volumeMounts"]}


def test_loading_has_the_time_it_takes_q04_in04() -> None:
    probe = server()["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 615
    assert deployment()["progressDeadlineSeconds"] > 615


def test_probes_container_and_service_agree_on_the_port_q04_q06() -> None:
    door = deployment()["template"]["spec"]["containers"][1]
    assert door["ports"] == [{"name": "http", "containerPort": 8000}]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server()[probe]["httpGet"] == {"path": "/health", "port": 8000}
    (port,) = service().one("sample-service").inputs["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (8000, "http")


def test_the_service_is_internal_y11_q06() -> None:
    """IN07: no Ingress and no retired controller in front of it."""
    assert service().one("sample-service").inputs["spec"]["type"] == "ClusterIP"


def test_the_server_starts_when_the_weights_are_there_q05() -> None:
    graph = service()
    assert graph.one("before").urn in graph.one("sample-deployment").depends_on


def test_a_server_sees_its_own_weights_only_where_the_copy_put_them_and_reads_q05_lf14() -> None:
    (copied,) = built(SAMPLES["weights"]).of_type("Job")
    written = copied.inputs["spec"]["template"]["spec"]["containers"][0]
    assert written["volumeMounts"] == [{"name": "shared", "mountPath": "/models", "subPath": "models"}]
    path = str(written["args"][3])
    made = server(engine=engine(model=Directory(volume="models", path=path.removeprefix("/"))))
    mount = next(each for each in made["volumeMounts"] if each["name"] == "models")
    assert (mount["mountPath"], mount["subPath"]) == (path, path.removeprefix("/"))
    assert made["command"][2] == path
    assert mount["readOnly"] is True


def weights(source: str) -> tuple[dict[str, Any], str]:
    """The copy Job's inputs and the directory it fills."""
    graph = built(lambda opts: Staged("sample", weights_args(source), opts))
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


def words(**changes: Any) -> list[str]:
    return serve_command(engine(**changes))


def test_what_vllm_does_by_itself_is_not_said_q02() -> None:
    """It caches the beginnings of prompts and cuts long ones; a flag would only go stale."""
    assert not any("prefix-caching" in word or "chunked" in word or "lora" in word for word in words())
    assert "--no-enable-prefix-caching" in words(prefix_caching=False)
    assert "--no-enable-chunked-prefill" in words(chunked_prefill=False)


def test_adapters_are_offered_by_their_names_with_the_room_that_was_planned_q02() -> None:
    """The list of modules ends where the next option begins: no other word may stand in it."""
    sql = LoraModule(name="sql", directory=Directory(volume="models", path="adapters/sql-1"))
    said = words(adapters=[sql], max_loras=3, max_lora_rank=64)
    listed = said.index("--lora-modules")
    assert said[listed - 1] == "--enable-lora"
    assert said[listed + 1] == "sql=/adapters/sql-1"
    assert said[listed + 2 : listed + 4] == ["--max-loras=3", "--max-lora-rank=64"]


def test_graphs_are_shared_by_equal_servers_only_q05() -> None:
    """vLLM may run what it finds there: another model, image, GPU or parallelism has another directory."""
    one = compiled_path("vllm:1", "llama-3-8b", "NVIDIA-L40S", 2)
    others = {
        compiled_path("vllm:2", "llama-3-8b", "NVIDIA-L40S", 2),
        compiled_path("vllm:1", "llama-3.1-8b", "NVIDIA-L40S", 2),
        compiled_path("vllm:1", "llama-3-8b", "NVIDIA-L40", 2),
        compiled_path("vllm:1", "llama-3-8b", "NVIDIA-L40S", 1),
    }
    assert len({one, *others}) == 5
    assert one == compiled_path("vllm:1", "llama-3-8b", "NVIDIA-L40S", 2)
    mounted = {each["mountPath"]: each for each in server()["volumeMounts"]}
    told = {each["name"]: each.get("value") for each in server()["env"]}
    assert not mounted[told["VLLM_CACHE_ROOT"]].get("readOnly")


def test_a_replica_that_stops_leaves_first_and_ends_its_streams_j11() -> None:
    spec = deployment()["template"]["spec"]
    leave = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert leave > 0
    assert leave + 90 < spec["terminationGracePeriodSeconds"]


def test_a_grace_period_that_would_cut_streams_is_refused_j11() -> None:
    with pytest.raises(
        ValueError, match="llama: killed after 105 s, but it leaves its endpoints in 15 s and ends its streams in 90"
    ):
        deployment(grace_seconds=105)


def asked(revision: str = "1", models: tuple[str, ...] = ("llama",)) -> dict[str, Any]:
    graph = built(lambda opts: SmokeRequest("sample", smoke_args(revision=revision, models=models), opts))
    return dict(graph.one("sample-request").inputs)


def test_every_model_that_callers_may_ask_for_is_asked_q10() -> None:
    containers = asked(models=("llama", "sql"))["spec"]["template"]["spec"]["containers"]
    bodies = [json.loads(each["command"][-2]) for each in containers if each["command"][-1].endswith("/completions")]
    assert [each["model"] for each in bodies] == ["llama", "sql"]
    assert sum(each["command"][-1] == "$(ADDRESS)/models" for each in containers) == 1


def test_the_key_stands_in_no_word_of_the_request_q10() -> None:
    """Arguments are in the API and in process lists; curl takes the key from its environment."""
    for container in asked()["spec"]["template"]["spec"]["containers"]:
        assert not any("$(API_KEY)" in word for word in container["command"])
        assert {"--variable", "%API_KEY", "--expand-header"} <= set(container["command"])


def test_another_server_is_asked_again_q10() -> None:
    assert asked("1")["metadata"]["name"] != asked("2")["metadata"]["name"]
    assert asked("1") == asked("1")


def test_the_engine_knows_the_names_that_callers_use() -> None:
    sql = LoraModule(name="sql", directory=Directory(volume="models", path="adapters/sql-1"))
    made: Engine = engine(adapters=[sql])
    assert made.names == ["llama", "sql"]
