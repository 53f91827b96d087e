"""The deployed control plane: a change that would replace it is refused (LF18).

With the control plane goes everything on it, and an engine that replaces it deletes that first. AWS cannot move a
cluster, rename it or give it another role or network (terraform-provider-aws internal/service/eks/cluster.go,
`ForceNew`; EKS guide network-reqs: subnets of one VPC). What changes those is seen before anything is registered. What
else takes a new cluster is refused by a hook of the cluster itself (components.aws.cluster).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.aws.cluster import WAYS_ROUND, role_name
from planner.stack import AwsDeployment

READ_OUTPUTS, READ_RESOURCES = "pulumi:pulumi:readStackOutputs", "pulumi:pulumi:readStackResourceOutputs"
CLUSTER, NETWORK = "aws:eks/cluster:Cluster", "aws:ec2/vpc:Vpc"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A control plane that is there: its ARN, its role's ARN, its network's id as far as the state has it, and the
    network's range if that is the stack's.
    """

    arn: str
    role_arn: str
    cidr: str | None
    vpc_id: str | None


def standing() -> Standing | None:
    """The control plane in the stack's state; None before a deployment has come to its end."""
    stack = "/".join((pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack()))
    # The engine cannot read resources of a stack that has never been deployed; its outputs it can.
    if not pulumi.runtime.invoke(READ_OUTPUTS, {"name": stack}).value.get("outputs"):
        return None
    found = pulumi.runtime.invoke(READ_RESOURCES, {"stackName": stack}).value["outputs"].values()
    cluster, network = (_outputs(found, token) for token in (CLUSTER, NETWORK))
    if not cluster.get("arn"):
        return None
    vpc_id = (cluster.get("vpcConfig") or {}).get("vpcId")
    return Standing(arn=cluster["arn"], role_arn=cluster["roleArn"], cidr=network.get("cidrBlock"), vpc_id=vpc_id)


def _outputs(resources: Iterator[Mapping[str, Any]], token: str) -> Mapping[str, Any]:
    return next((each["outputs"] for each in resources if each["type"] == token), {})


def keep(there: Standing, name: str, where: AwsDeployment, existing: str | None = None) -> None:
    """Raises RunError with every reason why the control plane called `name` could not be the one that is there.

    `existing` is the VPC that the stack file names, None for one of the stack's own.
    """
    if reasons := list(_reasons(there, name, where, existing)):
        raise pulumi.RunError("\n".join([*reasons, WAYS_ROUND]))


def _reasons(there: Standing, name: str, where: AwsDeployment, existing: str | None) -> Iterator[str]:
    _, _, _, region, _, resource = there.arn.split(":")
    stands = resource.removeprefix("cluster/")
    if where.region != region:
        yield f"gpucluster:platform.region: this stack's cluster is in {region}, not in {where.region}"
    yield from _moved(there, existing)
    if existing is None and there.cidr not in (None, where.vpc_cidr):
        yield f"gpucluster:platform.vpcCidr: this stack's cluster is in {there.cidr}, not in {where.vpc_cidr}"
    if name != stands:
        yield f"this stack's cluster is called {stands}, and would be called {name}"
    if (role := role_name(name)) != there.role_arn.rpartition("/")[2]:
        yield f"this stack's cluster has the role {there.role_arn.rpartition('/')[2]}, and would have {role}"


def _moved(there: Standing, existing: str | None) -> Iterator[str]:
    """From a network of the stack's own to another's, back, or between others'."""
    where = "gpucluster:platform.network.existing"
    if existing and there.cidr:
        yield f"{where}: this stack's cluster is in a VPC of the stack's own ({there.cidr}), not in {existing}"
    elif existing and there.vpc_id not in (None, existing):
        yield f"{where}.vpcId: this stack's cluster is in {there.vpc_id}, not in {existing}"
    elif existing is None and there.cidr is None and there.vpc_id:
        yield f"{where}: this stack's cluster is in {there.vpc_id}, which the stack file no longer names"
