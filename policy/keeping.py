"""Rules about what a mistake locks, loses or leaves unsaid: keys, buckets, alerts of cost."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from policy.documents import as_list, statements
from policy.gangs import spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.references import behind
from policy.rule import Finding, rule

KEY = "aws:kms/key:Key"
BUCKET = "aws:s3/bucket:Bucket"
LIFECYCLES = (
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2",
)
TOPIC, TOPIC_POLICY = "aws:sns/topic:Topic", "aws:sns/topicPolicy:TopicPolicy"
CHANGE_KEY = "kms:putkeypolicy"


def principals(statement: Mapping[str, Any], kind: str) -> list[str]:
    """Who a statement is for: of a kind (AWS, Service), or everybody."""
    principal = statement.get("Principal")
    if principal == "*":
        return ["*"]
    return [str(each) for each in as_list(principal.get(kind))] if isinstance(principal, dict) else []


def _allows(statement: Mapping[str, Any], action: str) -> bool:
    return statement.get("Effect") == "Allow" and any(
        fnmatchcase(action, str(each).lower()) for each in as_list(statement.get("Action"))
    )


@rule(
    source="KMS guide: https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html; PutKeyPolicy, "
    "BypassPolicyLockoutSafetyCheck: a key that nobody may manage is not made, or is lost",
    remedy="keep the statement that allows kms:* to arn:aws:iam::ACCOUNT:root, or let a role kms:PutKeyPolicy",
)
def keys_stay_in_hand(graph: Graph) -> Iterator[Finding]:
    """A key's own policy lets somebody of the account change it."""
    for kind, title in ((KEY, "KMS key"), ("aws:kms/keyPolicy:KeyPolicy", "key policy")):
        for each in graph.of_type(kind):
            document = each.inputs.get("policy")
            if document in (None, UNKNOWN):
                continue
            if not any(principals(one, "AWS") and _allows(one, CHANGE_KEY) for one in statements(document)):
                yield each.name, f"is a {title} whose policy nobody may change (kms:PutKeyPolicy), so KMS refuses it"


def _covers_all(one: Mapping[str, Any]) -> bool:
    """Whether a lifecycle rule is for every object of its bucket."""
    given = one.get("filter") or {}
    inner = given.get("and") or {}
    narrowed = [given.get("prefix"), one.get("prefix"), given.get("tag"), inner.get("prefix"), inner.get("tags")]
    return not any(narrowed) and not {key for key in given if key.startswith("objectSize")}


@rule(
    source="S3 guide: https://docs.aws.amazon.com/AmazonS3/latest/userguide/intro-lifecycle-filters.html: an empty "
    "prefix is every object",
    remedy="give the rule the prefix of what may go (checkpoints/), or take the bucket's protection away",
)
def protected_buckets_keep_objects(graph: Graph) -> Iterator[Finding]:
    """A protected bucket has no rule by which every object of it expires."""
    for kind in LIFECYCLES:
        for each in graph.of_type(kind):
            kept = [one for one in behind(graph, each, "bucket", each.inputs.get("bucket"), BUCKET) if one.protect]
            for one in each.inputs.get("rules") or [] if kept else ():
                expiry = one.get("expiration") or {}
                if one.get("status") == "Enabled" and expiry.get("days") and _covers_all(one):
                    yield (
                        each.name,
                        f"deletes every object of {kept[0].name} after {expiry['days']} days ({one.get('id')})",
                    )


@rule(
    source="FSx for Lustre guide: https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-backups-fsx.html: automatic "
    "backups are kept for up to 90 days, and 0 turns them off",
    remedy="automaticBackupRetentionDays of 1 to 90, or a final backup alone where an object store holds every file",
)
def protected_files_are_backed_up(graph: Graph) -> Iterator[Finding]:
    """A protected file system for lasting data has automatic backups (Y14)."""
    for each in graph.of_type("aws:fsx/lustreFileSystem:LustreFileSystem"):
        lasting = str(each.inputs.get("deploymentType")).startswith("PERSISTENT")
        if each.protect and lasting and each.inputs.get("automaticBackupRetentionDays", 0) == 0:
            yield each.name, "holds lasting data and has no automatic backups (automaticBackupRetentionDays)"


@rule(
    source="EKS API: CreateCluster, deletionProtection; EKS guide: "
    "https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html (audit)",
    remedy="deletionProtection: true, and audit among enabledClusterLogTypes",
)
def protected_clusters_are_kept(graph: Graph) -> Iterator[Finding]:
    """A protected stack's cluster is not deleted by one call, and records who did what (Y14)."""
    for each in graph.of_type("aws:eks/cluster:Cluster") if graph.protected else ():
        if each.inputs.get("deletionProtection") not in (True, UNKNOWN):
            yield each.name, "may be deleted by one call: deletionProtection is not true"
        kinds = each.inputs.get("enabledClusterLogTypes") or []
        if kinds != UNKNOWN and "audit" not in kinds:
            yield each.name, "writes no audit log: nobody can say later who did what"


def _asked(each: Resource) -> Iterator[tuple[str, str]]:
    """(input, ARN of a topic) of what a budget or an anomaly subscription publishes to."""
    for key in ("notifications", "subscribers"):
        for one in as_list(each.inputs.get(key)):
            if one == UNKNOWN:
                yield key, UNKNOWN
            elif key == "notifications":
                yield from ((key, str(arn)) for arn in as_list(one.get("subscriberSnsTopicArns")))
            elif one.get("type") == "SNS":
                yield key, str(one.get("address"))


@rule(
    source="AWS Cost Management guide: https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-sns-policy.html"
    " and ad-SNS.html beside it: without the statement no notification is sent, and nobody is told",
    remedy="an aws.sns.TopicPolicy that allows SNS:Publish to budgets.amazonaws.com, or costalerts.amazonaws.com",
)
def alerts_of_cost_are_let_through(graph: Graph) -> Iterator[Finding]:
    """A topic lets the services publish that were told to: budgets, and the detection of anomalies."""
    for kind, service in (
        ("aws:budgets/budget:Budget", "budgets.amazonaws.com"),
        ("aws:costexplorer/anomalySubscription:AnomalySubscription", "costalerts.amazonaws.com"),
    ):
        for each in graph.of_type(kind):
            topics = {one.urn: one for key, arn in _asked(each) for one in behind(graph, each, key, arn, TOPIC)}
            for topic in topics.values():
                if not _lets(graph, topic, service):
                    yield topic.name, f"does not let {service} publish, so {each.name} tells nobody"


def _lets(graph: Graph, topic: Resource, service: str) -> bool:
    documents = [topic.inputs.get("policy")]
    documents += [
        each.inputs.get("policy")
        for each in graph.of_type(TOPIC_POLICY)
        if topic in behind(graph, each, "arn", each.inputs.get("arn"), TOPIC)
    ]
    return UNKNOWN in documents or any(
        _allows(one, "sns:publish") and {service, "*"} & set(principals(one, "Service"))
        for document in documents
        if document
        for one in statements(document)
    )


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reclaiming: Delete removes the "
    "volume and what is behind it, or leaves it Failed where its driver made it not",
    remedy="persistentVolumeReclaimPolicy: Retain, or leave it out: a volume that no class makes is retained",
)
def static_volumes_are_kept(graph: Graph) -> Iterator[Finding]:
    """A volume that the program registers keeps its data when its claim goes."""
    for each in graph.of_type("PersistentVolume"):
        if (policy := spec_of(each).get("persistentVolumeReclaimPolicy", "Retain")) != "Retain":
            yield (
                each.name,
                f"is a volume of the program's own whose reclaim policy is {policy}: its claim takes it along",
            )
