"""What a stack file may say under `gpucluster:`. Plain values only; no pulumi, no I/O.

Rules about one value or about names that refer to each other live here; everything that needs numbers about hardware
is the planner's. Secrets (`gpucluster:hfToken`, `gpucluster:apiToken`, those that receivers of alerts name) are keys of
their own and never part of this.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from settings.aws import Aws, AwsSecurity, HourlyBudget
from settings.aws_names import TagValue
from settings.aws_pools import AwsPool
from settings.aws_storage import AwsStorage
from settings.external_secrets import ExternalSecrets
from settings.facility import Facility
from settings.inventory import Inventory
from settings.keeper import Keeper
from settings.metal import FabricSection, Metal, MetalBudget, MetalPool
from settings.metal_storage import MetalStorage
from settings.monitoring import Monitoring
from settings.pools import Pool
from settings.queues import Scheduling
from settings.references import across_sections
from settings.registry import Registry
from settings.sections import Section, SectionError
from settings.serving import Serving
from settings.site_rows import SiteRows
from settings.slurm import Slurm
from settings.supply import AwsSupply, MetalSupply, Supply
from settings.teams import Team
from settings.types import Day, RuleId
from settings.workloads import Training


class Lifecycle(Section):
    """Ownership and protection. `protect` marks production: it protects resources that hold data or take long to
    recreate.
    """

    owner: Annotated[TagValue, Field(min_length=2, max_length=128)]
    cost_centre: Annotated[TagValue, Field(min_length=1, max_length=128)]
    expiry: Annotated[Day | None, Field(description="day after which the stack may be destroyed; None = keep")] = None
    protect: bool = False

    @model_validator(mode="after")
    def _ends_or_is_kept(self) -> Self:
        if self.protect and self.expiry:
            raise SectionError([(("expiry",), "is set on a stack with protect: true; remove one of them")])
        return self


class Waiver(Section):
    """A finding that is suppressed on purpose until a date. Without `subject` it covers every finding of the rule."""

    rule: RuleId
    subject: Annotated[str | None, Field(description="the image, pool, run or service that it applies to")] = None
    reason: Annotated[str, Field(min_length=10)]
    until: Day


class Settings(Section):
    """Settings common to all platforms. A stack file is read as one of the subclasses."""

    preset: Annotated[str | None, Field(description="a shipped stack that this file overrides")] = None
    example: Annotated[
        bool,
        Field(
            description="true: bucket names, addresses and accounts are placeholders, to be replaced before"
            " a deployment"
        ),
    ] = False
    platform: Aws | Metal
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)]
    scheduling: Scheduling
    teams: Annotated[
        tuple[Team, ...], Field(max_length=50, description="teams that share the cluster, each with its own namespace")
    ] = ()
    training: Training = Field(default_factory=Training)
    serving: Serving = Field(default_factory=Serving)
    monitoring: Annotated[Monitoring | None, Field(description="None = neither Prometheus nor log collection")] = None
    supply: Annotated[Supply, Field(description="mirrors of images and charts; None = from their vendors")] = Field(
        default_factory=Supply
    )
    lifecycle: Lifecycle
    waivers: tuple[Waiver, ...] = ()
    catalogue: SiteRows = Field(default_factory=SiteRows)

    @property
    def watches_files(self) -> bool:
        """Whether servers of the shared file system are asked for their rates."""
        return self.monitoring is not None and self.monitoring.file_system

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


class AwsSettings(Settings):
    """A stack on AWS."""

    platform: Aws
    pools: Annotated[tuple[AwsPool, ...], Field(min_length=1)]
    storage: AwsStorage
    security: AwsSecurity = Field(default_factory=AwsSecurity)
    budget: HourlyBudget
    registry: Annotated[Registry | None, Field(description="None = the stack has no repositories")] = None
    supply: Annotated[AwsSupply, Field(description="mirrors of images and charts; None = from their vendors")] = Field(
        default_factory=AwsSupply
    )
    keeper: Annotated[Keeper | None, Field(description="None = no scheduled end and no off-hours")] = None
    external_secrets: Annotated[
        ExternalSecrets | None,
        Field(description="secrets in AWS Secrets Manager; None = all secrets are values of this file"),
    ] = None


class MetalSettings(Settings):
    """A stack on premises: racks, servers and a fabric of the site's own."""

    platform: Metal
    pools: Annotated[tuple[MetalPool, ...], Field(min_length=1)]
    fabric: FabricSection
    storage: MetalStorage
    facility: Facility
    budget: MetalBudget | None = None
    supply: Annotated[MetalSupply, Field(description="where images and charts come from, if not from their makers")] = (
        Field(default_factory=MetalSupply)
    )
    inventory: Annotated[Inventory | None, Field(description="None = the stack can be planned, but not deployed")] = (
        None
    )
    slurm: Annotated[Slurm, Field(description="limits and shares under Slurm, and the pools that it has")] = Field(
        default_factory=Slurm
    )


PLATFORMS: Mapping[str, type[AwsSettings] | type[MetalSettings]] = {"aws": AwsSettings, "metal": MetalSettings}
"""What a stack file is read as, by `platform.kind`."""
