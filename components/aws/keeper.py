"""The keeper, which ends a stack automatically: a Lambda function that a schedule calls every ten minutes, and its
parameters.

Everything that costs is made after it and goes before it, so a stack that is half up is kept as well, and the keeper
is the last to go.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.cluster import trust_policy
from components.aws.keeper_rights import Holdings, invocation, rights
from components.aws.logs import log_group
from components.aws.spending import publish_policy

RATE = "rate(10 minutes)"
BLOCK_RATE = "rate(1 minute)"
"""Where capacity blocks are kept, an hour of which can cost hundreds of USD, and where pools wait for spot nodes."""
RUNTIME, ARCHITECTURE = "python3.13", "arm64"
TIMEOUT_SECONDS, MEMORY_MIB = 300, 256
LOG_DAYS = 30
UNTOUCHED = json.dumps({})
"""The record before the keeper's first look."""


@dataclass(frozen=True, kw_only=True)
class KeeperArgs:
    """`ends` is a moment in UTC as text, or never; once it stands in its parameter, that is where it is changed.

    `tags` are on everything that may be removed. `emails` are told `warn_hours` before the end. `gpu_pools` are node
    groups with their nodes, `off_hours` when they have none. With `max_usd`, at `hourly_usd` an hour, money is the
    second bound, and AWS Budgets' notice of it, counted once from `counts_from` on (UTC, such as 2026-11-28_05:00), the
    third: the moment of the first `up` stays the state's. `key_arn` encrypts `log_group`,
    which it has to serve. `code` are the function's files, `handler.py` among them. `blocks` are capacity blocks and
    their node groups: reservation, group, start, end, nodes, save_minutes, empty_minutes. `spots` are pools on spot
    that may fall back: spot, on_demand, nodes, wait_minutes, again_hours.
    """

    code: Mapping[str, str]
    region: str
    partition: pulumi.Input[str]
    account_id: pulumi.Input[str]
    cluster_name: str
    key_arn: pulumi.Input[str]
    log_group: str
    tags: Mapping[str, str]
    tag_key: str
    ends: str
    warn_hours: float
    hourly_usd: float
    max_usd: float | None = None
    counts_from: str = ""
    emails: Sequence[str] = ()
    gpu_pools: Mapping[str, int] = field(default_factory=dict)
    off_hours: Mapping[str, Any] | None = None
    blocks: Sequence[Mapping[str, Any]] = ()
    spots: Sequence[Mapping[str, Any]] = ()


class Keeper(Component):
    """Function, schedule and what they need. `watches` is there when the stack is kept."""

    ends_parameter: pulumi.Output[str]
    topic_arn: pulumi.Output[str]
    watches: pulumi.Resource

    def __init__(self, name: str, args: KeeperArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        ends, record = self._parameter("ends", args.ends), self._parameter("record", UNTOUCHED)
        told = self._topic("told")
        for index, address in enumerate(args.emails):
            aws.sns.TopicSubscription(
                self.named(f"told-{index}"),
                aws.sns.TopicSubscriptionArgs(topic=told.arn, protocol="email", endpoint=address),
                self.child(),
            )
        function = self._function(ends, record, told)
        self.watches = self._schedule(function)
        if args.max_usd is not None:
            self._budget(args.max_usd, function)
        self.ends_parameter, self.topic_arn = ends.name, told.arn
        self.register_outputs({"endsParameter": self.ends_parameter, "topicArn": self.topic_arn})

    def _parameter(self, role: str, value: str) -> aws.ssm.Parameter:
        """Its value is the account's from then on: a later `up` neither takes back an extension nor forgets."""
        return aws.ssm.Parameter(
            self.named(role),
            name=f"/{pulumi.get_project()}/{pulumi.get_stack()}/{self.pulumi_resource_name}/{role}",
            type="String",
            insecure_value=value,
            tags=self.tags(role),
            opts=self.child(ignore_changes=["insecureValue"]),
        )

    def _topic(self, role: str) -> aws.sns.Topic:
        return aws.sns.Topic(
            self.named(role),
            aws.sns.TopicArgs(name=self.physical(self.named(role), limit=256), tags=self.tags(role)),
            self.child(),
        )

    def _function(
        self, ends: aws.ssm.Parameter, record: aws.ssm.Parameter, told: aws.sns.Topic
    ) -> aws.lambda_.Function:
        args, name = self._args, self.physical(self.pulumi_resource_name, limit=64)
        logs = log_group(self, "logs", args.log_group, LOG_DAYS, args.key_arn)
        known = pulumi.Output.all(args.partition, args.account_id, ends.arn, record.arn, told.arn, logs.arn)
        role, policy = self._role("role", "lambda.amazonaws.com", known.apply(lambda values: self._rights(*values)))
        task = pulumi.Output.all(ends.name, record.name, told.arn).apply(lambda values: self._task(*values))
        return aws.lambda_.Function(
            self.named("function"),
            name=name,
            description=f"Ends the stack {pulumi.get_stack()} when its time is over",
            role=role.arn,
            runtime=RUNTIME,
            architectures=[ARCHITECTURE],
            handler="handler.handle",
            code=pulumi.AssetArchive({name: pulumi.StringAsset(text) for name, text in args.code.items()}),
            timeout=TIMEOUT_SECONDS,
            memory_size=MEMORY_MIB,
            environment=aws.lambda_.FunctionEnvironmentArgs(variables={"KEEPER": task}),
            logging_config=aws.lambda_.FunctionLoggingConfigArgs(log_format="Text", log_group=logs.name),
            tags=self.tags("function"),
            opts=self.child(depends_on=[policy, logs]),
        )

    def _rights(self, partition: str, account: str, ends: str, record: str, topic: str, logs: str) -> str:
        return rights(
            Holdings(
                partition=partition,
                region=self._args.region,
                account_id=account,
                cluster=self._args.cluster_name,
                tags=self._args.tags,
                parameters=[ends, record],
                topic=topic,
                log_group=logs,
                blocks=bool(self._args.blocks),
            )
        )

    def _task(self, ends: str, record: str, topic: str) -> str:
        args = self._args
        task = {
            "project": pulumi.get_project(),
            "stack": pulumi.get_stack(),
            "cluster": args.cluster_name,
            "ends_parameter": ends,
            "record_parameter": record,
            "topic": topic,
            "warn_hours": args.warn_hours,
            "hourly_usd": args.hourly_usd,
            "max_usd": args.max_usd,
            "gpu_pools": dict(args.gpu_pools),
            "off_hours": dict(args.off_hours) if args.off_hours else None,
            **({"blocks": [dict(each) for each in args.blocks]} if args.blocks else {}),
            **({"spots": [dict(each) for each in args.spots]} if args.spots else {}),
        }
        return json.dumps(task, sort_keys=True)

    def _role(self, role: str, service: str, document: pulumi.Input[str]) -> tuple[aws.iam.Role, aws.iam.RolePolicy]:
        made = aws.iam.Role(
            self.named(role),
            name=self.physical(self.named(role), limit=64),
            assume_role_policy=trust_policy(service),
            tags=self.tags(role),
            opts=self.child(),
        )
        policy = aws.iam.RolePolicy(
            self.named(f"{role}-policy"),
            aws.iam.RolePolicyArgs(role=made.name, name=self.pulumi_resource_name, policy=document),
            self.child(),
        )
        return made, policy

    def _schedule(self, function: aws.lambda_.Function) -> aws.scheduler.Schedule:
        """The call carries the moment it was meant for, so that a late one is judged by its own time."""
        role, policy = self._role("caller", "scheduler.amazonaws.com", function.arn.apply(invocation))
        return aws.scheduler.Schedule(
            self.named("schedule"),
            name=self.physical(self.pulumi_resource_name, limit=64),
            group_name="default",
            schedule_expression=BLOCK_RATE if self._args.blocks or self._args.spots else RATE,
            flexible_time_window=aws.scheduler.ScheduleFlexibleTimeWindowArgs(mode="OFF"),
            target=aws.scheduler.ScheduleTargetArgs(
                arn=function.arn,
                role_arn=role.arn,
                input=json.dumps({"now": "<aws.scheduler.scheduled-time>"}),
                retry_policy=aws.scheduler.ScheduleTargetRetryPolicyArgs(
                    maximum_event_age_in_seconds=600, maximum_retry_attempts=3
                ),
            ),
            opts=self.child(depends_on=[policy]),
        )

    def _budget(self, max_usd: float, function: aws.lambda_.Function) -> None:
        """AWS' own count of the money, hours late: at all of it the function is told to stop.

        One period from the stack's first `up` on: what was spent before it under the same name does not count, and no
        month begins the count anew. Without an end AWS keeps the budget until 2087. Source: API reference of AWS
        Budgets, TimePeriod and Budget; CUSTOM is one of the SDK's TimeUnit.Values, by which the provider judges
        (terraform-provider-aws internal/service/budgets/budget.go, time_unit).
        """
        stop = self._topic("stop")
        policy = aws.sns.TopicPolicy(
            self.named("stop-policy"),
            arn=stop.arn,
            policy=pulumi.Output.all(stop.arn, self._args.account_id).apply(lambda known: publish_policy(*known)),
            opts=self.child(),
        )
        allowed = aws.lambda_.Permission(
            self.named("stop-permission"),
            statement_id="budget",
            action="lambda:InvokeFunction",
            function=function.name,
            principal="sns.amazonaws.com",
            source_arn=stop.arn,
            opts=self.child(),
        )
        called = aws.sns.TopicSubscription(
            self.named("stop-function"),
            aws.sns.TopicSubscriptionArgs(topic=stop.arn, protocol="lambda", endpoint=function.arn),
            self.child(depends_on=[allowed]),
        )
        spent = f"user:{self._args.tag_key}${pulumi.get_stack()}"
        aws.budgets.Budget(
            self.named("budget"),
            account_id=self._args.account_id,
            name=self.physical(self.named("budget"), limit=100),
            budget_type="COST",
            time_unit="CUSTOM",
            time_period_start=self._args.counts_from,
            limit_amount=f"{max_usd:.1f}",
            limit_unit="USD",
            cost_filters=[aws.budgets.BudgetCostFilterArgs(name="TagKeyValue", values=[spent])],
            notifications=[
                aws.budgets.BudgetNotificationArgs(
                    comparison_operator="GREATER_THAN",
                    notification_type="ACTUAL",
                    threshold=100,
                    threshold_type="PERCENTAGE",
                    subscriber_sns_topic_arns=[policy.arn],
                )
            ],
            tags=self.tags("budget"),
            opts=self.child(depends_on=[called], ignore_changes=["timePeriodStart"]),
        )
