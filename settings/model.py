"""What a stack file may say under `gpucluster:`. Plain values only; no pulumi, no I/O."""

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.types import Arn, Cidr, Image, Name, S3Uri, Section, ZoneId


class Aws(Section):
    """Where on AWS the cluster lives. Every GPU node, reservation and file system shares `gpu_zone`."""

    kind: Literal["aws"]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    zones: Annotated[tuple[ZoneId, ...], Field(min_length=2, max_length=6, description="zones of the control plane")]
    gpu_zone: ZoneId
    account_id: Annotated[str | None, Field(pattern=r"^\d{12}$", description="refuse any other account")] = None
    profile: Annotated[str | None, Field(description="profile of the AWS configuration to deploy with")] = None
    role_arn: Annotated[Arn | None, Field(description="role to assume for the deployment")] = None
    vpc_cidr: Cidr = "10.64.0.0/16"
    kubernetes_version: Annotated[str, Field(pattern=r"^1\.\d\d$")]
    public_access_cidrs: Annotated[
        tuple[Cidr, ...], Field(description="networks that may reach the Kubernetes API from outside; none = private")
    ] = ()

    @model_validator(mode="after")
    def _zones_belong_together(self) -> Self:
        if len(set(self.zones)) != len(self.zones):
            raise ValueError("zones: a zone is named twice")
        if self.gpu_zone not in self.zones:
            raise ValueError(f"gpuZone: {self.gpu_zone} is not one of zones; add it there")
        return self


class Metal(Section):
    """Racks you own. The planner reads it; deployment comes with the bare-metal stack."""

    kind: Literal["metal"]


class Pool(Section):
    """A node pool. GPU count, EFA interfaces, NVMe and price follow from the instance type (catalogue)."""

    name: Name
    role: Literal["system", "training", "inference"]
    instance_type: str
    count: Annotated[int, Field(ge=0, le=4096)]
    capacity: Annotated[
        Literal["on-demand", "spot"], Field(description="how the instances are bought")
    ] = "on-demand"
    root_volume_gib: Annotated[int, Field(ge=20, le=16384)] = 200


class FsxLustre(Section):
    """FSx for Lustre. SCRATCH_2 has a fixed 200 MB/s per TiB; PERSISTENT_2 takes a throughput tier."""

    deployment_type: Literal["SCRATCH_2", "PERSISTENT_2"]
    capacity_gib: Annotated[int, Field(ge=1200)]
    throughput_mbps_per_tib: Literal[125, 250, 500, 1000] | None = None
    efa: bool = False

    @model_validator(mode="after")
    def _tier_follows_type(self) -> Self:
        persistent = self.deployment_type == "PERSISTENT_2"
        if persistent and self.throughput_mbps_per_tib is None:
            raise ValueError("throughputMbpsPerTib: PERSISTENT_2 needs 125, 250, 500 or 1000")
        if not persistent and self.throughput_mbps_per_tib is not None:
            raise ValueError("throughputMbpsPerTib: SCRATCH_2 has no tiers (200 MB/s per TiB); remove the key")
        if self.efa and not persistent:
            raise ValueError("efa: only PERSISTENT_2 can be created with EFA")
        return self


class ObjectStore(Section):
    """The stack's own bucket: checkpoints and artefacts, versioned, SSE-KMS."""

    checkpoint_days: Annotated[int, Field(ge=1, le=3650, description="checkpoints older than this expire")] = 30


class Storage(Section):
    lustre: FsxLustre
    object_store: ObjectStore = ObjectStore()


class Queue(Section):
    """A Volcano queue. `gpus` caps it; None leaves it to the weights."""

    name: Name
    weight: Annotated[int, Field(ge=1, le=65535)] = 1
    gpus: Annotated[int | None, Field(ge=1)] = None
    reclaimable: bool = True


class Scheduling(Section):
    queues: Annotated[tuple[Queue, ...], Field(min_length=1)]


class TrainingRun(Section):
    """A gang-scheduled PyTorchJob: one pod per node of the pool, every GPU and EFA interface of the node."""

    name: Name
    pool: Name
    nodes: Annotated[int, Field(ge=1, le=4096)]
    queue: Name
    image: Image
    script: Annotated[tuple[str, ...], Field(min_length=1, description="what torchrun runs, with its arguments")]
    shm_gib: Annotated[int, Field(ge=1)] = 64


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
    max_model_len: Annotated[int, Field(ge=256)] = 8192
    gpu_memory_utilization: Annotated[float, Field(ge=0.1, le=0.98)] = 0.9
    min_replicas: Annotated[int, Field(ge=1)] = 1
    max_replicas: Annotated[int, Field(ge=1)] = 1
    waiting_per_replica: Annotated[int, Field(ge=1, description="HPA target: requests waiting per pod")] = 5

    @model_validator(mode="after")
    def _replicas_in_order(self) -> Self:
        if self.min_replicas > self.max_replicas:
            raise ValueError(f"maxReplicas: {self.max_replicas} is below minReplicas {self.min_replicas}")
        return self


class Serving(Section):
    services: tuple[Service, ...] = ()


class Security(Section):
    deployer_arn: Annotated[
        Arn | None, Field(description="who runs `pulumi up`; None = whoever calls, so pin it where several people do")
    ] = None
    admin_arns: Annotated[tuple[Arn, ...], Field(description="further administrators of the cluster")] = ()


class Budget(Section):
    max_hourly_usd: Annotated[float, Field(gt=0, description="the planner refuses a stack that costs more per hour")]


class Lifecycle(Section):
    """Ownership and protection. `protect` guards what holds data or is slow to get back."""

    owner: Annotated[str, Field(min_length=2, max_length=128)]
    cost_centre: Annotated[str, Field(min_length=1, max_length=128)]
    expiry: Annotated[date | None, Field(description="day after which the stack may be destroyed; None = keep")] = None
    protect: bool = False


class Waiver(Section):
    """One finding accepted on purpose, until a day."""

    rule: Annotated[str, Field(pattern=r"^[a-z]+(-[a-z0-9]+)+$")]
    reason: Annotated[str, Field(min_length=10)]
    until: date


class Settings(Section):
    platform: Annotated[Aws | Metal, Field(discriminator="kind")]
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    storage: Storage
    scheduling: Scheduling
    training: Training = Training()
    serving: Serving = Serving()
    security: Security = Security()
    budget: Budget
    lifecycle: Lifecycle
    waivers: tuple[Waiver, ...] = ()
