"""Security groups: in use, referenced, duplicate rules.

Sources: Amazon VPC user guide, "Delete a security group"; EC2 API reference, DeleteSecurityGroup,
AuthorizeSecurityGroupIngress (InvalidPermission.Duplicate).
"""

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.security_groups import SecurityGroupRule

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.ec2.errors import refusal
from rehearsal.cloud.ec2.use import forget_tags, group_users

AMENDMENTS = Amendments()


@AMENDMENTS.around(EC2Backend, "create_security_group")
def create_security_group(
    original: Any, self: Any, name: str, description: str, vpc_id: str | None = None, *args: Any, **kwargs: Any
) -> Any:
    """The VPC must exist, and names beginning with ``sg-`` are taken for ids (InvalidParameterValue)."""
    if vpc_id:
        self.get_vpc(vpc_id)
    if name.startswith("sg-"):
        raise refusal(
            "InvalidParameterValue", f"Invalid security group name '{name}'. Group names may not begin with sg-"
        )
    return original(self, name, description, vpc_id, *args, **kwargs)


@AMENDMENTS.around(EC2Backend, "delete_security_group")
def delete_security_group(original: Any, self: Any, name: str | None = None, group_id: str | None = None) -> None:
    """DependencyViolation while an interface carries it or another group's rule names it; CannotDelete for default."""
    group = self.get_security_group_from_id(group_id) if group_id else None
    if group is not None and group_users(self, group.id):
        raise refusal("DependencyViolation", f"resource {group.id} has a dependent object")
    if group is not None and group.name == "default" and len(self.describe_subnets(filters={"vpc-id": [group.vpc_id]})):
        raise refusal("CannotDelete", f"the specified group: {group.id} name: default cannot be deleted by a user")
    original(self, name, group_id)
    if group is not None:
        forget_tags(self, group.id, *(rule.id for rule in group.ingress_rules + group.egress_rules))


@AMENDMENTS.around(SecurityGroupRule, "__eq__")
def same_rule(original: Any, self: Any, other: Any) -> bool:
    """Rules that name the same group are the same, whatever else the request's pair says; moto compares the pair."""
    if self.source_group and other.source_group:
        ours, theirs = self.source_group.get("GroupId"), other.source_group.get("GroupId")
        ports = (self.from_port, self.to_port) == (other.from_port, other.to_port)
        return ours == theirs and self.ip_protocol == other.ip_protocol and (ports or self.ip_protocol == "-1")
    return bool(original(self, other))


AMENDMENTS.attribute(
    SecurityGroupRule,
    "description",
    property(lambda rule: rule.ip_range.get("Description") or rule.source_group.get("Description")),
)


@AMENDMENTS.around(EC2Backend, "modify_security_group_rules")
def modify_security_group_rules(original: Any, self: Any, group_id: str, rules: dict[str, dict[str, Any]]) -> None:
    """All protocols have no ports, and a rule that names a group changes too; moto knows address ranges only."""
    for change in rules.values():
        if change.get("IpProtocol") == "-1":
            change.setdefault("FromPort", -1)
            change.setdefault("ToPort", -1)
    original(self, group_id, rules)
    group = self.get_security_group_from_id(group_id)
    for rule_id, change in rules.items():
        rule = group.get_rule(rule_id)
        if rule.ip_protocol == "-1":
            rule.from_port = rule.to_port = None
        if change.get("ReferencedGroupId"):
            rule.source_group["GroupId"] = change["ReferencedGroupId"]
            rule.source_group["Description"] = change.get("Description")
            rule.ip_range = {}
