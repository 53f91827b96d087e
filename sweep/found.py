"""Resources of this program's stacks in an account that cost money by the hour.

Found by the services' own describe calls, not by a state file: what an interrupted destroy or a controller left is in
no state. Every page is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sweep import controllers
from sweep.things import RETAIN, STACK, Account, Found, Owner, owner_of, pairs

GIB = 2**30
ALIVE = ("pending", "running", "stopping", "stopped")
_ENDED = ("deleted", "failed", "rejected", "expired")


def look(account: Account, known: Mapping[str, Owner] | None = None) -> list[Found]:
    """Everything of every stack of this program in the region.

    `known` are stacks by the name of their cluster: what controllers made carries that name only, and may be the last
    that is left.
    """
    clusters = list(_clusters(account))
    owners = {each.id: each.owner for each in clusters}
    found = [*clusters, *_node_groups(account, clusters), *_instances(account), *_volumes(account)]
    found += [*_held(account), *_nat_gateways(account), *_endpoints(account), *_addresses(account)]
    found += [*_file_systems(account), *_homes(account)]
    return [*found, *controllers.look(account, by_name(found) | dict(known or {}) | owners, owners)]


def by_name(found: Iterable[Found]) -> dict[str, Owner]:
    """Stacks by the name that their cluster has or had: what its controllers made outlives it.

    One thing that somebody has protected protects itself, and not what controllers made beside it.
    """
    last = sorted(found, key=lambda each: not each.owner.protected)
    return {f"{each.owner.project}-{each.owner.stack}": each.owner for each in last}


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
                if owner := owner_of(pairs(each.get("Tags", []))):
                    yield Found(
                        kind="instance",
                        id=each["InstanceId"],
                        owner=owner,
                        state=each["State"]["Name"],
                        price=each["InstanceType"] if each["State"]["Name"] in ("pending", "running") else None,
                        spot=each.get("InstanceLifecycle") == "spot",
                    )


def _held(account: Account) -> Iterator[Found]:
    """On-Demand Capacity Reservations: what runs in them is found as instances, and paid for once."""
    for page in account.pages("ec2", "describe_capacity_reservations", Filters=[_tagged()]):
        for each in page["CapacityReservations"]:
            owner = owner_of(pairs(each.get("Tags", [])))
            if owner and each["State"] in ("pending", "active") and each.get("ReservationType", "default") == "default":
                yield Found(
                    kind="capacity reservation",
                    id=each["CapacityReservationId"],
                    owner=owner,
                    state=each["State"],
                    price=each["InstanceType"],
                    size=each["AvailableInstanceCount"],
                )


def _volumes(account: Account) -> Iterator[Found]:
    """A root volume goes with its instance. One that a claim made holds data of the stack's, which ends with it, unless
    its storage class retains it.
    """
    for page in account.pages("ec2", "describe_volumes", Filters=[_tagged()]):
        for each in page["Volumes"]:
            tags = pairs(each.get("Tags", []))
            if owner := owner_of(tags):
                yield Found(
                    kind="volume",
                    id=each["VolumeId"],
                    owner=owner,
                    state=each["State"],
                    price="gp3-gib",
                    size=each["Size"],
                    stays="its storage class retains it" if RETAIN in tags else "",
                )


def _nat_gateways(account: Account) -> Iterator[Found]:
    for page in account.pages("ec2", "describe_nat_gateways", Filter=[_tagged()]):
        for each in page["NatGateways"]:
            owner = owner_of(pairs(each.get("Tags", [])))
            if owner and each["State"] not in ("deleted", "failed"):
                yield Found(kind="NAT gateway", id=each["NatGatewayId"], owner=owner, state=each["State"], price="nat")


def _endpoints(account: Account) -> Iterator[Found]:
    """Those of interfaces, each of which is paid for; a gateway endpoint is free."""
    for page in account.pages("ec2", "describe_vpc_endpoints", Filters=[_tagged()]):
        for each in page["VpcEndpoints"]:
            owner, state = owner_of(pairs(each.get("Tags", []))), each["State"].lower()
            if owner and each["VpcEndpointType"] == "Interface" and state not in _ENDED:
                interfaces = len(each["NetworkInterfaceIds"])
                yield Found(
                    kind="endpoint",
                    id=each["VpcEndpointId"],
                    owner=owner,
                    state=state,
                    price="endpoint",
                    size=interfaces,
                )


def _addresses(account: Account) -> Iterator[Found]:
    for each in account.call("ec2", "describe_addresses", Filters=[_tagged()])["Addresses"]:
        if owner := owner_of(pairs(each.get("Tags", []))):
            used = "in-use" if each.get("AssociationId") else "free"
            yield Found(kind="address", id=each["AllocationId"], owner=owner, state=used, price="address")


def _file_systems(account: Account) -> Iterator[Found]:
    for page in account.pages("fsx", "describe_file_systems"):
        for each in page["FileSystems"]:
            if owner := owner_of(pairs(each.get("Tags", []))):
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
                    stays="" if kind.startswith("SCRATCH") else "it is persistent, so its data is kept",
                )


def _homes(account: Account) -> Iterator[Found]:
    """File systems of people's own files, which cost by what lies in them."""
    for page in account.pages("efs", "describe_file_systems"):
        for each in page["FileSystems"]:
            if owner := owner_of(pairs(each.get("Tags", []))):
                yield Found(
                    kind="home file system",
                    id=each["FileSystemId"],
                    owner=owner,
                    state=each["LifeCycleState"],
                    price="efs-gb-month",
                    size=each["SizeInBytes"]["Value"] / GIB,
                    stays="it holds home directories, which are kept",
                )


def _tagged() -> dict[str, Any]:
    return {"Name": "tag-key", "Values": [STACK]}
