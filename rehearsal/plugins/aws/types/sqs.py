"""Queues. Source: terraform-provider-aws internal/service/sqs/queue.go, queue_policy.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls

_ATTRIBUTES = {
    "delaySeconds": "DelaySeconds",
    "maxMessageSize": "MaximumMessageSize",
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "receiveWaitTimeSeconds": "ReceiveMessageWaitTimeSeconds",
    "sqsManagedSseEnabled": "SqsManagedSseEnabled",
    "visibilityTimeoutSeconds": "VisibilityTimeout",
}
"""Inputs that SQS knows as attributes, each of them text."""


def _said(inputs: Mapping[str, Any]) -> dict[str, str]:
    """What a program says of a queue, as SQS takes it: numbers in digits, truth in small letters."""
    return {
        name: str(inputs[key]).lower() if isinstance(inputs[key], bool) else str(int(inputs[key]))
        for key, name in _ATTRIBUTES.items()
        if inputs.get(key) is not None
    }


def _prepare(inputs: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in inputs.items() if key not in _ATTRIBUTES}
    attributes = _said(inputs)
    return {**kept, "attributes": attributes} if attributes else kept


def _after(obj: Object, change: Change) -> None:
    if not change.first and change.touches(*_ATTRIBUTES):
        obj.call("set_queue_attributes", QueueUrl=obj.id, Attributes=_said(obj.inputs))


def _read(obj: Object) -> Any:
    found = obj.search("get_queue_attributes -> Attributes", QueueUrl=obj.id, AttributeNames=["All"])
    return {**found, "QueueUrl": obj.id} if found else None


def _look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    numbers = {key: found.get(name) for key, name in _ATTRIBUTES.items()}
    typed = {
        key: value == "true" if value in ("true", "false") else int(value)
        for key, value in numbers.items()
        if value is not None
    }
    return {**typed, "arn": found["QueueArn"], "name": found["QueueArn"].rpartition(":")[2], "url": obj.id}


def _read_policy(obj: Object) -> Any:
    url = obj.fill("{queueUrl}")
    found = obj.search("get_queue_attributes -> Attributes", QueueUrl=url, AttributeNames=["Policy"])
    return {"queueUrl": url, "policy": found["Policy"]} if found and found.get("Policy") else None


def _put_policy(obj: Object, change: Change) -> None:
    if not change.first and change.touches("policy"):
        url = obj.inputs["queueUrl"]
        obj.call("set_queue_attributes", QueueUrl=url, Attributes={"Policy": obj.inputs["policy"]})


def _unset_policy(obj: Object) -> None:
    obj.missing("set_queue_attributes", QueueUrl=obj.fill("{queueUrl}"), Attributes={"Policy": ""})


ROWS: dict[str, Row] = {
    "aws:sqs/queue:Queue": Row(
        create="create_queue",
        read=_read,
        key={"QueueUrl": "{id}"},
        id="{QueueUrl}",
        listing="list_queues -> QueueUrls[].{QueueUrl: @}",
        names={"name": "QueueName"},
        autoname=Autoname(limit=80),
        prepare=_prepare,
        later=tuple(_ATTRIBUTES),
        after=_after,
        force_new=words("name namePrefix fifoQueue"),
        computed=words("name policy kmsDataKeyReusePeriodSeconds " + " ".join(_ATTRIBUTES)),
        look=_look,
        tags=calls({"QueueUrl": "{id}"}, "tag_queue", "untag_queue", "list_queue_tags -> Tags"),
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Row(
        create="set_queue_attributes",
        read=_read_policy,
        delete=_unset_policy,
        key={"QueueUrl": "{queueUrl}"},
        id="{queueUrl}",
        prepare=lambda inputs: {"queueUrl": inputs.get("queueUrl"), "attributes": {"Policy": inputs.get("policy")}},
        documents=("policy",),
        force_new=("queueUrl",),
        later=("policy",),
        after=_put_policy,
        look=lambda _, found: found,
    ),
}
