"""Functions, what calls them, and the parameters that they go by."""

from typing import Any

from rehearsal.plugins.wire import ARCHIVE, ASSET, SIGNATURE
from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case
from rehearsal.tests.plugins.aws.world import World


def code(text: str) -> dict[str, Any]:
    """An archive of one text, as the engine sends it."""
    asset = {SIGNATURE: ASSET, "hash": f"hash of {text}", "text": text}
    return {SIGNATURE: ARCHIVE, "hash": f"hash of all of {text}", "assets": {"handler.py": asset}}


def _role(world: World, service: str) -> str:
    made = world.make(w.ROLE, "role", {"name": w.name("role"), "assumeRolePolicy": w.trust(service)})
    arn: str = made.outputs["arn"]
    return arn


def function(world: World) -> dict[str, Any]:
    return {
        "name": w.name("function"),
        "role": _role(world, "lambda.amazonaws.com"),
        "runtime": "python3.13",
        "architectures": ["arm64"],
        "handler": "handler.handle",
        "code": code("def handle(event, context): return 1"),
        "environment": {"variables": {"KEEPER": "{}"}},
        "loggingConfig": {"logFormat": "Text", "logGroup": "/aws/eks/lab/keeper"},
        "timeout": 300,
        "memorySize": 256,
    }


def _arn(world: World) -> str:
    arn: str = world.make(w.FUNCTION, "function", function(world)).outputs["arn"]
    return arn


def schedule(world: World) -> dict[str, Any]:
    target = {"arn": _arn(world), "roleArn": _role(world, "scheduler.amazonaws.com"), "input": '{"now": "x"}'}
    return {
        "name": w.name("schedule"),
        "scheduleExpression": "rate(10 minutes)",
        "flexibleTimeWindow": {"mode": "OFF"},
        "target": {**target, "retryPolicy": {"maximumEventAgeInSeconds": 600, "maximumRetryAttempts": 3}},
    }


CASES = (
    Case(
        w.FUNCTION,
        function,
        {"timeout": 60, "memorySize": 512, "loggingConfig": {"logFormat": "Text", "logGroup": "/aws/eks/lab/other"}},
        {"timeout": "update", "memorySize": "update", "loggingConfig.logGroup": "update"},
        {"name": "another"},
        ("name",),
        outputs=("arn",),
    ),
    Case(
        w.PERMISSION,
        lambda world: {
            "statementId": w.name("statement"),
            "action": "lambda:InvokeFunction",
            "function": world.make(w.FUNCTION, "function", function(world)).id,
            "principal": "sns.amazonaws.com",
            "sourceArn": world.make(w.TOPIC, "topic", {}).id,
        },
        replaces={"principal": "events.amazonaws.com"},
        replaced=("principal",),
        import_id=lambda state: f"{state.outputs['function']}/{state.id}",
        outputs=(),
    ),
    Case(
        w.SCHEDULE,
        schedule,
        {"scheduleExpression": "rate(5 minutes)"},
        {"scheduleExpression": "update"},
        {"name": "another"},
        ("name",),
    ),
    Case(
        w.PARAMETER,
        lambda _: {"name": f"/{w.name('lab')}/ends", "type": "String", "insecureValue": "2026-11-23T18:00:00Z"},
        {"insecureValue": "2026-11-23T20:00:00Z"},
        {"insecureValue": "update"},
        {"name": "another"},
        ("name",),
    ),
    Case(
        w.TOPIC_SUBSCRIPTION,
        lambda world: {
            "topic": world.make(w.TOPIC, "topic", {}).id,
            "protocol": "lambda",
            "endpoint": _arn(world),
        },
        replaces=lambda world: {"topic": world.make(w.TOPIC, "topic", {}).id},
        replaced=("topic",),
    ),
)
