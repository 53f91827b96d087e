"""Security groups and their rules. Source: terraform-provider-aws internal/service/ec2/vpc_security_group*.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import ec2

SOURCES = {
    "cidrIpv4": ("IpRanges", "CidrIp"),
    "cidrIpv6": ("Ipv6Ranges", "CidrIpv6"),
    "prefixListId": ("PrefixListIds", "PrefixListId"),
    "referencedSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
}
REQUEST = {
    "cidrIpv4": "CidrIpv4",
    "cidrIpv6": "CidrIpv6",
    "prefixListId": "PrefixListId",
    "referencedSecurityGroupId": "ReferencedGroupId",
    "ipProtocol": "IpProtocol",
    "fromPort": "FromPort",
    "toPort": "ToPort",
    "description": "Description",
}
EVERYONE = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]


def _group_after(obj: Object, change: Change) -> None:
    """The provider takes away the rule that lets everything out: only rules of the program count."""
    if change.first:
        obj.missing("revoke_security_group_egress", GroupId=obj.id, IpPermissions=EVERYONE)


def _group_delete(obj: Object) -> None:
    if obj.inputs.get("revokeRulesOnDelete"):
        found = obj.search("describe_security_groups -> SecurityGroups[0]", GroupIds=[obj.id])
        for call, member in (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress")):
            if rules := found.get(member):
                obj.call(f"revoke_security_group_{call}", GroupId=obj.id, IpPermissions=rules)
    obj.call("delete_security_group", GroupId=obj.id)


def _permission(inputs: dict[str, Any]) -> dict[str, Any]:
    """The IpPermissions of one rule."""
    group = {"groupId": inputs["securityGroupId"]} if "securityGroupId" in inputs else {}
    permission: dict[str, Any] = {"ipProtocol": inputs.get("ipProtocol", "-1")}
    for name in ("fromPort", "toPort"):
        if inputs.get(name) is not None:
            permission[name] = inputs[name]
    text = {"Description": inputs["description"]} if inputs.get("description") else {}
    for name, (member, key) in SOURCES.items():
        if inputs.get(name):
            permission[member] = [{key: _group_id(inputs[name]), **text}]
    rest = {name: value for name, value in inputs.items() if name not in {*REQUEST, *SOURCES, "securityGroupId"}}
    return {**rest, **group, "ipPermissions": [permission]}


def _group_id(source: str) -> str:
    """The group of another account is written account/group."""
    return source.rpartition("/")[2] if source.partition("/")[2].startswith("sg-") else source


def _rule_after(obj: Object, change: Change) -> None:
    if not change.first and change.touches(*REQUEST):
        rule = {member: obj.inputs[name] for name, member in REQUEST.items() if obj.inputs.get(name) is not None}
        changed = [{"SecurityGroupRuleId": obj.id, "SecurityGroupRule": rule}]
        obj.call("modify_security_group_rules", GroupId=obj.inputs["securityGroupId"], SecurityGroupRules=changed)


def _rule_look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    everything = found.get("IpProtocol") == "-1"  # AWS tells ports -1 then; the provider leaves them out
    return {
        "referencedSecurityGroupId": (found.get("ReferencedGroupInfo") or {}).get("GroupId"),
        "fromPort": None if everything else found.get("FromPort"),
        "toPort": None if everything else found.get("ToPort"),
    }


def _rule(direction: str) -> Row:
    def delete(obj: Object) -> None:
        call = f"revoke_security_group_{direction}"
        obj.call(call, GroupId=obj.inputs["securityGroupId"], SecurityGroupRuleIds=[obj.id])

    return Row(
        service="ec2",
        create=f"authorize_security_group_{direction} -> SecurityGroupRules[0]",
        read="describe_security_group_rules -> SecurityGroupRules[0]",
        delete=delete,
        id="{SecurityGroupRuleId}",
        names={"securityGroupId": "GroupId"},
        prepare=_permission,
        force_new=("securityGroupId",),
        later=tuple(REQUEST),
        after=_rule_after,
        look=_rule_look,
        tags=ec2("security-group-rule"),
    )


ROWS: dict[str, Row] = {
    "aws:ec2/securityGroup:SecurityGroup": Row(
        create="create_security_group",
        read="describe_security_groups -> SecurityGroups[0]",
        delete=_group_delete,
        id="{GroupId}",
        names={"name": "GroupName"},
        autoname=Autoname(),
        defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        local=("revokeRulesOnDelete",),
        force_new=words("name namePrefix description vpcId"),
        computed=words("name vpcId ingress egress"),
        after=_group_after,
        busy=("DependencyViolation", "InvalidGroup.InUse"),
        tags=ec2("security-group"),
        timeouts=(10 * MINUTE, 10 * MINUTE, 15 * MINUTE),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("egress"),
}
