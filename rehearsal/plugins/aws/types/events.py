"""Rules of EventBridge and their targets. Source: terraform-provider-aws internal/service/events/rule.go, target.go."""

from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Row, words
from rehearsal.plugins.aws.tagging import calls

_DEFAULT_BUS = "default"
_ARN = "arn:{partition}:events:{region}:{account}:rule/{name}"
"""Of a rule on the default bus, which alone the rehearsal's rules are on."""


def _bus(obj: Object) -> str:
    return str(obj.inputs.get("eventBusName") or obj.known.get("eventBusName") or _DEFAULT_BUS)


def _rule_id(obj: Object) -> str:
    """The rule's name on the default bus; on another one, both with a slash between (rule.go, RuleCreateResourceID)."""
    name, bus = obj.fill("{name}"), _bus(obj)
    return name if bus == _DEFAULT_BUS else f"{bus}/{name}"


def _target_read(obj: Object) -> Any:
    rule, target = obj.fill("{rule}"), obj.fill("{targetId}")
    found = obj.search(f"list_targets_by_rule -> Targets[?Id=='{target}'] | [0]", Rule=rule, EventBusName=_bus(obj))
    if not found:
        return None
    return {"rule": rule, "targetId": target, "arn": found["Arn"], "eventBusName": _bus(obj)}


def _target_id(obj: Object) -> str:
    rule, target = obj.fill("{rule}"), obj.fill("{targetId}")
    return f"{rule}-{target}" if _bus(obj) == _DEFAULT_BUS else f"{_bus(obj)}-{rule}-{target}"


def _target_delete(obj: Object) -> None:
    obj.call("remove_targets", Rule=obj.fill("{rule}"), EventBusName=_bus(obj), Ids=[obj.fill("{targetId}")])


ROWS: dict[str, Row] = {
    "aws:cloudwatch/eventRule:EventRule": Row(
        service="events",
        create="put_rule",
        once=True,
        read="describe_rule",
        key={"Name": "{name}"},
        id=_rule_id,
        imports="{name}",
        autoname=Autoname(limit=64),
        defaults={"eventBusName": _DEFAULT_BUS, "state": "ENABLED", "forceDestroy": False},
        documents=("eventPattern",),
        local=words("forceDestroy isEnabled"),
        force_new=words("name namePrefix eventBusName"),
        computed=words("name isEnabled"),
        updates=(("put_rule", words("eventPattern scheduleExpression state description roleArn eventBusName")),),
        arn=_ARN,
        tags=calls({"ResourceARN": _ARN}, read="list_tags_for_resource -> Tags"),
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Row(
        service="events",
        create="put_targets",
        read=_target_read,
        delete=_target_delete,
        key={"Rule": "{rule}"},
        id=_target_id,
        imports="{rule}/{targetId}",
        autoname=Autoname(input="targetId", limit=64),
        defaults={"eventBusName": _DEFAULT_BUS, "forceDestroy": False},
        prepare=lambda inputs: {
            "rule": inputs.get("rule"),
            "eventBusName": inputs.get("eventBusName"),
            "targets": [{"id": inputs.get("targetId"), "arn": inputs.get("arn")}],
        },
        local=("forceDestroy",),
        force_new=words("rule targetId eventBusName"),
        computed=("targetId",),
        updates=(("put_targets", words("rule targetId eventBusName arn")),),
        look=lambda _, found: found,
    ),
}
