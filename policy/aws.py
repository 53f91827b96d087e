"""Rules about AWS resources: tags, encryption at rest, and who can reach what."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policy.graph import Graph, Resource
from policy.rule import Finding, rule

MANDATORY_TAGS = ("gpucluster:project", "gpucluster:stack", "owner", "cost-centre")
EBS_DRIVER = "ebs.csi.aws.com"
WORLD = ("0.0.0.0/0", "::/0")

UNTAGGED_TYPES = frozenset(
    {
        "aws:ec2/route:Route",
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        "aws:ecr/pullThroughCacheRule:PullThroughCacheRule",
        "aws:ecr/repositoryPolicy:RepositoryPolicy",
        "aws:efs/backupPolicy:BackupPolicy",
        "aws:efs/fileSystemPolicy:FileSystemPolicy",
        "aws:efs/mountTarget:MountTarget",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:kms/alias:Alias",
        "aws:lambda/permission:Permission",
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        "aws:s3/bucketVersioning:BucketVersioning",
        "aws:scheduler/schedule:Schedule",
        "aws:secretsmanager/secretRotation:SecretRotation",
        "aws:sns/topicPolicy:TopicPolicy",
        "aws:sqs/queuePolicy:QueuePolicy",
        "aws:cloudwatch/eventTarget:EventTarget",
        "aws:sns/topicSubscription:TopicSubscription",
        "aws:acm/certificateValidation:CertificateValidation",
        "aws:route53/record:Record",
    }
)
"""Types that AWS cannot tag."""


@rule(
    source="AWS provider: https://registry.terraform.io/providers/hashicorp/aws/latest/docs/guides/resource-tagging",
    remedy="tag provider, resource and template with the stack's tags, and Name with the logical name",
)
def tagged(graph: Graph) -> Iterator[Finding]:
    """The provider adds the mandatory tags, resources their name as a tag, templates both to what they start."""
    for provider in graph.of_type("pulumi:providers:aws"):
        tags = (provider.inputs.get("defaultTags") or {}).get("tags") or {}
        if missing := [tag for tag in MANDATORY_TAGS if not tags.get(tag)]:
            yield provider.name, f"default tags lack {', '.join(missing)}"
    for each in graph.resources.values():
        if each.token.startswith("aws:") and each.token not in UNTAGGED_TYPES:
            name = (each.inputs.get("tags") or {}).get("Name")
            if name != each.name:
                yield each.name, f"has the tag Name={name}; make it the logical name, by which recovery finds it"
    for template in graph.of_type("aws:ec2/launchTemplate:LaunchTemplate"):
        specifications = {each["resourceType"]: each["tags"] for each in template.inputs.get("tagSpecifications", [])}
        for kind in ("instance", "volume", "network-interface"):
            if missing := [tag for tag in MANDATORY_TAGS if not specifications.get(kind, {}).get(tag)]:
                yield template.name, f"starts each {kind} without {', '.join(missing)}; default tags do not reach it"
    for each in graph.of_type("EC2NodeClass"):
        given = (each.inputs.get("spec") or {}).get("tags") or {}
        if missing := [tag for tag in MANDATORY_TAGS if not given.get(tag)]:
            yield each.name, f"lets Karpenter start nodes without {', '.join(missing)}; default tags do not reach them"
    for each in graph.of_type("kubernetes:storage.k8s.io/v1:StorageClass"):
        asked = each.inputs.get("parameters") or {}
        given = {value.partition("=")[0] for name, value in asked.items() if name.startswith("tagSpecification_")}
        missing = [tag for tag in MANDATORY_TAGS if tag not in given]
        if each.inputs.get("provisioner") == EBS_DRIVER and missing:
            yield each.name, f"makes volumes without {', '.join(missing)}; only tagSpecification_1 and on reach them"


def _secrets_encrypted(inputs: Mapping[str, Any]) -> bool:
    config = inputs.get("encryptionConfig") or {}
    return "secrets" in config.get("resources", []) and bool(config.get("provider", {}).get("keyArn"))


def _volumes_encrypted(inputs: Mapping[str, Any]) -> bool:
    volumes = [each.get("ebs", {}) for each in inputs.get("blockDeviceMappings", [])]
    return bool(volumes) and all(each.get("encrypted") == "true" for each in volumes)


ENCRYPTION: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bool]]] = {
    "aws:eks/cluster:Cluster": ("Kubernetes secrets with our key", _secrets_encrypted),
    "aws:cloudwatch/logGroup:LogGroup": ("its log with our key", lambda inputs: bool(inputs.get("kmsKeyId"))),
    "aws:ec2/launchTemplate:LaunchTemplate": ("its volumes", _volumes_encrypted),
    "aws:fsx/lustreFileSystem:LustreFileSystem": (
        "a persistent file system with our key",
        lambda inputs: inputs.get("deploymentType") == "SCRATCH_2" or bool(inputs.get("kmsKeyId")),
    ),
    "aws:kms/key:Key": ("with a key that rotates", lambda inputs: inputs.get("enableKeyRotation") is True),
    "kubernetes:storage.k8s.io/v1:StorageClass": (
        "its volumes",
        # Other drivers have no such parameter: their drives are encrypted below them, or not at all.
        lambda inputs: (
            inputs.get("provisioner") != EBS_DRIVER or (inputs.get("parameters") or {}).get("encrypted") == "true"
        ),
    ),
}


@rule(
    source="AWS: https://docs.aws.amazon.com/prescriptive-guidance/latest/encryption-best-practices/welcome.html",
    remedy="give it the stack's key (kms_key_id, encrypted, encryption_config)",
)
def encrypted(graph: Graph) -> Iterator[Finding]:
    """Data at rest is encrypted wherever the type has a setting for it (Y06)."""
    for token, (what, holds) in ENCRYPTION.items():
        for each in graph.of_type(token):
            if not holds(each.inputs):
                yield each.name, f"does not encrypt {what}"
    encrypted_buckets = {
        each.inputs.get("bucket")
        for each in graph.of_type("BucketServerSideEncryptionConfiguration")
        if all(rule["applyServerSideEncryptionByDefault"]["sseAlgorithm"] == "aws:kms" for rule in each.inputs["rules"])
    }
    for bucket in graph.of_type("aws:s3/bucket:Bucket"):
        if bucket.inputs.get("bucket") not in encrypted_buckets:
            yield bucket.name, "does not encrypt its objects with our key"


def _open_to(each: Resource) -> list[str]:
    """Address ranges that may come in."""
    inputs = each.inputs
    if each.kind == "SecurityGroupIngressRule":
        return [inputs.get("cidrIpv4") or "", inputs.get("cidrIpv6") or ""]
    if each.kind == "SecurityGroup":
        rules = inputs.get("ingress") or []
        return [cidr for rule in rules for key in ("cidrBlocks", "ipv6CidrBlocks") for cidr in rule.get(key) or []]
    return []


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html",
    remedy="name the networks that need access: platform.publicAccessCidrs, a security group; make Services ClusterIP",
)
def no_public_ingress(graph: Graph) -> Iterator[Finding]:
    """Nothing is open to the Internet: no security group, no API server, no Service (Y11; IN07)."""
    for each in graph.resources.values():
        if any(cidr in WORLD for cidr in _open_to(each)):
            yield each.name, "is open to the whole Internet; name the networks that need access"
    for cluster in graph.of_type("aws:eks/cluster:Cluster"):
        config = cluster.inputs.get("vpcConfig") or {}
        cidrs = config.get("publicAccessCidrs") or list(WORLD)
        if config.get("endpointPublicAccess", True) and any(cidr in WORLD for cidr in cidrs):
            yield cluster.name, "opens its API server to the whole Internet; set platform.publicAccessCidrs"
    for service in graph.of_type("kubernetes:core/v1:Service"):
        kind = (service.inputs.get("spec") or {}).get("type", "ClusterIP")
        if kind != "ClusterIP":
            yield service.name, f"is a Service of type {kind}, which is reachable from outside; make it ClusterIP"


@rule(
    source="EKS best practices: https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html",
    remedy="set metadata_options: http_tokens=required, http_put_response_hop_limit=1; pods use pod identity",
)
def instances_hardened(graph: Graph) -> Iterator[Finding]:
    """Instance metadata requires IMDSv2 and is reachable from the host only; pods use pod identity."""
    for template in graph.of_type("aws:ec2/launchTemplate:LaunchTemplate"):
        options = template.inputs.get("metadataOptions") or {}
        if options.get("httpTokens") != "required" or options.get("httpPutResponseHopLimit") != 1:
            yield template.name, "lets pods use the instance's credentials; require IMDSv2 and a hop limit of 1"
