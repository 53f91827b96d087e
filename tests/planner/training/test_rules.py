"""Rules about runs that name a model; the production stack has eight nodes of eight H100."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import GB200, T4
from catalogue.tables import SHIPPED
from catalogue.types import Gpu
from catalogue.whole import Catalogue
from planner.plan import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import NAMELESS, about, planned


def _plan(catalogue: Catalogue = SHIPPED, **run: Any) -> AwsPlan:
    """The plan with a run of Llama 3 70B, fully recomputed, and values of the run replaced."""
    values = {"model": "llama-3-70b", "recompute": "full", "sequenceLength": 8192, **run}
    changes: dict[str, object] = {f"training.runs.0.{key}": value for key, value in values.items()}
    changes["training.failuresPer1000NodeDays"] = 6.5
    return planned("prod", changes, catalogue=catalogue)


def _with_gpu(gpu: Gpu) -> Catalogue:
    row = replace(SHIPPED.instances["p5.48xlarge"], gpu=gpu)
    return replace(SHIPPED, instances={**SHIPPED.instances, "p5.48xlarge": row})


ABOUT_RUNS = (
    "layout-covers-gpus",
    "tensor-leaves-node",
    "tensor-divides-heads",
    "pipeline-has-layers",
    "pipeline-idles",
    "experts-divide",
    "context-divides",
    "run-context",
    "run-precision",
    "run-fits-gpus",
    "checkpoint-interval",
    "spot-checkpoints",
    "model-unknown",
)


def test_a_run_that_works_is_left_alone() -> None:
    """C05, C07: 70 billion on 64 H100 with FSDP and full recomputation; a run without a model has nothing to check."""
    works = _plan(parallelism={"tensor": 8}, checkpoint={"everyMinutes": 60, "withinSeconds": 60})
    assert not [finding for finding in works.findings if finding.rule in ABOUT_RUNS]
    (run,) = works.runs.values()
    assert run.training is not None
    assert (run.training.layout.data, run.training.global_batch, run.training.tokens_per_step) == (8, 8, 65_536)
    (silent,) = planned("prod", {"training.runs.0": NAMELESS}).runs.values()
    assert silent.training is None


def test_numbers_of_a_run() -> None:
    """C09, C10, T10: memory by part, batch, tokens at an MFU of 40 % and time to failure stand in the plan."""
    plan = _plan(parallelism={"tensor": 8}, accumulation=4, checkpoint={"everyMinutes": 60, "withinSeconds": 60})
    training = plan.runs["llama-3-70b-pretrain"].training
    assert training is not None
    assert training.global_batch == 32
    assert training.memory.states_gb == pytest.approx(70.5537 * 16 / 64, abs=0.01)
    attention = 12 * 80 * 8192 * 8192
    assert training.tokens_per_s == pytest.approx(0.4 * 64 * 989e12 / (6 * 70.5537e9 + attention), rel=1e-4)
    assert training.mttf.hours == pytest.approx(461.5, abs=0.1)
    assert training.best_checkpoint_seconds is not None
    assert training.best_checkpoint_seconds / 60 == pytest.approx(235, abs=1)


@pytest.mark.parametrize(
    ("parallelism", "path", "fix"),
    [
        ({"tensor": 8, "data": 7}, "parallelism.data", "set data to 8 or"),
        ({"pipeline": 5}, "parallelism", "set nodes and the pool's count to 10 or"),
        ({"data": 32}, "parallelism.data", "set data to 64 or set nodes to 4 or"),
        ({"tensor": 8, "pipeline": 16}, "parallelism", "set nodes and the pool's count to 16 or"),
    ],
)
def test_degrees_that_do_not_multiply_up(parallelism: dict[str, int], path: str, fix: str) -> None:
    """C05: world = tensor x pipeline x context x data; 56, 60 and 128 are not 64."""
    (finding,) = about("layout-covers-gpus", _plan(parallelism=parallelism))
    assert finding.path == f"gpucluster:training.runs[0].{path}"
    assert "8 nodes of 8 have 64" in finding.sentence
    assert fix in finding.remedy
    assert finding.inputs["nodes"] == "8 nodes"
    for key, count in re.findall(r"set (nodes.*?) to (\d+)", finding.remedy):
        said = {"model": "llama-3-70b", "parallelism": parallelism, "nodes": int(count)}
        changes = {f"training.runs.0.{name}": value for name, value in said.items()}
        followed = planned("prod", changes | ({"pools.1.count": int(count)} if "pool" in key else {}))
        assert not about("layout-covers-gpus", followed) + about("gang-fits-pool", followed)


def test_degrees_are_not_changed_to_what_does_not_fit() -> None:
    """C05, C07: 64 GPUs have no room for the states of Llama 3.1 405B, so that nothing says `data: 64`."""
    (finding,) = about("layout-covers-gpus", _plan(model="llama-3.1-405b", parallelism={"data": 256}))
    assert finding.remedy == "set nodes and the pool's count to 32 or change the degrees, so that their product is 64"


def test_tensor_parallelism_stays_in_the_node() -> None:
    """C13, C04: 16 GPUs are two nodes of 8; an NVLink domain of 72 joins nodes, and 8 of its GPUs are a group."""
    (finding,) = about("tensor-leaves-node", _plan(parallelism={"tensor": 16}))
    assert "is more than the 8 that NVLink joins in a p5.48xlarge" in finding.sentence
    assert "take one of 1, 2, 4, 8" in finding.remedy
    assert not about("tensor-leaves-node", _plan(parallelism={"tensor": 8}))
    (uneven,) = about("tensor-leaves-node", _plan(parallelism={"tensor": 3}))
    assert "a tensor group of 3 GPUs does not divide the 8 that NVLink joins" in uneven.sentence
    quarters = replace(_with_gpu(GB200).instances["p5.48xlarge"], gpu_count=4)
    in_racks = replace(SHIPPED, instances={**SHIPPED.instances, "p5.48xlarge": quarters})
    assert not about("tensor-leaves-node", _plan(in_racks, parallelism={"tensor": 8}))


def test_tensor_parallelism_divides_the_heads() -> None:
    """C04: Qwen2.5 7B has 28 heads and 4 KV heads, so 4 divides them and 8 does not."""
    (finding,) = about("tensor-divides-heads", _plan(model="qwen2.5-7b", parallelism={"tensor": 8}))
    assert "8 does not divide 28 heads and 4 KV heads" in finding.sentence
    assert finding.remedy == "take one of 1, 2, 4"
    assert not about("tensor-divides-heads", _plan(model="qwen2.5-7b", parallelism={"tensor": 4}))


@pytest.mark.parametrize(("software", "fits"), [("megatron", True), ("fsdp", False)])
def test_tensor_parallelism_beyond_the_kv_heads(software: str, fits: bool) -> None:
    """8 of Qwen3 30B's 32 heads share 4 KV heads where the software copies them, which Megatron does."""
    plan = _plan(model="qwen3-30b-a3b", software=software, parallelism={"tensor": 8})
    assert bool(about("tensor-divides-heads", plan)) is not fits


def test_pipeline_stages_have_layers() -> None:
    """C06: 32 layers hold 32 stages and not 64."""
    (finding,) = about("pipeline-has-layers", _plan(model="llama-3-8b", parallelism={"pipeline": 64}))
    assert "64 stages are more than the 32 layers" in finding.sentence
    assert not about("pipeline-has-layers", _plan(model="llama-3-8b", parallelism={"pipeline": 32}))


@pytest.mark.parametrize(("accumulation", "idles"), [(2, True), (3, False)])
def test_pipelines_that_wait_for_each_other(accumulation: int, idles: bool) -> None:
    """C06: 4 stages and 2 micro-batches idle 3/5 of the time, 3 micro-batches half of it."""
    found = about("pipeline-idles", _plan(parallelism={"pipeline": 4}, accumulation=accumulation))
    assert [finding.remedy for finding in found] == (
        ["set accumulation to 12 for a fifth, or use fewer stages"] if idles else []
    )


@pytest.mark.parametrize(
    ("model", "expert", "remedy"),
    [
        ("mixtral-8x7b", 8, None),
        ("mixtral-8x7b", 16, "take one of 1, 2, 4, 8"),
        ("llama-3-8b", 2, "remove the key"),
    ],
)
def test_expert_parallelism_divides_experts(model: str, expert: int, remedy: str | None) -> None:
    """C08: 8 experts on 64 ranks."""
    found = about("experts-divide", _plan(model=model, parallelism={"expert": expert}))
    assert [finding.remedy for finding in found] == ([remedy] if remedy else [])


@pytest.mark.parametrize(("sequence", "fix"), [(8192, None), (8190, "set it to 8184 or 8192")])
def test_context_parallelism_divides_the_sequence(sequence: int, fix: str | None) -> None:
    """C08: 4 ranks take 8 parts."""
    found = about("context-divides", _plan(parallelism={"context": 4}, sequenceLength=sequence))
    assert [finding.remedy for finding in found] == ([fix] if fix else [])


@pytest.mark.parametrize(("sequence", "long"), [(8192, False), (8193, True)])
def test_sequences_longer_than_the_model_are_mentioned(sequence: int, long: bool) -> None:
    """C01: Llama 3 was configured for 8192 tokens; extending it is a decision."""
    found = about("run-context", _plan(sequenceLength=sequence))
    assert [str(finding.severity) for finding in found] == (["warning"] if long else [])


def test_precision_needs_tensor_cores() -> None:
    """B05, HW06, HW07: an A100 trains in bf16 and not in FP8, a T4 in neither, an H100 in both."""
    a100 = {"pools.1.instanceType": "p4d.24xlarge", "training.runs.0.model": "llama-3-8b", "budget.maxHourlyUsd": 900}
    fp8 = {**a100, "training.runs.0.precision": "fp8"}
    assert not about("run-precision", planned("prod", a100))
    (finding,) = about("run-precision", planned("prod", fp8))
    assert "A100 40GB has no fp8 tensor cores (compute capability 8.0)" in finding.sentence
    assert finding.remedy.startswith("take bf16, or")
    assert not about("run-precision", _plan(precision="fp8"))
    (finding,) = about("run-precision", _plan(_with_gpu(T4)))
    assert finding.remedy.startswith("take GPUs that have them")


def test_the_flagship_run_does_not_fit_without_zero() -> None:
    """HW23, C07: 16 x 70.6 / 8 = 141 GB of states on each 80 GB GPU; ZeRO-1 is all it takes."""
    flagship: dict[str, Any] = {"parallelism": {"tensor": 8, "data": 8}, "sequenceLength": 4096}
    (finding,) = about("run-fits-gpus", _plan(sharding="none", **flagship))
    assert finding.path == "gpucluster:training.runs[0].sharding"
    assert finding.remedy == "set sharding zero1"
    assert (finding.inputs["weights"], finding.inputs["optimizer"]) == ("17.6 GB", "105.8 GB")
    assert "of each H100, whose driver reports 85.5 GB" in finding.sentence
    assert not about("run-fits-gpus", _plan(sharding="zero1", **flagship))


@pytest.mark.parametrize(
    ("run", "path", "remedy"),
    [
        ({"recompute": "selective", "software": "megatron"}, "recompute", "set recompute full"),
        (
            {"recompute": "selective", "sequenceLength": 4096, "microBatch": 8},
            "microBatch",
            "set microBatch 1 with accumulation 8",
        ),
        ({"model": "llama-3.1-405b"}, "nodes", "it fits from 12 nodes on, with parallelism.tensor 8"),
        ({"sequenceLength": 1 << 20}, "model", "no number of nodes is enough; raise parallelism.context"),
    ],
)
def test_what_makes_a_run_fit(run: dict[str, Any], path: str, remedy: str) -> None:
    """C01, O03: activations that are kept, a model that is too large (tensor ranks share what is kept, so
    that 6,494 GB of states want 12 nodes), a sequence that is too long for any number of GPUs."""
    (finding,) = about("run-fits-gpus", _plan(**run))
    assert finding.path == f"gpucluster:training.runs[0].{path}"
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize(("micro_batch", "sequence", "near"), [(2, 4096, False), (2, 4608, True), (3, 4096, True)])
def test_runs_near_what_a_gpu_holds_are_warned_about(micro_batch: int, sequence: int, near: bool) -> None:
    """HW21, C07: what fits at the least and not at the most is a warning with both bounds and the remedy: 83 GB at most
    of 85.5 are none, 86 at most and 80 likely are one, and so are 89 likely."""
    run: dict[str, Any] = {
        "recompute": "selective",
        "sharding": "zero1",
        "parallelism": {"tensor": 8},
        "microBatch": micro_batch,
    }
    found = about("run-may-not-fit", _plan(**run, sequenceLength=sequence))
    assert [str(finding.severity) for finding in found] == (["warning"] if near else [])
    for finding in found:
        assert " GB, likely " in finding.sentence
        assert "whose driver reports 85.5 GB" in finding.sentence
    assert not about("run-fits-gpus", _plan(**run, sequenceLength=sequence))


def test_virtual_stages_have_layers() -> None:
    """C06: 8 stages of 10 parts are the 80 layers of Llama 3 70B, of 11 more than these and both ends."""
    wrong = _plan(parallelism={"pipeline": 8, "virtualStages": 11})
    (finding,) = about("pipeline-has-layers", wrong)
    assert finding.path == "gpucluster:training.runs[0].parallelism.virtualStages"
    assert finding.remedy == "set it to at most 10"
    assert not about("pipeline-has-layers", _plan(parallelism={"pipeline": 8, "virtualStages": 10}))


@pytest.mark.parametrize(
    ("software", "accumulation", "remedy"),
    [("megatron", 1, 4), ("megatron", 6, 4), ("megatron", 8, None), ("fsdp", 6, None)],
)
def test_megatron_interleaves_whole_groups(software: str, accumulation: int, remedy: int | None) -> None:
    """C06: of 4 stages in 2 parts each; PyTorch's schedule takes other numbers."""
    run: dict[str, Any] = {
        "software": software,
        "accumulation": accumulation,
        "parallelism": {"pipeline": 4, "virtualStages": 2},
    }
    found = about("interleaving-divides", _plan(**run))
    assert [each.remedy for each in found] == (
        [f"set accumulation to {remedy}, or remove virtualStages"] if remedy else []
    )


def test_what_shortens_the_wait_of_virtual_stages_is_whole_groups() -> None:
    """C06: 6 micro-batches would do for 4 stages in 2 parts each, and Megatron takes 8."""
    (found,) = about("pipeline-idles", _plan(parallelism={"pipeline": 4, "virtualStages": 2}, accumulation=1))
    assert found.sentence == "4 stages that share 1 micro-batch a step idle 60% of the time"
    assert found.remedy == "set accumulation to 8 for a fifth, or use fewer stages"


def test_experts_may_span_tensor_ranks() -> None:
    """C08: 16 of 128 experts' groups on 8 tensor x 8 data ranks take tensor ranks in; 64 of them too, 128 do not."""
    for expert, refused in ((16, False), (64, False), (128, True)):
        plan = _plan(model="llama-4-maverick", parallelism={"tensor": 8, "expert": expert})
        assert bool(about("experts-divide", plan)) is refused


@pytest.mark.parametrize(
    ("run", "software"),
    [
        ({}, "fsdp"),
        ({"parallelism": {"pipeline": 2}}, "megatron"),
        ({"sharding": "zero1"}, "megatron"),
        ({"sharding": "zero3"}, "deepspeed"),
        ({"model": "mixtral-8x7b", "parallelism": {"expert": 8}}, "automodel"),
        ({"software": "megatron"}, "megatron"),
    ],
)
def test_software_is_named_or_told_by_the_settings(run: dict[str, Any], software: str) -> None:
    """A17: the family whose published rates a forecast takes."""
    training = _plan(**run).runs["llama-3-70b-pretrain"].training
    assert training is not None
    assert training.job.software == software


def test_plain_data_parallelism_of_a_large_model_is_refused() -> None:
    """HW24, HW21: 8 billion take 128 GB of states on one GPU of 80; 3.2 billion fit with a replica on each GPU."""
    small: dict[str, Any] = {"sharding": "none", "sequenceLength": 4096}
    (finding,) = about("run-fits-gpus", _plan(**{**small, "model": "llama-3-8b"}))
    assert finding.inputs["optimizer"] == "96.4 GB"
    assert not about("run-fits-gpus", _plan(**{**small, "model": "llama-3.2-3b"}))


@pytest.mark.parametrize(
    ("every", "said"), [(235, None), (30, None), (15, "loses 6.7% of the time"), (10_000, "loses 18.1% of the time")]
)
def test_checkpoints_near_the_best_interval(every: float, said: str | None) -> None:
    """T01, T10, PF21: 64 GPUs and pauses of 60 s: 235 min lose 0.85 %, and 3.4 % are not worth a word; 60/900 are, and
    so are 600,000 s of two times 461.5 h."""
    found = about("checkpoint-interval", _plan(checkpoint={"everyMinutes": every, "withinSeconds": 60}))
    assert len(found) == (said is not None)
    for finding in found:
        assert said is not None
        assert said in finding.sentence
        assert finding.remedy == "set it to 235, which would lose 0.8%"


@pytest.mark.parametrize(("every", "fits"), [(15, True), (20, False)])
def test_spot_runs_save_every_quarter_of_an_hour(every: float, fits: bool) -> None:
    """T14: spot instances go within two minutes, so at most a quarter of an hour may be lost."""
    saves = {"training.runs.0.model": "llama-3-70b", "training.runs.0.recompute": "full"}
    saves |= {"training.runs.0.checkpoint": {"everyMinutes": every, "withinSeconds": 5}}  # type: ignore[dict-item]
    found = about("spot-checkpoints", planned("prod", {**saves, "pools.1.capacity": "spot"}))
    assert [finding.remedy for finding in found] == ([] if fits else ["set it to at most 15"])
    assert not about("spot-checkpoints", planned("prod", saves))


def test_unknown_model_of_a_run() -> None:
    """C01: a run's model is a row, as a service's is."""
    (finding,) = about("model-unknown", _plan(model="llama-3-70bb"))
    assert finding.path == "gpucluster:training.runs[0].model"
    assert finding.remedy == "did you mean llama-3-70b? Or add a row of your own to gpucluster:catalogue.models"


@pytest.mark.parametrize(
    ("rows", "path", "said"),
    [
        ({"models": [{"name": "mine", "like": "mixtral-8x7b", "parameters": 1}]}, "models[0]", "the experts alone are"),
        ({"gpus": [{"name": "mine", "like": "H100", "mig": [{"name": "7", "count": 1}]}]}, "gpus[0].mig[0]", "no MIG"),
    ],
)
def test_a_sites_rows_that_cannot_be_are_findings(rows: dict[str, Any], path: str, said: str) -> None:
    """B02, C01: a row that would divide by zero is refused with its path."""
    (finding,) = about("site-row", planned("prod", {"catalogue": rows}))
    assert finding.path == f"gpucluster:catalogue.{path}"
    assert said in finding.sentence


@pytest.mark.parametrize(
    ("rows", "path"),
    [
        ({"models": [{"name": "mine", "like": "llama-3-8b", "kvHeads": 0}]}, "models[0].kvHeads"),
        ({"gpus": [{"name": "mine", "like": "H100", "pcieGeneration": 0}]}, "gpus[0].pcieGeneration"),
    ],
)
def test_a_sites_rows_of_nothing_are_refused(rows: dict[str, Any], path: str) -> None:
    """B02, C01: numbers of a row have bounds, which the settings hold."""
    with pytest.raises(SettingsError, match=re.escape(f"catalogue.{path}: must be at least")):
        planned("prod", {"catalogue": rows})


_DEGREES = st.integers(1, 4096) | st.sampled_from([1, 2, 4, 8, 16, 64])
_RUNS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(sorted(SHIPPED.models)),
        "method": st.sampled_from(["full", "lora", "qlora"]),
        "precision": st.sampled_from(["bf16", "fp8"]),
        "gradients": st.sampled_from(["bf16", "fp32"]),
        "sharding": st.sampled_from(["none", "zero1", "zero2", "zero3", "fsdp"]),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "microBatch": st.integers(1, 65_536),
        "accumulation": st.integers(1, 65_536),
        "sequenceLength": st.integers(16, 16_777_216),
        "nodes": st.integers(1, 8),
        "parallelism": st.fixed_dictionaries(
            {"tensor": _DEGREES, "pipeline": _DEGREES, "context": _DEGREES, "expert": _DEGREES},
            optional={"data": _DEGREES},
        ),
    }
)


@given(run=_RUNS)
def test_whatever_a_run_says_is_answered(run: dict[str, Any]) -> None:
    """C01: no settings make the planner raise, and every finding names a path, an input and what to type."""
    for finding in planned("prod", {f"training.runs.0.{key}": value for key, value in run.items()}).findings:
        if finding.rule in ABOUT_RUNS:
            assert finding.path.startswith("gpucluster:training.runs[0].")
            assert finding.inputs
            assert len(finding.remedy) > 5
