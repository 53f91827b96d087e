"""What the plan says of runs and services, and what one of their pods asks for. Units are in the field names."""

from dataclasses import dataclass
from typing import Literal

from planner.forecast import Forecast
from planner.placement import Replicas
from planner.reliability.checkpoints import Saving, TierPlan
from planner.serving.memory import AdapterPlan
from planner.training.plan import LaunchPlan, TrainingPlan


@dataclass(frozen=True, kw_only=True)
class PodResources:
    """Requests of one pod, which are its limits too: the memory limit holds `shm_mib` as well."""

    gpus: int
    efa: int
    cpu_millicores: int
    memory_mib: int
    shm_mib: int


@dataclass(frozen=True, kw_only=True)
class FollowUpPlan:
    """A job on the newest whole checkpoint of a run: `script` on one node, looked for every `every_s`, or once when the
    run has ended (`after_end`). It is ended `deadline_s` after it was made, and taken away `keep_s` after its end.
    """

    name: str
    pool: str
    queue: str
    image: str
    script: tuple[str, ...]
    after_end: bool
    every_s: int
    deadline_s: int
    keep_s: int
    pod: PodResources


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A gang: as many of its `pods` as `launch` says start together or not at all (PodGroup minMember), and all begin
    again `restarts` times.

    `net_plugin` is how NCCL is told to find the plugin of the fabric between its nodes, None where it brings its own.
    `training` and `forecast` where it names a model, `saving` and `tiers`, the places for checkpoints, where it saves.
    `dataset` is the one that it reads, by name; as much as `staging` says comes to the nodes' own disks first.
    `metrics_port` is set where its first rank tells Prometheus of itself. It is ended `deadline_s` after it was made.
    It stays below one switch of the kind `within`, None where it need not.
    `topology` is the text of NCCL's file of a node, None where NCCL looks for itself.
    """

    name: str
    pool: str
    queue: str
    priority: Literal["training", "experiments"]
    image: str
    script: tuple[str, ...]
    restarts: int
    pods: int
    gpus: int
    efa: int
    pod: PodResources
    launch: LaunchPlan
    net_plugin: str | None = None
    training: TrainingPlan | None = None
    forecast: Forecast | None = None
    saving: Saving | None = None
    tiers: tuple[TierPlan, ...] = ()
    dataset: str | None = None
    staging: Literal["none", "shard", "full"] = "none"
    metrics_port: int | None = None
    deadline_s: int | None = None
    commit: str | None = None
    launcher: Literal["torchrun", "mpi"] = "torchrun"
    api: Literal["v1", "v2"] = "v1"
    within: Literal["leaf", "spine", "core"] | None = None
    topology: str | None = None
    follow_ups: tuple[FollowUpPlan, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScalingPlan:
    """What a service's replicas follow: so many requests waiting, or such a use of the KV cache, for each. There is one
    more when either has asked for it for `up_seconds`, one less when neither has needed it for `down_seconds`. The last
    one goes after `idle_seconds` without a request, None where it stays.
    """

    waiting_per_replica: int
    kv_cache_percent: int
    up_seconds: int
    down_seconds: int
    idle_seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class ServicePlan:
    """A model service; memory is that of one replica, over all its GPUs (or slices of MIG), in decimal GB.

    `load_seconds` is the time to read the weights, `startup_seconds` the budget of the startup probe, twice that,
    `copy_seconds` that of the Job that copies them from `weights` and compares them with their SHA256SUMS, whose digest
    is `weights_sha256` if somebody said it, and `scale_up_seconds` what passes until a further replica answers on a
    node without its image. Without replicas the first caller waits `wake_seconds`, None where there always are some. A
    single request gets `request_tokens_per_s` at most, the rate at which memory gives the
    active weights. `quantization` and `kv_cache_dtype` are what vLLM makes of weights and cache, None
    for what they are. With `spare_replica` the pool has room for one more than `max_replicas` while all services have
    theirs; `max_replicas` is never more than what finds room beside the fewest replicas of the pool's other services.
    With `spread` no two replicas share a node. `scaling` is None where replicas do not change.

    A batch has up to `max_num_seqs` requests and a step up to `max_num_batched_tokens` tokens, None for vLLM's own
    numbers. `adapters` are offered beside the model; `max_loras` of one batch, of ranks up to `max_lora_rank`, have
    `lora_gb` set aside. A replica that stops has `drain_seconds` for its streams, of which the longest takes
    `longest_stream_seconds` at the least, and is killed after `grace_seconds`. Callers come in with the
    secrets of the stack that `keys` name; the `pod` has a little for what lets them in.
    """

    name: str
    pool: str
    image: str
    model: str
    weights: str
    weights_sha256: str | None
    min_replicas: int
    max_replicas: int
    scaling: ScalingPlan | None
    spread: bool
    spare_replica: bool
    max_model_len: int
    gpu_memory_utilization: float
    quantization: str | None
    kv_cache_dtype: str | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    prefix_caching: bool
    chunked_prefill: bool
    adapters: tuple[AdapterPlan, ...]
    max_loras: int
    max_lora_rank: int
    gpus: int
    gpu_product: str
    weights_gb: float
    overhead_gb: float
    lora_gb: float
    kv_cache_gb: float
    kv_bytes_per_token: int
    kv_cache_tokens: int
    full_sequences: int
    load_seconds: float
    startup_seconds: int
    copy_seconds: int
    scale_up_seconds: int
    wake_seconds: int | None
    request_tokens_per_s: int
    longest_stream_seconds: int
    drain_seconds: int
    grace_seconds: int
    keys: tuple[str, ...]
    token_groups: tuple[str, ...]
    pod: PodResources

    @property
    def to_zero(self) -> bool:
        """Whether there are no replicas while nobody asks."""
        return self.wake_seconds is not None

    @property
    def fewest(self) -> Replicas:
        """The replicas that always run."""
        return Replicas(gpus=self.pod.gpus, count=self.min_replicas, spread=self.spread)

    @property
    def most(self) -> Replicas:
        """The replicas at the autoscaler's upper end."""
        return Replicas(gpus=self.pod.gpus, count=self.max_replicas, spread=self.spread)


@dataclass(frozen=True, kw_only=True)
class TritonPlan:
    """A Triton server: `replicas` pods that serve the model repository of `models_gb` decimal GB below `models`.

    `copy_seconds` is the budget of the Job that copies it, `startup_seconds` that of the startup probe. Callers
    have the secrets of the stack that `keys` name, or tokens of members of `token_groups`; the `pod` has a little for
    what lets them in.
    """

    name: str
    pool: str
    image: str
    models: str
    weights_sha256: str | None
    models_gb: float
    replicas: int
    spare_replica: bool
    gpus: int
    gpu_product: str
    startup_seconds: int
    copy_seconds: int
    keys: tuple[str, ...]
    token_groups: tuple[str, ...]
    pod: PodResources

    @property
    def always(self) -> Replicas:
        """The replicas that always run."""
        return Replicas(gpus=self.pod.gpus, count=self.replicas)
