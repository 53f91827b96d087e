"""Topics. Source: terraform-provider-aws internal/service/sns/topic.go, topic_policy.go,
topic_subscription.go."""

import json
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls


def _named(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": found["TopicArn"].rpartition(":")[2]}


def _read_policy(obj: Object) -> Any:
    found = obj.search("get_topic_attributes -> Attributes", TopicArn=obj.fill("{arn}"))
    return {"arn": found["TopicArn"], "owner": found["Owner"], "policy": found["Policy"]} if found else None


def _put_policy(obj: Object, change: Change) -> None:
    if not change.first and change.touches("policy"):
        value = obj.inputs["policy"]
        obj.call("set_topic_attributes", TopicArn=obj.inputs["arn"], AttributeName="Policy", AttributeValue=value)


def _unset_policy(obj: Object) -> None:
    """Back to what every topic begins with: all the rights to its owner, which is what the provider sets."""
    owner = {"StringEquals": {"AWS:SourceOwner": obj.account.id}}
    statement = {
        "Sid": "__default_statement_ID",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [f"SNS:{right}" for right in words("GetTopicAttributes SetTopicAttributes AddPermission Publish")],
        "Resource": obj.fill("{arn}"),
        "Condition": owner,
    }
    policy = json.dumps({"Version": "2008-10-17", "Id": "__default_policy_ID", "Statement": [statement]})
    obj.missing("set_topic_attributes", TopicArn=obj.fill("{arn}"), AttributeName="Policy", AttributeValue=policy)


ROWS: dict[str, Row] = {
    "aws:sns/topic:Topic": Row(
        create="create_topic",
        read="get_topic_attributes -> Attributes",
        id="{TopicArn}",
        listing="list_topics -> Topics",
        names={"arn": "TopicArn"},
        autoname=Autoname(limit=256),
        force_new=words("name namePrefix"),
        computed=words("name policy displayName"),
        look=_named,
        tags=calls({"ResourceArn": "{TopicArn}"}, read="list_tags_for_resource -> Tags"),
    ),
    "aws:sns/topicSubscription:TopicSubscription": Row(
        create="subscribe",
        read="get_subscription_attributes -> Attributes",
        delete="unsubscribe",
        id="{SubscriptionArn}",
        listing="list_subscriptions -> Subscriptions[].{topic: TopicArn, protocol: Protocol, endpoint: Endpoint, "
        "SubscriptionArn: SubscriptionArn}",
        unique=words("topic protocol endpoint"),
        names={"topic": "TopicArn", "arn": "SubscriptionArn"},
        # without it the answer for an address that has yet to confirm is "pending confirmation", and no ARN
        constants={"ReturnSubscriptionArn": True},
        local=words("confirmationTimeoutInMinutes endpointAutoConfirms"),
        force_new=words("topic protocol endpoint"),
    ),
    "aws:sns/topicPolicy:TopicPolicy": Row(
        create="set_topic_attributes",
        read=_read_policy,
        delete=_unset_policy,
        key={"TopicArn": "{arn}"},
        id="{arn}",
        names={"arn": "TopicArn", "policy": "AttributeValue"},
        constants={"AttributeName": "Policy"},
        documents=("policy",),
        force_new=("arn",),
        later=("policy",),
        after=_put_policy,
        look=lambda _, found: found,
    ),
}
