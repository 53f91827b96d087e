"""What runs on the cluster: queues, training runs, model services."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.types import Image, Name, S3Uri, Section, SectionError

Degree = Annotated[int, Field(ge=1, le=4096)]


class Queue(Section):
    """A Volcano queue. `gpus` caps it; None leaves it to the weights."""

    name: Name
    weight: Annotated[int, Field(ge=1, le=65535)] = 1
    gpus: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    reclaimable: bool = True


class Scheduling(Section):
    queues: Annotated[tuple[Queue, ...], Field(min_length=1)]


class Parallelism(Section):
    """How a model is spread over the run's GPUs; `data` None is what the other degrees leave of them."""

    tensor: Degree = 1
    pipeline: Degree = 1
    context: Degree = 1
    expert: Degree = 1
    data: Degree | None = None


class Dataset(Section):
    """What a run reads in an epoch; `staging` copies a node's shard, or all of it, to the local disks first."""

    gb: Annotated[float, Field(gt=0, le=10_000_000, description="decimal GB")]
    staging: Literal["none", "shard", "full"] = "none"


class Checkpoint(Section):
    """How often a run saves, how long it may stand for it, how many saves are kept, and where they go on to."""

    every_minutes: Annotated[float, Field(gt=0, le=10_080)]
    within_seconds: Annotated[float, Field(gt=0, le=86_400, description="longest pause that a save may cause")]
    keep: Annotated[int, Field(ge=1, le=1000)] = 3
    local: Annotated[bool, Field(description="save to the nodes' own disks first, and copy from there")] = False
    file_system_minutes: Annotated[
        float | None, Field(gt=0, le=10_080, description="with local: how often a save goes on; None = each does")
    ] = None
    object_store_hours: Annotated[
        Literal[1, 2, 3, 4, 6, 8, 12, 24] | None,
        Field(description="how often the newest save is checked and copied to the object store; None = never"),
    ] = None

    @model_validator(mode="after")
    def _each_place_is_rarer(self) -> Self:
        problems = []
        if self.file_system_minutes is not None:
            if not self.local:
                problems.append((("fileSystemMinutes",), "means nothing without local: true; remove it or add that"))
            elif self.file_system_minutes < self.every_minutes:
                sentence = f"is {self.file_system_minutes:g}, below everyMinutes {self.every_minutes:g}; raise it"
                problems.append((("fileSystemMinutes",), sentence))
        if self.object_store_hours is not None and self.object_store_hours * 60 < self.on_file_system_minutes:
            sentence = (
                f"is {self.object_store_hours}, and only every {self.on_file_system_minutes:g} min is there another "
                "save to copy; raise it"
            )
            problems.append((("objectStoreHours",), sentence))
        if problems:
            raise SectionError(problems)
        return self

    @property
    def on_file_system_minutes(self) -> float:
        """How often the shared file system gets a save."""
        return self.every_minutes if self.file_system_minutes is None else self.file_system_minutes


class Expected(Section):
    """What a run is said to reach. The planner holds the numbers against each other and against the run's GPUs."""

    tokens_per_second: Annotated[float | None, Field(gt=0, le=1e12, description="of the whole run")] = None
    mfu: Annotated[float | None, Field(gt=0, le=1, description="model FLOP utilisation, 0.4 = 40 %")] = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.tokens_per_second is None and self.mfu is None:
            raise SectionError([((), "says nothing; add tokensPerSecond, mfu or both")])
        return self


_ABOUT_THE_MODEL = {
    "method": "method",
    "precision": "precision",
    "gradients": "gradients",
    "sharding": "sharding",
    "parallelism": "parallelism",
    "micro_batch": "microBatch",
    "accumulation": "accumulation",
    "sequence_length": "sequenceLength",
    "recompute": "recompute",
    "checkpoint": "checkpoint",
    "expected": "expected",
    "tokens_billion": "tokensBillion",
}


class TrainingRun(Section):
    """A gang-scheduled PyTorchJob: one pod per node of the pool, every GPU and fabric interface of the node.

    With `model` the planner computes memory, checkpoints and time; the keys about it mean nothing without it.
    """

    name: Name
    pool: Name
    nodes: Annotated[int, Field(ge=1, le=4096)]
    queue: Name
    image: Image
    script: Annotated[tuple[str, ...], Field(min_length=1, description="what torchrun runs, with its arguments")]
    shm_gib: Annotated[int, Field(ge=1, le=65_536)] = 64
    model: Annotated[str | None, Field(description="row of the model catalogue, e.g. llama-3-70b")] = None
    method: Literal["full", "lora", "qlora"] = "full"
    precision: Literal["bf16", "fp8"] = "bf16"
    gradients: Literal["bf16", "fp32"] = "bf16"
    sharding: Annotated[
        Literal["none", "zero1", "zero2", "zero3", "fsdp"], Field(description="what data parallel ranks share out")
    ] = "fsdp"
    parallelism: Parallelism = Field(default_factory=Parallelism)
    micro_batch: Annotated[int, Field(ge=1, le=65_536, description="sequences of one pass of a model replica")] = 1
    accumulation: Annotated[int, Field(ge=1, le=65_536, description="passes before the optimizer steps")] = 1
    sequence_length: Annotated[int, Field(ge=16, le=16_777_216, description="tokens")] = 8192
    recompute: Annotated[
        Literal["none", "selective", "full"], Field(description="activations that are computed again, not kept")
    ] = "selective"
    dataset: Dataset | None = None
    checkpoint: Checkpoint | None = None
    expected: Expected | None = None
    tokens_billion: Annotated[
        float | None, Field(gt=0, le=1_000_000, description="what the run trains on in the end, in 10^9 tokens")
    ] = None
    restarts: Annotated[
        int, Field(ge=0, le=1000, description="times that the whole gang may begin again at a checkpoint")
    ] = 3

    @model_validator(mode="after")
    def _keys_about_a_model_have_one(self) -> Self:
        lost = [alias for name, alias in _ABOUT_THE_MODEL.items() if name in self.model_fields_set]
        if self.model is None and lost:
            raise SectionError([(("model",), f"is missing, and {', '.join(lost)} say something about it; name it")])
        return self


class Training(Section):
    runs: tuple[TrainingRun, ...] = ()


class Service(Section):
    """A vLLM service under an HPA. Weights are copied from S3 to the shared file system once."""

    name: Name
    pool: Name
    model: Annotated[str, Field(description="row of the model catalogue, e.g. llama-3-8b")]
    weights: S3Uri
    image: Image
    tensor_parallel: Annotated[int, Field(ge=1, le=64)] = 1
    max_model_len: Annotated[int, Field(ge=256, le=16_777_216)] = 8192
    gpu_memory_utilization: Annotated[float, Field(ge=0.1, le=0.98)] = 0.9
    quantization: Annotated[
        Literal["none", "fp8", "int4"], Field(description="fp8 = made of the weights as they load; int4 = published so")
    ] = "none"
    kv_cache_dtype: Annotated[Literal["auto", "fp8"], Field(description="auto = the weights' own type")] = "auto"
    min_replicas: Annotated[int, Field(ge=1, le=4096)] = 1
    max_replicas: Annotated[int, Field(ge=1, le=4096)] = 1
    waiting_per_replica: Annotated[int, Field(ge=1, le=65_536, description="HPA target: requests waiting per pod")] = 5

    @model_validator(mode="after")
    def _replicas_in_order(self) -> Self:
        if self.min_replicas > self.max_replicas:
            sentence = f"is {self.max_replicas}, below minReplicas {self.min_replicas}; raise it to {self.min_replicas}"
            raise SectionError([(("maxReplicas",), sentence)])
        return self


class Serving(Section):
    services: tuple[Service, ...] = ()
