"""Keys, roles and log groups."""

import json

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case


def role_policy(action: str) -> str:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


CASES = (
    Case(
        w.KEY,
        lambda _: {"description": "etcd", "enableKeyRotation": True, "deletionWindowInDays": 7},
        {"description": "secrets", "enableKeyRotation": False},
        {"description": "update", "enableKeyRotation": "update"},
        {"keyUsage": "SIGN_VERIFY"},
        ("keyUsage",),
        outputs=("arn", "keyId", "policy"),
    ),
    Case(
        w.ALIAS,
        lambda world: {"targetKeyId": world.key.outputs["arn"]},
        lambda world: {"targetKeyId": world.make(w.KEY, "key", {}).id},
        {"targetKeyId": "update"},
        {"name": "alias/another"},
        ("name",),
        outputs=("arn", "name", "targetKeyArn"),
    ),
    Case(
        w.ROLE,
        lambda _: {"assumeRolePolicy": w.trust("ec2.amazonaws.com"), "description": "nodes"},
        {"assumeRolePolicy": w.trust("eks.amazonaws.com"), "description": "cluster"},
        {"assumeRolePolicy": "update", "description": "update"},
        {"path": "/other/"},
        ("path",),
        outputs=("arn", "uniqueId", "createDate"),
    ),
    Case(
        w.ATTACHMENT,
        lambda world: {"role": world.pod_role.id, "policyArn": "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"},
        replaces={"policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"},
        replaced=("policyArn",),
        import_id=lambda state: f"{state.outputs['role']}/{state.outputs['policyArn']}",
        outputs=(),
    ),
    Case(
        w.ROLE_POLICY,
        lambda world: {"role": world.pod_role.id, "policy": role_policy("s3:GetObject")},
        {"policy": role_policy("s3:ListBucket")},
        {"policy": "update"},
        {"name": "another"},
        ("name",),
        outputs=("name",),
    ),
    Case(
        w.LOG_GROUP,
        lambda _: {"name": "/aws/eks/x/cluster", "retentionInDays": 30},
        {"retentionInDays": 7, "tags": {"x": "y"}},
        {"retentionInDays": "update", "tags": "add", "tagsAll.x": "add"},
        {"name": "/aws/eks/y/cluster"},
        ("name",),
    ),
)
