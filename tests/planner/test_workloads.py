"""Gangs and model services."""

import pytest

from catalogue.gpus import H100, H200
from catalogue.models import MODELS
from catalogue.types import Gpu
from planner.workloads import kv_bytes_per_token, kv_cache_tokens, lustre_mbps, startup_seconds
from settings.model import FsxLustre
from tests.planner.stacks import planned, rules, sections


def _lustre(capacity: int, tier: int | None = None) -> FsxLustre:
    kind = "PERSISTENT_2" if tier else "SCRATCH_2"
    return FsxLustre.model_validate({"deploymentType": kind, "capacityGib": capacity, "throughputMbpsPerTib": tier})


@pytest.mark.parametrize(("model", "size"), [("llama-3-70b", 320 * 1024), ("llama-3-8b", 128 * 1024)])
def test_kv_cache_bytes_per_token(model: str, size: int) -> None:
    """Q02: 2 x layers x KV heads x head dimension x 2 bytes."""
    assert kv_bytes_per_token(MODELS[model]) == size


@pytest.mark.parametrize(
    ("gpus", "gpu", "low", "high"),
    [(4, H100, 411_000, 472_000), (8, H100, 1_240_000, 1_260_000), (4, H200, 1_070_000, 1_090_000)],
)
def test_kv_cache_of_llama_70b(gpus: int, gpu: Gpu, low: int, high: int) -> None:
    """Q02: the tokens that fit beside 141 GB of weights at 90 % use; four 80 GB GPUs hold 412k to 472k."""
    assert low <= kv_cache_tokens(MODELS["llama-3-70b"], gpu, gpus, 0.9) <= high


def test_two_80_gb_gpus_do_not_hold_llama_70b() -> None:
    """C02: 141 GB of weights leave nothing of 2 x 80 GB in bf16."""
    assert kv_cache_tokens(MODELS["llama-3-70b"], H100, 2, 0.9) < 0


@pytest.mark.parametrize(
    ("capacity", "tier", "mbps"), [(1200, None, 234), (19200, 1000, 18750), (102400, 1000, 100_000)]
)
def test_throughput_of_the_file_system(capacity: int, tier: int | None, mbps: int) -> None:
    """ST18: per TiB; 100 GB/s take 100 TiB at the highest tier."""
    assert int(lustre_mbps(_lustre(capacity, tier))) == mbps


def test_startup_budget_is_twice_the_reading_time() -> None:
    """IN04, Q04: 141 GB through 234 MB/s take 10 minutes, so the probe waits 20; small models wait 10 all the same."""
    assert startup_seconds(MODELS["llama-3-70b"], _lustre(1200)) == 1204
    assert startup_seconds(MODELS["llama-3-8b"], _lustre(1200)) == 600


def test_gang_takes_every_gpu_and_efa_interface_of_its_nodes() -> None:
    """A08, N04: one pod per node; the PodGroup's minMember is the number of pods."""
    run = planned("prod").runs["llama-3-70b-pretrain"]
    assert (run.pods, run.gpus, run.efa) == (8, 64, 256)


def test_totals_of_the_committed_stacks() -> None:
    """A08: training and inference GPUs stand side by side, counted once."""
    dev, prod = planned("dev").totals, planned("prod").totals
    assert (dev.nodes, dev.gpus, dev.efa_interfaces) == (5, 3, 2)
    assert (prod.nodes, prod.gpus, prod.efa_interfaces) == (12, 72, 256)


def test_inference_reserve_and_gang_never_share_gpus() -> None:
    """A08, IN09: a 64-GPU gang beside an always-on service needs more than 64 GPUs: the gang's pool is its own."""
    plan = planned("prod")
    reserved = sum(service.gpus for service in plan.services.values())
    gang = sum(run.gpus for run in plan.runs.values())
    assert reserved + gang <= plan.totals.gpus
    assert rules(planned("prod", {"pools.1.count": 7})) == ["gang-fits-pool"]
    assert rules(planned("prod", {"pools.1.count": 8})) == []


def test_replicas_are_packed_onto_nodes() -> None:
    """A08, IN08: 8 GPUs on 2 nodes of 4 hold two replicas of 4, but not one of 4 and two of 3."""
    two_of_four = {"pools.2.instanceType": "g6e.12xlarge", "pools.2.count": 2, "budget.maxHourlyUsd": 600}
    assert rules(planned("prod", two_of_four)) == []
    assert rules(planned("prod", {**two_of_four, "pools.2.count": 1})) == ["replicas-fit-pool"]
    assert rules(planned("prod", {**two_of_four, "serving.services.0.maxReplicas": 3})) == ["replicas-may-wait"]


def test_runs_of_one_pool_wait_in_line() -> None:
    """A08: two gangs of the whole pool are no error: the second waits, and the plan says so."""
    (run,) = sections()["training"]["runs"]
    assert rules(planned(changes={"training.runs": [run, {**run, "name": "second"}]})) == ["gangs-wait-in-line"]
