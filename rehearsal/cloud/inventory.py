"""What a user could leave behind, by kind: the list that must be the same before ``up`` and after ``destroy``.

Left out is what every account has (default VPC, the deployer's role, keys AWS manages) and what AWS itself keeps for a
while after a delete (terminated instances, keys pending deletion, NAT gateways that are deleted).
"""

import sys
from collections.abc import Iterator
from typing import Any

from moto.core.base_backend import BackendDict
from moto.ec2.models import ec2_backends
from moto.kms.models import kms_backends
from moto.logs.models import logs_backends

from rehearsal.cloud import anomalies, budgets, ecr_cache
from rehearsal.cloud.account import ACCOUNT, DEPLOYER_ROLE, iam, regions, s3
from rehearsal.cloud.ec2.placement import placement_groups
from rehearsal.cloud.ec2.reservations import reservations
from rehearsal.cloud.ec2.use import live_instances
from rehearsal.cloud.fsx.service import file_systems, linked
from rehearsal.eks.api.store import all_clusters

Row = tuple[str, str]

OTHER_SERVICES = {
    "acm:certificate": ("moto.acm.models", "_certificates"),
    "autoscaling:group": ("moto.autoscaling.models", "autoscaling_groups"),
    "cloudwatch:alarm": ("moto.cloudwatch.models", "alarms"),
    "cloudwatch:dashboard": ("moto.cloudwatch.models", "dashboards"),
    "dynamodb:table": ("moto.dynamodb.models", "tables"),
    "ecr:repository": ("moto.ecr.models", "repositories"),
    "efs:file-system": ("moto.efs.models", "file_systems_by_id"),
    "elasticloadbalancing:classic": ("moto.elb.models", "load_balancers"),
    "elasticloadbalancing:target-group": ("moto.elbv2.models", "target_groups"),
    "elasticloadbalancing:loadbalancer": ("moto.elbv2.models", "load_balancers"),
    "route53:hosted-zone": ("moto.route53.models", "zones"),
    "secretsmanager:secret": ("moto.secretsmanager.models", "secrets"),
    "sns:topic": ("moto.sns.models", "topics"),
    "ssm:parameter": ("moto.ssm.models", "_parameters"),
    "sqs:queue": ("moto.sqs.models", "queues"),
}
"""Kinds of services that are looked at only if something has used them: kind -> (module, attribute of its backend)."""


PUBLIC = "/aws/"
"""What begins so is AWS' own: nobody may make a parameter of that name (Systems Manager, PutParameter, Name). Here they
are there from the first question on: Karpenter asks for images by them.
"""


def inventory() -> dict[str, list[str]]:
    """Ids by kind, sorted; a kind without any is left out."""
    found: dict[str, list[str]] = {}
    for rows in (_ec2(), _eks(), _identity(), _storage(), _functions(), _others()):
        for kind, resource in rows:
            found.setdefault(kind, []).append(resource)
    return {kind: sorted(found[kind]) for kind in sorted(found)}


def _ec2() -> Iterator[Row]:
    for _, backend in regions(ec2_backends):
        yield from _networks(backend)
        yield from _machines(backend)


def _networks(backend: Any) -> Iterator[Row]:
    defaults = {vpc.id for vpc in backend.vpcs.values() if vpc.is_default}
    for vpc in backend.vpcs.values():
        if vpc.id not in defaults:
            yield "ec2:vpc", vpc.id
    for subnet in backend.describe_subnets():
        if subnet.vpc_id not in defaults:
            yield "ec2:subnet", subnet.id
    for table in backend.route_tables.values():
        if not table.main_association_id:
            yield "ec2:route-table", table.id
    for groups in backend.groups.values():
        yield from (("ec2:security-group", group.id) for group in groups.values() if group.name != "default")
    for acl in backend.network_acls.values():
        if not acl.default or acl.vpc_id not in backend.vpcs:
            yield "ec2:network-acl", acl.id
    yield from (("ec2:internet-gateway", gateway) for gateway in backend.internet_gateways)
    yield from (("ec2:flow-log", flow_log) for flow_log in backend.flow_logs)
    yield from (("ec2:vpc-endpoint", endpoint) for endpoint in backend.vpc_end_points)
    yield from (("ec2:elastic-ip", address.allocation_id) for address in backend.addresses)
    for gateway in backend.nat_gateways.values():
        if gateway.state not in ("deleted", "failed"):
            yield "ec2:nat-gateway", gateway.id


def _machines(backend: Any) -> Iterator[Row]:
    yield from (("ec2:instance", instance.id) for instance in live_instances(backend))
    yield from (("ec2:network-interface", interface) for interface in backend.enis)
    yield from (("ec2:volume", volume) for volume in backend.volumes)
    yield from (("ec2:key-pair", key) for key in backend.key_pairs)
    yield from (("ec2:launch-template", template) for template in backend.launch_templates)
    yield from (("ec2:placement-group", group) for group in placement_groups(backend))
    for each in reservations(backend).values():
        if each["ReservationType"] == "default" and each["State"] == "active":
            yield "ec2:capacity-reservation", each["CapacityReservationId"]


def _eks() -> Iterator[Row]:
    for _, cluster in all_clusters():
        yield "eks:cluster", cluster.name
        yield from (("eks:nodegroup", f"{cluster.name}/{name}") for name in cluster.nodegroups)
        yield from (("eks:addon", f"{cluster.name}/{name}") for name in cluster.addons)
        yield from (("eks:access-entry", f"{cluster.name}/{principal}") for principal in cluster.entries)
        yield from (("eks:pod-identity-association", f"{cluster.name}/{key}") for key in cluster.associations)


def _identity() -> Iterator[Row]:
    backend = iam()
    for role in backend.roles.values():
        if role.name != DEPLOYER_ROLE and not role.path.startswith("/aws-service-role/"):
            yield "iam:role", role.name
    yield from (("iam:user", name) for name in backend.users)
    yield from (("iam:instance-profile", profile.name) for profile in backend.instance_profiles.values())
    yield from (("iam:oidc-provider", arn) for arn in backend.open_id_providers)
    own = f":{ACCOUNT}:"
    yield from (("iam:policy", policy.name) for policy in backend.managed_policies.values() if own in policy.arn)
    for _, keys in regions(kms_backends):
        for key in keys.keys.values():
            if any(name.startswith("alias/aws/") for name in key.aliases):
                continue
            if key.key_state != "PendingDeletion":
                yield "kms:key", key.id
            yield from (("kms:alias", name) for name in key.aliases)


def _storage() -> Iterator[Row]:
    yield from (("fsx:file-system", system.body["FileSystemId"]) for system in file_systems())
    yield from (("fsx:association", each.body["AssociationId"]) for each in linked())
    yield from (("s3:bucket", name) for name in s3().buckets)
    for _, backend in regions(logs_backends):
        yield from (("logs:log-group", name) for name in backend.groups)


def _functions() -> Iterator[Row]:
    """Functions, schedules, and groups of schedules but the one that every account has."""
    for backend in _used("moto.awslambda.models", "list_functions"):
        yield from (("lambda:function", each.function_name) for each in backend.list_functions())
    for backend in _used("moto.scheduler.models", "schedule_groups"):
        for group in backend.schedule_groups.values():
            if group.name != "default":
                yield "scheduler:group", group.name
            yield from (("scheduler:schedule", f"{group.name}/{name}") for name in group.schedules)


def _others() -> Iterator[Row]:
    yield from (("budgets:budget", name) for name in budgets.budgets())
    yield from (("ce:anomaly", arn) for arn in anomalies.arns())
    yield from (("ecr:cache-rule", prefix) for prefix in ecr_cache.rule_prefixes())
    for backend in _used("moto.route53.models", "zones"):
        for zone in backend.zones.values():
            own = (each for each in zone.rrsets if each.type not in ("NS", "SOA"))
            yield from (("route53:record", f"{each.name} {each.type}") for each in own)
    for kind, (module_name, attribute) in OTHER_SERVICES.items():
        for backend in _used(module_name, attribute):
            names = (str(name) for name in getattr(backend, attribute))
            yield from ((kind, name) for name in names if not name.startswith(PUBLIC))


def _used(module_name: str, attribute: str) -> Iterator[Any]:
    """The backends with this attribute in a module of moto's, which holds those of other services too.

    None where nothing has used the service.
    """
    module = sys.modules.get(module_name)
    backends = [value for value in vars(module).values() if isinstance(value, BackendDict)] if module else []
    for backend_dict in backends:
        yield from (backend for _, backend in regions(backend_dict) if hasattr(backend, attribute))
