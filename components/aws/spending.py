"""Cost alerts: a monthly budget, an anomaly monitor, and an SNS topic.

A budget sees what is billed under the stack's tag, which a person has to activate once as a cost allocation tag in the
account that pays (Billing user guide, "Activating user-defined cost allocation tags"), and several hours late.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.pod_identity import statement_document


@dataclass(frozen=True, kw_only=True)
class SpendingArgs:
    """`emails` are told when a month has come to each of `percents` of `monthly_usd`, and, a day later, of anomalies of
    `anomaly_usd` and more. Costs count under the tag `tag_key` with the value `tag_value`.
    """

    account_id: pulumi.Input[str]
    tag_key: str
    tag_value: str
    monthly_usd: float
    percents: Sequence[int]
    emails: Sequence[str]
    anomaly_usd: float


class Spending(Component):
    """Budget, anomaly monitor and topic. `topic_arn` resolves once AWS Budgets may publish to it."""

    topic_arn: pulumi.Output[str]

    def __init__(self, name: str, args: SpendingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        topic = aws.sns.Topic(
            self.named("topic"),
            aws.sns.TopicArgs(name=self.physical(name, limit=256), tags=self.tags("topic")),
            self.child(),
        )
        policy = aws.sns.TopicPolicy(
            self.named("topic-policy"),
            arn=topic.arn,
            policy=pulumi.Output.all(topic.arn, args.account_id).apply(lambda known: publish_policy(*known)),
            opts=self.child(),
        )
        self.topic_arn = policy.arn
        self._budget(args)
        self._anomalies(args)
        self.register_outputs({"topicArn": self.topic_arn})

    def _budget(self, args: SpendingArgs) -> None:
        notice = aws.budgets.BudgetNotificationArgs
        aws.budgets.Budget(
            self.named("budget"),
            account_id=args.account_id,
            name=self.physical(self.pulumi_resource_name, limit=100),
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{args.monthly_usd:.1f}",
            limit_unit="USD",
            cost_filters=[
                aws.budgets.BudgetCostFilterArgs(name="TagKeyValue", values=[f"user:{args.tag_key}${args.tag_value}"])
            ],
            notifications=[
                notice(
                    comparison_operator="GREATER_THAN",
                    notification_type="ACTUAL",
                    threshold=percent,
                    threshold_type="PERCENTAGE",
                    subscriber_email_addresses=list(args.emails),
                    subscriber_sns_topic_arns=[self.topic_arn],
                )
                for percent in args.percents
            ],
            tags=self.tags("budget"),
            opts=self.child(),
        )

    def _anomalies(self, args: SpendingArgs) -> None:
        stem = self.physical(self.pulumi_resource_name, limit=256)
        monitor = aws.costexplorer.AnomalyMonitor(
            self.named("monitor"),
            name=stem,
            monitor_type="CUSTOM",
            monitor_specification=json.dumps(
                {"Tags": {"Key": args.tag_key, "Values": [args.tag_value]}}, sort_keys=True
            ),
            tags=self.tags("monitor"),
            opts=self.child(),
        )
        impact = aws.costexplorer.AnomalySubscriptionThresholdExpressionDimensionArgs(
            key="ANOMALY_TOTAL_IMPACT_ABSOLUTE",
            match_options=["GREATER_THAN_OR_EQUAL"],
            values=[f"{args.anomaly_usd:g}"],
        )
        aws.costexplorer.AnomalySubscription(
            self.named("anomalies"),
            name=stem,
            # E-mail goes out by the day at the soonest; at once goes to a topic only.
            frequency="DAILY",
            monitor_arn_lists=[monitor.arn],
            subscribers=[
                aws.costexplorer.AnomalySubscriptionSubscriberArgs(type="EMAIL", address=each) for each in args.emails
            ],
            threshold_expression=aws.costexplorer.AnomalySubscriptionThresholdExpressionArgs(dimension=impact),
            tags=self.tags("anomalies"),
            opts=self.child(),
        )


def publish_policy(topic_arn: str, account_id: str) -> str:
    """Lets AWS Budgets publish to the topic, on behalf of this account only."""
    return statement_document(
        [
            {
                "Sid": "BudgetsPublish",
                "Effect": "Allow",
                "Principal": {"Service": "budgets.amazonaws.com"},
                "Action": "sns:Publish",
                "Resource": topic_arn,
                "Condition": {"StringEquals": {"aws:SourceAccount": account_id}},
            }
        ]
    )
