"""A replica's life: start, requests, stop (IN04, Q04, J11)."""

from typing import Any

import pytest

from catalogue.models import MODELS
from planner.findings import Severity
from planner.plan import AwsPlan
from planner.serving.startup import (
    LEAVE_SECONDS,
    TEARDOWN_SECONDS,
    ClaimSource,
    HubSource,
    ObjectSource,
    copy_seconds,
    drain_seconds,
    grace_seconds,
    load_rate_gb_per_s,
    load_seconds,
    longest_stream_seconds,
    scale_up_seconds,
    source_of,
    startup_seconds,
)
from tests.planner.stacks import about, planned

WEIGHTS = MODELS["llama-3-70b"].weights_bytes


@pytest.mark.parametrize(("gb_per_s", "seconds"), [(0.5, 282), (1, 141), (5, 28)])
def test_load_time_of_llama_70b(gb_per_s: float, seconds: int) -> None:
    """T3.6, IN04: 141 GB by the store's rate; a liveness probe that ends it after 270 s would do so without end."""
    assert round(load_seconds(WEIGHTS, gb_per_s)) == seconds


def test_startup_budget_is_twice_the_reading_time() -> None:
    """IN04, Q04: 141 GB through 234 MB/s take 10 minutes, so the probe waits 20; small models wait 10 all the same."""
    rate = 1200 / 1024 * 0.2
    assert startup_seconds(load_seconds(WEIGHTS, rate)) == 1204
    assert startup_seconds(load_seconds(MODELS["llama-3-8b"].weights_bytes, rate)) == 600
    assert startup_seconds(301) == 602


def test_scale_up_waits_for_image_and_weights() -> None:
    """T3.6: 10 GB at 0.2 GB/s and 141 s of weights are 191 s."""
    assert scale_up_seconds(141) == pytest.approx(191)


@pytest.mark.parametrize(
    ("shared", "node", "pcie", "gpus", "slowest"),
    [(5, 40, 64, 8, 5), (100, 12.5, 64, 8, 12.5), (100, None, 1, 8, 8), (100, 40, 64, 8, 16), (100, 40, 64, 1, 2)],
)
def test_weights_come_at_the_rate_of_the_slowest(
    shared: float, node: float | None, pcie: float, gpus: int, slowest: float
) -> None:
    """File system, the node's network, PCIe and the reading processes stand in one row."""
    assert load_rate_gb_per_s(shared, node, pcie, gpus) == slowest


def _plan(changes: dict[str, Any] | None = None, **service: Any) -> AwsPlan:
    return planned("prod", {**(changes or {}), **{f"serving.services.0.{key}": each for key, each in service.items()}})


SMALL_DISK = {"storage.lustre.capacityGib": 4800, "storage.lustre.throughputMbpsPerTib": 125}


@pytest.mark.parametrize(
    ("changes", "service", "gb", "rate"),
    [
        ({}, {}, 141.1, 8),
        ({}, {"quantization": "fp8"}, 141.1, 8),
        ({}, {"quantization": "int4"}, 39.8, 8),
        ({"pools.2.instanceType": "g5.12xlarge"}, {}, 141.1, 5),
        (SMALL_DISK, {}, 141.1, 0.586),
    ],
)
def test_a_plan_reads_at_the_rate_of_the_slowest(
    changes: dict[str, Any], service: dict[str, Any], gb: float, rate: float
) -> None:
    """T3.6: weights as they are published, fp8 is made of 16 bits. Four processes of 2 GB/s, the 40 Gb/s of a
    g5.12xlarge, 4.7 TiB of 125 MB/s each. A Triton server reads as a service does.
    """
    vision = {"name": "vision", "pool": "inference", "image": "a/b:1", "models": "s3://acme/m", "modelsGb": 9000}
    plan = _plan({**changes, "serving.triton": [{**vision, "gpus": 4}]}, **service)
    (found,), (server,) = plan.services.values(), plan.triton.values()
    assert found.load_seconds == pytest.approx(gb / rate, rel=0.01)
    assert server.startup_seconds == pytest.approx(2 * 9000 / rate, rel=0.01)


def test_a_stream_of_full_length_takes_its_tokens_at_the_best_rate() -> None:
    """8192 tokens at 24.5 tokens/s (4 x 864 GB/s over 141 GB) are 335 s."""
    (service,) = planned("prod").services.values()
    assert service.longest_stream_seconds == 335
    assert longest_stream_seconds(100, 30) == 4


@pytest.mark.parametrize(("longest", "drain"), [(5, 60), (100, 200), (400, 600)])
def test_a_replica_gets_twice_that_within_bounds(longest: int, drain: int) -> None:
    assert drain_seconds(longest) == drain
    assert grace_seconds(drain) == LEAVE_SECONDS + drain + TEARDOWN_SECONDS


def test_what_the_stack_file_says_counts() -> None:
    (service,) = _plan(drainSeconds=1000).services.values()
    assert (service.drain_seconds, service.grace_seconds) == (1000, 1030)


def test_a_stream_that_outlives_its_replica_is_told_with_its_seconds_j11() -> None:
    (finding,) = about("stream-outlives-drain", _plan(drainSeconds=300))
    assert finding.severity is Severity.WARNING
    assert finding.path == "gpucluster:serving.services[0].drainSeconds"
    assert "8192 tokens takes 335 s" in finding.sentence
    assert "after 300 s" in finding.sentence
    assert "set it to 335" in finding.remedy
    assert about("stream-outlives-drain", _plan(drainSeconds=335)) == []
    assert about("stream-outlives-drain", planned("prod")) == []


@pytest.mark.parametrize(
    ("service", "sentence"),
    [
        ({"maxNumSeqs": 512, "maxNumBatchedTokens": 511}, "is 511, and a batch of 512 requests takes a token of each"),
        ({"maxNumSeqs": 512, "maxNumBatchedTokens": 512}, None),
        (
            {"chunkedPrefill": False, "maxNumBatchedTokens": 8191},
            "is 8191, and without chunkedPrefill a prompt of",
        ),
        ({"chunkedPrefill": False, "maxNumBatchedTokens": 8192}, None),
        ({"maxNumBatchedTokens": 2048}, None),
    ],
)
def test_a_step_holds_its_batch_q02(service: dict[str, Any], sentence: str | None) -> None:
    found = about("batch-tokens", _plan(**service))
    assert [sentence in finding.sentence for finding in found if sentence] == ([True] if sentence else [])
    assert bool(found) == bool(sentence)


def test_whole_prompts_are_warned_of_q02() -> None:
    (finding,) = about("prefill-whole", _plan(chunkedPrefill=False))
    assert finding.severity is Severity.WARNING
    assert about("prefill-whole", planned("prod")) == []


@pytest.mark.parametrize(
    ("image", "refused"),
    [
        ("vllm/vllm-openai:v0.17.1", True),
        ("vllm/vllm-openai:v0.18.0", False),
        ("vllm/vllm-openai:v0.29.0", False),
        ("mirror.team-a.net/vllm/vllm-openai:v0.9.2", True),
        ("registry.team-a.net/ml/vllm-fork:1.0", False),
    ],
)
def test_an_image_that_cannot_drain_is_refused_j11(image: str, refused: bool) -> None:
    assert bool(about("server-cannot-drain", _plan(image=image))) is refused


def test_addresses_of_models() -> None:
    assert source_of("s3://b/p") == ObjectSource(uri="s3://b/p")
    assert source_of("cask://b/p") == ObjectSource(uri="cask://b/p")
    assert source_of("pvc://legal/a/b") == ClaimSource(claim="legal", path="a/b")
    assert source_of(f"hf://o/m@{'1' * 40}") == HubSource(repository="o/m", revision="1" * 40)


def test_a_hub_gets_the_time_that_a_hub_takes_j17() -> None:
    """141 GB at 0.1 GB/s are 1410 s, and twice that; a small model has what any copy has. A node comes on top.

    From a bucket they are compared with their SHA256SUMS: 141 GB at 0.3 GB/s are 470 s, and twice that.
    """
    assert copy_seconds(f"hf://o/m@{'1' * 40}", 141e9, 600) == 2820 + 1800
    assert copy_seconds(f"hf://o/m@{'1' * 40}", 1e9, 600) == 600 + 1800
    assert copy_seconds("s3://b/p", 141e9, 600) == 600 + 940 + 1800
    assert copy_seconds("pvc://legal/a", 141e9, 600) == 600 + 1800
