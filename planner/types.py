"""What the planner returns: numbers only, frozen, free of pulumi. Units are in the field names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.supply import Supply
from planner.bom import Bom
from planner.cost.amounts import Prices
from planner.experiments import ExperimentPlan
from planner.external_secrets import ExternalSecretsPlan
from planner.findings import Finding, Severity
from planner.gate_types import GatePlan
from planner.interconnect import Gate
from planner.keeper import KeeperPlan
from planner.mlops import DatasetPlan, TrackingPlan
from planner.monitoring.types import MonitoringPlan
from planner.placement import Sharing
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.procurement import Check, QuotaNeed
from planner.serving.gateway import GatewayPlan
from planner.stack import ApiEndpoint, AwsDeployment, ColdPlan, FsxPlan, Ownership
from planner.storage.types import StoragePlan
from planner.supply import CacheRulePlan, SignaturesPlan
from planner.teams import HomePlan, TeamPlan
from planner.vpc import VpcPlan
from planner.workload_types import RunPlan, ServicePlan, TritonPlan
from settings.aws import SpendingAlerts
from settings.aws_storage import PurposeBucket, SourceBucket
from settings.block_storage import BlockStorage
from settings.experiments import TrialDatabase
from settings.pipelines import Pipelines
from settings.queues import Queue
from settings.registry import Repository

SubnetRole = Literal["public", "control-plane", "system", "gpu", "pods"]


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A subnet. `needed` addresses is the worst case of what the plan puts there; AWS keeps 5 of each subnet.

    `existing` is the id of one that somebody else made, which may stand here once for each of its roles.
    """

    name: str
    role: SubnetRole
    zone_id: str
    cidr: str
    usable: int
    needed: int
    existing: str | None = None


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Sums over the pools."""

    nodes: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class AwsTotals(Totals):
    """Sums over the pools of a stack on AWS."""

    efa_interfaces: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Numbers and findings of one stack. What cannot be planned is missing from the maps, and there is a finding.

    `charts` are installed, by name. `gates` are the tests that a pool's nodes have to pass, `measured` is what does
    them, `sharing` is what services leave of it, by the pool's name. Without the section of that name there is no
    `monitoring`, no `external_secrets`, no `signatures` and no `gateway`; without `experiments` no `trial_database`,
    without their sections no `tracking` and no `pipelines`.
    """

    kubernetes_version: str
    ownership: Ownership
    supply: Supply
    charts: tuple[str, ...]
    totals: Totals
    pools: Mapping[str, PoolPlan]
    queues: tuple[Queue, ...]
    teams: tuple[TeamPlan, ...]
    gates: Mapping[str, tuple[Gate, ...]]
    measured: Mapping[str, GatePlan]
    datasets: Mapping[str, DatasetPlan]
    runs: Mapping[str, RunPlan]
    experiments: Mapping[str, ExperimentPlan]
    trial_database: TrialDatabase | None
    tracking: TrackingPlan | None
    pipelines: Pipelines | None
    services: Mapping[str, ServicePlan]
    triton: Mapping[str, TritonPlan]
    sharing: Mapping[str, Sharing]
    storage: StoragePlan | None
    gateway: GatewayPlan | None
    monitoring: MonitoringPlan | None
    findings: tuple[Finding, ...]
    external_secrets: ExternalSecretsPlan | None = None
    signatures: SignaturesPlan | None = None

    @property
    def adapted(self) -> bool:
        """Whether services scale by metrics of their pods that prometheus-adapter serves, where there is Prometheus."""
        return self.monitoring is not None and any(each.scaling and not each.to_zero for each in self.services.values())

    @property
    def to_zero(self) -> bool:
        """Whether services have no replicas while nobody asks, which KEDA sees where there is Prometheus."""
        return self.monitoring is not None and any(each.to_zero for each in self.services.values())

    @property
    def certificates(self) -> bool:
        """Whether the gateway or Katib's webhooks have certificates of cert-manager's."""
        return self.gateway is not None or bool(self.experiments)

    def trial_gpus(self, team: str) -> int:
        """GPUs that the trials of a team's experiments hold at most."""
        return sum(each.most_gpus for each in self.experiments.values() if each.team == team)

    @property
    def of_kubernetes(self) -> "Plan":
        """What of it Kubernetes runs."""
        return self

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that stop a deployment: errors that no valid waiver covers."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR and f.waiver is None)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings to show and go on: warnings, and errors that a waiver covers."""
        return tuple(f for f in self.findings if f.severity is Severity.WARNING or f.waiver is not None)


@dataclass(frozen=True, kw_only=True)
class AwsPlan(Plan):
    """The plan of a stack on AWS. The stack's bucket keeps checkpoints for `checkpoint_days`; `sources` are the buckets
    that weights and datasets come from, by name. Where nobody is told of what it costs, there is no `spending`;
    where it does not end or sleep by itself, no `keeper`; where people have no files of their own, no `home`.
    `purpose_buckets` are those beside the stack's own. `block` are further classes of volumes, and what becomes of
    snapshots. `cache` are the rules by which ECR fetches images.
    """

    deployment: AwsDeployment
    sources: Mapping[str, SourceBucket]
    endpoint: ApiEndpoint
    file_system: FsxPlan
    home: HomePlan | None
    block: BlockStorage
    checkpoint_days: int
    cold_checkpoints: ColdPlan | None
    purpose_buckets: tuple[PurposeBucket, ...]
    totals: AwsTotals
    pools: Mapping[str, AwsPoolPlan]
    subnets: tuple[Subnet, ...]
    nat_zones: tuple[str, ...]
    vpc: VpcPlan
    storage: StoragePlan
    prices: Prices
    spending: SpendingAlerts | None
    keeper: KeeperPlan | None
    repositories: tuple[Repository, ...]
    cache: tuple[CacheRulePlan, ...]
    quotas: tuple[QuotaNeed, ...]
    bom: Bom
    checklist: tuple[Check, ...]
