"""What each framework is told of a plan: every number stands in the words, variables or files that a process gets."""

import json
from dataclasses import replace
from typing import Any

import pytest

from catalogue.model_types import Experts, Latent, Model
from catalogue.models import MODELS
from components.training.launch import DIRECTORY, Launch, launch, script_as_it_is
from components.training.recipe import Places, Recipe
from components.training.trainer import TRAINER, trainer_files
from planner.workloads import REFERENCE

PLACES = Places(
    shared="/checkpoints",
    local="/local-checkpoints",
    every_seconds=901,
    shared_seconds=1802,
    keep=4,
    every_steps=61,
    shared_steps=122,
)


def recipe(framework: str, **changes: Any) -> Recipe:
    known: dict[str, Any] = {
        "framework": framework,
        "script": ["/opt/train.py", "--own", "7"],
        "model": MODELS["llama-3-8b"],
        "tensor": 1,
        "pipeline": 1,
        "context": 1,
        "expert": 1,
        "data": 24,
        "micro_batch": 3,
        "accumulation": 5,
        "global_batch": 360,
        "sequence": 4096,
        "method": "full",
        "precision": "bf16",
        "gradients": "bf16",
        "sharding": "none",
        "recompute": "none",
        "elastic": False,
    }
    return Recipe(**{**known, **changes})


def options(found: Launch) -> dict[str, str]:
    """Flags and overrides of the program, without the script's own words."""
    words = [word.removeprefix("--").partition("=") for word in found.words if word not in ("--own", "7")]
    return {name: value for name, _, value in words}


def test_the_script_comes_first_and_its_own_words_last_n03() -> None:
    """PF17: torchrun binds each rank to the processors of its own GPU."""
    found = launch(recipe("megatron"), "node")
    assert found.words[:2] == ("--numa-binding=node", "/opt/train.py")
    assert found.words[-2:] == ("--own", "7")
    module = launch(recipe("fsdp2", script=["-m", "trainer", "--own"]))
    assert (module.words[:2], module.words[-1]) == (("-m", "trainer"), "--own")


def test_a_script_of_ones_own_gets_its_own_words() -> None:
    found = script_as_it_is(["/opt/train.py", "--tp", "8"])
    assert (found.words, dict(found.environment), dict(found.files)) == (("/opt/train.py", "--tp", "8"), {}, {})
    assert script_as_it_is(["t.py"], "socket").words == ("--numa-binding=socket", "t.py")


@pytest.mark.parametrize("framework", ["torchrun", "fsdp2", "deepspeed", "megatron", "nemo", "reference"])
def test_no_framework_is_told_how_many_nodes_there_are_kj03_kj06_kj07(framework: str) -> None:
    found = launch(recipe(framework, places=PLACES, steps=9, directory="/data"))
    told = json.dumps([found.words, dict(found.environment)])
    assert not [each for each in ("nnodes", "nproc", "master", "rdzv", "WORLD_SIZE", "MASTER_", "PET_") if each in told]


@pytest.mark.parametrize("framework", ["torchrun", "fsdp2", "deepspeed", "megatron", "nemo", "reference"])
def test_the_whole_plan_lies_beside_the_words(framework: str) -> None:
    found = launch(recipe(framework, tensor=2, places=PLACES, profile=(3, 4)))
    assert found.environment["RUN_PLAN"] == f"{DIRECTORY}/plan.json"
    plan = json.loads(found.files["plan.json"])
    assert (plan["model"], plan["tensor"], plan["data"], plan["accumulation"]) == ("llama-3-8b", 2, 24, 5)
    assert (plan["places"]["every_seconds"], plan["places"]["shared_steps"], plan["profile"]) == (901, 122, [3, 4])
    assert "script" not in plan


def test_plain_programs_read_seconds_and_ranks() -> None:
    changes = {
        "tensor": 2,
        "context": 3,
        "sharding": "fsdp",
        "recompute": "full",
        "precision": "fp8",
        "profile": (7, 9),
    }
    more = {"steps": 1000, "places": PLACES, "directory": "/data", "metrics_port": 9111, "gradients": "fp32"}
    assert options(launch(recipe("fsdp2", **changes, **more))) == {
        "/opt/train.py": "",
        "model": "llama-3-8b",
        "sequence-length": "4096",
        "micro-batch-size": "3",
        "global-batch-size": "360",
        "accumulation": "5",
        "data-parallel": "24",
        "tensor-parallel": "2",
        "context-parallel": "3",
        "sharding": "fsdp",
        "method": "full",
        "precision": "fp8",
        "gradients": "fp32",
        "recompute": "full",
        "steps": "1000",
        "data-dir": "/data",
        "checkpoint-dir": "/checkpoints",
        "checkpoint-every-seconds": "901",
        "checkpoint-keep": "4",
        "local-checkpoint-dir": "/local-checkpoints",
        "shared-checkpoint-every-seconds": "1802",
        "resume": "auto",
        "metrics-port": "9111",
        "profile-from": "7",
        "profile-to": "9",
    }


def test_what_a_plan_does_not_say_is_not_told() -> None:
    told = options(launch(recipe("torchrun")))
    absent = {"steps", "data-dir", "checkpoint-dir", "resume", "metrics-port", "profile-from", "local-checkpoint-dir"}
    assert not absent & set(told)
    assert "local-checkpoint-dir" not in options(launch(recipe("fsdp2", places=replace(PLACES, local=None))))


def test_an_elastic_run_is_told_its_batch_and_no_number_of_ranks_kj08() -> None:
    told = options(launch(recipe("fsdp2", elastic=True)))
    assert told["global-batch-size"] == "360"
    assert not {"accumulation", "data-parallel"} & set(told)


def test_the_reference_trainer_builds_the_model_from_its_sizes() -> None:
    assert (f"{TRAINER}/train.py",) == REFERENCE, "it lies where the plan says"
    told = options(launch(recipe("reference", script=REFERENCE)))
    sizes = ("layers", "hidden", "ffn", "heads", "kv-heads", "head-dim", "vocab")
    assert [told[each] for each in sizes] == ["32", "4096", "14336", "32", "8", "128", "128256"]
    assert "train.py" in trainer_files()
    plain = options(launch(recipe("torchrun", script=REFERENCE)))
    assert plain.items() <= told.items(), "it is told what every plain program is"


def test_deepspeed_reads_a_file_whose_batch_multiplies_out_n18_o02() -> None:
    found = launch(recipe("deepspeed", tensor=4, sharding="zero2", gradients="fp32", profile=(11, 12)))
    assert {"deepspeed": "", "deepspeed_config": f"{DIRECTORY}/ds.json"}.items() <= options(found).items()
    content = json.loads(found.files["ds.json"])
    assert content == {
        "train_batch_size": 360,
        "train_micro_batch_size_per_gpu": 3,
        "gradient_accumulation_steps": 5,
        "bf16": {"enabled": True},
        "data_types": {"grad_accum_dtype": "fp32"},
        "zero_optimization": {"stage": 2, "overlap_comm": True},
        "tensor_parallel": {"autotp_size": 4},
        "flops_profiler": {"enabled": True, "profile_step": 11},
    }
    assert content["train_batch_size"] == 3 * 5 * 24


@pytest.mark.parametrize(("sharding", "stage"), [("none", 0), ("zero1", 1), ("zero2", 2), ("zero3", 3)])
def test_deepspeed_has_a_stage_for_each_kind_of_zero(sharding: str, stage: int) -> None:
    content = json.loads(launch(recipe("deepspeed", sharding=sharding)).files["ds.json"])
    assert content["zero_optimization"] == ({"stage": stage, "overlap_comm": True} if stage else {"stage": 0})
    assert "tensor_parallel" not in content
    with pytest.raises(ValueError, match="fsdp is not a ZeRO stage"):
        launch(recipe("deepspeed", sharding="fsdp"))


DEGREES = {"tensor": 2, "pipeline": 4, "context": 3, "expert": 5}


def test_megatron_is_told_degrees_batch_and_places_n18_o02_o03() -> None:
    told = options(launch(recipe("megatron", **DEGREES, sharding="zero1", steps=77, places=PLACES, profile=(5, 6))))
    assert {name: value for name, value in told.items() if name != "/opt/train.py"} == {
        "tensor-model-parallel-size": "2",
        "pipeline-model-parallel-size": "4",
        "context-parallel-size": "3",
        "expert-model-parallel-size": "5",
        "sequence-parallel": "",
        "micro-batch-size": "3",
        "global-batch-size": "360",
        "seq-length": "4096",
        "max-position-embeddings": "4096",
        "bf16": "",
        "grad-reduce-in-bf16": "",
        "use-distributed-optimizer": "",
        "train-iters": "77",
        "save": "/checkpoints",
        "load": "/checkpoints",
        "ckpt-format": "torch_dist",
        "save-interval": "122",
        "non-persistent-ckpt-type": "local",
        "non-persistent-local-ckpt-dir": "/local-checkpoints",
        "non-persistent-save-interval": "61",
        "exit-signal-handler": "",
        "profile": "",
        "use-pytorch-profiler": "",
        "profile-step-start": "5",
        "profile-step-end": "7",
        "profile-ranks": "0",
        "num-layers": "32",
        "hidden-size": "4096",
        "ffn-hidden-size": "14336",
        "num-attention-heads": "32",
        "kv-channels": "128",
        "group-query-attention": "",
        "num-query-groups": "8",
        "normalization": "RMSNorm",
        "swiglu": "",
        "disable-bias-linear": "",
        "position-embedding-type": "rope",
        "untie-embeddings-and-output-weights": "",
    }


INTERLEAVED = {"pipeline": 4, "virtual_stages": 5, "expert": 8, "expert_tensor": 1, "ends_as_layers": True}


@pytest.mark.parametrize(
    ("framework", "told"),
    [
        (
            "megatron",
            {
                "num-virtual-stages-per-pipeline-rank": "5",
                "account-for-embedding-in-pipeline-split": "",
                "account-for-loss-in-pipeline-split": "",
                "expert-tensor-parallel-size": "1",
            },
        ),
        (
            "nemo",
            {
                "model.virtual_pipeline_model_parallel_size": "5",
                "model.account_for_embedding_in_pipeline_split": "true",
                "model.account_for_loss_in_pipeline_split": "true",
                "model.expert_tensor_parallel_size": "1",
            },
        ),
    ],
)
def test_how_layers_and_experts_are_dealt_out_is_told_where_it_is_said_c06_c08(
    framework: str, told: dict[str, str]
) -> None:
    """The file of a run that stands has none of it: another file would begin the run anew."""
    plain, dealt = launch(recipe(framework)), launch(recipe(framework, **INTERLEAVED))
    assert options(dealt).items() - options(plain).items() >= told.items()
    said = {"model.virtual_pipeline_model_parallel_size": "null"} if framework == "nemo" else {}
    assert {name: value for name, value in options(plain).items() if name in told} == said
    without, plan = json.loads(plain.files["plan.json"]), json.loads(dealt.files["plan.json"])
    assert set(plan) - set(without) == {"virtual_stages", "expert_tensor", "ends_as_layers"}
    assert (plan["virtual_stages"], plan["expert_tensor"], plan["ends_as_layers"]) == (5, 1, True)


def test_megatron_saves_to_one_place_where_there_is_one() -> None:
    told = options(launch(recipe("megatron", places=replace(PLACES, local=None))))
    assert told["save-interval"] == "61"
    assert not [name for name in told if name.startswith("non-persistent")]


@pytest.mark.parametrize(
    ("recompute", "words"),
    [
        ("none", {}),
        ("selective", {"recompute-granularity": "selective"}),
        ("full", {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": "1"}),
    ],
)
def test_megatron_computes_again_what_was_planned_o03(recompute: str, words: dict[str, str]) -> None:
    told = options(launch(recipe("megatron", recompute=recompute)))
    assert {name: value for name, value in told.items() if name.startswith("recompute")} == words


@pytest.mark.parametrize(
    ("sharding", "strategy"),
    [("zero2", "optim_grads"), ("zero3", "optim_grads_params"), ("fsdp", "optim_grads_params")],
)
def test_megatron_fsdp_shares_out_what_was_planned(sharding: str, strategy: str) -> None:
    found = launch(recipe("megatron", tensor=2, sharding=sharding, places=PLACES))
    told = options(found)
    assert told["data-parallel-sharding-strategy"] == strategy
    assert {"use-megatron-fsdp", "use-distributed-optimizer", "no-gradient-accumulation-fusion"} <= set(told)
    assert told["ckpt-format"] == "fsdp_dtensor"
    assert "CUDA_DEVICE_MAX_CONNECTIONS" not in found.environment


def test_megatron_without_sharding_has_no_distributed_optimizer() -> None:
    told = options(launch(recipe("megatron", gradients="fp32", precision="fp8")))
    assert "use-distributed-optimizer" not in told
    assert (told["fp8-format"], told["accumulate-allreduce-grads-in-fp32"]) == ("hybrid", "")
    assert "sequence-parallel" not in told


@pytest.mark.parametrize(("degrees", "queues"), [({}, None), ({"tensor": 2}, "1"), ({"context": 2}, "1")])
def test_megatron_overlaps_with_one_queue_to_the_gpu(degrees: dict[str, int], queues: str | None) -> None:
    for framework in ("megatron", "nemo"):
        found = launch(recipe(framework, **degrees))
        assert found.environment.get("CUDA_DEVICE_MAX_CONNECTIONS") == queues


MIXTURE = Model(
    name="mixture",
    parameters=10**12,
    layers=12,
    hidden=64,
    heads=8,
    kv_heads=8,
    head_dim=16,
    ffn=256,
    vocab=1000,
    context=4096,
    bytes_per_parameter=2,
    source="made for this test",
    tied_embeddings=True,
    latent=Latent(kv_rank=11, query_rank=12, nope_dim=13, rope_dim=14, value_dim=15),
    experts=Experts(count=16, active=4, ffn=32, layers=10, shared=2),
)


def test_megatron_builds_mixtures_and_latent_attention() -> None:
    told = options(launch(recipe("megatron", model=MIXTURE)))
    assert {
        "multi-latent-attention": "",
        "q-lora-rank": "12",
        "kv-lora-rank": "11",
        "qk-head-dim": "13",
        "qk-pos-emb-head-dim": "14",
        "v-head-dim": "15",
        "num-experts": "16",
        "moe-router-topk": "4",
        "moe-ffn-hidden-size": "32",
        "moe-shared-expert-intermediate-size": "64",
        "moe-layer-freq": "([0]*2+[1]*10)",
    }.items() <= told.items()
    assert not {"kv-channels", "group-query-attention", "untie-embeddings-and-output-weights"} & set(told)
    same = replace(MIXTURE, latent=None, experts=replace(MIXTURE.experts, layers=12, shared=0))  # type: ignore[type-var]
    plainer = options(launch(recipe("megatron", model=same)))
    assert plainer["kv-channels"] == "16"
    assert not {"moe-layer-freq", "moe-shared-expert-intermediate-size", "num-query-groups"} & set(plainer)


def test_nemo_is_told_the_same_in_its_own_words_n18() -> None:
    asked = recipe("nemo", **DEGREES, sharding="zero3", recompute="full", precision="fp8", gradients="fp32", steps=77)
    told = options(launch(replace(asked, places=PLACES, profile=(5, 6))))
    assert {name: value for name, value in told.items() if name != "/opt/train.py"} == {
        "model.tensor_model_parallel_size": "2",
        "model.pipeline_model_parallel_size": "4",
        "model.context_parallel_size": "3",
        "model.virtual_pipeline_model_parallel_size": "null",
        "model.expert_model_parallel_size": "5",
        "model.sequence_parallel": "true",
        "model.seq_length": "4096",
        "dataset.seq_length": "4096",
        "train.micro_batch_size": "3",
        "train.global_batch_size": "360",
        "train.train_iters": "77",
        "mixed_precision": "bf16_with_fp8_delayed_scaling_mixed",
        "ddp.grad_reduce_in_fp32": "true",
        "ddp.use_distributed_optimizer": "true",
        "ddp.use_megatron_fsdp": "true",
        "ddp.data_parallel_sharding_strategy": "optim_grads_params",
        "model.recompute_granularity": "full",
        "model.recompute_method": "uniform",
        "model.recompute_num_layers": "1",
        "checkpoint.save": "/checkpoints",
        "checkpoint.load": "/checkpoints",
        "checkpoint.save_interval": "122",
        "checkpoint.non_persistent_ckpt_type": "local",
        "checkpoint.non_persistent_local_ckpt_dir": "/local-checkpoints",
        "checkpoint.non_persistent_save_interval": "61",
        "train.exit_signal_handler": "true",
        "profiling.use_pytorch_profiler": "true",
        "profiling.profile_step_start": "5",
        "profiling.profile_step_end": "7",
    }


def test_nemo_is_not_told_what_was_not_planned() -> None:
    told = options(launch(recipe("nemo", recompute="selective", places=replace(PLACES, local=None))))
    assert (told["mixed_precision"], told["model.sequence_parallel"]) == ("bf16_mixed", "false")
    assert (told["ddp.use_distributed_optimizer"], told["ddp.grad_reduce_in_fp32"]) == ("false", "false")
    assert (told["model.recompute_granularity"], told["checkpoint.save_interval"]) == ("selective", "61")
    absent = {"model.recompute_method", "ddp.use_megatron_fsdp", "train.train_iters", "profiling.use_pytorch_profiler"}
    assert not absent & set(told)
    assert "model.recompute_granularity" not in options(launch(recipe("nemo")))


def test_a_recipe_of_nemo_keeps_no_virtual_stages_and_no_division_of_experts_of_its_own_c06_c08() -> None:
    """What is made for other degrees would train another layout than the one that was planned, or fail at one stage."""
    size = "model.expert_tensor_parallel_size"
    assert options(launch(recipe("nemo", model=MIXTURE, tensor=2)))[size] == "2"
    assert options(launch(recipe("nemo", model=MIXTURE, tensor=2, expert_tensor=1)))[size] == "1"
    assert size not in options(launch(recipe("nemo", tensor=2)))
    assert size.partition(".")[2].replace("_", "-") not in options(launch(recipe("megatron", model=MIXTURE, tensor=2)))


def test_an_unknown_framework_is_refused() -> None:
    with pytest.raises(ValueError, match="jax is not a framework that can start a run"):
        launch(recipe("jax"))


@pytest.mark.parametrize(
    ("framework", "flag"),
    [
        ("torchrun", "loader-workers"),
        ("fsdp2", "loader-workers"),
        ("megatron", "num-workers"),
        ("nemo", "dataset.num_workers"),
    ],
)
def test_workers_that_load_data_are_told_where_they_are_said_o05(framework: str, flag: str) -> None:
    assert options(launch(recipe(framework, loader_workers=6)))[flag] == "6"
    without = launch(recipe(framework))
    assert flag not in options(without)
    assert "loader_workers" not in json.loads(without.files["plan.json"])
