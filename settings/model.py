"""What a stack file may say under `gpucluster:`. Plain values only; no pulumi, no I/O.

Rules about one value or about names that refer to each other live here; everything that needs numbers about hardware
is the planner's. Secrets (`gpucluster:hfToken`, `gpucluster:apiToken`) are keys of their own and never part of this.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from settings.references import across_sections
from settings.types import (
    AccountId,
    Arn,
    Cidr,
    Day,
    Image,
    KubernetesMinor,
    Name,
    Path,
    Region,
    RuleId,
    S3Uri,
    Section,
    SectionError,
    VpcCidr,
    ZoneId,
)
from settings.zones import zone_prefix


class Aws(Section):
    """Where on AWS the cluster lives. Every GPU node, reservation and file system shares `gpu_zone`."""

    kind: Literal["aws"]
    region: Region
    zones: Annotated[tuple[ZoneId, ...], Field(min_length=2, max_length=6, description="zones of the control plane")]
    gpu_zone: ZoneId
    account_id: Annotated[AccountId | None, Field(description="refuse any other account")] = None
    profile: Annotated[str | None, Field(description="profile of the AWS configuration to deploy with")] = None
    role_arn: Annotated[Arn | None, Field(description="role to assume for the deployment")] = None
    vpc_cidr: Annotated[VpcCidr, Field(description="a private /16 to /20; it cannot change later")] = "10.64.0.0/16"
    kubernetes_version: KubernetesMinor
    public_access_cidrs: Annotated[
        tuple[Cidr, ...], Field(description="networks that may reach the Kubernetes API from outside; none = private")
    ] = ()

    @model_validator(mode="after")
    def _zones_belong_together(self) -> Self:
        problems: list[tuple[Path, str]] = []
        prefix = zone_prefix(self.region)
        for index, zone in enumerate(self.zones):
            if zone in self.zones[:index]:
                problems.append((("zones", index), f"{zone} is named twice; name each zone once"))
            elif not zone.startswith(f"{prefix}-"):
                problems.append((("zones", index), f"{zone} is not in {self.region}; its zones are {prefix}-az1, ..."))
        if self.gpu_zone not in self.zones:
            problems.append((("gpuZone",), f"{self.gpu_zone} is not one of zones; name it there too"))
        if problems:
            raise SectionError(problems)
        return self


class Metal(Section):
    """Racks you own. Known as a platform, so that its keys and those of AWS are never mixed; not deployable yet."""

    kind: Literal["metal"]


class Pool(Section):
    """A node pool. GPU count, EFA interfaces, NVMe and price follow from the instance type (catalogue)."""

    name: Name
    role: Literal["system", "training", "inference"]
    instance_type: str
    count: Annotated[int, Field(ge=0, le=4096)]
    capacity: Annotated[Literal["on-demand", "spot"], Field(description="how the instances are bought")] = "on-demand"
    root_volume_gib: Annotated[int, Field(ge=20, le=16384)] = 200


class FsxLustre(Section):
    """FSx for Lustre. SCRATCH_2 has a fixed 200 MB/s per TiB; PERSISTENT_2 takes a throughput tier."""

    deployment_type: Literal["SCRATCH_2", "PERSISTENT_2"]
    capacity_gib: Annotated[int, Field(ge=1200)]
    throughput_mbps_per_tib: Literal[125, 250, 500, 1000] | None = None
    efa: bool = False

    @model_validator(mode="after")
    def _tier_follows_type(self) -> Self:
        problems: list[tuple[Path, str]] = []
        persistent = self.deployment_type == "PERSISTENT_2"
        if persistent and self.throughput_mbps_per_tib is None:
            problems.append((("throughputMbpsPerTib",), "PERSISTENT_2 needs a tier; type 125, 250, 500 or 1000"))
        if not persistent and self.throughput_mbps_per_tib is not None:
            problems.append((("throughputMbpsPerTib",), "SCRATCH_2 has no tiers (200 MB/s per TiB); remove the key"))
        if self.efa and not persistent:
            problems.append((("efa",), "only PERSISTENT_2 can be created with EFA; remove the key or change the type"))
        if problems:
            raise SectionError(problems)
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
            sentence = f"is {self.max_replicas}, below minReplicas {self.min_replicas}; raise it to {self.min_replicas}"
            raise SectionError([(("maxReplicas",), sentence)])
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
    """Ownership and protection. `protect` marks production: it guards what holds data or is slow to get back."""

    owner: Annotated[str, Field(min_length=2, max_length=128)]
    cost_centre: Annotated[str, Field(min_length=1, max_length=128)]
    expiry: Annotated[Day | None, Field(description="day after which the stack may be destroyed; None = keep")] = None
    protect: bool = False


class Waiver(Section):
    """One finding accepted on purpose, until a day. Without `subject` it covers every finding of the rule."""

    rule: RuleId
    subject: Annotated[str | None, Field(description="the image, pool, run or service it is about")] = None
    reason: Annotated[str, Field(min_length=10)]
    until: Day


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

    @model_validator(mode="wrap")
    @classmethod
    def _everything_at_once(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check references beside the fields, not after them, so that one look shows everything wrong."""
        problems = across_sections(data)
        about_fields: list[InitErrorDetails] = []
        try:
            settings = handler(data)
        except ValidationError as error:
            if not problems:
                raise
            about_fields = [
                InitErrorDetails(type=e["type"], loc=e["loc"], input=e["input"], ctx=e.get("ctx", {}))
                for e in error.errors()
            ]
        if not problems:
            return settings
        about_references = InitErrorDetails(
            type="value_error", loc=(), input=data, ctx={"error": SectionError(problems)}
        )
        raise ValidationError.from_exception_data(cls.__name__, [*about_fields, about_references], hide_input=True)

    @property
    def aws(self) -> Aws:
        """The platform section of an AWS stack. Raises TypeError on another platform."""
        if not isinstance(self.platform, Aws):
            raise TypeError(f"platform.kind is {self.platform.kind}, not aws")
        return self.platform
