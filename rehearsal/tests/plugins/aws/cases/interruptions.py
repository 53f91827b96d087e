"""How events come to whoever is told of them by a queue, and profiles by which instances have a role."""

import json
from typing import Any

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case
from rehearsal.tests.plugins.aws.world import World


def pattern(kind: str) -> str:
    return json.dumps({"source": ["aws.ec2"], "detail-type": [kind]})


def writing(queue: str, action: str) -> str:
    statement = {"Effect": "Allow", "Action": action, "Principal": {"Service": "events.amazonaws.com"}}
    return json.dumps({"Version": "2012-10-17", "Statement": [{**statement, "Resource": queue}]})


def _queue_policy(world: World) -> dict[str, Any]:
    queue = world.make(w.QUEUE, "queue", {})
    return {"queueUrl": queue.id, "policy": writing(queue.outputs["arn"], "sqs:SendMessage")}


def _target(world: World) -> dict[str, Any]:
    rule = world.make(w.RULE, "rule", {"name": w.name("rule"), "eventPattern": pattern("A")})
    return {"rule": rule.id, "targetId": "queue", "arn": world.make(w.QUEUE, "queue", {}).outputs["arn"]}


def _role(world: World) -> str:
    made = world.make(w.ROLE, "role", {"name": w.name("role"), "assumeRolePolicy": w.trust("ec2.amazonaws.com")})
    return str(made.outputs["name"])


CASES = (
    Case(
        w.QUEUE,
        lambda _: {"name": w.name("queue"), "messageRetentionSeconds": 300, "sqsManagedSseEnabled": True},
        {"messageRetentionSeconds": 600, "tags": {"x": "y"}},
        {"messageRetentionSeconds": "update", "tags": "add", "tagsAll.x": "add"},
        {"name": "another"},
        ("name",),
        outputs=("arn", "url"),
    ),
    Case(
        w.QUEUE_POLICY,
        _queue_policy,
        {"policy": writing("*", "sqs:SendMessage")},
        {"policy": "update"},
        lambda world: {"queueUrl": world.make(w.QUEUE, "other", {}).id},
        ("queueUrl",),
        outputs=(),
    ),
    Case(
        w.RULE,
        lambda _: {"name": w.name("rule"), "eventPattern": pattern("A")},
        {"eventPattern": pattern("B"), "tags": {"x": "y"}},
        {"eventPattern": "update", "tags": "add", "tagsAll.x": "add"},
        {"name": "another"},
        ("name",),
    ),
    Case(
        w.TARGET,
        _target,
        lambda world: {"arn": world.make(w.QUEUE, "other", {}).outputs["arn"]},
        {"arn": "update"},
        {"targetId": "another"},
        ("targetId",),
        import_id=lambda state: f"{state.outputs['rule']}/{state.outputs['targetId']}",
        outputs=(),
    ),
    Case(
        w.PROFILE,
        lambda world: {"name": w.name("profile"), "role": _role(world)},
        lambda world: {"role": _role(world)},
        {"role": "update"},
        {"path": "/other/"},
        ("path",),
        outputs=("arn", "uniqueId"),
    ),
)
