"""Foundations of an AWS stack: account, network, key, and the security group of EFA."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import physical_name
from components.aws.cluster import CLUSTER_NAME_LIMIT
from components.aws.endpoints import Endpoints, EndpointsArgs
from components.aws.existing_network import ExistingNetwork, ExistingSubnetSpec
from components.aws.flow_logs import FlowLogs, FlowLogsArgs
from components.aws.keys import Keys, KeysArgs
from components.aws.logs import log_group_prefix
from components.aws.network import Network, NetworkArgs, SubnetSpec
from components.aws.security_groups import EfaGroup, EfaGroupArgs
from components.layers import Fabric
from planner.types import AwsPlan


@dataclass(frozen=True, kw_only=True)
class Account:
    """The account and its deployer, known only when AWS answers."""

    id: pulumi.Output[str]
    partition: pulumi.Output[str]
    deployer_arn: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Network, key and EFA group. Without EFA nodes there is no group, without endpoints no service of AWS inside."""

    account: Account
    network: Network | ExistingNetwork
    keys: Keys
    efa_group_id: pulumi.Output[str] | None
    endpoints: Endpoints | None = None


def cluster_name() -> str:
    """The EKS cluster's name: project and stack."""
    return physical_name(pulumi.get_project(), pulumi.get_stack(), limit=CLUSTER_NAME_LIMIT)


def ground(plan: AwsPlan, account: Account, keys: Keys, fabric: Fabric, after: pulumi.Resource | None) -> Ground:
    """Register the parts of the fabric. `after` is what is there before them and goes when they have gone."""
    inside = pulumi.ResourceOptions(parent=fabric)
    network = _network(plan, after, inside)
    _flow_logs(plan, account, keys, network, inside)
    reached = _endpoints(plan, network, inside)
    efa = any(pool.efa for pool in plan.pools.values())
    group = EfaGroup("efa", EfaGroupArgs(vpc_id=network.vpc_id), inside).group_id if efa else None
    return Ground(account=account, network=network, keys=keys, efa_group_id=group, endpoints=reached)


def key(plan: AwsPlan, account: Account, fabric: Fabric) -> Keys:
    """Register the key, which the first of the stack's logs is written with."""
    return Keys("keys", _key_args(plan, account), pulumi.ResourceOptions(parent=fabric))


def ask_account(plan: AwsPlan, provider: aws.Provider) -> Account:
    """Ask who deploys."""
    options = pulumi.InvokeOutputOptions(provider=provider)
    caller = aws.get_caller_identity_output(opts=options)
    session = aws.iam.get_session_context_output(arn=caller.arn, opts=options)
    return Account(
        id=caller.account_id,
        partition=aws.get_partition_output(opts=options).partition,
        # A caller's session ends; the role behind it is what an access entry can name.
        deployer_arn=plan.deployment.deployer_arn or session.issuer_arn,
    )


def _network(plan: AwsPlan, after: pulumi.Resource | None, opts: pulumi.ResourceOptions) -> Network | ExistingNetwork:
    """The stack's own VPC, or the one that it is put into."""
    if plan.vpc.existing is None:
        return Network("network", _network_args(plan, after), opts)
    subnets = [
        ExistingSubnetSpec(id=each.existing, role=each.role, zone_id=each.zone_id)
        for each in plan.subnets
        if each.existing
    ]
    return ExistingNetwork(plan.vpc.existing, subnets, after)


def _network_args(plan: AwsPlan, after: pulumi.Resource | None) -> NetworkArgs:
    return NetworkArgs(
        region=plan.deployment.region,
        cidr=plan.deployment.vpc_cidr,
        subnets=[
            SubnetSpec(name=each.name, role=each.role, zone_id=each.zone_id, cidr=each.cidr) for each in plan.subnets
        ],
        nat_zone_ids=plan.nat_zones,
        pod_cidr=plan.vpc.pod_cidr,
        internet=plan.gateway is not None and plan.gateway.internet,
        protect=plan.ownership.protect,
        after=after,
    )


def _endpoints(plan: AwsPlan, network: Network | ExistingNetwork, opts: pulumi.ResourceOptions) -> Endpoints | None:
    """Register what brings services of AWS into the network; None where there is none."""
    if not plan.vpc.endpoints:
        return None
    system = (each.zone_id for each in plan.subnets if each.role == "system")
    by_zone = dict(zip(system, network.subnet_ids("system"), strict=True))
    args = EndpointsArgs(
        vpc_id=network.vpc_id,
        region=plan.deployment.region,
        services=plan.vpc.endpoints,
        subnet_ids=[by_zone[zone] for zone in plan.vpc.endpoint_zones],
        cidrs=plan.vpc.cidrs(plan.deployment.vpc_cidr),
    )
    return Endpoints("endpoints", args, opts)


def _flow_logs(
    plan: AwsPlan, account: Account, keys: Keys, network: Network | ExistingNetwork, opts: pulumi.ResourceOptions
) -> FlowLogs | None:
    """Register what records the network's traffic; None where nobody asks for it."""
    wanted = plan.vpc.flow_logs
    if wanted is None:
        return None
    args = FlowLogsArgs(
        vpc_id=network.vpc_id,
        cluster=cluster_name(),
        region=plan.deployment.region,
        partition=account.partition,
        account_id=account.id,
        key_arn=keys.arn,
        days=wanted.days,
        traffic=wanted.traffic,
    )
    return FlowLogs("flow-logs", args, opts)


def _key_args(plan: AwsPlan, account: Account) -> KeysArgs:
    return KeysArgs(
        partition=account.partition,
        account_id=account.id,
        region=plan.deployment.region,
        log_group_prefix=log_group_prefix(cluster_name()),
        deletion_days=30 if plan.ownership.protect else 7,
        protect=plan.ownership.protect,
    )
