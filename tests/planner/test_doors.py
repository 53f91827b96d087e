"""Settings that would open a door, each refused before anything is registered, with where and what to type instead."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from planner.findings import Severity
from planner.plan import plan
from settings.errors import SettingsError
from tests.planner.stacks import TODAY, changed, planned, rules

PUBLIC, ACCESS = "platform.publicAccessCidrs", "platform.access"
SOURCE, WEIGHTS = "training.datasets.0.source", "serving.services.0.weights"
DEPLOYER, ADMINS = "security.deployerArn", "security.adminArns"
ACCOUNT = "arn:aws:iam::123456789012"
BUCKETS, RUN = "storage.sources", "training.runs.0.name"
TRITON: dict[str, Any] = {
    "name": "ranker",
    "pool": "inference",
    "image": "nvcr.io/nvidia/tritonserver:26.03-py3",
    "modelsGb": 2,
}


def vpn(*cidrs: str) -> dict[str, Any]:
    return {"via": "vpn", "network": "office", "cidrs": list(cidrs)}


def quarters() -> list[str]:
    return [f"{first}.0.0.0/2" for first in (0, 64, 128, 192)]


def all_but_one() -> list[str]:
    """What is left of the Internet without 0.0.0.0: thirty-two networks, one of each size."""
    return [str(IPv4Network((1 << bit, 32 - bit))) for bit in range(32)]


DOORS: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    # Who asks the Kubernetes API.
    ("api-everybody", {PUBLIC: ["0.0.0.0/0"]}, f"{PUBLIC}[0]", "name the public addresses"),
    ("api-everybody-besides", {PUBLIC: ["80.81.82.0/24", "0.0.0.0/0"]}, f"{PUBLIC}[1]", "name the public addresses"),
    ("api-two-halves", {PUBLIC: ["0.0.0.0/1", "128.0.0.0/1"]}, PUBLIC, "name the public addresses"),
    ("api-four-quarters", {PUBLIC: quarters()}, PUBLIC, "name the public addresses"),
    (
        "api-half-and-vpn",
        {PUBLIC: ["0.0.0.0/1"], ACCESS: vpn("128.0.0.0/1")},
        f"{ACCESS}.cidrs[0]",
        "name addresses of the connected",
    ),
    ("api-one-half", {PUBLIC: ["128.0.0.0/1"]}, f"{PUBLIC}[0]", "waive endpoint-wide"),
    ("api-all-but-one", {PUBLIC: all_but_one()}, f"{PUBLIC}[31]", "waive endpoint-wide"),
    ("api-eighth", {PUBLIC: ["80.0.0.0/8"]}, f"{PUBLIC}[0]", "waive endpoint-wide"),
    ("api-two-sixteenths", {PUBLIC: ["80.81.0.0/16", "90.91.0.0/16"]}, f"{PUBLIC}[0]", "waive endpoint-wide"),
    ("api-sixteenth-and-one", {PUBLIC: ["80.81.0.0/16", "90.91.92.93/32"]}, f"{PUBLIC}[0]", "waive endpoint-wide"),
    ("api-not-its-own-address", {PUBLIC: ["80.81.82.83/0"]}, f"{PUBLIC}[0]", "write 0.0.0.0/0"),
    ("api-six", {PUBLIC: ["::/0"]}, f"{PUBLIC}[0]", "not an IPv4 network"),
    ("api-private-ones", {PUBLIC: ["10.0.0.0/8"]}, f"{PUBLIC}[0]", "under access"),
    ("api-through-the-vpn", {ACCESS: vpn("0.0.0.0/0")}, f"{ACCESS}.cidrs[0]", "name the public addresses"),
    ("api-vpn-of-strangers", {ACCESS: vpn("80.81.82.0/24")}, f"{ACCESS}.cidrs[0]", "waive endpoint-through"),
    ("api-vpn-beyond-private", {ACCESS: vpn("172.0.0.0/6")}, f"{ACCESS}.cidrs[0]", "name addresses of the connected"),
    ("api-no-way", {PUBLIC: []}, PUBLIC, "access: {via: inside}"),
    # Whose objects workloads read.
    ("dataset-of-every-bucket", {SOURCE: "s3://*/instructions"}, "training.datasets[0].source", "name one bucket"),
    ("dataset-of-acmes", {SOURCE: "s3://acme-*/instructions"}, "training.datasets[0].source", "name one bucket"),
    ("dataset-of-alikes", {SOURCE: "s3://acme-dataset?/x"}, "training.datasets[0].source", "name one bucket"),
    ("dataset-everything", {SOURCE: "s3://acme-datasets/*"}, "training.datasets[0].source", "one directory"),
    ("dataset-any-letter", {SOURCE: "s3://acme-datasets/instruction?"}, "training.datasets[0].source", "one directory"),
    ("dataset-of-the-caller", {SOURCE: "s3://acme-datasets/${aws:username}"}, "training.datasets[0].source", "one dir"),
    ("dataset-without-end", {SOURCE: "s3://acme-datasets/"}, "training.datasets[0].source", "s3://BUCKET/PREFIX"),
    ("dataset-that-climbs", {SOURCE: "s3://acme-datasets/a/../b"}, "training.datasets[0].source", "write its parts"),
    ("dataset-for-a-shell", {SOURCE: "s3://acme-datasets/a;id"}, "training.datasets[0].source", "write its parts"),
    ("dataset-of-an-access-point", {SOURCE: "s3://acme-s3alias/x"}, "training.datasets[0].source", "name the bucket"),
    ("weights-of-every-bucket", {WEIGHTS: "s3://*/llama"}, "serving.services[0].weights", "name one bucket"),
    ("weights-of-alikes", {WEIGHTS: "s3://acme-model-weights/llama-?"}, "serving.services[0].weights", "one directory"),
    ("weights-of-a-list", {WEIGHTS: "s3://acme-{a,b}/llama"}, "serving.services[0].weights", "name the bucket"),
    ("weights-that-climb", {WEIGHTS: "pvc://models/../../etc"}, "serving.services[0].weights", "pvc://CLAIM/DIRECTORY"),
    ("weights-of-a-branch", {WEIGHTS: "hf://meta/llama@main"}, "serving.services[0].weights", "pin the commit"),
    (
        "adapter-of-every-bucket",
        {"serving.services.0.adapters": [{"name": "law", "base": "llama-3-8b", "weights": "s3://*/law", "rank": 8}]},
        "serving.services[0].adapters[0].weights",
        "name one bucket",
    ),
    (
        "triton-of-every-bucket",
        {"serving.triton": [TRITON | {"models": "s3://*/m"}]},
        "serving.triton[0].models",
        "one",
    ),
    ("source-every-bucket", {BUCKETS: [{"bucket": "*"}]}, f"{BUCKETS}[0].bucket", "name of an S3 bucket"),
    ("source-buckets-alike", {BUCKETS: [{"bucket": "acme-*"}]}, f"{BUCKETS}[0].bucket", "name of an S3 bucket"),
    ("source-any-owner", {BUCKETS: [{"bucket": "acme", "owner": "*"}]}, f"{BUCKETS}[0].owner", "12-digit account id"),
    ("source-any-key", {BUCKETS: [{"bucket": "acme", "keyArn": "*"}]}, f"{BUCKETS}[0].keyArn", "ARN of a KMS key"),
    (
        "source-every-key",
        {BUCKETS: [{"bucket": "acme", "keyArn": "arn:aws:kms:us-east-2:123456789012:key/*"}]},
        f"{BUCKETS}[0].keyArn",
        "ARN of a KMS key",
    ),
    ("source-undeclared", {BUCKETS: []}, "training.datasets[0].source", "add {bucket: acme-datasets}"),
    # Who is administrator.
    ("admin-everybody", {ADMINS: ["*"]}, f"{ADMINS}[0]", "of one role or user"),
    ("admin-every-role", {ADMINS: [f"{ACCOUNT}:role/*"]}, f"{ADMINS}[0]", "of one role or user"),
    ("admin-roles-alike", {ADMINS: [f"{ACCOUNT}:role/ops-?"]}, f"{ADMINS}[0]", "of one role or user"),
    ("admin-every-account", {ADMINS: ["arn:aws:iam::*:role/ops"]}, f"{ADMINS}[0]", "of one role or user"),
    ("admin-a-whole-account", {ADMINS: [f"{ACCOUNT}:root"]}, f"{ADMINS}[0]", "of one role or user"),
    (
        "admin-a-session",
        {ADMINS: ["arn:aws:sts::123456789012:assumed-role/a/b"]},
        f"{ADMINS}[0]",
        "IAM ARN of one role",
    ),
    ("deployer-every-role", {DEPLOYER: f"{ACCOUNT}:role/*"}, DEPLOYER, "of one role or user"),
    ("role-for-a-shell", {"platform.roleArn": f"{ACCOUNT}:role/a;id"}, "platform.roleArn", "of one role or user"),
    ("role-that-runs", {"platform.roleArn": f"{ACCOUNT}:role/$(id)"}, "platform.roleArn", "of one role or user"),
    ("profile-for-a-shell", {"platform.profile": "a; id"}, "platform.profile", "a profile of the AWS configuration"),
    ("profile-that-is-an-option", {"platform.profile": "--debug"}, "platform.profile", "a profile of the AWS conf"),
    ("account-any", {"platform.accountId": "*"}, "platform.accountId", "12-digit account id"),
    # Whose names workloads take.
    ("run-of-every-pod", {RUN: "default"}, "training.runs[0].name", "choose another name"),
    ("run-of-kubernetes", {RUN: "kube-root"}, "training.runs[0].name", "choose another name"),
    ("queue-of-everybody", {"scheduling.queues.0.name": "default"}, "scheduling.queues[0].name", "choose another name"),
    ("queue-of-all", {"scheduling.queues.0.name": "root"}, "scheduling.queues[0].name", "choose another name"),
    ("run-in-every-namespace", {RUN: "*"}, "training.runs[0].name", "lower-case letters"),
    ("run-that-climbs", {RUN: "../other"}, "training.runs[0].name", "lower-case letters"),
    # What may change after it was looked at.
    ("image-newest", {"serving.services.0.image": "vllm/vllm-openai:latest"}, "serving.services[0].image", "a version"),
    ("image-untagged", {"serving.services.0.image": "vllm/vllm-openai"}, "serving.services[0].image", "a digest"),
    ("image-any", {"training.runs.0.image": "registry.example.com/*:1.0*"}, "training.runs[0].image", "a digest"),
    ("host-of-the-node", {"training.runs.0.hostNetwork": True}, "training.runs[0].hostNetwork", "not a key"),
    ("rights-of-the-node", {"serving.services.0.privileged": True}, "serving.services[0].privileged", "not a key"),
)


def said(changes: dict[str, Any]) -> list[str]:
    """What refuses a change of the dev stack."""
    try:
        found = plan(changed("dev", changes), today=TODAY).findings
    except SettingsError as error:
        return list(error.problems)
    return [str(each) for each in found if each.severity is Severity.ERROR and each.waiver is None]


def test_the_stack_that_is_changed_is_not_refused_itself() -> None:
    assert said({}) == []
    assert len(DOORS) >= 40


@pytest.mark.parametrize(("changes", "path", "remedy"), [each[1:] for each in DOORS], ids=[each[0] for each in DOORS])
def test_a_setting_that_would_open_a_door_is_refused(changes: dict[str, Any], path: str, remedy: str) -> None:
    """LF02, Y14: at the setting itself, with what to type instead."""
    about = [sentence for sentence in said(changes) if sentence.startswith(f"gpucluster:{path}: ")]
    assert any(remedy in sentence for sentence in about), said(changes)


@pytest.mark.parametrize(
    "changes",
    [
        {PUBLIC: ["80.81.0.0/16"]},
        {PUBLIC: ["80.81.82.0/24", "80.81.82.0/25", "90.91.92.93/32"]},
        {PUBLIC: [], ACCESS: vpn("10.8.0.0/16", "192.168.0.0/16", "100.64.0.0/10")},
        {SOURCE: "s3://acme-datasets/v1.2/a_b (c)/d=e".replace(" ", "")},
        {WEIGHTS: "s3://acme-model-weights/llama-3-8b/"},
        {DEPLOYER: f"{ACCOUNT}:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0123456789abcdef"},
        {ADMINS: [f"{ACCOUNT}:user/teams/a+b=c,d.e@f_g-h"]},
        {"platform.profile": "acme.dev_deployer@eu"},
    ],
)
def test_what_opens_no_door_is_not_refused(changes: dict[str, Any]) -> None:
    assert [each for each in said(changes) if "documentation" not in each] == []


def test_a_protected_stack_that_answers_the_internet_is_told_so_unless_somebody_said_why() -> None:
    protected = {"lifecycle.protect": True, PUBLIC: ["80.81.82.0/24"]}
    assert "endpoint-protected" in rules(planned(changes=protected))
    why = {"rule": "endpoint-protected", "subject": "80.81.82.0/24", "reason": "the runner is outside"}
    waived = protected | {"waivers": [why | {"until": "2027-01-31"}]}
    assert "endpoint-protected" not in rules(planned(changes=waived))
    assert "endpoint-protected" not in rules(planned(changes={PUBLIC: ["80.81.82.0/24"]}))


def test_who_owns_a_wide_network_may_say_so() -> None:
    why = {"rule": "endpoint-wide", "subject": "80.0.0.0/8", "reason": "the university's own network"}
    assert "endpoint-wide" not in rules(
        planned(changes={PUBLIC: ["80.0.0.0/8"], "waivers": [why | {"until": "2027-01-31"}]})
    )


def test_who_routes_public_addresses_to_the_vpc_may_say_so() -> None:
    why = {"rule": "endpoint-through", "subject": "80.81.82.0/24", "reason": "the university's own, routed by its VPN"}
    changes = {PUBLIC: [], ACCESS: vpn("80.81.82.0/24")}
    assert "endpoint-through" in rules(planned(changes=changes))
    assert "endpoint-through" not in rules(planned(changes=changes | {"waivers": [why | {"until": "2027-01-31"}]}))
