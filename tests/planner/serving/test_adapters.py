"""LoRA adapters: the memory they take, and what vLLM would refuse (Q02); production serves Llama 3 70B on four L40S."""

from dataclasses import replace
from typing import Any

import pytest

from catalogue.models import MODELS
from catalogue.tables import SHIPPED
from planner.plan import AwsPlan
from planner.serving.memory import NO_ADAPTERS, RANKS, elements_per_rank, room_for
from tests.planner.stacks import about, planned

SQL = {"name": "sql", "base": "llama-3-70b", "weights": "s3://acme-model-weights/sql", "rank": 16}


def _plan(*adapters: dict[str, Any], **service: Any) -> AwsPlan:
    values = {"adapters": list(adapters), **service}
    return planned("prod", {f"serving.services.0.{key}": value for key, value in values.items()})


def test_an_adapter_of_llama_3_8b_by_hand() -> None:
    """On one GPU: 32 layers of 3 x 4096 + 6144 (q, k, v), 8192 (o), 8192 + 28,672 (gate, up), 18,432 (down), and
    twice 128,256 + 4096 for embedding and output."""
    layers = 32 * (3 * 4096 + 6144 + 4096 + 4096 + 2 * 4096 + 2 * 14_336 + 14_336 + 4096)
    assert elements_per_rank(MODELS["llama-3-8b"], 1) == layers + 2 * (128_256 + 4096)


def test_room_is_for_the_largest_rank_as_vllm_rounds_it() -> None:
    llama = MODELS["llama-3-8b"]
    assert room_for(llama, 1, [], None) == NO_ADAPTERS
    two = room_for(llama, 1, [8, 24], None)
    assert (two.adapters, two.rank) == (2, 32)
    assert two.gb == pytest.approx(2 * 2 * 32 * elements_per_rank(llama, 1) / 1e9)
    assert room_for(llama, 1, [8, 24], 1).gb == pytest.approx(two.gb / 2)
    assert room_for(llama, 1, [9999], None).rank == RANKS[-1]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_more_gpus_share_a_part_of_it(name: str) -> None:
    one, four = (elements_per_rank(MODELS[name], tensor) for tensor in (1, 4))
    assert one / 4 < four < one


def test_adapters_take_their_room_from_the_cache_q02() -> None:
    (plain,), (with_room,) = planned("prod").services.values(), _plan(SQL).services.values()
    assert (with_room.max_loras, with_room.max_lora_rank) == (1, 16)
    assert with_room.lora_gb > 0
    assert with_room.kv_cache_gb == pytest.approx(plain.kv_cache_gb - with_room.lora_gb, abs=0.11)


def test_too_many_adapters_at_once_are_told_as_such_q02() -> None:
    many = [{**SQL, "name": f"sql-{index}", "rank": 256} for index in range(8)]
    (finding,) = about("model-fits-gpus", _plan(*many))
    assert "GB for 8 adapters" in finding.sentence
    assert "lower maxLoras, 8 now" in finding.remedy
    assert about("model-fits-gpus", _plan(*many, maxLoras=1)) == []


def test_an_adapter_of_an_unknown_base_is_named() -> None:
    (finding,) = about("adapter-base", _plan({**SQL, "base": "llama-3-70c"}))
    assert finding.path == "gpucluster:serving.services[0].adapters[0].base"
    assert "no model 'llama-3-70c'" in finding.sentence
    assert "llama-3-70b" in finding.remedy


def test_an_adapter_of_another_model_is_named() -> None:
    (finding,) = about("adapter-base", _plan({**SQL, "base": "llama-3-8b"}))
    assert finding.sentence == "sql was trained on llama-3-8b, and llama-3-70b serves llama-3-70b"
    assert about("adapter-base", _plan(SQL)) == []


def test_a_rank_that_vllm_does_not_take_is_refused() -> None:
    (finding,) = about("adapter-rank", _plan({**SQL, "rank": 1024}))
    assert "1024 is above 512" in finding.sentence
    assert about("adapter-rank", _plan({**SQL, "rank": 512})) == []


def test_a_vocabulary_that_vllm_has_no_adapters_for_is_refused() -> None:
    large = replace(MODELS["llama-3-70b"], vocab=262_144)
    catalogue = replace(SHIPPED, models={**SHIPPED.models, "llama-3-70b": large})
    changes = {"serving.services.0.adapters": [SQL]}
    (finding,) = about("adapter-vocabulary", planned("prod", changes, catalogue=catalogue))
    assert "262144 tokens in its vocabulary" in finding.sentence
    assert about("adapter-vocabulary", planned("prod", catalogue=catalogue)) == []
    assert about("adapter-vocabulary", _plan(SQL)) == []


VISION = {
    "name": "vision",
    "pool": "inference",
    "image": "nvcr.io/nvidia/tritonserver:26.06-py3",
    "models": "s3://acme-model-weights/vision",
    "modelsGb": 3,
}


LARGER = {"pools.2.count": 2}


def _with_server(**changes: Any) -> AwsPlan:
    return planned("prod", {**LARGER, "serving.triton": [{**VISION, **changes}]})


def _rules_of(plan: AwsPlan) -> list[str]:
    return [finding.sentence for finding in plan.findings if finding.rule == "triton-fits-pool"]


def test_a_server_has_its_part_of_a_node_q12() -> None:
    (server,) = _with_server(gpus=2, replicas=2).triton.values()
    pool = planned("prod", LARGER).pools["inference"]
    assert (server.pod.gpus, server.gpus, server.replicas) == (2, 4, 2)
    assert server.pod.cpu_millicores < pool.allocatable_cpu_millicores
    assert (server.startup_seconds, server.copy_seconds) == (600, 2420)


def test_servers_and_services_share_their_pool_a08() -> None:
    """Production's services always run 2 x 4 GPUs; what is left of the pool may be Triton's."""
    pool = planned("prod", LARGER).pools["inference"]
    left = pool.count * pool.devices_per_node - 8
    assert _rules_of(_with_server(replicas=left)) == []
    (sentence,) = _rules_of(_with_server(replicas=left + 1))
    assert f"take {left + 1} GPUs and its services 8 at least" in sentence


def test_a_replica_larger_than_a_node_is_refused_q12() -> None:
    pool = planned("prod", LARGER).pools["inference"]
    (sentence,) = _rules_of(_with_server(gpus=pool.devices_per_node + 1))
    assert f"{pool.devices_per_node + 1} GPUs are more than" in sentence


def test_services_know_what_triton_has_of_their_pool() -> None:
    pool = planned("prod", LARGER).pools["inference"]
    left = pool.count * pool.devices_per_node - 8
    (alone,), (beside,) = planned("prod", LARGER).services.values(), _with_server(replicas=left).services.values()
    assert alone.spare_replica
    assert not beside.spare_replica
    room = _with_server(replicas=left).sharing["inference"].fewest
    assert room is not None
    assert room.free_gpus == 0
