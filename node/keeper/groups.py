"""What EKS and EC2 say of node groups."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError
from decide import Task
from markets import Seen, Spot

from sweep.things import Account

CHANGEABLE = frozenset({"ACTIVE", "DEGRADED"})
"""A group that lost a node, or gets none, is degraded and has to be changed all the same. It can be, and stays degraded
until it gets all that it asks for (aws/containers-roadmap, issue 2326)."""


def described(account: Account, task: Task, name: str) -> Mapping[str, Any] | None:
    """A node group, None while it is being made, changed or deleted: EKS would refuse another change."""
    try:
        told = account.call("eks", "describe_nodegroup", clusterName=task.cluster, nodegroupName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return None
    group: Mapping[str, Any] = told["nodegroup"]
    return group if group["status"] in CHANGEABLE else None


def seen(account: Account, task: Task, pool: Spot) -> tuple[Seen, Seen] | None:
    """The two groups of a pool on spot, spot first; None while one of them cannot be changed."""
    spot, paid = (described(account, task, name) for name in (pool.spot, pool.on_demand))
    if spot is None or paid is None:
        return None
    return _seen(account, task, spot), _seen(account, task, paid)


def _seen(account: Account, task: Task, group: Mapping[str, Any]) -> Seen:
    """With the instances that it has or starts, by the tags that EKS gives them."""
    tags = {"eks:cluster-name": task.cluster, "eks:nodegroup-name": group["nodegroupName"]}
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
    filters.append({"Name": "instance-state-name", "Values": ["pending", "running"]})
    pages = account.pages("ec2", "describe_instances", Filters=filters)
    there = sum(len(each["Instances"]) for page in pages for each in page["Reservations"])
    return Seen(group["scalingConfig"]["desiredSize"], there, group["scalingConfig"]["maxSize"])
