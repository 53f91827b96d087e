"""Removing what an expired stack left, in rounds: each looks at what is there and does what can be done now.

Nothing is remembered from one round to the next, so a sweep that was killed, throttled or refused goes on where the
account stands. Order follows from what AWS refuses: a cluster with node groups, a volume in use, an address in use.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date

from botocore.exceptions import BotoCoreError, ClientError

from sweep import controllers
from sweep.ends import last_day
from sweep.found import by_name, look
from sweep.things import Account, Found, Owner

PAUSE_SECONDS = 15.0
ROUNDS = 120
"""Half an hour: a node group takes the longest, and EKS gives up draining a node after 15 minutes."""

_GOING = frozenset({"DELETING", "deleting", "shutting-down"})
"""States of what has been told to go. What AWS failed to delete (DELETE_FAILED) is told again."""


@dataclass(kw_only=True)
class Sweep:
    """How a removal went: ids that were told to go, what is left, and what AWS said to what did not work."""

    asked: list[str] = field(default_factory=list)
    left: list[Found] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def costs(self) -> bool:
        """Whether anything is left that costs, rather than only stands in the network's way."""
        return any(each.kind not in controllers.FREE for each in self.left)


def expired(account: Account, things: Iterable[Found], today: date) -> list[Found]:
    """What belongs to stacks whose last day is over, by their tags and by the end that the account knows of."""
    late = [thing for thing in things if thing.owner.expired(today)]
    stacks = sorted({(thing.owner.project, thing.owner.stack) for thing in late})
    known = {each: last_day(account, *each) for each in stacks}
    living = {each for each, last in known.items() if last is not None and last >= today}
    return [thing for thing in late if (thing.owner.project, thing.owner.stack) not in living]


def removable(things: Iterable[Found]) -> list[Found]:
    """What may go: nothing of a protected stack, and nothing that has its own reason to stay."""
    return [thing for thing in things if not thing.owner.protected and not thing.stays]


def remove(
    account: Account,
    stack: str,
    today: date,
    *,
    pause: Callable[[float], None] = time.sleep,
    rounds: int = ROUNDS,
) -> Sweep:
    """Remove what the expired stack of this name left. A stack whose day is not over is left alone."""
    known: dict[str, Owner] = {}

    def mine() -> list[Found]:
        found = [each for each in expired(account, look(account, known), today) if each.owner.stack == stack]
        known.update({**by_name(found), **known})
        return found

    return in_rounds(account, mine, pause=pause, rounds=rounds)


def in_rounds(
    account: Account, there: Callable[[], list[Found]], *, pause: Callable[[float], None], rounds: int
) -> Sweep:
    """Remove what is `there`, which each round looks at anew, until nothing is left that may go."""
    sweep = Sweep()
    for turn in range(rounds):
        found = there()
        if turn and removable(found):
            pause(PAUSE_SECONDS)
        take_turn(account, found, sweep)
        if not sweep.left:
            break
    return sweep


def take_turn(account: Account, mine: Iterable[Found], sweep: Sweep) -> None:
    """One round over what is there of a stack: do what can be done now, and say in `sweep` what is left."""
    there = list(mine)
    sweep.left = removable(there)
    for thing in ready(sweep.left, there):
        _ask(account, thing, sweep)


def ready(going: Iterable[Found], there: Iterable[Found]) -> Iterator[Found]:
    """Of what is to go, that which can go now, while all of `there` is there.

    Nodes first, as they cost the most: node groups, then instances that belong to none, for a group would replace its
    own. A load balancer waits for the cluster, whose controllers would make it again, and its security group for both;
    file system, NAT gateway and endpoints for the nodes, which still use them, and what is held for nodes for those
    that run.
    """
    kinds = {each.kind for each in there}
    held = {
        "instance": "node group" in kinds,
        "capacity reservation": not kinds.isdisjoint({"node group", "instance"}),
        "cluster": "node group" in kinds,
        "load balancer": "cluster" in kinds,
        "classic load balancer": "cluster" in kinds,
        "security group": not kinds.isdisjoint({"cluster", "load balancer", "classic load balancer"}),
        "interface": not kinds.isdisjoint({"node group", "instance"}),
        "file system": not kinds.isdisjoint({"node group", "instance"}),
        "NAT gateway": not kinds.isdisjoint({"node group", "instance"}),
        "endpoint": not kinds.isdisjoint({"node group", "instance"}),
    }
    for thing in going:
        in_use = thing.state != {"volume": "available", "address": "free"}.get(thing.kind, thing.state)
        if thing.state not in _GOING and not in_use and not held.get(thing.kind, False):
            yield thing


def _ask(account: Account, thing: Found, sweep: Sweep) -> None:
    service, operation, request = _CALLS[thing.kind](thing)
    try:
        if thing.kind == "security group":
            controllers.release(account, thing.id)
        answer = account.call(service, operation, **request)
    except ClientError as error:
        if "NotFound" not in error.response["Error"]["Code"]:
            sweep.refused[thing.id] = str(error)
        return
    except BotoCoreError as error:
        sweep.refused[thing.id] = str(error)
        return
    for each in answer.get("Unsuccessful", ()):  # DeleteVpcEndpoints tells so of what it refuses
        sweep.refused[thing.id] = each["Error"]["Message"]
        return
    sweep.refused.pop(thing.id, None)
    if thing.id not in sweep.asked:
        sweep.asked.append(thing.id)


_CALLS: dict[str, Callable[[Found], tuple[str, str, dict[str, object]]]] = {
    "node group": lambda it: ("eks", "delete_nodegroup", {"clusterName": it.within, "nodegroupName": it.id}),
    "instance": lambda it: ("ec2", "terminate_instances", {"InstanceIds": [it.id]}),
    "load balancer": lambda it: ("elbv2", "delete_load_balancer", {"LoadBalancerArn": it.id}),
    "classic load balancer": lambda it: ("elb", "delete_load_balancer", {"LoadBalancerName": it.id}),
    "security group": lambda it: ("ec2", "delete_security_group", {"GroupId": it.id}),
    "interface": lambda it: ("ec2", "delete_network_interface", {"NetworkInterfaceId": it.id}),
    "volume": lambda it: ("ec2", "delete_volume", {"VolumeId": it.id}),
    "file system": lambda it: ("fsx", "delete_file_system", {"FileSystemId": it.id}),
    "cluster": lambda it: ("eks", "delete_cluster", {"name": it.id}),
    "capacity reservation": lambda it: ("ec2", "cancel_capacity_reservation", {"CapacityReservationId": it.id}),
    "NAT gateway": lambda it: ("ec2", "delete_nat_gateway", {"NatGatewayId": it.id}),
    "endpoint": lambda it: ("ec2", "delete_vpc_endpoints", {"VpcEndpointIds": [it.id]}),
    "address": lambda it: ("ec2", "release_address", {"AllocationId": it.id}),
    "log group": lambda it: ("logs", "delete_log_group", {"logGroupName": it.id}),
}
