"""What a stack's state says of the account and the account does not have: deleted there, behind the stack's back.

The engine compares the program with the state alone, so that an update after such a deletion changes nothing and ends
well. This compares the state with the account, by kind and id; objects of clusters are looked at by `view`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.engine import state, stored
from rehearsal.engine.events import Urn
from rehearsal.plugins.kubernetes.objects import dig

Inventory = Mapping[str, Sequence[str]]
"""Ids of what an account holds, by kind, as `/rehearsal/inventory` tells them."""
Entry = Mapping[str, Any]


def _id(entry: Entry) -> str:
    return str(entry["id"])


def _of_cluster(entry: Entry) -> str:
    """`cluster:name` in the state, `cluster/name` in the account."""
    return _id(entry).replace(":", "/", 1)


def _association(entry: Entry) -> str:
    found = state.plain(entry.get("outputs") or {})
    return f"{found.get('clusterName')}/{found.get('associationId')}"


def _after_account(entry: Entry) -> str:
    return _id(entry).partition(":")[2]


KINDS: Mapping[str, tuple[str, Callable[[Entry], str]]] = {
    "aws:budgets/budget:Budget": ("budgets:budget", _after_account),
    "aws:cloudwatch/logGroup:LogGroup": ("logs:log-group", _id),
    "aws:ec2/capacityReservation:CapacityReservation": ("ec2:capacity-reservation", _id),
    "aws:ec2/eip:Eip": ("ec2:elastic-ip", _id),
    "aws:ec2/flowLog:FlowLog": ("ec2:flow-log", _id),
    "aws:ec2/internetGateway:InternetGateway": ("ec2:internet-gateway", _id),
    "aws:ec2/launchTemplate:LaunchTemplate": ("ec2:launch-template", _id),
    "aws:ec2/natGateway:NatGateway": ("ec2:nat-gateway", _id),
    "aws:ec2/placementGroup:PlacementGroup": ("ec2:placement-group", _id),
    "aws:ec2/routeTable:RouteTable": ("ec2:route-table", _id),
    "aws:ec2/securityGroup:SecurityGroup": ("ec2:security-group", _id),
    "aws:ec2/subnet:Subnet": ("ec2:subnet", _id),
    "aws:ec2/vpc:Vpc": ("ec2:vpc", _id),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("ec2:vpc-endpoint", _id),
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": ("ecr:cache-rule", _id),
    "aws:ecr/repository:Repository": ("ecr:repository", _id),
    "aws:efs/fileSystem:FileSystem": ("efs:file-system", _id),
    "aws:eks/accessEntry:AccessEntry": ("eks:access-entry", _of_cluster),
    "aws:eks/addon:Addon": ("eks:addon", _of_cluster),
    "aws:eks/cluster:Cluster": ("eks:cluster", _id),
    "aws:eks/nodeGroup:NodeGroup": ("eks:nodegroup", _of_cluster),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("eks:pod-identity-association", _association),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": ("fsx:association", _id),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("fsx:file-system", _id),
    "aws:iam/role:Role": ("iam:role", _id),
    "aws:kms/alias:Alias": ("kms:alias", _id),
    "aws:kms/key:Key": ("kms:key", _id),
    "aws:lambda/function:Function": ("lambda:function", _id),
    "aws:s3/bucket:Bucket": ("s3:bucket", _id),
    "aws:scheduler/schedule:Schedule": ("scheduler:schedule", _id),
    "aws:sns/topic:Topic": ("sns:topic", _id),
}
"""Types of the AWS provider that are things of their own, the kind under which the account lists them, and their id.

Rules, attachments and settings of such a thing are not compared: `refresh` is.
"""


def gone(entries: Iterable[Entry], inventory: Inventory, refresh: str) -> Iterator[str]:
    """One sentence for each thing that a state keeps and the account does not have; `refresh` is what to type. Pure."""
    for entry in entries:
        known = KINDS.get(str(entry.get("type")))
        if known is None or not entry.get("id") or entry.get("external") or entry.get("delete"):
            continue
        kind, own = known
        if own(entry) not in inventory.get(kind, ()):
            label = f"{kind.partition(':')[2].replace('-', ' ')} {own(entry)} ({Urn(entry['urn']).name})"
            yield (
                f"{label} is declared but missing in the account: it was deleted; `{refresh}`, then `up`, recreates it"
            )


def stays(entries: Iterable[Entry]) -> dict[str, list[str]]:
    """What a destroy leaves in the account because its program says so (`retainOnDelete`): ids by kind. Pure.

    Raises ValueError for a type whose kind the account does not tell.
    """
    found: dict[str, list[str]] = {}
    for entry in entries:
        if not entry.get("retainOnDelete"):
            continue
        if str(entry["type"]) not in KINDS:
            raise ValueError(
                f"{entry['urn']} is retained, and the account tells no ids of {entry['type']}: add it to KINDS"
            )
        kind, own = KINDS[str(entry["type"])]
        found.setdefault(kind, []).append(own(entry))
    return found


def entries(backend: Path) -> Iterator[Entry]:
    """Every resource in every state of a file backend. Raises StateError for a damaged one."""
    for path in stored.files(backend):
        yield from state.resources({"deployment": dig(stored.read(path), "checkpoint", "latest", default={})})
