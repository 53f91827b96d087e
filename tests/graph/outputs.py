"""What AWS and Kubernetes would add to a resource's inputs: enough for the program to go on, and true to form."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

ACCOUNT = "123456789012"
CALLER = f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/session"

Inputs = Mapping[str, Any]


def hex_id(prefix: str, name: str) -> str:
    """An id of EC2's form, the same for the same name: prefix and 17 hex digits."""
    return f"{prefix}-{hashlib.sha256(name.encode()).hexdigest()[:17]}"


def arn(service: str, resource: str, region: str = "us-east-2") -> str:
    return f"arn:aws:{service}:{region}:{ACCOUNT}:{resource}"


def _ec2(prefix: str, **more: Any) -> Callable[[str, Inputs], tuple[str, dict[str, Any]]]:
    def outputs(name: str, _: Inputs) -> tuple[str, dict[str, Any]]:
        identity = hex_id(prefix, name)
        return identity, {"arn": arn("ec2", f"{prefix}/{identity}"), **more}

    return outputs


def _named(key: str, service: str | None = None, kind: str = "") -> Callable[[str, Inputs], tuple[str, dict[str, Any]]]:
    """A resource whose id is one of its inputs."""

    def outputs(name: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
        identity = str(inputs.get(key, name))
        return identity, {"arn": arn(service, f"{kind}{identity}")} if service else {}

    return outputs


def _plain(name: str, _: Inputs) -> tuple[str, dict[str, Any]]:
    return hex_id("id", name), {}


def _cluster(_: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    name = inputs["name"]
    return name, {
        "arn": arn("eks", f"cluster/{name}"),
        "endpoint": "https://0123456789ABCDEF.gr7.us-east-2.eks.amazonaws.com",
        "certificateAuthority": {"data": "LS0tLS1CRUdJTg=="},
        "vpcConfig": {**inputs["vpcConfig"], "clusterSecurityGroupId": hex_id("sg", name)},
    }


def _key(name: str, _: Inputs) -> tuple[str, dict[str, Any]]:
    identity = "1234abcd-12ab-34cd-56ef-" + hashlib.sha256(name.encode()).hexdigest()[:12]
    return identity, {"keyId": identity, "arn": arn("kms", f"key/{identity}")}


def _file_system(name: str, _: Inputs) -> tuple[str, dict[str, Any]]:
    identity = hex_id("fs", name)
    dns = f"{identity}.fsx.us-east-2.amazonaws.com"
    return identity, {"arn": arn("fsx", f"file-system/{identity}"), "dnsName": dns, "mountName": "abcdefgh"}


def _template(name: str, _: Inputs) -> tuple[str, dict[str, Any]]:
    return hex_id("lt", name), {"latestVersion": 1, "defaultVersion": 1}


def _release(_: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    return f"{inputs['namespace']}/{inputs['name']}", {"status": {"status": "deployed"}}


def _provider(name: str, _: Inputs) -> tuple[str, dict[str, Any]]:
    return hashlib.sha256(name.encode()).hexdigest()[:8], {}


OUTPUTS: dict[str, Callable[[str, Inputs], tuple[str, dict[str, Any]]]] = {
    "pulumi:providers:aws": _provider,
    "pulumi:providers:kubernetes": _provider,
    "aws:ec2/vpc:Vpc": _ec2("vpc"),
    "aws:ec2/subnet:Subnet": _ec2("subnet"),
    "aws:ec2/internetGateway:InternetGateway": _ec2("igw"),
    "aws:ec2/eip:Eip": _ec2("eipalloc", publicIp="203.0.113.7"),
    "aws:ec2/natGateway:NatGateway": _ec2("nat"),
    "aws:ec2/routeTable:RouteTable": _ec2("rtb"),
    "aws:ec2/route:Route": _plain,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _ec2("rtbassoc"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2("vpce"),
    "aws:ec2/securityGroup:SecurityGroup": _ec2("sg"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _ec2("sgr"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _ec2("sgr"),
    "aws:ec2/launchTemplate:LaunchTemplate": _template,
    "aws:ec2/placementGroup:PlacementGroup": _named("name", "ec2", "placement-group/"),
    "aws:kms/key:Key": _key,
    "aws:kms/alias:Alias": _named("name", "kms"),
    "aws:iam/role:Role": _named("name", "iam", "role/"),
    "aws:iam/rolePolicy:RolePolicy": _plain,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _plain,
    "aws:cloudwatch/logGroup:LogGroup": _named("name", "logs", "log-group:"),
    "aws:eks/cluster:Cluster": _cluster,
    "aws:eks/accessEntry:AccessEntry": _plain,
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": _plain,
    "aws:eks/addon:Addon": _plain,
    "aws:eks/nodeGroup:NodeGroup": _plain,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _ec2("a"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": _file_system,
    "aws:s3/bucket:Bucket": _named("bucket", "s3"),
    "aws:s3/bucketVersioning:BucketVersioning": _named("bucket"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _named("bucket"),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _named("bucket"),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _named("bucket"),
    "aws:s3/bucketPolicy:BucketPolicy": _named("bucket"),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _named("bucket"),
    "kubernetes:helm.sh/v3:Release": _release,
}

INVOKES: dict[str, dict[str, Any]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": {
        "accountId": ACCOUNT,
        "arn": CALLER,
        "id": ACCOUNT,
        "userId": "AROAEXAMPLE:session",
    },
    "aws:index/getPartition:getPartition": {
        "partition": "aws",
        "dnsSuffix": "amazonaws.com",
        "id": "aws",
        "reverseDnsPrefix": "com.amazonaws",
    },
    "aws:iam/getSessionContext:getSessionContext": {
        "arn": CALLER,
        "id": CALLER,
        "issuerArn": f"arn:aws:iam::{ACCOUNT}:role/deployer",
        "issuerId": "AROAEXAMPLE",
        "issuerName": "deployer",
        "sessionName": "session",
    },
}

BUILT_IN_GROUPS = (
    "core",
    "apps",
    "batch",
    "autoscaling",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "policy",
    "admissionregistration.k8s.io",
)
CUSTOM_KINDS = (
    "kubernetes:scheduling.volcano.sh/v1beta1:Queue",
    "kubernetes:kubeflow.org/v1:PyTorchJob",
    "kubernetes:monitoring.coreos.com/v1:ServiceMonitor",
)


def outputs_of(token: str, name: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    """Id and further outputs of a resource. Raises KeyError for a type that this table does not know."""
    if token in OUTPUTS:
        return OUTPUTS[token](name, inputs)
    if token in CUSTOM_KINDS or token.startswith(tuple(f"kubernetes:{group}/" for group in BUILT_IN_GROUPS)):
        return _kubernetes(name, inputs)
    raise KeyError(f"{token} is unknown to tests/graph/outputs.py; say there what its provider returns")


def _kubernetes(name: str, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    metadata = dict(inputs.get("metadata") or {})
    metadata.setdefault("name", name)
    metadata["uid"] = hashlib.sha256(json.dumps(metadata, sort_keys=True, default=str).encode()).hexdigest()[:32]
    namespace = metadata.get("namespace")
    identity = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    return identity, {"metadata": metadata}
