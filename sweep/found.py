"""What costs by the hour in an account and carries the tags of a stack of this program.

Found by the services' own describe calls, not by a state file: what an interrupted destroy or a controller left is in
no state. Every page is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

PROJECT, STACK, EXPIRY, PROTECT = "gpucluster:project", "gpucluster:stack", "expiry", "gpucluster:protect"
ALIVE = ("pending", "running", "stopping", "stopped")
CLUSTER_OF_CONTROLLER = "elbv2.k8s.aws/cluster"
"""The tag of load balancers that the AWS Load Balancer Controller makes; its value is the cluster's name."""
CLUSTER_OF_CLOUD_PROVIDER = "kubernetes.io/cluster/"
"""How the tag of those that the cloud provider makes begins; the cluster's name follows.

Source: cloud-provider-aws pkg/providers/v1/tags.go.
"""

Tags = Mapping[str, str]


class Account(Protocol):
    """Where to ask: one region of one account."""

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Mapping[str, Any]]:
        """All pages of an answer."""

    def call(self, service: str, operation: str, **request: Any) -> Mapping[str, Any]:
        """One answer."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A stack, by its tags: the last of its days, None where it has none, and whether its data is protected."""

    project: str
    stack: str
    expiry: date | None
    protected: bool

    def expired(self, today: date) -> bool:
        """Whether its last day is over. A stack without one, or with a day nobody can read, never is."""
        return self.expiry is not None and self.expiry < today


@dataclass(frozen=True, kw_only=True)
class Found:
    """One thing that costs, or that holds what costs. `size` is what its price goes by: GiB, or 1.

    `state` is AWS' word. `price` names it in the price list, an instance by its type. `within` is the cluster of a node
    group. `stays` is why it is not removed, empty where it may go.
    """

    kind: str
    id: str
    owner: Owner
    state: str
    price: str | None = None
    size: float = 1
    spot: bool = False
    within: str = ""
    stays: str = ""


def look(account: Account, known: Mapping[str, Owner] | None = None) -> list[Found]:
    """Everything of every stack of this program in the region.

    `known` are stacks by the name of their cluster: what controllers made carries that name only, and may be the last
    that is left.
    """
    clusters = list(_clusters(account))
    owners = {each.id: each.owner for each in clusters}
    found = [*clusters, *_node_groups(account, clusters), *_instances(account), *_volumes(account)]
    found += [*_nat_gateways(account), *_addresses(account), *_file_systems(account)]
    return [*found, *_load_balancers(account, dict(known or {}) | owners | _by_name(found))]


def _by_name(found: Iterable[Found]) -> dict[str, Owner]:
    """Stacks by the name that their cluster has or had: load balancers outlive it."""
    return {f"{each.owner.project}-{each.owner.stack}": each.owner for each in found}


def owner_of(tags: Tags) -> Owner | None:
    """Whose a thing with such tags is; None if no stack of this program made it."""
    if not tags.get(PROJECT) or not tags.get(STACK):
        return None
    try:
        expiry = date.fromisoformat(tags[EXPIRY]) if EXPIRY in tags else None
    except ValueError:
        expiry = None
    return Owner(project=tags[PROJECT], stack=tags[STACK], expiry=expiry, protected=tags.get(PROTECT) == "true")


def _pairs(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {each["Key"]: each["Value"] for each in tags}


def _clusters(account: Account) -> Iterator[Found]:
    for page in account.pages("eks", "list_clusters"):
        for name in page["clusters"]:
            cluster = account.call("eks", "describe_cluster", name=name)["cluster"]
            if owner := owner_of(cluster.get("tags") or {}):
                kept = "its deletion protection is on" if cluster.get("deletionProtection") else ""
                yield Found(kind="cluster", id=name, owner=owner, state=cluster["status"], price="eks", stays=kept)


def _node_groups(account: Account, clusters: Iterable[Found]) -> Iterator[Found]:
    """Those of a cluster are its stack's, whoever made them: the cluster cannot go before they have."""
    for cluster in clusters:
        for page in account.pages("eks", "list_nodegroups", clusterName=cluster.id):
            for name in page["nodegroups"]:
                group = account.call("eks", "describe_nodegroup", clusterName=cluster.id, nodegroupName=name)
                state = group["nodegroup"]["status"]
                yield Found(kind="node group", id=name, owner=cluster.owner, state=state, within=cluster.id)


def _instances(account: Account) -> Iterator[Found]:
    states = {"Name": "instance-state-name", "Values": list(ALIVE)}
    for page in account.pages("ec2", "describe_instances", Filters=[_tagged(), states]):
        for reservation in page["Reservations"]:
            for each in reservation["Instances"]:
                if owner := owner_of(_pairs(each.get("Tags", []))):
                    yield Found(
                        kind="instance",
                        id=each["InstanceId"],
                        owner=owner,
                        state=each["State"]["Name"],
                        price=each["InstanceType"] if each["State"]["Name"] in ("pending", "running") else None,
                        spot=each.get("InstanceLifecycle") == "spot",
                    )


def _volumes(account: Account) -> Iterator[Found]:
    """A root volume goes with its instance. One that a claim made holds data of the stack's, which ends with it."""
    for page in account.pages("ec2", "describe_volumes", Filters=[_tagged()]):
        for each in page["Volumes"]:
            if owner := owner_of(_pairs(each.get("Tags", []))):
                gib = each["Size"]
                yield Found(
                    kind="volume", id=each["VolumeId"], owner=owner, state=each["State"], price="gp3-gib", size=gib
                )


def _nat_gateways(account: Account) -> Iterator[Found]:
    for page in account.pages("ec2", "describe_nat_gateways", Filter=[_tagged()]):
        for each in page["NatGateways"]:
            owner = owner_of(_pairs(each.get("Tags", [])))
            if owner and each["State"] not in ("deleted", "failed"):
                yield Found(kind="NAT gateway", id=each["NatGatewayId"], owner=owner, state=each["State"], price="nat")


def _addresses(account: Account) -> Iterator[Found]:
    for each in account.call("ec2", "describe_addresses", Filters=[_tagged()])["Addresses"]:
        if owner := owner_of(_pairs(each.get("Tags", []))):
            used = "in-use" if each.get("AssociationId") else "free"
            yield Found(kind="address", id=each["AllocationId"], owner=owner, state=used)


def _file_systems(account: Account) -> Iterator[Found]:
    for page in account.pages("fsx", "describe_file_systems"):
        for each in page["FileSystems"]:
            if owner := owner_of(_pairs(each.get("Tags", []))):
                lustre = each.get("LustreConfiguration") or {}
                kind = lustre.get("DeploymentType", each["FileSystemType"])
                tier = f"-{lustre['PerUnitStorageThroughput']}" if lustre.get("PerUnitStorageThroughput") else ""
                yield Found(
                    kind="file system",
                    id=each["FileSystemId"],
                    owner=owner,
                    state=each["Lifecycle"],
                    price=f"fsx-{kind}{tier}-gib",
                    size=each["StorageCapacity"],
                    stays="" if kind.startswith("SCRATCH") else "it is persistent: its data was meant to last",
                )


def _load_balancers(account: Account, owners: Mapping[str, Owner]) -> Iterator[Found]:
    """Controllers inside a cluster made them: they carry its name, and no tag of the stack's."""
    for page in account.pages("elbv2", "describe_load_balancers"):
        states = {each["LoadBalancerArn"]: each["State"]["Code"] for each in page["LoadBalancers"]}
        arns = list(states)
        for begin in range(0, len(arns), 20):  # the most that DescribeTags takes
            told = account.call("elbv2", "describe_tags", ResourceArns=arns[begin : begin + 20])["TagDescriptions"]
            for each in told:
                if owner := owners.get(_cluster_in(_pairs(each["Tags"]))):
                    arn = each["ResourceArn"]
                    yield Found(kind="load balancer", id=arn, owner=owner, state=states[arn])


def _cluster_in(tags: Tags) -> str:
    named = (key.removeprefix(CLUSTER_OF_CLOUD_PROVIDER) for key in tags if key.startswith(CLUSTER_OF_CLOUD_PROVIDER))
    return tags.get(CLUSTER_OF_CONTROLLER) or next(named, "")


def _tagged() -> dict[str, Any]:
    return {"Name": "tag-key", "Values": [STACK]}
