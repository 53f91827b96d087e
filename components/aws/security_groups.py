"""Security groups of the kinds of traffic that AWS' defaults do not carry: EFA, Lustre, and NFS to EFS.

EFA passes only where a group allows every protocol from itself *and* to itself; an egress rule to 0.0.0.0/0 does not
stand in for the second, and what is missing is not reported: traffic falls back to TCP (AWS EFA user guide).
Lustre talks from server to client as well, on TCP 988 and 1018-1023 (FSx for Lustre user guide).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pulumi
import pulumi_aws as aws

from components._base import Component

NFS_PORT = 2049
LUSTRE_PORTS = {"lnet": (988, 988), "callbacks": (1018, 1023)}


class _Group(Component):
    """A security group and rules that name another group, never an address range.

    `group_id` resolves when the rules are in force: FSx checks them before it makes a file system, and at the end they
    go after whatever used them.
    """

    group_id: pulumi.Output[str]

    def _create(self, role: str, vpc_id: pulumi.Input[str], description: str) -> None:
        group = aws.ec2.SecurityGroup(
            self.named("group"),
            name=self.physical(role, limit=255),
            description=description,
            vpc_id=vpc_id,
            # EC2 cannot delete a group that another group's rule names, so rules go first.
            revoke_rules_on_delete=True,
            tags=self.tags("group"),
            opts=self.child(),
        )
        self._id = group.id
        self._rules: list[pulumi.Output[str]] = []

    def _allow(
        self,
        role: str,
        direction: Literal["in", "out"],
        *,
        peer: pulumi.Input[str],
        at: pulumi.Input[str] | None = None,
        ports: tuple[int, int] | None = None,
    ) -> None:
        """One rule of group `at` (default: this one) for traffic with `peer`; no `ports` means all protocols."""
        name = f"{role}-{direction}"
        what: dict[str, Any] = {
            "security_group_id": self._id if at is None else at,
            "referenced_security_group_id": peer,
            "ip_protocol": "tcp" if ports else "-1",
            "from_port": ports[0] if ports else None,
            "to_port": ports[1] if ports else None,
            "tags": self.tags(name),
        }
        rule: pulumi.CustomResource
        if direction == "in":
            args = aws.vpc.SecurityGroupIngressRuleArgs(**what)
            rule = aws.vpc.SecurityGroupIngressRule(self.named(name), args, self.child())
        else:
            rule = aws.vpc.SecurityGroupEgressRule(
                self.named(name), aws.vpc.SecurityGroupEgressRuleArgs(**what), self.child()
            )
        self._rules.append(rule.id)

    def _allow_all_of_itself(self) -> None:
        self._allow("self", "in", peer=self._id)
        self._allow("self", "out", peer=self._id)

    def _finish(self) -> None:
        self.group_id = pulumi.Output.all(self._id, *self._rules).apply(lambda ids: str(ids[0]))
        self.register_outputs({"groupId": self.group_id})


@dataclass(frozen=True, kw_only=True)
class EfaGroupArgs:
    vpc_id: pulumi.Input[str]


class EfaGroup(_Group):
    """The group that every EFA interface carries."""

    def __init__(self, name: str, args: EfaGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._create("efa", args.vpc_id, "EFA between GPU nodes")
        self._allow_all_of_itself()
        self._finish()


@dataclass(frozen=True, kw_only=True)
class LustreGroupArgs:
    """`nodes_group_id` is on every node; `efa_group_id` is given when the file system itself speaks EFA."""

    vpc_id: pulumi.Input[str]
    nodes_group_id: pulumi.Input[str]
    efa_group_id: pulumi.Input[str] | None = None


class LustreGroup(_Group):
    """The group of the file system's interfaces. The nodes' own egress is open by EKS' default rule."""

    def __init__(self, name: str, args: LustreGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._create("lustre", args.vpc_id, "FSx for Lustre")
        for role, ports in LUSTRE_PORTS.items():
            self._allow(f"nodes-{role}", "in", peer=args.nodes_group_id, ports=ports)
            self._allow(f"nodes-{role}", "out", peer=args.nodes_group_id, ports=ports)
            self._allow(f"to-nodes-{role}", "in", at=args.nodes_group_id, peer=self._id, ports=ports)
        if args.efa_group_id is None:
            self._allow_lustre_of_itself(LUSTRE_PORTS)
        else:
            self._allow_all_of_itself()
            self._allow_efa_with(args.efa_group_id)
        self._finish()

    def _allow_lustre_of_itself(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        for role, ports in ranges.items():
            self._allow(f"self-{role}", "in", peer=self._id, ports=ports)
            self._allow(f"self-{role}", "out", peer=self._id, ports=ports)

    def _allow_efa_with(self, clients: pulumi.Input[str]) -> None:
        self._allow("clients", "in", peer=clients)
        self._allow("clients", "out", peer=clients)
        self._allow("to-clients", "in", at=clients, peer=self._id)
        self._allow("to-clients", "out", at=clients, peer=self._id)


@dataclass(frozen=True, kw_only=True)
class NfsGroupArgs:
    """`nodes_group_id` is on every node."""

    vpc_id: pulumi.Input[str]
    nodes_group_id: pulumi.Input[str]


class NfsGroup(_Group):
    """The group of mount targets of EFS, which open no connections: nodes come in on TCP 2049, and nobody else."""

    def __init__(self, name: str, args: NfsGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._create("home", args.vpc_id, "EFS, for nodes")
        self._allow("nodes", "in", peer=args.nodes_group_id, ports=(NFS_PORT, NFS_PORT))
        self._finish()
