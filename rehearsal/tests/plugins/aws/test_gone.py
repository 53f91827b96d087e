"""What somebody removed behind the state's back: a refresh finds it gone, and a destroy has nothing to complain of.

So it is after a stack has ended by itself: what costs by the hour is gone, the state still has all of it.
"""

from typing import Any

import pytest

from rehearsal.tests.inside.account import until
from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.conftest import Cloud
from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import Driver, State


@pytest.fixture(scope="module")
def gone(aws: Driver, world: World, cloud: Cloud) -> dict[str, State]:
    """A cluster with all that hangs on it, and a network's paid parts: made by the plugin, removed by AWS' calls."""
    assert world.gateway
    cluster = aws.create(w.CLUSTER, w.name("over"), world.cluster_inputs())
    named = {"clusterName": cluster.id}
    entry = {**named, "principalArn": world.other_pod_role.outputs["arn"]}
    address = aws.create(w.EIP, w.name("eip"), {"domain": "vpc"})
    made = {
        "cluster": cluster,
        "entry": aws.create(w.ENTRY, w.name("entry"), entry),
        "access": aws.create(
            w.ACCESS, w.name("access"), {**entry, "policyArn": w.VIEW, "accessScope": {"type": "cluster"}}
        ),
        "addon": aws.create(w.ADDON, w.name("addon"), {**named, "addonName": "kube-proxy"}),
        "identity": aws.create(
            w.POD_IDENTITY,
            w.name("identity"),
            {**named, "namespace": "n", "serviceAccount": "s", "roleArn": world.pod_role.outputs["arn"]},
        ),
        "nodes": aws.create(
            w.NODES,
            w.name("nodes"),
            {
                **named,
                "subnetIds": [world.subnets[0].id],
                "nodeRoleArn": world.node_role.outputs["arn"],
                "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 1},
                "instanceTypes": ["m7i.large"],
            },
        ),
        "address": address,
        "gateway": aws.create(w.NAT, w.name("nat"), {"subnetId": world.subnets[0].id, "allocationId": address.id}),
    }
    _remove(cloud, made)
    return made


def _remove(cloud: Cloud, made: dict[str, State]) -> None:
    eks, ec2, name = cloud.client("eks"), cloud.client("ec2"), made["cluster"].id
    for group in eks.list_nodegroups(clusterName=name)["nodegroups"]:
        eks.delete_nodegroup(clusterName=name, nodegroupName=group)
    until(lambda: not eks.list_nodegroups(clusterName=name)["nodegroups"], 60, "the node groups are gone")
    eks.delete_cluster(name=name)
    until(lambda: name not in eks.list_clusters()["clusters"], 60, "the cluster is gone")
    ec2.delete_nat_gateway(NatGatewayId=made["gateway"].id)
    address = {"AllocationIds": [made["address"].id]}
    until(lambda: not ec2.describe_addresses(**address)["Addresses"][0].get("AssociationId"), 60, "it is free")
    ec2.release_address(AllocationId=made["address"].id)


KINDS: tuple[Any, ...] = ("cluster", "entry", "access", "addon", "identity", "nodes", "address", "gateway")


@pytest.mark.parametrize("kind", KINDS)
def test_a_refresh_finds_it_gone(aws: Driver, gone: dict[str, State], kind: str) -> None:
    assert aws.read(gone[kind]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_destroy_has_nothing_to_complain_of(aws: Driver, gone: dict[str, State], kind: str) -> None:
    aws.delete(gone[kind])
