"""What a stack's VPC has beyond its subnets."""

from dataclasses import dataclass

from catalogue.units import HOURS_PER_MONTH
from planner.cost.stack import Traffic
from planner.said import PodGroups
from planner.teams import READ_PARTS, WRITTEN_PARTS, HomePlan
from settings.model import AwsSettings


@dataclass(frozen=True, kw_only=True)
class FlowLogsPlan:
    """Records of the VPC's traffic (`ALL`, `ACCEPT` or `REJECT`, as EC2 calls it), kept for `days`."""

    days: int
    traffic: str


@dataclass(frozen=True, kw_only=True)
class VpcPlan:
    """The VPC beyond its subnets. `flow_logs` None: nothing records who speaks with whom.

    `pod_cidr` is the range that pods have addresses of, None where they share their nodes' subnets. `existing` is the
    id of a VPC that somebody else made, None where the stack makes its own. `leads_out`: routes of the private subnets
    lead to the Internet. `endpoints` are services of AWS with an interface in each of `endpoint_zones`,
    `endpoints_there` those that an existing VPC has already. With `prefixes` pods' addresses come in blocks of 16.
    `pod_groups` are security groups of single services and teams.
    """

    flow_logs: FlowLogsPlan | None
    endpoints: tuple[str, ...]
    endpoint_zones: tuple[str, ...]
    existing: str | None = None
    leads_out: bool = True
    endpoints_there: tuple[str, ...] = ()
    pod_cidr: str | None = None
    prefixes: bool = False
    pod_groups: tuple[PodGroups, ...] = ()

    def cidrs(self, vpc_cidr: str) -> tuple[str, ...]:
        """All ranges of the VPC, whose first is `vpc_cidr`."""
        return (vpc_cidr, self.pod_cidr) if self.pod_cidr else (vpc_cidr,)

    @property
    def reached_inside(self) -> tuple[str, ...]:
        """Services of AWS whose names lead to addresses of the VPC."""
        return (*self.endpoints, *self.endpoints_there)

    @property
    def endpoint_interfaces(self) -> int:
        """Interfaces of all endpoints: what is paid for by the hour."""
        return len(self.endpoints) * len(self.endpoint_zones)


FLOW_LOG_GB_PER_NODE = 2
"""GB of flow logs that a node's traffic makes in a month: an assumption, as in 30 flows of 100 bytes every 10 minutes
on each of 150 addresses."""


QUERIES_A_MINUTE = 8
"""Of what reads the file system's rates (node/file_system/rates.py)."""


def traffic(settings: AwsSettings, home: HomePlan | None) -> Traffic:
    """What the bill assumes to pass through the network, and through people's own files, in a month."""
    logged = FLOW_LOG_GB_PER_NODE if settings.platform.network.flow_logs else 0
    metrics = QUERIES_A_MINUTE * 60 * HOURS_PER_MONTH if settings.watches_files else 0
    if home is None:
        return Traffic(flow_log_gb_per_node=logged, metrics=metrics)
    return Traffic(
        flow_log_gb_per_node=logged,
        metrics=metrics,
        home_gb=home.expected_gib,
        home_read_gb=home.expected_gib * READ_PARTS,
        home_written_gb=home.expected_gib * WRITTEN_PARTS,
        home_backed_up=home.backed_up,
    )


def plan_vpc(settings: AwsSettings) -> VpcPlan:
    """What the stack file asks of the network."""
    platform, network = settings.platform, settings.platform.network
    logs = network.flow_logs
    zones = platform.zones if network.endpoints_per_zone else (platform.gpu_zone,)
    existing = network.existing
    return VpcPlan(
        existing=existing.vpc_id if existing else None,
        leads_out=existing.leads_out if existing else network.nat != "none",
        flow_logs=FlowLogsPlan(days=logs.retention_days, traffic=logs.traffic.upper()) if logs else None,
        endpoints=network.endpoints,
        endpoint_zones=zones if network.endpoints else (),
        endpoints_there=existing.endpoints if existing else (),
        pod_cidr=network.pod_cidr,
        prefixes=network.prefix_delegation,
        pod_groups=network.pod_groups,
    )
