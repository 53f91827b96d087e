"""One stack in which everything changes that a comment tells of: its whole text, and the whole diff beside it."""

from dataclasses import replace
from typing import Any

from planner.faces.revision import Told
from planner.findings import Finding, Severity
from review.comment import comment
from review.compared import Compared
from review.diff import whole
from review.preview import Preview
from tests.review.stacks import preview, stepped, urn
from tests.review.test_comment import GOLDEN, same_as_golden

NODES, ROLE, CONFIG = "aws:eks/nodeGroup:NodeGroup", "aws:iam/role:Role", "kubernetes:core/v1:ConfigMap"
JOB, SERVICE = "kubernetes:kubeflow.org/v1:PyTorchJob", "kubernetes:apps/v1:Deployment"
LOCAL = {"local": True, "every_s": 60, "file_system_s": 1800}
REMOTE = {"local": False, "every_s": 600, "file_system_s": 9}


def finding(rule: str, sentence: str, severity: Severity = Severity.WARNING, waiver: str | None = None) -> Finding:
    told: dict[str, Any] = {"path": f"gpucluster:{rule}", "remedy": "mend it", "waiver": waiver}
    return Finding(rule=rule, sentence=sentence, severity=severity, **told)


BEFORE = Told(
    numbers={"totals.nodes": 6, "same": 1, "was": 2.5, "kind": "ssd"},
    findings=(finding("old", "it was so"), finding("kept", "one"), finding("same", "as ever")),
    pools={
        "a": {"hardware": "p5.48xlarge", "nodes": 4},
        "b": {"hardware": "g6.xlarge", "nodes": 2},
        "c": {"hardware": "m7i.large", "nodes": 1},
        "d": {"hardware": "m7i.large", "nodes": 1},
    },
    runs={
        "pre": {"pool": "a", "saves": LOCAL},
        "own": {"pool": "x", "saves": REMOTE},
        "end": {"pool": "x", "saves": None},
        "new": {"pool": "c", "saves": None},
    },
    services={"chat": {"pool": "b"}, "mail": {"pool": "x"}, "gone": {"pool": "x"}, "anew": {"pool": "d"}},
    quotas={"grown": {"need": 96, "default": 8}, "met": {"need": 10, "default": 8}, "free": {"need": 1, "default": 50}},
    usd_per_hour=100.0,
    usd_to_buy=1000.0,
)
AFTER = Told(
    numbers={"totals.nodes": 5, "same": 1, "is": [1, 2000], "kind": "hdd"},
    findings=(
        finding("kept", "two"),
        finding("same", "as ever"),
        finding("worse", "it stops", Severity.ERROR),
        finding("borne", "it is known", Severity.ERROR, waiver="for a day"),
        finding("told", "it |warns"),
    ),
    pools={**BEFORE.pools, "a": {"hardware": "p5.48xlarge", "nodes": 3}, "b": {"hardware": "g6.xlarge", "nodes": 2}},
    runs=BEFORE.runs,
    services=BEFORE.services,
    quotas={
        "grown": {"need": 192, "default": 8, "basis": "vCPUs of p"},
        "met": {"need": 10, "default": 8, "basis": "x"},
        "free": {"need": 40, "default": 50, "basis": "x"},
        "first": {"need": 5, "default": 3, "basis": "addresses"},
    },
    usd_per_hour=90.5,
    usd_to_buy=3000.0,
)
DOCUMENT = '{"Version": "2012-10-17", "Statement": []}'
POLICY = {"resourceUrn": urn(ROLE, "a-role"), "policyName": "least-rights"}
LONG = "x" * 170


def seen() -> Preview:
    """Every operation of the engine's, and what policies say."""
    sizes = [{"scalingConfig": {"desiredSize": each}, "labels": {"n": str(each)}} for each in (4, 3)]
    quiet = ("same", "refresh", "read", "read-discard", "discard", "read-replacement")
    return preview(
        *(stepped(each, ROLE, f"quiet-{each}", {"x": 1}, {"x": 2}) for each in quiet),
        *(stepped(each, ROLE, "half", {"x": 1}, {"x": 2}) for each in ("create-replacement", "delete-replaced")),
        stepped("create", "gpucluster:index:Pool", "component", new={"x": 1}),
        stepped("update", NODES, "pool-a-nodes", *sizes, diffs=["scalingConfig.desiredSize"]),
        stepped("update", NODES, "pool-b-spot-nodes", {"v": 1}, {"v": 2}, diffs=["launchTemplate[0].version"]),
        stepped("delete", NODES, "pool-c-2-nodes", {"v": 1}),
        stepped("replace", NODES, "pool-d-nodes", {"v": 1}, {"v": 2}),
        stepped("replace", JOB, "run-own-job", {"s": 1}, {"s": 2}, keys=["a", "b", "c", "d"]),
        stepped("delete", JOB, "run-end-job", {"s": 1}),
        stepped("update", SERVICE, "service-mail-deployment", {"s": 1}, {"s": 2}, diffs=["spec.template.x"]),
        stepped("delete", SERVICE, "service-gone-deployment", {"spec": {"replicas": 2}, "other": 1}),
        stepped("create", ROLE, "b-role", new={"policy": DOCUMENT, "description": "y", "urn": None}),
        stepped("import", "aws:ec2/vpc:Vpc", "network", new={"cidr": "10.0.0.0/8", "tags": {"Name": "n"}}),
        stepped("replace", "aws:s3/bucketV2:BucketV2", "data", {"b": "x"}, {"b": "y"}, keys=["b"], protect=True),
        stepped("refresh", ROLE, "r", {}, {}),
        stepped(
            "update",
            CONFIG,
            "settings",
            {"data": {"a.b": f"{LONG}1", "gone": "g", "l": [], "same": 1}},
            {"data": {"a.b": f"{LONG}22", "came": True, "l": ["é"], "same": 1}},
        ),
        {"policyEvent": {**POLICY, "enforcementLevel": "mandatory", "message": " may do\nanything "}},
        {"policyEvent": {**POLICY, "policyName": "labels", "enforcementLevel": "advisory", "message": "none"}},
        {"policyAnalyzeStackSummaryEvent": {"passed": ["a"]}},
        {"diagnosticEvent": {"severity": "warning", "message": "no error"}},
    )


STACK = Compared(stack="prod", before=BEFORE, after=AFTER, preview=seen())


def test_a_comment_from_its_first_line_to_its_last(accept: bool) -> None:
    text = comment([STACK], base="main (0123456789)", whole="[artifact](https://example.org/run#artifacts)")
    same_as_golden("everything", text, accept)


def test_the_whole_diff_folds_and_shortens_nothing(accept: bool) -> None:
    """Each input of each resource, also of one that had none, or has none any more."""
    file = GOLDEN / "everything.diff"
    if accept:
        file.write_text(whole(STACK), encoding="utf-8")
    assert whole(STACK) == file.read_text(encoding="utf-8")
    assert whole(Compared(stack="a", before=None, after=None)) == "no preview was made\n"
    assert whole(Compared(stack="a", before=None, after=None, unseen="By plan only.")) == "By plan only.\n"


def test_what_was_not_previewed_is_said_once_for_all_and_for_each_its_own() -> None:
    plain, alike = replace(STACK, preview=None, unseen="By plan only."), Told()
    other = Compared(stack="lab", before=alike, after=alike, unseen="By plan only.")
    assert comment([plain, other], base="b", whole="w").splitlines()[4] == "Compared with `b`. By plan only."
    refused = replace(other, stack="dev", unseen="It *is* refused.")
    lines = comment([plain, other, refused], base="b", whole="w").splitlines()
    assert lines[5] == "Compared with `b`. prod, lab: By plan only. dev: It \\*is\\* refused."
    assert lines[2:4] == [
        f"- **{each}**: the same nodes, same price, replacements not checked, no new warning" for each in ("dev", "lab")
    ]
