"""One case per type of the table: how it is made, changed in place, replaced and imported."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..driver import State
from . import world as w
from .world import World

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """``changes``: inputs that an update brings and the diff it shows; ``replaces``: inputs that need a new object."""

    type: str
    inputs: Callable[[World], Inputs]
    changes: Inputs | Callable[[World], Inputs] = field(default_factory=dict)
    diff: Mapping[str, str] = field(default_factory=dict)
    replaces: Inputs | Callable[[World], Inputs] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()
    import_id: Callable[[State], str] = lambda state: state.id
    stays: bool = False
    """Whether something remains to be read after delete: S3 has no bucket without these."""
    outputs: tuple[str, ...] = ("arn",)
    """Outputs that must be there beyond the inputs."""

    def resolved(self, what: Inputs | Callable[[World], Inputs], world: World) -> Inputs:
        """Inputs that may depend on the world."""
        return what(world) if callable(what) else what


def lifecycle(days: int) -> list[Inputs]:
    expire = {"id": "old", "status": "Enabled", "filter": {"prefix": "tmp/"}, "expiration": {"days": days}}
    abort = {
        "id": "parts",
        "status": "Enabled",
        "filter": {},
        "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
    }
    return [expire, abort]


def bucket_policy(world: World, sid: str) -> str:
    """A policy that refuses plain HTTP."""
    arn = world.bucket.outputs["arn"]
    statement = {
        "Sid": sid,
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def role_policy(action: str) -> str:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def efa_template(world: World) -> Inputs:
    """Two network cards with EFA, as a training node has them."""
    cards = [
        {
            "deviceIndex": min(card, 1),
            "networkCardIndex": card,
            "interfaceType": "efa",
            "securityGroups": [world.group.id],
            "deleteOnTermination": "true",
        }
        for card in range(2)
    ]
    return {
        "networkInterfaces": cards,
        "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 2},
        "blockDeviceMappings": [
            {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true"}}
        ],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"pool": "training"}}],
        "userData": base64.b64encode(b"MIME-Version: 1.0\n").decode(),
        "updateDefaultVersion": True,
    }


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


def lustre(world: World) -> Inputs:
    return {
        "subnetIds": world.subnets[0].id,
        "securityGroupIds": [world.group.id],
        "deploymentType": "PERSISTENT_2",
        "storageCapacity": 1200,
        "perUnitStorageThroughput": 125,
        "dataCompressionType": "LZ4",
        "kmsKeyId": world.key.outputs["arn"],
    }


NETWORK = (
    Case(
        w.VPC,
        lambda _: {"cidrBlock": "10.7.0.0/16", "enableDnsHostnames": True},
        {"enableDnsHostnames": False, "tags": {"a": "b"}},
        {"enableDnsHostnames": "update", "tags": "add", "tagsAll.a": "add"},
        {"cidrBlock": "10.8.0.0/16"},
        ("cidrBlock",),
        outputs=("arn", "defaultSecurityGroupId", "mainRouteTableId", "ownerId"),
    ),
    Case(
        w.SUBNET,
        lambda world: {"vpcId": world.vpc.id, "cidrBlock": "10.0.77.0/24", "availabilityZoneId": "usw2-az2"},
        {"mapPublicIpOnLaunch": True},
        {"mapPublicIpOnLaunch": "update"},
        {"cidrBlock": "10.0.78.0/24"},
        ("cidrBlock",),
        outputs=("arn", "availabilityZone"),
    ),
    Case(
        w.GATEWAY,
        lambda world: {"vpcId": world.make(w.VPC, "vpc", {"cidrBlock": "10.9.0.0/16"}).id},
        lambda world: {"vpcId": world.make(w.VPC, "vpc", {"cidrBlock": "10.9.0.0/16"}).id},
        {"vpcId": "update"},
    ),
    Case(
        w.EIP,
        lambda _: {"domain": "vpc"},
        {"tags": {"x": "y"}},
        {"tags": "add", "tagsAll.x": "add"},
        outputs=("publicIp",),
    ),
    Case(
        w.NAT,
        lambda world: {
            "subnetId": (world.gateway and world.subnets[0]).id,
            "allocationId": world.make(w.EIP, "eip", {"domain": "vpc"}).id,
        },
        {"tags": {"x": "y"}},
        {"tags": "add", "tagsAll.x": "add"},
        {"connectivityType": "private"},
        ("connectivityType",),
        outputs=("publicIp", "networkInterfaceId"),
    ),
    Case(w.TABLE, lambda world: {"vpcId": world.vpc.id}, {"tags": {"x": "y"}}, {"tags": "add", "tagsAll.x": "add"}),
    Case(
        w.ROUTE,
        lambda world: {
            "routeTableId": world.table.id,
            "destinationCidrBlock": "192.0.2.0/24",
            "gatewayId": world.gateway.id,
        },
        lambda world: {"gatewayId": None, "natGatewayId": world.nat.id},
        {"natGatewayId": "add"},
        {"destinationCidrBlock": "198.51.100.0/24"},
        ("destinationCidrBlock",),
        lambda state: f"{state.outputs['routeTableId']}_192.0.2.0/24",
        outputs=("state", "origin"),
    ),
    Case(
        w.TABLE_ASSOCIATION,
        lambda world: {"routeTableId": world.table.id, "subnetId": world.subnets[1].id},
        lambda world: {"routeTableId": world.other_table.id},
        {"routeTableId": "update"},
        lambda world: {"subnetId": world.subnets[0].id},
        ("subnetId",),
        lambda state: f"{state.outputs['subnetId']}/{state.outputs['routeTableId']}",
        outputs=(),
    ),
    Case(
        w.ENDPOINT,
        lambda world: {
            "vpcId": world.vpc.id,
            "serviceName": "com.amazonaws.us-west-2.s3",
            "routeTableIds": [world.table.id],
        },
        lambda world: {"routeTableIds": [world.other_table.id]},
        {"routeTableIds[0]": "update"},
        {"serviceName": "com.amazonaws.us-west-2.dynamodb"},
        ("serviceName",),
        outputs=("arn", "prefixListId", "state"),
    ),
    Case(
        w.GROUP,
        lambda world: {"vpcId": world.vpc.id, "description": "efa"},
        {"tags": {"x": "y"}},
        {"tags": "add", "tagsAll.x": "add"},
        {"description": "other"},
        ("description",),
        outputs=("arn", "name"),
    ),
    Case(
        w.INGRESS,
        lambda world: {
            "securityGroupId": world.group.id,
            "ipProtocol": "tcp",
            "fromPort": 988,
            "toPort": 1023,
            "cidrIpv4": "10.0.0.0/16",
            "description": "lustre",
        },
        {"toPort": 1024},
        {"toPort": "update"},
        lambda world: {"securityGroupId": world.vpc.outputs["defaultSecurityGroupId"]},
        ("securityGroupId",),
        outputs=("arn", "securityGroupRuleId"),
    ),
    Case(
        w.EGRESS,
        lambda world: {
            "securityGroupId": world.group.id,
            "ipProtocol": "-1",
            "referencedSecurityGroupId": world.group.id,
            "description": "efa",
        },
        {"description": "self"},
        {"description": "update"},
    ),
    Case(
        w.TEMPLATE,
        efa_template,
        {"metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}},
        {"metadataOptions.httpPutResponseHopLimit": "update"},
        {"name": "another"},
        ("name",),
        outputs=("arn", "latestVersion", "defaultVersion", "name"),
    ),
    Case(
        w.PLACEMENT,
        lambda _: {"strategy": "cluster"},
        {"tags": {"x": "y"}},
        {"tags": "add", "tagsAll.x": "add"},
        {"strategy": "spread"},
        ("strategy",),
        outputs=("arn", "placementGroupId"),
    ),
)

ACCOUNT = (
    Case(
        w.KEY,
        lambda _: {"description": "etcd", "enableKeyRotation": True, "deletionWindowInDays": 7},
        {"description": "secrets", "enableKeyRotation": False},
        {"description": "update", "enableKeyRotation": "update"},
        {"keyUsage": "SIGN_VERIFY"},
        ("keyUsage",),
        outputs=("arn", "keyId", "policy"),
    ),
    Case(
        w.ALIAS,
        lambda world: {"targetKeyId": world.key.outputs["arn"]},
        lambda world: {"targetKeyId": world.make(w.KEY, "key", {}).id},
        {"targetKeyId": "update"},
        {"name": "alias/another"},
        ("name",),
        outputs=("arn", "name", "targetKeyArn"),
    ),
    Case(
        w.ROLE,
        lambda _: {"assumeRolePolicy": w.trust("ec2.amazonaws.com"), "description": "nodes"},
        {"assumeRolePolicy": w.trust("eks.amazonaws.com"), "description": "cluster"},
        {"assumeRolePolicy": "update", "description": "update"},
        {"path": "/other/"},
        ("path",),
        outputs=("arn", "uniqueId", "createDate"),
    ),
    Case(
        w.ATTACHMENT,
        lambda world: {"role": world.pod_role.id, "policyArn": "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"},
        replaces={"policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"},
        replaced=("policyArn",),
        import_id=lambda state: f"{state.outputs['role']}/{state.outputs['policyArn']}",
        outputs=(),
    ),
    Case(
        w.ROLE_POLICY,
        lambda world: {"role": world.pod_role.id, "policy": role_policy("s3:GetObject")},
        {"policy": role_policy("s3:ListBucket")},
        {"policy": "update"},
        {"name": "another"},
        ("name",),
        outputs=("name",),
    ),
    Case(
        w.LOG_GROUP,
        lambda _: {"name": "/aws/eks/x/cluster", "retentionInDays": 30},
        {"retentionInDays": 7, "tags": {"x": "y"}},
        {"retentionInDays": "update", "tags": "add", "tagsAll.x": "add"},
        {"name": "/aws/eks/y/cluster"},
        ("name",),
    ),
)

EKS = (
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
)


def entry(world: World) -> Inputs:
    made = world.make(
        w.ENTRY, "entry", {"clusterName": world.cluster.id, "principalArn": world.other_pod_role.outputs["arn"]}
    )
    return {key: made.outputs[key] for key in ("clusterName", "principalArn")}


STORAGE = (
    Case(
        w.ACCESS,
        lambda world: {**entry(world), "policyArn": w.ADMIN, "accessScope": {"type": "cluster"}},
        replaces={"policyArn": w.VIEW},
        replaced=("policyArn",),
        outputs=("associatedAt",),
    ),
    Case(
        w.LUSTRE,
        lustre,
        {"storageCapacity": 2400},
        {"storageCapacity": "update"},
        {"deploymentType": "SCRATCH_2", "perUnitStorageThroughput": None},
        ("deploymentType",),
        outputs=("arn", "dnsName", "mountName", "networkInterfaceIds", "vpcId"),
    ),
    Case(
        w.BUCKET,
        lambda _: {"forceDestroy": True},
        {"tags": {"x": "y"}},
        {"tags": "add", "tagsAll.x": "add"},
        {"objectLockEnabled": True},
        ("objectLockEnabled",),
        outputs=("arn", "bucketDomainName", "bucket"),
    ),
    Case(
        w.VERSIONING,
        lambda world: {"bucket": world.bucket.id, "versioningConfiguration": {"status": "Enabled"}},
        {"versioningConfiguration": {"status": "Suspended"}},
        {"versioningConfiguration.status": "update"},
        {"bucket": "another"},
        ("bucket",),
        stays=True,
        outputs=(),
    ),
    Case(
        w.ENCRYPTION,
        lambda world: {
            "bucket": world.bucket.id,
            "rules": [
                {
                    "applyServerSideEncryptionByDefault": {
                        "sseAlgorithm": "aws:kms",
                        "kmsMasterKeyId": world.key.outputs["arn"],
                    },
                    "bucketKeyEnabled": True,
                }
            ],
        },
        {"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]},
        {
            "rules[0].applyServerSideEncryptionByDefault.sseAlgorithm": "update",
            "rules[0].applyServerSideEncryptionByDefault.kmsMasterKeyId": "delete",
            "rules[0].bucketKeyEnabled": "delete",
        },
        stays=True,
        outputs=(),
    ),
    Case(
        w.PUBLIC,
        lambda world: {"bucket": world.bucket.id, "blockPublicAcls": True, "blockPublicPolicy": True},
        {"restrictPublicBuckets": True},
        {"restrictPublicBuckets": "add"},
        outputs=(),
    ),
    Case(
        w.LIFECYCLE,
        lambda world: {"bucket": world.bucket.id, "rules": lifecycle(30)},
        {"rules": lifecycle(60)},
        {"rules[0].expiration.days": "update"},
        outputs=(),
    ),
    Case(
        w.BUCKET_POLICY,
        lambda world: {"bucket": world.bucket.id, "policy": bucket_policy(world, "tls")},
        lambda world: {"policy": bucket_policy(world, "tlsonly")},
        {"policy": "update"},
        outputs=(),
    ),
    Case(
        w.OWNERSHIP,
        lambda world: {"bucket": world.bucket.id, "rule": {"objectOwnership": "BucketOwnerEnforced"}},
        {"rule": {"objectOwnership": "BucketOwnerPreferred"}},
        {"rule.objectOwnership": "update"},
        outputs=(),
    ),
)

CASES = (*NETWORK, *ACCOUNT, *EKS, *STORAGE)
