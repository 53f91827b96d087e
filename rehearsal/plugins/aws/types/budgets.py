"""Cost budgets. Source: terraform-provider-aws internal/service/budgets/budget.go."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls

ARN = "arn:{partition}:budgets::{accountId}:budget/{name}"
KINDS = (("subscriberEmailAddresses", "EMAIL"), ("subscriberSnsTopicArns", "SNS"))
PERIOD = (("timePeriodStart", "Start"), ("timePeriodEnd", "End"))
MOMENT = "%Y-%m-%d_%H:%M"
"""tfTimePeriodTimestampLayout's, UTC."""


def _period(inputs: Mapping[str, Any]) -> dict[str, datetime]:
    given = {member: inputs[name] for name, member in PERIOD if inputs.get(name)}
    return {member: datetime.strptime(text, MOMENT).replace(tzinfo=UTC) for member, text in given.items()}


def _prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    limit = {"amount": inputs.get("limitAmount"), "unit": inputs.get("limitUnit")}
    budget = {
        "budgetName": inputs.get("name"),
        "budgetType": inputs.get("budgetType"),
        "timeUnit": inputs.get("timeUnit"),
        "budgetLimit": limit if None not in limit.values() else None,
        "costFilters": {each["name"]: each["values"] for each in inputs.get("costFilters") or ()} or None,
        "timePeriod": _period(inputs) or None,
    }
    account = {"accountId": inputs["accountId"]} if "accountId" in inputs else {}
    return {**account, "budget": {key: value for key, value in budget.items() if value is not None}}


def _request(inputs: Mapping[str, Any]) -> dict[str, Any]:
    filters = {each["name"]: each["values"] for each in inputs.get("costFilters") or ()}
    limit = {"Amount": inputs["limitAmount"], "Unit": inputs["limitUnit"]}
    return {
        "BudgetName": inputs["name"],
        "BudgetType": inputs["budgetType"],
        "TimeUnit": inputs["timeUnit"],
        "BudgetLimit": limit,
        **({"CostFilters": filters} if filters else {}),
        **({"TimePeriod": period} if (period := _period(inputs)) else {}),
    }


def _notice(each: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "NotificationType": each["notificationType"],
        "ComparisonOperator": each["comparisonOperator"],
        "Threshold": float(each["threshold"]),
        "ThresholdType": each["thresholdType"],
    }


def _after(obj: Object, change: Change) -> None:
    if not change.first and change.touches(
        "limitAmount", "limitUnit", "budgetType", "timeUnit", "costFilters", *dict(PERIOD)
    ):
        obj.call("update_budget", AccountId=obj.inputs["accountId"], NewBudget=_request(obj.inputs))
    if not change.touches("notifications"):
        return
    key = {"AccountId": obj.inputs["accountId"], "BudgetName": obj.inputs["name"]}
    old, new = change.old.get("notifications") or [], obj.inputs.get("notifications") or []
    if change.first:  # again, after a create that half failed
        old = list(_notices(obj, key))
    for each in old:
        if each not in new:
            obj.call("delete_notification", **key, Notification=_notice(each))
    for each in new:
        if each not in old:
            told = [
                {"SubscriptionType": kind, "Address": address}
                for name, kind in KINDS
                for address in each.get(name) or ()
            ]
            obj.call("create_notification", **key, Notification=_notice(each), Subscribers=told)


def _notices(obj: Object, key: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for each in obj.list("describe_notifications_for_budget -> Notifications", **key):
        notice = {name: each[name] for name in words("NotificationType ComparisonOperator Threshold")}
        notice["ThresholdType"] = each.get("ThresholdType", "PERCENTAGE")
        told = list(obj.list("describe_subscribers_for_notification -> Subscribers", **key, Notification=notice))
        addresses = {name: [one["Address"] for one in told if one["SubscriptionType"] == kind] for name, kind in KINDS}
        yield {
            **{name[0].lower() + name[1:]: value for name, value in notice.items()},
            **{name: each for name, each in addresses.items() if each},
        }


def _look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    account, name = obj.fill("{accountId}"), found["BudgetName"]
    limit = found.get("BudgetLimit") or {}
    return {
        "accountId": account,
        "name": name,
        "limitAmount": limit.get("Amount"),
        "limitUnit": limit.get("Unit"),
        "costFilters": [{"name": key, "values": values} for key, values in (found.get("CostFilters") or {}).items()],
        **{name: f"{each:{MOMENT}}" for name, member in PERIOD if (each := found["TimePeriod"].get(member))},
        "notifications": list(_notices(obj, {"AccountId": account, "BudgetName": name})),
    }


ROWS: dict[str, Row] = {
    "aws:budgets/budget:Budget": Row(
        create="create_budget",
        read="describe_budget -> Budget",
        key={"AccountId": "{accountId}", "BudgetName": "{name}"},
        id="{accountId}:{name}",
        arn=ARN,
        autoname=Autoname(limit=100),
        prepare=_prepare,
        apart=("notifications",),
        later=words(
            "limitAmount limitUnit budgetType timeUnit costFilters timePeriodStart timePeriodEnd notifications"
        ),
        force_new=words("accountId name namePrefix"),
        computed=words("accountId name costFilters costTypes timePeriodStart timePeriodEnd"),
        sets=words("notifications costFilters"),
        after=_after,
        look=_look,
        tags=calls({"ResourceARN": ARN}, read="list_tags_for_resource -> ResourceTags"),
    ),
}
