"""Rules about what documents of rights say: actions that meet their resources, sizes that IAM takes, API groups."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from catalogue.actions import ACTIONS
from policy.documents import ROLE, Statement, as_list, statements
from policy.graph import UNKNOWN, Graph
from policy.pods import is_kubernetes
from policy.references import behind
from policy.rule import Finding, rule

ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
S3 = "arn:aws:s3:::"
OF_A_BUCKET = ("s3:listbucket", "s3:getbucketlocation", "s3:listbucketmultipartuploads", "s3:listbucketversions")
MOST_INLINE = 10_240
"""Characters of all inline documents of a role together, white space aside."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("configmaps", "endpoints", "limitranges", "namespaces", "persistentvolumeclaims"), ("",)),
    **dict.fromkeys(("persistentvolumes", "resourcequotas", "secrets", "serviceaccounts", "services"), ("",)),
    **dict.fromkeys(("nodes", "pods"), ("", "metrics.k8s.io")),
    "events": ("", "events.k8s.io"),
    **dict.fromkeys(("daemonsets", "deployments", "replicasets", "statefulsets"), ("apps",)),
    "jobs": ("batch", "batch.volcano.sh"),
    "cronjobs": ("batch",),
    "leases": ("coordination.k8s.io",),
    "networkpolicies": ("networking.k8s.io", "crd.projectcalico.org", "policy.networking.k8s.io"),
    "poddisruptionbudgets": ("policy",),
    **dict.fromkeys(("clusterroles", "clusterrolebindings", "roles", "rolebindings"), ("rbac.authorization.k8s.io",)),
    **dict.fromkeys(("csidrivers", "csinodes", "storageclasses", "volumeattachments"), ("storage.k8s.io",)),
    "horizontalpodautoscalers": ("autoscaling",),
    "customresourcedefinitions": ("apiextensions.k8s.io",),
}
"""By resource: the API groups that have one of this name."""


def _documents(graph: Graph) -> Iterator[tuple[str, list[Statement]]]:
    """(logical name, statements) of each document of rights whose text is known."""
    for each in graph.of_type(ROLE_POLICY, "aws:iam/policy:Policy"):
        if (text := each.inputs.get("policy")) and text != UNKNOWN:
            yield each.name, statements(text)


def _misses(action: str, arn: str) -> bool:
    """Whether an action of S3 is on no resource of this kind: buckets are one kind, their objects another."""
    if not arn.startswith(S3) or not action.startswith("s3:") or action.endswith("*"):
        return False
    objects = action.removesuffix("version").removesuffix("tagging") in (
        "s3:getobject",
        "s3:putobject",
        "s3:deleteobject",
    )
    return ("/" in arn) if action in OF_A_BUCKET else objects and "/" not in arn and not arn.endswith("*")


@rule(
    source="Service Authorization Reference: https://docs.aws.amazon.com/service-authorization/latest/reference/"
    "list_amazons3.html (resource types of each action)",
    remedy="s3:ListBucket on arn:aws:s3:::BUCKET, s3:GetObject and s3:PutObject on arn:aws:s3:::BUCKET/PREFIX/*",
)
def actions_meet_their_resource(graph: Graph) -> Iterator[Finding]:
    """An action on a bucket names buckets, one on objects names objects: anything else allows nothing."""
    for name, document in _documents(graph):
        for one in document:
            arns = [str(each) for each in as_list(one.get("Resource"))]
            for action in as_list(one.get("Action")):
                if arns and all(_misses(str(action).lower(), each) for each in arns):
                    yield name, f"allows {action} on {arns[0]}, which is of the other kind: it allows nothing"


@rule(
    source="Service Authorization Reference: https://docs.aws.amazon.com/service-authorization/latest/reference/"
    "reference_policies_actions-resources-contextkeys.html; IAM takes any name behind a service's prefix",
    remedy="take the action's name from that page, where a call of the API has another one: ListObjectsV2 is "
    "s3:ListBucket, HeadObject s3:GetObject, CopyObject s3:GetObject and s3:PutObject, UploadPart s3:PutObject",
)
def actions_are_there(graph: Graph) -> Iterator[Finding]:
    """A document names actions that their service has: by any other name IAM allows nothing, and says nothing."""
    for name, document in _documents(graph):
        for action in (str(each) for one in document for each in as_list(one.get("Action"))):
            service, _, given = action.partition(":")
            known = ACTIONS.get(service.lower(), ())
            if known and not any(fnmatchcase(each.lower(), given.lower()) for each in known):
                near = ", ".join(get_close_matches(given, known))
                yield (
                    name,
                    f"names {action}, which is no action of {service}" + (f"; near it are {near}" if near else ""),
                )


@rule(
    source="IAM guide: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html (10,240 characters "
    "of a role's inline policies): LimitExceeded when it is created",
    remedy="let prefixes or buckets share a pattern, or put part of it into a managed policy (aws.iam.Policy)",
)
def documents_fit_their_role(graph: Graph) -> Iterator[Finding]:
    """The inline documents of a role are together no longer than IAM takes."""
    sizes: dict[str, int] = {}
    for each in graph.of_type(ROLE_POLICY):
        text = each.inputs.get("policy")
        for role in behind(graph, each, "role", each.inputs.get("role"), ROLE) if text != UNKNOWN else ():
            sizes[role.name] = sizes.get(role.name, 0) + _length(text)
    for name, size in sizes.items():
        if size > MOST_INLINE:
            yield name, f"has {size} characters of inline policies; IAM takes {MOST_INLINE}"


def _length(document: Any) -> int:
    content = json.loads(document) if isinstance(document, str) else document
    return len(json.dumps(content, separators=(",", ":")))


@rule(
    source="Kubernetes: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources (a rule "
    "for a group without the resource is taken, and gives nothing)",
    remedy='name the group of the resource: "" for pods and services, apps for deployments, batch for jobs',
)
def rights_name_their_group(graph: Graph) -> Iterator[Finding]:
    """A role names each resource in an API group that has it (J08)."""
    for each in graph.of_type("Role", "ClusterRole"):
        for one in each.inputs.get("rules") or [] if is_kubernetes(each) else ():
            groups = one.get("apiGroups") or []
            for resource in one.get("resources") or []:
                known = GROUPS.get(str(resource).partition("/")[0])
                if known and not {*known, "*"} & set(groups):
                    yield (
                        each.name,
                        f"gives rights on {resource} of {groups}, which are of {' or '.join(map(repr, known))}",
                    )
