"""Schedules of secrets that are in the account before."""

from typing import Any

import boto3

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case
from rehearsal.tests.plugins.aws.world import World

FUNCTION = "arn:aws:lambda:us-west-2:123456789012:function:rotate"


def _secret() -> str:
    asked = boto3.Session().client("secretsmanager", region_name="us-west-2")
    arn: str = asked.create_secret(Name=w.name("kept"), SecretString="one")["ARN"]
    return arn


def _schedule(_: World) -> dict[str, Any]:
    return {
        "secretId": _secret(),
        "rotationLambdaArn": FUNCTION,
        "rotateImmediately": False,
        "rotationRules": {"automaticallyAfterDays": 30},
    }


CASES = (
    Case(
        w.ROTATION,
        _schedule,
        {"rotationRules": {"automaticallyAfterDays": 7}},
        {"rotationRules.automaticallyAfterDays": "update"},
        lambda _: {"secretId": _secret()},
        ("secretId",),
        stays=True,
        outputs=("rotationEnabled",),
    ),
)
