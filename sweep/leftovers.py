"""What a stack's controllers hold in an account while its cluster stands, and what the cluster left when it is gone.

It is in no state and carries no tag of the stack's, only the cluster's name. Of a stack of any age: `sweep.vacate` asks
before it removes it.
"""

from collections.abc import Callable, Collection, Iterator

from botocore.exceptions import ClientError

from sweep import controllers
from sweep.found import ALIVE
from sweep.remove import Sweep, in_rounds
from sweep.things import STACK, Account, Found, Owner

ROUNDS = 20
"""Five minutes: the interfaces of a load balancer keep its security group for some."""
KEPT = "it has the stack's tags: pulumi destroy takes it, or security.auditLog keeps it"
_MOST = 200
"""The most values that a filter of EC2 takes."""


def stands(account: Account, cluster: str) -> bool:
    """Whether EKS has a cluster of this name in the region. Raises botocore's errors."""
    try:
        account.call("eks", "describe_cluster", name=cluster)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return False
        raise
    return True


def held(account: Account, project: str, stack: str) -> list[Found]:
    """While the cluster stands: interfaces that its CNI made for nodes that are gone, which hold their subnets."""
    found = list(controllers.interfaces(account, {f"{project}-{stack}": _owner(project, stack)}))
    alive = set(_alive(account, sorted({each.within for each in found if each.within})))
    return [each for each in found if each.within not in alive]


def left(account: Account, project: str, stack: str) -> list[Found]:
    """When the cluster is gone: all that its controllers made, and the log group that EKS wrote to after its end."""
    cluster, owner = f"{project}-{stack}", _owner(project, stack)
    return [*controllers.look(account, {cluster: owner}), *_logs(account, cluster, owner)]


def clear(account: Account, there: Callable[[], list[Found]], pause: Callable[[float], None]) -> Sweep:
    """Remove what is `there`. Raises botocore's errors of the looks; of the removals they are in what it returns."""
    return in_rounds(account, there, pause=pause, rounds=ROUNDS)


def _owner(project: str, stack: str) -> Owner:
    return Owner(project=project, stack=stack, expiry=None, protected=False)


def _alive(account: Account, instances: list[str]) -> Iterator[str]:
    """Those that still run, or may again. A filter, unlike InstanceIds, takes ids of instances that are gone."""
    states = {"Name": "instance-state-name", "Values": list(ALIVE)}
    for begin in range(0, len(instances), _MOST):
        ids = {"Name": "instance-id", "Values": instances[begin : begin + _MOST]}
        for page in account.pages("ec2", "describe_instances", Filters=[ids, states]):
            yield from (each["InstanceId"] for held in page["Reservations"] for each in held["Instances"])


def _logs(account: Account, cluster: str, owner: Owner) -> Iterator[Found]:
    """EKS delivers a cluster's last events after its end at times, and then makes the group anew, without tags."""
    name = f"/aws/eks/{cluster}/cluster"
    for page in account.pages("logs", "describe_log_groups", logGroupNamePrefix=name):
        for each in page["logGroups"]:
            if each["logGroupName"] == name:
                arn = each["arn"].removesuffix(":*")  # with the suffix ListTagsForResource refuses it
                tags: Collection[str] = account.call("logs", "list_tags_for_resource", resourceArn=arn)["tags"]
                stays = KEPT if STACK in tags else ""
                yield Found(kind="log group", id=name, owner=owner, state="there", stays=stays)
