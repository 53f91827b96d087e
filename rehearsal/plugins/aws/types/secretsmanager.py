"""Schedules of secrets. Source: terraform-provider-aws internal/service/secretsmanager/secret_rotation.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Row, words


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schedule that somebody ended leaves the secret, and none of its members."""
    on = bool(found.get("RotationEnabled"))
    rules = found.get("RotationRules") or {}
    days = rules.get("AutomaticallyAfterDays")
    return {
        "secretId": found["ARN"],
        "rotationEnabled": on,
        "rotationLambdaArn": found.get("RotationLambdaARN") if on else "",
        "rotationRules": {"automaticallyAfterDays": days, "duration": rules.get("Duration")} if on else None,
    }


ROWS: dict[str, Row] = {
    "aws:secretsmanager/secretRotation:SecretRotation": Row(
        create="rotate_secret",
        read="describe_secret",
        delete="cancel_rotate_secret",
        key={"SecretId": "{secretId}"},
        id="{secretId}",
        names={"rotationLambdaArn": "RotationLambdaARN"},
        defaults={"rotateImmediately": True},
        unseen=("rotateImmediately",),
        force_new=("secretId",),
        computed=("rotationEnabled",),
        updates=(("rotate_secret", words("rotationLambdaArn rotationRules rotateImmediately")),),
        unready=("AccessDeniedException", "InvalidRequestException"),
        look=_look,
    ),
}
