"""Rules about model services and the slices they run on; production serves Llama 3 70B on four L40S."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import T4
from catalogue.tables import SHIPPED
from planner.plan import AwsPlan
from tests.planner.stacks import about, planned

A100 = {"pools.2.instanceType": "p4d.24xlarge", "budget.maxHourlyUsd": 900}
SMALL = {"serving.services.0.model": "llama-3-8b", "serving.services.0.tensorParallel": 1}


def _plan(changes: dict[str, Any] | None = None, **service: Any) -> AwsPlan:
    values = {f"serving.services.0.{key}": value for key, value in service.items()}
    return planned("prod", {**(changes or {}), **values})


def test_memory_of_a_replica_stands_in_the_plan() -> None:
    """Q02: 4 x 47.8 x 0.9 - 141.1 - 9.1 = 21.7 GB of KV cache, 66,296 tokens, 8 sequences of 8192; 18.75 GB/s of Lustre
    would read the weights in 7.5 s, four processes at 2 GB/s each do in 17.6 s."""
    (service,) = planned("prod").services.values()
    assert (service.weights_gb, service.overhead_gb, service.kv_cache_gb) == (141.1, 9.1, 21.7)
    assert (service.kv_bytes_per_token, service.kv_cache_tokens, service.full_sequences) == (327_680, 66_296, 8)
    assert service.load_seconds == pytest.approx(141.107 / 8, abs=0.05)
    assert (service.startup_seconds, service.scale_up_seconds) == (600, 68)
    assert service.request_tokens_per_s == pytest.approx(4 * 864 / 141.107, abs=0.5)


@pytest.mark.parametrize(
    ("service", "remedy"),
    [
        ({"tensorParallel": 2}, "set tensorParallel to 4 or set quantization to fp8"),
        ({"tensorParallel": 2, "quantization": "fp8"}, None),
        (
            {"model": "llama-3.1-70b", "maxModelLen": 131_072},
            "set tensorParallel to 8 or set quantization to fp8 or lower maxModelLen to 66296",
        ),
        ({"model": "llama-3.1-70b", "maxModelLen": 66_296}, None),
        ({"model": "llama-3.1-70b", "maxModelLen": 66_297, "kvCacheDtype": "fp8"}, None),
        ({"model": "llama-3.1-405b", "tensorParallel": 8}, "set quantization to int4"),
    ],
)
def test_what_makes_a_service_fit(service: dict[str, Any], remedy: str | None) -> None:
    """C02, Q02: more GPUs, smaller weights or shorter sequences, each only where it suffices."""
    found = about("model-fits-gpus", _plan(**service))
    assert [finding.remedy for finding in found] == ([remedy] if remedy else [])
    assert all(finding.inputs["overhead"] for finding in found)


def test_fewer_requests_leave_room_for_the_cache() -> None:
    """Q02: two H100 hold Llama 3.1 70B with the batch of 256 that vLLM is told, not with the 1,024 that it takes."""
    large = {"pools.2.instanceType": "p5.48xlarge", "budget.maxHourlyUsd": 900}
    service = {"model": "llama-3.1-70b", "tensorParallel": 2}
    (finding,) = about("model-fits-gpus", _plan(large, **service))
    assert finding.remedy == "set tensorParallel to 4 or set quantization to fp8 or set maxNumSeqs to 256"
    assert not about("model-fits-gpus", _plan(large, **service, maxNumSeqs=256))


def test_a_model_too_large_for_the_node() -> None:
    """C02: DeepSeek-V3 takes 671 GB, and eight GPUs of 24 GB have 192, whatever is done to its weights."""
    changes = {"pools.2.instanceType": "g5.48xlarge"}
    (finding,) = about("model-fits-gpus", _plan(changes, model="deepseek-v3", tensorParallel=8))
    assert finding.remedy == "take GPUs with more memory for pool inference, or a smaller model"


def test_latent_attention_has_no_kv_heads_to_divide() -> None:
    """C04: DeepSeek-V3 on 8 GPUs is refused for its memory alone."""
    assert not about("tensor-parallel", _plan(model="deepseek-v3", tensorParallel=8))
    (finding,) = about("tensor-parallel", _plan(model="qwen2.5-7b", tensorParallel=8))
    assert finding.remedy == "take one of 1, 2, 4"


def test_weights_in_fp8_without_fp8_tensor_cores() -> None:
    """HW07: an A100 holds them and gains no speed, which is mentioned; an L40S computes in FP8."""
    (finding,) = about("fp8-weights-only", _plan(A100, quantization="fp8"))
    assert str(finding.severity) == "warning"
    assert "compute capability 8.0" in finding.sentence
    assert not about("fp8-weights-only", _plan(quantization="fp8"))
    assert not about("fp8-weights-only", _plan(A100, quantization="int4"))


def test_bf16_models_need_bf16_gpus() -> None:
    """B05: a T4 computes in fp16 only."""
    row = replace(SHIPPED.instances["g6e.48xlarge"], gpu=T4)
    catalogue = replace(SHIPPED, instances={**SHIPPED.instances, "g6e.48xlarge": row})
    (finding,) = about("service-precision", planned("prod", SMALL, catalogue=catalogue))
    assert "T4 (compute capability 7.5) does not compute in bf16" in finding.sentence
    assert not about("service-precision", planned("prod", SMALL))


@pytest.mark.parametrize(
    ("instance", "profile", "remedy"),
    [
        ("p4d.24xlarge", "1g.5gb", None),
        ("p4d.24xlarge", "3g.40gb", "take one of 1g.5gb (7 a GPU), 1g.10gb (4 a GPU)"),
        ("p5.48xlarge", "1g.5gb", "take one of 1g.10gb (7 a GPU), 1g.20gb (4 a GPU)"),
        ("p5en.48xlarge", "1g.10gb", "take one of 1g.18gb (7 a GPU)"),
        ("p5en.48xlarge", "1g.18gb", None),
        ("g6e.48xlarge", "1g.10gb", "remove the key"),
    ],
)
def test_mig_profile_of_another_gpu(instance: str, profile: str, remedy: str | None) -> None:
    """KJ24, K09: one profile for a pool, and one that its GPU has; 1g.10gb on an H200 is the usual mistake."""
    found = about("mig-profile", _plan({"pools.2.instanceType": instance, "pools.2.mig": profile}))
    assert len(found) == (remedy is not None)
    assert all(finding.remedy.startswith(remedy or "") for finding in found)
    assert all(finding.path == "gpucluster:pools[2].mig" for finding in found)


def test_slices_are_what_replicas_are_packed_on() -> None:
    """K10, Q13: 8 A100 cut into 3g.20gb are 16 slices of 20 GB for 16 replicas of 8 billion; a 17th would wait. The
    label names the slice, and a pod gets a sixteenth of the node."""
    cut = {**A100, **SMALL, "pools.2.mig": "3g.20gb", "serving.services.0.maxModelLen": 2048}
    sixteen = planned("prod", {**cut, "serving.services.0.minReplicas": 16, "serving.services.0.maxReplicas": 16})
    assert not about("replicas-fit-pool", sixteen)
    (service,) = sixteen.services.values()
    assert sixteen.pools["inference"].devices_per_node == 16
    assert service.gpu_product == "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"
    assert service.kv_cache_gb == pytest.approx(20 * 0.9 - 16.06 - 1.86, abs=0.05)
    assert service.request_tokens_per_s == pytest.approx(1555 / 2 / 16.06, abs=0.5)
    more = planned("prod", {**cut, "serving.services.0.minReplicas": 17, "serving.services.0.maxReplicas": 17})
    assert len(about("replicas-fit-pool", more)) == 1


@pytest.mark.parametrize(("size", "joins"), [(1, False), (2, True)])
def test_slices_are_not_joined(size: int, joins: bool) -> None:
    """K10: NCCL has no path between slices, so a replica has one."""
    cut = {**A100, "pools.2.mig": "3g.20gb", "serving.services.0.model": "llama-3-8b"}
    assert len(about("mig-one-slice", _plan(cut, tensorParallel=size))) == joins
    assert not about("mig-one-slice", _plan(A100, tensorParallel=size))


_SERVICES = st.fixed_dictionaries(
    {
        "model": st.sampled_from(sorted(SHIPPED.models)),
        "tensorParallel": st.integers(1, 64),
        "maxModelLen": st.integers(256, 16_777_216),
        "gpuMemoryUtilization": st.floats(0.1, 0.98),
        "quantization": st.sampled_from(["none", "fp8", "int4"]),
        "kvCacheDtype": st.sampled_from(["auto", "fp8"]),
        "minReplicas": st.just(1),
        "maxReplicas": st.integers(1, 4096),
    }
)


@given(service=_SERVICES, profile=st.sampled_from([None, "1g.5gb", "7g.40gb", "1g.10gb+me"]))
def test_whatever_a_service_says_is_answered(service: dict[str, Any], profile: str | None) -> None:
    """Q02: no settings make the planner raise, and what is advised about memory is enough."""
    changes = {**A100, **({"pools.2.mig": profile} if profile else {})}
    found = about("model-fits-gpus", _plan(changes, **service))
    for finding in found:
        first = finding.remedy.partition(" or ")[0].split()
        keys = {"tensorParallel": int, "quantization": str, "maxModelLen": int}
        key = next((word for word in first if word in keys), None)
        if key is not None:
            better = _plan(changes, **{**service, key: keys[key](first[-1])})
            assert not about("model-fits-gpus", better)
