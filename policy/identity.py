"""Rules about who may do what on AWS: nodes, the control plane, the cluster's drivers and everybody's pods."""

from collections.abc import Iterator, Mapping

from policy.calls import calls
from policy.documents import ROLE, as_list, attachments, rights, trusted
from policy.graph import UNKNOWN, Graph, Resource
from policy.pods import objects
from policy.pools import NODE_GROUP
from policy.reach import CLUSTER
from policy.references import before, target
from policy.rule import Finding, rule

ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
ADDON = "aws:eks/addon:Addon"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"

SERVICES = {
    CLUSTER: ("roleArn", "eks.amazonaws.com", ("sts:AssumeRole",)),
    NODE_GROUP: ("nodeRoleArn", "ec2.amazonaws.com", ("sts:AssumeRole",)),
    ASSOCIATION: ("roleArn", "pods.eks.amazonaws.com", ("sts:AssumeRole", "sts:TagSession")),
}
"""Who takes a role, and by which actions: input, service, actions."""

OF_ADDONS = {
    ("kube-system", "ebs-csi-controller-sa"): "aws-ebs-csi-driver",
    ("kube-system", "fsx-csi-controller-sa"): "aws-fsx-csi-driver",
    ("kube-system", "efs-csi-controller-sa"): "aws-efs-csi-driver",
    ("kube-system", "s3-csi-driver-sa"): "aws-mountpoint-s3-csi-driver",
    ("kube-system", "aws-node"): "vpc-cni",
    ("amazon-cloudwatch", "cloudwatch-agent"): "amazon-cloudwatch-observability",
}
"""Service accounts that an add-on of EKS makes."""

WORKER = ("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy")
REGISTRY = (
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEC2ContainerRegistryPowerUser",
)
NETWORK = ("AmazonEKS_CNI_Policy",)
CONTROL_PLANE = ("AmazonEKSClusterPolicy",)


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html, "
    "create-node-role.html and cluster-iam-role.html beside it",
    remedy="let the service that takes the role assume it: eks, ec2, or pods.eks.amazonaws.com with sts:TagSession too",
)
def roles_trust_who_takes_them(graph: Graph) -> Iterator[Finding]:
    """A role can be assumed by the service that uses it."""
    for kind, (key, service, actions) in SERVICES.items():
        for each in graph.of_type(kind):
            role = target(graph, each, key, ROLE)
            trust = trusted(role) if role else None
            if role is None or trust is None:
                continue
            given = trust.get(service, set())
            if lacking := [one for one in actions if one not in given and "sts:*" not in given]:
                yield role.name, f"does not let {service} take {' and '.join(lacking)}, as {each.name} needs"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html, "
    "cluster-iam-role.html and cni-iam-role.html beside it",
    remedy="attach the policy to the role, and let what uses the role depend on the attachment",
)
def roles_hold_what_eks_needs(graph: Graph) -> Iterator[Finding]:
    """Roles of nodes and of the control plane have their policies before they are used."""
    network = () if _cni_has_its_own(graph) else (NETWORK,)
    wanted = {NODE_GROUP: (WORKER, REGISTRY, *network), CLUSTER: (CONTROL_PLANE,)}
    for kind, groups in wanted.items():
        for each in graph.of_type(kind):
            if (role := target(graph, each, SERVICES[kind][0], ROLE)) is None:
                continue
            held = rights(graph, role)
            for names in groups:
                if not held.policies & set(names) and not held.partly:
                    yield role.name, f"lacks {names[0]}, which {each.name} needs"
            there = before(graph, each)
            if late := [one.name for one in attachments(graph, role) if one.urn not in there]:
                yield each.name, f"may be created before its role has {', '.join(sorted(late))}"


def _cni_has_its_own(graph: Graph) -> bool:
    """Whether the VPC CNI has a role of its own, so that nodes need none for it."""
    addons = [each for each in graph.of_type(ADDON) if each.inputs.get("addonName") == "vpc-cni"]
    by_addon = any(
        each.inputs.get("serviceAccountRoleArn") or each.inputs.get("podIdentityAssociations") for each in addons
    )
    return by_addon or ("kube-system", "aws-node") in _accounts(graph)


def _accounts(graph: Graph) -> dict[tuple[str, str], list[Resource]]:
    """Associations by (namespace, service account)."""
    found: dict[tuple[str, str], list[Resource]] = {}
    for each in graph.of_type(ASSOCIATION):
        key = (str(each.inputs.get("namespace")), str(each.inputs.get("serviceAccount")))
        found.setdefault(key, []).append(each)
    return found


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-association.html",
    remedy="name the namespace and the service account of the pods; one association for each",
)
def associations_meet_their_accounts(graph: Graph) -> Iterator[Finding]:
    """A pod identity association is for a service account of the program or its add-ons, one per account."""
    made = objects(graph, "ServiceAccount")
    addons = {each.inputs.get("addonName") for each in graph.of_type(ADDON)}
    releases = graph.of_type("Release")
    charts = {each.inputs.get("namespace") for each in releases} - {"kube-system"}
    named = {(each.inputs.get("namespace"), _account_of(each)) for each in releases}
    for account, associations in _accounts(graph).items():
        shown = f"{account[1]} in namespace {account[0]}"
        for one in associations[1:]:
            yield one.name, f"is the second association of the service account {shown}; EKS takes one"
        unknown = (account[0], UNKNOWN) in named
        if account in made or account in named or unknown or OF_ADDONS.get(account) in addons or account[0] in charts:
            continue
        owner = f", which the add-on {OF_ADDONS[account]} would make" if account in OF_ADDONS else ""
        yield associations[0].name, f"is for the service account {shown}, which nothing creates{owner}"


def _account_of(release: Resource) -> str | None:
    """The account that a release is told to make, as most charts have the value."""
    account = (release.inputs.get("values") or {}).get("serviceAccount")
    return account.get("name") if isinstance(account, Mapping) else None


DRIVER = {
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa", "ec2:CreateVolume", "AmazonEBSCSIDriverPolicy"),
}
"""Add-ons that call AWS by their service account whatever volumes there are."""


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html; "
    "aws-fsx-csi-driver: static volumes never call its controller",
    remedy="associate the driver's service account with a role that has the driver's policy",
)
def drivers_may_make_volumes(graph: Graph) -> Iterator[Finding]:
    """The EBS CSI driver has a role that may create volumes."""
    accounts = _accounts(graph)
    for addon in graph.of_type(ADDON):
        name = str(addon.inputs.get("addonName"))
        if name not in DRIVER or addon.inputs.get("serviceAccountRoleArn"):
            continue
        account, action, policy = DRIVER[name]
        if addon.inputs.get("podIdentityAssociations"):
            continue
        if not (associations := accounts.get(("kube-system", account))):
            yield addon.name, f"has no association for {account} in kube-system, so it cannot create volumes"
            continue
        role = target(graph, associations[0], "roleArn", ROLE)
        held = rights(graph, role) if role else None
        by_name = held and any(each.startswith(policy) for each in held.policies)
        if held and not held.partly and not by_name and not held.allow(action, "*"):
            yield associations[0].name, f"gives {account} a role that has neither {policy} nor {action}"


@rule(
    source="EKS guide: https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html; S3 guide: "
    "https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html, UsingKMSEncryption.html",
    remedy="associate the pod's service account, and allow what it calls: s3:ListBucket on the bucket, s3:GetObject or "
    "s3:PutObject below the prefix, kms:Decrypt and kms:GenerateDataKey on the bucket's key",
)
def pods_may_do_what_they_call(graph: Graph) -> Iterator[Finding]:
    """A pod that names an S3 address has a role whose policies allow that address (LF11)."""
    if not graph.of_type(CLUSTER):
        return
    accounts = _accounts(graph)
    for call in calls(graph):
        found = accounts.get((call.namespace, call.account))
        if not found:
            yield (
                call.owner,
                f"calls {call.uri} as {call.account} of {call.namespace}, which has no pod identity association",
            )
            continue
        role = target(graph, found[0], "roleArn", ROLE)
        held = rights(graph, role) if role else None
        if role is None or held is None or held.partly:
            continue
        bucket, keys = f"arn:aws:s3:::{call.bucket}", _keys(graph, call.bucket)
        missing = [] if held.allow("s3:ListBucket", bucket, call.prefix) else [f"s3:ListBucket on {bucket}"]
        below = f"{bucket}/{call.prefix}/*" if call.prefix else f"{bucket}/*"
        if not any(held.allow(each, below.replace("*", "x")) for each in call.actions):
            missing.append(f"{' or '.join(call.actions)} on {below}")
        for key in keys:
            if not any(held.allow(each, key) for each in call.key_actions):
                missing.append(f"{' or '.join(call.key_actions)} on {key}")
        for each in missing:
            yield role.name, f"does not allow {each}, which {call.owner} calls"


WIDE = ("*", "s3:*", "kms:*", "iam:*", "ec2:*")


@rule(
    source="EKS best practices: https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html",
    remedy="name the actions, the bucket and the prefix that the pod calls, and give it a service account of its own",
)
def rights_of_pods_are_narrow(graph: Graph) -> Iterator[Finding]:
    """A role of pods names its actions and resources, and no namespace's default service account has one."""
    for association in graph.of_type(ASSOCIATION):
        if association.inputs.get("serviceAccount") == "default":
            yield association.name, "gives its permissions to every pod of the namespace without a service account"
        if (role := target(graph, association, "roleArn", ROLE)) is None:
            continue
        held = rights(graph, role)
        if "AdministratorAccess" in held.policies:
            yield role.name, f"lets pods of {association.name} do anything"
        for each in held.statements:
            if each.get("Effect") == "Allow":
                wide = [str(one) for one in as_list(each.get("Action")) if one in WIDE]
                wide += [str(one) for one in as_list(each.get("Resource")) if _any_bucket(str(one))]
                for one in wide:
                    yield role.name, f"allows {one} to pods of {association.name}"


def _any_bucket(arn: str) -> bool:
    """Whether an ARN of S3 is of more than one bucket."""
    return arn.startswith("arn:aws:s3:::") and "*" in arn.removeprefix("arn:aws:s3:::").partition("/")[0]


def _keys(graph: Graph, bucket: str) -> list[str]:
    """Keys of a bucket of this program."""
    return [
        str(key)
        for each in graph.of_type(ENCRYPTION)
        if each.inputs.get("bucket") == bucket
        for one in each.inputs.get("rules") or []
        if (key := (one.get("applyServerSideEncryptionByDefault") or {}).get("kmsMasterKeyId"))
    ]
