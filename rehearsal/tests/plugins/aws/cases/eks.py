"""A cluster and its parts."""

import json

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case, Inputs
from rehearsal.tests.plugins.aws.world import World


def node_group(world: World) -> Inputs:
    return {
        "clusterName": world.cluster.id,
        "nodeRoleArn": world.node_role.outputs["arn"],
        "subnetIds": [world.subnets[0].id],
        "scalingConfig": {"desiredSize": 2, "minSize": 0, "maxSize": 4},
        "amiType": "AL2023_x86_64_STANDARD",
        "instanceTypes": ["m6i.xlarge"],
        "launchTemplate": {"id": world.template.id, "version": str(world.template.outputs["latestVersion"])},
        "labels": {"pool": "system", "old": "yes"},
        "taints": [
            {"key": "a", "value": "1", "effect": "NO_SCHEDULE"},
            {"key": "b", "value": "1", "effect": "NO_EXECUTE"},
        ],
        "updateConfig": {"maxUnavailable": 1},
    }


CASES = (
    Case(
        w.CLUSTER,
        World.cluster_inputs,
        {"enabledClusterLogTypes": ["audit"], "tags": {"x": "y"}},
        {
            "enabledClusterLogTypes[0]": "update",
            "enabledClusterLogTypes[1]": "delete",
            "tags": "add",
            "tagsAll.x": "add",
        },
        {"bootstrapSelfManagedAddons": True},
        ("bootstrapSelfManagedAddons",),
        outputs=("arn", "endpoint", "certificateAuthority", "identities", "platformVersion", "status", "createdAt"),
    ),
    Case(
        w.ENTRY,
        lambda world: {"clusterName": world.cluster.id, "principalArn": world.pod_role.outputs["arn"]},
        {"kubernetesGroups": ["readers"]},
        {"kubernetesGroups": "add"},
        lambda world: {"principalArn": world.other_pod_role.outputs["arn"]},
        ("principalArn",),
        outputs=("accessEntryArn", "userName"),
    ),
    Case(
        w.ADDON,
        lambda world: {
            "clusterName": world.cluster.id,
            "addonName": "kube-proxy",
            "resolveConflictsOnCreate": "OVERWRITE",
            "resolveConflictsOnUpdate": "PRESERVE",
            "configurationValues": json.dumps({"mode": "ipvs"}),
        },
        {"configurationValues": json.dumps({"mode": "iptables"})},
        {"configurationValues": "update"},
        {"addonName": "coredns"},
        ("addonName",),
        outputs=("arn", "addonVersion"),
    ),
    Case(
        w.NODES,
        node_group,
        {
            "scalingConfig": {"desiredSize": 3, "minSize": 0, "maxSize": 4},
            "labels": {"pool": "system", "new": "yes"},
            "taints": [{"key": "a", "value": "2", "effect": "NO_SCHEDULE"}],
        },
        {
            "scalingConfig.desiredSize": "update",
            "labels.old": "delete",
            "labels.new": "add",
            "taints[0].value": "update",
            "taints[1]": "delete",
        },
        {"instanceTypes": ["m6i.2xlarge"]},
        ("instanceTypes",),
        outputs=("arn", "status", "resources"),
    ),
    Case(
        w.POD_IDENTITY,
        lambda world: {
            "clusterName": world.cluster.id,
            "namespace": "kube-system",
            "serviceAccount": "fsx-csi-controller-sa",
            "roleArn": world.pod_role.outputs["arn"],
        },
        lambda world: {"roleArn": world.other_pod_role.outputs["arn"]},
        {"roleArn": "update"},
        {"namespace": "other"},
        ("namespace",),
        lambda state: f"{state.outputs['clusterName']},{state.id}",
        outputs=("associationArn", "associationId"),
    ),
    Case(
        w.ACCESS,
        lambda world: {**world.entry, "policyArn": w.ADMIN, "accessScope": {"type": "cluster"}},
        replaces={"policyArn": w.VIEW},
        replaced=("policyArn",),
        outputs=("associatedAt",),
    ),
)
