"""Karpenter's resources in the account: its role, its nodes' role, and the queue of interruption events.

Sources: karpenter.sh, Reference, CloudFormation; karpenter-provider-aws v1.14.1, pkg/controllers/interruption/messages.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.karpenter_rights import controller_rights, queue_policy
from components.aws.node_role import NodeRole
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, statement_document

NAMESPACE, ACCOUNT = "kube-system", "karpenter"
"""Where its guide puts it: the API server serves that namespace's requests before others' (karpenter.sh)."""

HEARD: Mapping[str, tuple[str, str]] = {
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "health": ("aws.health", "AWS Health Event"),
}
"""What is put into the queue: source and kind of the event. Reservations' interruptions are of pools it has none of."""

KEPT_SECONDS = 300
"""A spot instance goes two minutes after its notice: what is older is of no use."""


@dataclass(frozen=True, kw_only=True)
class KarpenterAccountArgs:
    """`node_role` is that of the nodes it makes, and of no others."""

    cluster_name: pulumi.Input[str]
    region: str
    partition: pulumi.Input[str]
    account_id: pulumi.Input[str]
    node_role: NodeRole


class KarpenterAccount(Component):
    """`service_account` resolves when the controller has its rights, `instance_profile` when nodes may join by it."""

    service_account: pulumi.Output[str]
    queue: pulumi.Output[str]
    instance_profile: pulumi.Output[str]

    def __init__(self, name: str, args: KarpenterAccountArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        queue = self._queue()
        heard = self._hear(queue)
        self.service_account = self._controller(args, queue)
        profile = aws.iam.InstanceProfile(
            self.named("profile"),
            name=self.physical(self.pulumi_resource_name, limit=128),
            role=args.node_role.name,
            tags=self.tags("profile"),
            opts=self.child(),
        )
        entry = aws.eks.AccessEntry(
            self.named("nodes"),
            cluster_name=args.cluster_name,
            principal_arn=args.node_role.arn,
            type="EC2_LINUX",
            tags=self.tags("nodes"),
            opts=self.child(),
        )
        self.instance_profile = pulumi.Output.all(profile.name, entry.id).apply(lambda known: str(known[0]))
        self.queue = pulumi.Output.all(queue.name, *heard).apply(lambda known: str(known[0]))
        self.register_outputs({"queue": self.queue, "instanceProfile": self.instance_profile})

    def _queue(self) -> aws.sqs.Queue:
        return aws.sqs.Queue(
            self.named("queue"),
            name=self.physical(self.pulumi_resource_name, limit=80),
            message_retention_seconds=KEPT_SECONDS,
            sqs_managed_sse_enabled=True,
            tags=self.tags("queue"),
            opts=self.child(),
        )

    def _hear(self, queue: aws.sqs.Queue) -> list[pulumi.Output[str]]:
        """Rules that bring events into the queue; their ids."""
        rules = {
            role: aws.cloudwatch.EventRule(
                self.named(f"{role}-rule"),
                name=self.physical(self.named(role), limit=64),
                event_pattern=json.dumps({"source": [source], "detail-type": [kind]}, sort_keys=True),
                tags=self.tags(f"{role}-rule"),
                opts=self.child(),
            )
            for role, (source, kind) in HEARD.items()
        }
        targets = [
            aws.cloudwatch.EventTarget(
                self.named(f"{role}-target"),
                aws.cloudwatch.EventTargetArgs(rule=rule.name, target_id="karpenter", arn=queue.arn),
                self.child(),
            )
            for role, rule in rules.items()
        ]
        arns = {role: rule.arn for role, rule in rules.items()}
        policy = aws.sqs.QueuePolicy(
            self.named("queue-policy"),
            queue_url=queue.url,
            policy=pulumi.Output.all(arn=queue.arn, rules=arns).apply(
                lambda known: statement_document(queue_policy(known["arn"], known["rules"]))
            ),
            opts=self.child(),
        )
        return [policy.id, *(target.id for target in targets)]

    def _controller(self, args: KarpenterAccountArgs, queue: aws.sqs.Queue) -> pulumi.Output[str]:
        document = pulumi.Output.all(
            partition=args.partition,
            account_id=args.account_id,
            cluster=args.cluster_name,
            node_role_arn=args.node_role.arn,
            queue_arn=queue.arn,
        ).apply(lambda known: statement_document(controller_rights(region=args.region, **known)))
        identity = PodIdentityArgs(
            cluster_name=args.cluster_name, namespace=NAMESPACE, service_account=ACCOUNT, document=document
        )
        return PodIdentity(self.named("identity"), identity, self.child()).service_account


def karpenter_values(
    account: pulumi.Input[str],
    queue: pulumi.Input[str],
    cluster: pulumi.Input[str],
    *,
    cpu_millicores: int,
    memory_mib: int,
) -> dict[str, Any]:
    """Values of the `karpenter` chart 1.14. `account` resolves when it has its rights, `queue` when events arrive."""
    amounts = {"cpu": f"{cpu_millicores}m", "memory": f"{memory_mib}Mi"}
    return {
        "serviceAccount": {"name": account},
        "settings": {"clusterName": cluster, "interruptionQueue": queue, "eksControlPlane": True},
        "controller": {"resources": {"requests": amounts, "limits": {"memory": amounts["memory"]}}},
        # One pod to a node is required, and the chart's default asks for an even spread over zones as well: with two
        # system nodes in one zone the second pod would stay Pending.
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    }
