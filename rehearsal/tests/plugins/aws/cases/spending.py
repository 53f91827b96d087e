"""Budgets, anomalies of cost, and the topics that tell of them."""

import json
from typing import Any

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import TAGGED, Case
from rehearsal.tests.plugins.aws.world import World

ACCOUNT = "123456789012"


def notice(percent: int, *emails: str) -> dict[str, Any]:
    return {
        "comparisonOperator": "GREATER_THAN",
        "notificationType": "ACTUAL",
        "threshold": percent,
        "thresholdType": "PERCENTAGE",
        "subscriberEmailAddresses": list(emails),
    }


def publishing(topic: str, service: str) -> str:
    statement = {"Effect": "Allow", "Action": "SNS:Publish", "Principal": {"Service": service}, "Resource": topic}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def monitor_of(stack: str) -> str:
    return json.dumps({"Tags": {"Key": "gpucluster:stack", "Values": [stack]}})


def _budget(**period: str) -> dict[str, Any]:
    return {
        "name": w.name("budget"),
        "accountId": ACCOUNT,
        "budgetType": "COST",
        **period,
        "limitAmount": "100.0",
        "limitUnit": "USD",
        "costFilters": [{"name": "TagKeyValue", "values": ["user:gpucluster:stack$lab"]}],
        "notifications": [notice(50, "ml@example.com"), notice(80, "ml@example.com")],
    }


def _subscription(world: World) -> dict[str, Any]:
    monitor = world.make(
        w.MONITOR,
        "monitor",
        {"name": "one", "monitorType": "CUSTOM", "monitorSpecification": monitor_of("one")},
    )
    return {
        "name": w.name("told"),
        "frequency": "DAILY",
        "monitorArnLists": [monitor.id],
        "subscribers": [{"type": "EMAIL", "address": "ml@example.com"}],
        "thresholdExpression": threshold("100"),
    }


def threshold(usd: str) -> dict[str, Any]:
    total = {"key": "ANOMALY_TOTAL_IMPACT_ABSOLUTE", "matchOptions": ["GREATER_THAN_OR_EQUAL"], "values": [usd]}
    return {"dimension": total}


CASES = (
    Case(
        w.TOPIC,
        lambda _: {"name": w.name("topic")},
        *TAGGED,
        {"name": "another"},
        ("name",),
        outputs=("arn", "owner"),
    ),
    Case(
        w.TOPIC_POLICY,
        lambda world: {
            "arn": (topic := world.make(w.TOPIC, "topic", {}).id),
            "policy": publishing(topic, "budgets.amazonaws.com"),
        },
        {"policy": publishing("*", "costalerts.amazonaws.com")},
        {"policy": "update"},
        lambda world: {"arn": world.make(w.TOPIC, "topic", {}).id},
        ("arn",),
        outputs=("owner",),
        stays=True,
    ),
    Case(
        w.BUDGET,
        lambda _: _budget(timeUnit="MONTHLY"),
        {"limitAmount": "200.0", "notifications": [notice(80, "ml@example.com"), notice(100, "ml@example.com")]},
        {"limitAmount": "update", "notifications[0].threshold": "update", "notifications[1].threshold": "update"},
        {"name": "another"},
        ("name",),
    ),
    Case(
        w.BUDGET,
        lambda _: _budget(timeUnit="CUSTOM", timePeriodStart="2026-11-28_05:00"),
        {
            "timePeriodStart": "2026-11-29_00:00",
            "notifications": [notice(80, "ml@example.com"), notice(100, "ml@example.com")],
        },
        {"timePeriodStart": "update", "notifications[0].threshold": "update", "notifications[1].threshold": "update"},
        {"name": "another"},
        ("name",),
    ),
    Case(
        w.MONITOR,
        lambda _: {"name": "one", "monitorType": "CUSTOM", "monitorSpecification": monitor_of("lab")},
        {"name": "two"},
        {"name": "update"},
        {"monitorSpecification": monitor_of("dev")},
        ("monitorSpecification",),
    ),
    Case(
        w.SUBSCRIPTION,
        _subscription,
        {"thresholdExpression": threshold("200")},
        {"thresholdExpression.dimension.values[0]": "update"},
        {"name": "another"},
        ("name",),
        outputs=("arn", "accountId"),
    ),
)
