"""Secrets that Secrets Manager keeps (Y07): what is refused, and what is planned."""

from typing import Any

import pytest

from planner.external_secrets import rotations
from planner.types import AwsPlan
from settings.external_secrets import ExternalSecret
from tests.planner.stacks import planned, sections

ARN = "arn:aws:secretsmanager:us-east-2:123456789012:secret:models/hub-AbCdEf"
KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
FUNCTION = "arn:aws:lambda:us-east-2:123456789012:function:rotate-keys"
MONTHLY = {"function": FUNCTION, "days": 30}
HUB = {"hfToken": {"id": ARN, "keyArn": KEY}}
CALLERS = {
    "apiToken": {"id": "models/callers", "property": "current"},
    "apiTokenBefore": {"id": "models/callers", "property": "previous"},
}


def kept(secrets: dict[str, Any], keys: tuple[str, ...] = ("apiToken",), more: dict[str, Any] | None = None) -> AwsPlan:
    """A stack whose only service has these keys, with secrets kept outside."""
    service = {**sections()["serving"]["services"][0], "keys": list(keys)}
    changes = {"serving": {"services": [service]}, "externalSecrets": {"secrets": secrets}, **(more or {})}
    return planned(changes=changes)


def said(plan: AwsPlan) -> dict[str, str]:
    return {each.rule: f"{each.path}: {each.sentence}" for each in plan.errors if each.rule.startswith("external-")}


def test_what_is_kept_is_planned_and_refused_by_nobody() -> None:
    plan = kept(HUB | CALLERS, ("apiToken", "apiTokenBefore"))
    assert said(plan) == {}
    assert plan.external_secrets is not None
    assert plan.external_secrets.refresh_seconds == 3600
    assert plan.external_secrets.secrets["hfToken"] == ExternalSecret.model_validate({"id": ARN, "keyArn": KEY})
    assert plan.external_secrets.secrets["apiTokenBefore"].property == "previous"
    assert "external-secrets" in plan.charts
    assert planned().external_secrets is None
    assert "external-secrets" not in planned().charts


@pytest.mark.parametrize(
    ("secrets", "keys", "rule", "words"),
    [
        (
            HUB | {"hfTokn": {"id": "x"}},
            ("apiToken",),
            "external-secret-unread",
            "secrets.hfTokn: nothing in this stack",
        ),
        (
            {"hfToken": {"id": ARN.replace("us-east-2", "eu-west-1")}},
            ("apiToken",),
            "external-secret-elsewhere",
            "secrets.hfToken.id: arn:aws:secretsmanager:eu-west-1",
        ),
        (
            {"hfToken": {"id": ARN, "keyArn": KEY.replace("us-east-2", "eu-west-1")}},
            ("apiToken",),
            "external-secret-elsewhere",
            "secrets.hfToken.keyArn",
        ),
        (
            {"apiToken": {"id": "models/callers"}},
            ("apiToken", "apiTokenBefore"),
            "external-secret-half",
            "has apiTokenBefore from this file",
        ),
        (
            {"apiToken": {"id": "models/callers"}, "apiTokenBefore": {"id": "models/callers"}},
            ("apiToken", "apiTokenBefore"),
            "external-secret-twice",
            "apiTokenBefore and apiToken are read from the same value",
        ),
        (
            {"hfToken": {"id": "models/hub", "rotation": MONTHLY}},
            ("apiToken",),
            "external-secret-rotation",
            "secrets.hfToken.id: models/hub is a name, and a schedule is set by the whole ARN",
        ),
        (
            {"hfToken": {"id": ARN.replace("123456789012", "210987654321"), "rotation": MONTHLY}},
            ("apiToken",),
            "external-secret-rotation",
            "secrets.hfToken.rotation: the secret belongs to account 210987654321",
        ),
        (
            {
                "apiToken": {"id": ARN, "property": "current", "rotation": MONTHLY},
                "apiTokenBefore": {"id": ARN, "property": "previous", "rotation": {**MONTHLY, "days": 7}},
            },
            ("apiToken", "apiTokenBefore"),
            "external-secret-rotation",
            "apiTokenBefore and apiToken are one secret and have different schedules",
        ),
        (
            {"hfToken": {"id": ARN, "rotation": {**MONTHLY, "function": FUNCTION.replace("us-east-2", "eu-west-1")}}},
            ("apiToken",),
            "external-secret-elsewhere",
            "secrets.hfToken.rotation.function: arn:aws:lambda:eu-west-1",
        ),
    ],
)
def test_what_would_not_work_is_refused(secrets: dict[str, Any], keys: tuple[str, ...], rule: str, words: str) -> None:
    found = said(kept(secrets, keys, {"platform.accountId": "123456789012"}))
    assert set(found) == {rule}
    assert words in found[rule]


def test_the_password_of_a_volume_that_is_made_stays_as_it_is() -> None:
    training = {**sections()["training"], "tracking": {}}
    secrets = {"trackingDatabase": {"id": "tracker"}}
    found = said(kept(secrets, more={"training": training}))
    assert set(found) == {"external-secret-lasting"}
    wandb = {**training, "tracking": {"kind": "wandb"}}
    assert said(kept({"trackingKey": {"id": "wandb/key"}}, more={"training": wandb})) == {}


def test_a_closed_network_needs_the_keepers_endpoint() -> None:
    inside = {"nat": "none", "endpoints": ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]}
    lacking = {each.subject for each in kept(HUB, more={"platform.network": inside}).errors}
    assert "secretsmanager" in lacking
    there = {**inside, "endpoints": [*inside["endpoints"], "secretsmanager"]}
    assert "secretsmanager" not in {each.subject for each in kept(HUB, more={"platform.network": there}).errors}


def test_a_secret_rotates_once_whatever_is_read_of_it() -> None:
    both = {key: {"id": ARN, "property": key, "rotation": MONTHLY} for key in ("apiToken", "apiTokenBefore")}
    plan = kept(both, ("apiToken", "apiTokenBefore"))
    assert said(plan) == {}
    assert plan.external_secrets is not None
    assert {key: (arn, each.days) for key, (arn, each) in rotations(plan.external_secrets.secrets).items()} == {
        "apiToken": (ARN, 30)
    }
