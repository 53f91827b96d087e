"""Rules about how runs are started: frameworks, words and variables by hand, elastic runs (prod: 8 nodes)"""

from typing import Any, get_args

import pytest

from planner.findings import Finding, Severity
from planner.rules.frameworks import CAN
from planner.types import AwsPlan
from settings.launch import Framework
from tests.planner.stacks import planned, planned_metal
from tests.planner.stacks import rules as rules_of

SAVES = {"everyMinutes": 90, "withinSeconds": 120}


def plan(**run: Any) -> AwsPlan:
    return planned("prod", {f"training.runs.0.{key}": value for key, value in run.items()})


def found(rule: str, **run: Any) -> list[Finding]:
    return [each for each in plan(**run).findings if each.rule == rule]


def ends(findings: list[Finding]) -> list[str]:
    """The last parts of the findings' paths."""
    return [each.path.removeprefix("gpucluster:").removeprefix("training.runs[0].") for each in findings]


DEGREES = {"tensor": 2, "pipeline": 2, "context": 2}


@pytest.mark.parametrize(
    ("framework", "sharding", "refused"),
    [
        ("torchrun", "none", ["parallelism.tensor", "parallelism.pipeline", "parallelism.context"]),
        ("fsdp2", "fsdp", ["parallelism.pipeline"]),
        ("reference", "fsdp", ["parallelism.tensor", "parallelism.pipeline", "parallelism.context"]),
        ("deepspeed", "zero1", ["parallelism.pipeline", "parallelism.context"]),
        ("megatron", "zero1", []),
        ("nemo", "fsdp", []),
        ("script", "fsdp", []),
    ],
)
def test_a_degree_that_the_framework_ignores_is_refused_n16_n18(
    framework: str, sharding: str, refused: list[str]
) -> None:
    changes: dict[str, Any] = {"script": []} if framework == "reference" else {}
    findings = found("framework-cannot", framework=framework, sharding=sharding, parallelism=DEGREES, **changes)
    assert ends(findings) == refused
    assert all(each.severity is Severity.ERROR for each in findings)
    assert not found("framework-cannot", framework=framework, sharding=sharding, **changes)


@pytest.mark.parametrize(
    ("framework", "image", "script", "refused"),
    [
        ("megatron", "nvcr.io/nvidia/pytorch:26.03-py3", "/opt/megatron/pretrain_gpt.py", "megatron-core"),
        ("megatron", "nvcr.io/nvidia/pytorch:26.07-py3", "/opt/megatron/pretrain_gpt.py", "megatron-core"),
        ("megatron", "nvcr.io/nvidia/pytorch:26.03-py3", "/data/megatron/pretrain_gpt.py", None),
        ("megatron", "nvcr.io/nvidia/nemo:26.06", "/opt/megatron/pretrain_gpt.py", None),
        ("nemo", "pytorch/pytorch:2.11.0-cuda13.0-cudnn9-runtime", "/data/recipe.py", "megatron-bridge"),
        ("nemo", "nvcr.io/nvidia/nemo:26.06", "/opt/recipe.py", None),
        ("deepspeed", "mirror.example/nvidia/pytorch:26.03-py3", "/opt/train.py", "deepspeed"),
        ("deepspeed", "registry.example/ours:7", "/opt/train.py", None),
        ("fsdp2", "pytorch/pytorch:2.11.0-cuda13.0-cudnn9-runtime", "/opt/train.py", None),
    ],
)
def test_what_the_framework_imports_is_in_the_image_n16(
    framework: str, image: str, script: str, refused: str | None
) -> None:
    findings = found("framework-not-in-image", framework=framework, image=image, script=[script])
    assert [each.sentence for each in findings] == (
        [f"framework {framework} imports {refused}, which {image} lacks"] if refused else []
    )
    assert ends(findings) == ["image"] * len(findings)
    assert all(each.severity is Severity.ERROR for each in findings)


def test_the_image_that_has_the_framework_is_named() -> None:
    (finding,) = found("framework-not-in-image", framework="nemo", image="nvcr.io/nvidia/pytorch:26.03-py3")
    assert finding.remedy.startswith("take nvcr.io/nvidia/nemo, or build on it (RUN pip install megatron-bridge)")
    (finding,) = found("framework-not-in-image", framework="deepspeed", image="nvcr.io/nvidia/pytorch:26.03-py3")
    assert finding.remedy.startswith("build on it (RUN pip install deepspeed)")


def test_a_refused_degree_names_the_frameworks_that_have_it() -> None:
    (finding,) = found("framework-cannot", framework="fsdp2", parallelism={"pipeline": 2})
    assert finding.remedy == "set it to 1, or framework to megatron or nemo"
    assert "fsdp2 has no pipeline parallelism, and the run asks for 2" in finding.sentence


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"framework": "deepspeed", "sharding": "fsdp"}, ["sharding"]),
        ({"framework": "torchrun", "sharding": "zero1"}, ["sharding"]),
        ({"framework": "deepspeed", "sharding": "zero3", "precision": "fp8"}, ["precision"]),
        ({"framework": "megatron", "method": "lora"}, ["method"]),
        ({"framework": "nemo", "method": "lora"}, ["method"]),
        ({"framework": "nemo", "method": "qlora"}, ["method"]),
        ({"framework": "megatron", "sharding": "zero1", "compiled": True}, ["compiled"]),
        ({"framework": "fsdp2", "compiled": True}, []),
        ({"framework": "reference", "script": [], "method": "qlora", "precision": "fp8"}, ["precision", "method"]),
        ({"framework": "fsdp2", "precision": "fp8", "method": "lora"}, []),
    ],
)
def test_what_else_the_framework_lacks_is_refused_o01_o02(changes: dict[str, Any], refused: list[str]) -> None:
    assert ends(found("framework-cannot", **changes)) == refused


def test_every_framework_of_the_settings_is_known_to_the_rules() -> None:
    """`script` is asked for nothing."""

    assert set(get_args(Framework)) - {"script"} == set(CAN)


def test_a_refused_method_names_the_frameworks_that_are_told_it() -> None:
    """NeMo's recipe has adapters or none: an override cannot make them."""
    (finding,) = found("framework-cannot", framework="nemo", sharding="zero1", method="lora")
    assert finding.remedy == "set it to full, or framework to torchrun or fsdp2 or deepspeed"


@pytest.mark.parametrize(("model", "what"), [("mixtral-8x7b", "experts"), ("deepseek-v3", "experts")])
def test_the_reference_trainer_is_dense(model: str, what: str) -> None:
    (finding,) = found("reference-is-dense", framework="reference", script=[], model=model)
    assert f"{model} has {what}" in finding.sentence
    assert not found("reference-is-dense", framework="reference", script=[])
    assert not found("reference-is-dense", framework="megatron", model=model)


def test_saving_by_steps_takes_the_time_of_a_step() -> None:
    """T01: without it Megatron would be told no interval, and save nothing."""
    known = plan(framework="megatron", sharding="zero1", parallelism={"tensor": 8}, checkpoint=SAVES)
    launch, forecast = known.runs["llama-3-70b-pretrain"].launch, known.runs["llama-3-70b-pretrain"].forecast
    assert forecast is not None
    assert launch.save_steps
    training = known.runs["llama-3-70b-pretrain"].training
    assert training is not None
    step_s = training.tokens_per_step / forecast.tokens_per_s
    assert launch.save_steps * step_s <= 5400 < (launch.save_steps + 1) * step_s
    assert not [each for each in known.findings if each.rule == "save-steps-unknown"]


@pytest.mark.parametrize(
    "words",
    [
        ["--nnodes=8", "/t.py"],
        ["--nnodes", "$WORLD_SIZE", "/t.py"],
        ["--nproc_per_node=8", "/t.py"],
        ["--world_size=64", "/t.py"],
        ["--rdzv-conf=timeout=9", "/t.py"],
        ["--master-addr=host", "/t.py"],
        ["--rdzv_endpoint=host:1", "/t.py"],
        ["--standalone", "/t.py"],
    ],
)
def test_counts_and_rendezvous_by_hand_are_refused_kj03_kj06_kj07_n10(words: list[str]) -> None:
    (finding,) = found("launch-by-hand", script=words)
    assert finding.severity is Severity.ERROR
    assert ends([finding]) == ["script[0]"]
    assert not found("launch-by-hand", script=["/t.py", "--nodes-of-a-tree", "7"])


@pytest.mark.parametrize(
    ("framework", "word", "key"),
    [
        ("megatron", "--micro-batch-size=4", "microBatch"),
        ("megatron", "--tensor-model-parallel-size", "parallelism.tensor"),
        ("nemo", "train.global_batch_size=7", "accumulation"),
        ("fsdp2", "--sequence_length=9", "sequenceLength"),
        ("fsdp2", "--checkpoint-every-seconds=9", "checkpoint.everyMinutes"),
    ],
)
def test_an_argument_that_would_win_over_the_plan_is_refused(framework: str, word: str, key: str) -> None:
    changes = {"framework": framework, "sharding": "fsdp", "script": ["/t.py", "--lr=3e-4", word]}
    (finding,) = found("launch-says-twice", **changes)
    assert ends([finding]) == ["script[2]"]
    assert key in finding.remedy
    assert not found("launch-says-twice", **{**changes, "framework": "script"})
    assert not found("launch-says-twice", **{**changes, "script": ["/t.py", "--lr=3e-4", "optimizer.lr=1"]})


@pytest.mark.parametrize(
    ("framework", "word", "parallelism", "refused"),
    [
        ("megatron", "--num-layers-per-virtual-pipeline-stage=5", {}, True),
        ("megatron", "--account-for-loss-in-pipeline-split", {}, True),
        ("nemo", "model.virtual_pipeline_model_parallel_size=5", {}, True),
        ("nemo", "model.virtual_pipeline_model_parallel_size=null", {}, False),
        ("nemo", "model.virtual_pipeline_model_parallel_size=null", {"pipeline": 4, "virtualStages": 2}, True),
        ("megatron", "--expert-tensor-parallel-size=1", {"tensor": 8, "expert": 8}, False),
        ("megatron", "--expert-tensor-parallel-size=1", {"tensor": 8, "pipeline": 8, "expert": 8}, True),
    ],
)
def test_how_layers_are_dealt_out_is_said_once(
    framework: str, word: str, parallelism: dict[str, int], refused: bool
) -> None:
    """A recipe of NeMo may interleave by itself, which its script could end before the plan did; experts are divided as
    a script says unless their groups span tensor ranks, of which the plan tells (8 experts over 8 tensor ranks of one).
    """
    changes = {"framework": framework, "sharding": "zero1", "model": "mixtral-8x7b", "accumulation": 8}
    findings = found("launch-says-twice", **changes, script=["/t.py", word], parallelism=parallelism)
    assert bool(findings) is refused


ELASTIC = {"elastic": {"minNodes": 6}, "checkpoint": SAVES}


def test_an_elastic_run_that_can_be_is_left_alone_n09() -> None:
    elastic = plan(framework="fsdp2", **ELASTIC)
    assert not [each for each in elastic.findings if each.rule == "elastic-cannot"]
    run = elastic.runs["llama-3-70b-pretrain"]
    assert (run.pods, run.launch.least_pods, run.launch.elastic) == (8, 6, True)
    fixed = plan().runs["llama-3-70b-pretrain"].launch
    assert (fixed.least_pods, fixed.elastic) == (8, False)


def test_an_elastic_run_needs_a_checkpoint_to_go_on_from_kj08() -> None:
    """PyTorch restarts all workers from it whenever a node comes or goes."""
    assert ends(found("elastic-cannot", elastic={"minNodes": 6}, checkpoint=None)) == ["checkpoint"]


def test_an_elastic_run_has_no_fixed_ranks_kj08() -> None:
    assert ends(found("elastic-cannot", **ELASTIC, framework="fsdp2", parallelism={"data": 64})) == ["parallelism.data"]
    assert ends(found("elastic-cannot", **ELASTIC, framework="megatron")) == ["elastic"]
    (finding,) = found("elastic-cannot", **ELASTIC, parallelism={"tensor": 8, "pipeline": 2})
    assert "a replica of the model takes 16 GPUs and a node has 8" in finding.sentence


def test_an_elastic_run_is_told_at_which_sizes_its_batch_does_not_divide_kj08() -> None:
    """64 sequences at 64 ranks of one: at 56 and 48 they do not divide; 2688 = 64 x 42 = 56 x 48 = 48 x 56 do."""
    (finding,) = found("elastic-shrinks-batch", **ELASTIC)
    assert "64 sequences does not divide among the ranks of 6, 7 nodes" in finding.sentence
    assert not found("elastic-shrinks-batch", **ELASTIC, accumulation=42)
    assert not found("elastic-shrinks-batch", checkpoint=SAVES)


def variable(name: str, value: str) -> dict[str, Any]:
    return {"nccl": [{"name": name, "value": value}]}


def test_efas_plugin_knows_the_buses_of_its_instances() -> None:
    """P12: a file of somebody's own would be taken in place of the plugin's; without EFA it is one's own business."""
    own = {"training.runs.0.topology": '<system version="1"/>'}
    assert rules_of(planned("prod", own)).count("topology-of-the-plugin") == 1
    assert "topology-of-the-plugin" not in [*rules_of(planned("prod")), *rules_of(planned_metal(own))]


@pytest.mark.parametrize(
    ("name", "value", "source"),
    [
        ("NCCL_SOCKET_IFNAME", "ib0", "NC01"),
        ("NCCL_IB_GID_INDEX", "3", "NC03"),
        ("NCCL_NET_GDR_LEVEL", "5", "NC04"),
        ("NCCL_NET_GDR_READ", "1", "NC05"),
        ("NCCL_CROSS_NIC", "1", "NC06"),
        ("NCCL_BUFFSIZE", "16777216", "NC07"),
        ("NCCL_IB_HCA", "mlx5", "NC08"),
        ("NCCL_TOPO", "/t.xml", "NC09"),
        ("NCCL_IB_TIMEOUT", "20", "NC10"),
        ("NCCL_NET", "Socket", "LF04"),
        ("FI_PROVIDER", "tcp", "LF04"),
    ],
)
def test_variables_that_the_corrections_forbid_are_refused(name: str, value: str, source: str) -> None:
    """NC01 NC03 NC04 NC05 NC06 NC07 NC08 NC09 NC10."""
    (finding,) = found("nccl-against-platform", **variable(name, value))
    assert finding.severity is Severity.ERROR
    assert f"({source})" in finding.sentence
    assert ends([finding]) == ["nccl[0]"]


@pytest.mark.parametrize(
    ("name", "value"), [("NCCL_NET_GDR_LEVEL", "SYS"), ("NCCL_CROSS_NIC", "0"), ("NCCL_IB_TIMEOUT", "22")]
)
def test_the_same_variables_with_other_values_are_only_told_of_nc17(name: str, value: str) -> None:
    assert not found("nccl-against-platform", **variable(name, value))
    (finding,) = found("nccl-untried", **variable(name, value))
    assert finding.severity is Severity.WARNING


def test_variables_reach_the_plan_and_debugging_ones_are_nobodys_business_p10() -> None:
    told = plan(**variable("NCCL_DEBUG", "INFO"))
    assert told.runs["llama-3-70b-pretrain"].launch.variables == (("NCCL_DEBUG", "INFO"),)
    assert not [each for each in told.findings if each.rule.startswith("nccl-")]


@pytest.mark.parametrize(("api", "port"), [("v1", 23456), ("v2", 29500)])
def test_metrics_are_not_shown_where_the_ranks_meet_n03(api: str, port: int) -> None:
    (finding,) = found("metrics-at-the-rendezvous", api=api, metricsPort=port)
    assert finding.path == "gpucluster:training.runs[0].metricsPort"
    assert finding.severity is Severity.ERROR
    assert not found("metrics-at-the-rendezvous", api=api, metricsPort=port + 1)
    assert not found("metrics-at-the-rendezvous", api="v2" if api == "v1" else "v1", metricsPort=port)


# -- workers that load data


@pytest.mark.parametrize(("workers", "words"), [(22, ""), (23, "192 processes, and a pod has 190 cores")])
def test_workers_have_a_core_each_o05(workers: int, words: str) -> None:
    """p5.48xlarge: 8 ranks share 190 whole cores, 23 each with the rank itself."""
    text = " ".join(each.sentence for each in found("loader-workers", framework="megatron", loaderWorkers=workers))
    assert words in text
    assert bool(words) == bool(text)


def test_workers_have_memory_beside_shm_o05() -> None:
    room = next(iter(plan().runs.values()))
    shm = room.pod.memory_mib // 1024 - 20
    (finding,) = found("loader-workers", framework="megatron", loaderWorkers=4, shmGib=shm)
    assert "32 workers keep about 32 GiB, and a pod has 20 GiB beside shmGib" in finding.sentence
    assert finding.remedy.startswith("take 2 or fewer")


@pytest.mark.parametrize("framework", ["script", "deepspeed", "reference"])
def test_workers_that_nobody_starts_are_refused_o05(framework: str) -> None:
    changes: dict[str, Any] = {"script": []} if framework == "reference" else {}
    (finding,) = found("loader-workers", framework=framework, loaderWorkers=4, **changes)
    assert finding.path.endswith("loaderWorkers")
    assert "set framework to one of torchrun" in finding.remedy


def test_workers_are_not_said_twice_o05() -> None:
    (finding,) = found("launch-says-twice", framework="megatron", script=["train.py", "--num-workers=4"])
    assert "loaderWorkers" in finding.remedy
