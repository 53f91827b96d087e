"""Training runs, and what they share. Model services are in `settings/serving.py`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from settings.checkpoints import Checkpoint
from settings.datasets import Dataset, Reading
from settings.experiments import Experiment, TrialDatabase
from settings.follow_ups import FollowUp, name_problems
from settings.gates import Gates
from settings.launch import TOPOLOGY_VARIABLE, Elastic, Framework, NumaBinding, Profile, Topology, Variable
from settings.pipelines import Pipelines
from settings.sections import Path, Section, SectionError, repeated
from settings.tracking import Tracking
from settings.types import Image, LineageWord, Name, reserved

Degree = Annotated[int, Field(ge=1, le=4096)]


class Parallelism(Section):
    """How a model is parallelised over the run's GPUs; `data` None = GPUs divided by the other degrees."""

    tensor: Degree = 1
    pipeline: Degree = 1
    context: Degree = 1
    expert: Degree = 1
    data: Degree | None = None
    virtual_stages: Annotated[
        int, Field(ge=1, le=512, description="model chunks per stage for interleaved 1F1B; 1 = not interleaved")
    ] = 1


class Expected(Section):
    """Measured or promised performance of a run, which replaces the planner's forecast. The planner checks the
    numbers against each other, the run's GPUs and its own forecast.
    """

    tokens_per_second: Annotated[float | None, Field(gt=0, le=1e12, description="of the whole run")] = None
    mfu: Annotated[float | None, Field(gt=0, le=1, description="model FLOP utilisation, 0.4 = 40 %")] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.tokens_per_second is None and self.mfu is None:
            raise SectionError([((), "is empty; add tokensPerSecond, mfu or both")])
        return self


_ABOUT_THE_MODEL = (
    *("method", "precision", "gradients", "sharding", "software", "compiled", "fused_attention", "parallelism"),
    *("micro_batch", "accumulation", "sequence_length", "recompute", "checkpoint", "expected", "tokens_billion"),
)


RunName = Annotated[Name, reserved("default", owner="Kubernetes", what="the service account of pods that name none")]
"""A run's service account has its name and its rights; that of the namespace would hand them to every pod there."""


class TrainingRun(Section):
    """A gang-scheduled PyTorchJob: one pod per node of the pool, every GPU and fabric interface of the node.

    With `model` the planner computes memory, checkpoints and time; keys that depend on it have no effect without it.
    """

    name: RunName
    pool: Name
    nodes: Annotated[int, Field(ge=1, le=4096)]
    queue: Name
    priority: Annotated[
        Literal["training", "experiments"], Field(description="training preempts experiments in the same queue")
    ] = "training"
    image: Image
    framework: Annotated[
        Framework, Field(description="framework that receives the plan's degrees, batch sizes and paths; script = none")
    ] = "script"
    api: Annotated[
        Literal["v1", "v2"],
        Field(description="v1: a PyTorchJob; v2: a TrainJob of Kubeflow Trainer, which this program does not install"),
    ] = "v1"
    within: Annotated[
        Literal["leaf", "spine", "core"] | None,
        Field(
            description="switches of the fabric that the gang stays below, or waits for; with api v2, and such a run "
            "takes no nodes from experiments (Volcano 1.14); None = pods go near each other where there is room"
        ),
    ] = None
    launcher: Annotated[
        Literal["torchrun", "mpi"], Field(description="mpi: mpirun over SSH by mpi-operator, a rank for each GPU")
    ] = "torchrun"
    script: Annotated[
        tuple[str, ...],
        Field(description="what the launcher runs, with its arguments; for framework reference only the arguments"),
    ] = ()
    elastic: Annotated[Elastic | None, Field(description="None = all nodes or none")] = None
    numa_binding: Annotated[
        NumaBinding | None,
        Field(description="pin processes to the cores near their GPU; None = as the kubelet decides"),
    ] = None
    loader_workers: Annotated[
        int | None,
        Field(
            ge=0,
            le=128,
            description="processes of each rank that load data, told to frameworks that have such; None = as the "
            "framework does by itself",
        ),
    ] = None
    profile: Profile | None = None
    nccl: Annotated[
        tuple[Variable, ...],
        Field(description="variables that override the platform's; NCCL's defaults are usually right"),
    ] = ()
    topology: Annotated[
        Topology | None,
        Field(
            description="NCCL's own file of a node's buses and cards (XML), for nodes that do not show them, such as "
            "virtual machines; None = NCCL looks, and on EC2 the fabric's plugin knows"
        ),
    ] = None
    shm_gib: Annotated[int, Field(ge=1, le=65_536)] = 64
    model: Annotated[str | None, Field(description="row of the model catalogue, e.g. llama-3-70b")] = None
    method: Literal["full", "lora", "qlora"] = "full"
    precision: Literal["bf16", "fp8"] = "bf16"
    gradients: Literal["bf16", "fp32"] = "bf16"
    sharding: Annotated[
        Literal["none", "zero1", "zero2", "zero3", "fsdp"], Field(description="what data-parallel ranks shard")
    ] = "fsdp"
    software: Annotated[
        Literal["megatron", "fsdp", "deepspeed", "automodel"] | None,
        Field(
            description="family whose published rates the forecast takes: megatron (NeMo too), fsdp (torchtitan, "
            "llm-foundry), deepspeed, automodel (FSDP with expert parallelism); None = derived from sharding and"
            " parallelism"
        ),
    ] = None
    compiled: Annotated[
        bool,
        Field(
            description="whether the script compiles its layers (torch.compile): bf16 under FSDP is then forecast "
            "faster; published FP8 runs under FSDP are compiled anyway"
        ),
    ] = False
    fused_attention: Annotated[
        bool,
        Field(
            description="false: the script keeps the scores of attention, which takes memory and time; true: they stay "
            "within a kernel (FlashAttention, PyTorch's SDPA)"
        ),
    ] = True
    parallelism: Parallelism = Field(default_factory=Parallelism)
    micro_batch: Annotated[
        int, Field(ge=1, le=65_536, description="micro-batch: sequences per pass of a model replica")
    ] = 1
    accumulation: Annotated[
        int, Field(ge=1, le=65_536, description="gradient accumulation: passes per optimizer step")
    ] = 1
    sequence_length: Annotated[int, Field(ge=16, le=16_777_216, description="tokens")] = 8192
    recompute: Annotated[Literal["none", "selective", "full"], Field(description="activation recomputation")] = (
        "selective"
    )
    dataset: Annotated[Reading | None, Field(description="dataset mounted at /data; None = none")] = None
    checkpoint: Checkpoint | None = None
    expected: Expected | None = None
    tokens_billion: Annotated[float | None, Field(gt=0, le=1_000_000, description="total training tokens in 10^9")] = (
        None
    )
    restarts: Annotated[int, Field(ge=0, le=1000, description="maximum number of restarts of the gang")] = 3
    deadline_hours: Annotated[
        float | None,
        Field(
            gt=0,
            le=8784,
            description="the run is terminated this many hours after its creation, time in the queue included; None"
            " = never",
        ),
    ] = None
    metrics_port: Annotated[
        int | None,
        Field(ge=1024, le=65_535, description="port on which rank 0 serves /metrics; None = no metrics"),
    ] = None
    commit: Annotated[
        LineageWord | None, Field(description="version of the script, such as a commit; a label of the run's jobs")
    ] = None
    follow_ups: Annotated[
        tuple[FollowUp, ...], Field(description="evaluations and exports of the run's checkpoints")
    ] = ()

    @model_validator(mode="after")
    def _keys_about_a_model_have_one(self) -> Self:
        lost = [to_camel(name) for name in _ABOUT_THE_MODEL if name in self.model_fields_set]
        if self.model is None and lost:
            raise SectionError([(("model",), f"is missing and needed by {', '.join(lost)}; name it")])
        return self

    @model_validator(mode="after")
    def _can_be_started(self) -> Self:
        problems: list[tuple[Path, str]] = []
        if not self.script and self.framework != "reference":
            problems.append(
                (("script",), "is missing, so torchrun has nothing to run; name the file, or set framework: reference")
            )
        if self.framework != "script" and self.model is None:
            sentence = f"is missing, and framework {self.framework} gets its arguments from the planner; name it"
            problems.append((("model",), sentence))
        if self.framework == "script" and self.profile is not None:
            problems.append(
                (
                    ("profile",),
                    "is passed to a framework, and a script of your own reads none of these flags; set framework, or"
                    " remove it",
                )
            )
        if self.elastic and self.elastic.min_nodes > self.nodes:
            sentence = f"is {self.elastic.min_nodes}, above nodes {self.nodes}; lower it"
            problems.append((("elastic", "minNodes"), sentence))
        problems += name_problems(self.name, self.follow_ups)
        names = [each.name for each in self.nccl]
        if self.topology is not None and TOPOLOGY_VARIABLE in names:
            said = f"is the file of {TOPOLOGY_VARIABLE}, which nccl sets, too; keep one"
            problems.append((("topology",), said))
        problems += repeated(names, "{} is set twice; keep one", "nccl", key="name")
        if problems:
            raise SectionError(problems)
        return self


class Training(Section):
    gates: Annotated[
        Gates | None,
        Field(description="tests of nodes before runs, which use only nodes that passed; None = no tests"),
    ] = None
    failures_per_1000_node_days: Annotated[
        float | None,
        Field(
            gt=0,
            le=1000,
            description="failures per 1,000 node-days of an eight-GPU node, as measured on site; None = the"
            " published rate of the GPU: 7.1 (A100), 3.8 (H100, H200), 6.5 elsewhere",
        ),
    ] = None
    datasets: tuple[Dataset, ...] = ()
    runs: tuple[TrainingRun, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    trial_database: Annotated[
        TrialDatabase | None, Field(description="None = where there are experiments, one of the defaults below")
    ] = None
    tracking: Annotated[Tracking | None, Field(description="experiment tracker of runs; None = logs only")] = None
    pipelines: Annotated[
        Pipelines | None, Field(description="Kubeflow Pipelines in the cluster; None = not installed")
    ] = None

    @property
    def by_mpi(self) -> bool:
        """Whether MPI starts one of the runs."""
        return any(run.launcher == "mpi" for run in self.runs)

    @property
    def database(self) -> TrialDatabase:
        """The trials' database as it is, if there are experiments."""
        return self.trial_database or TrialDatabase()
