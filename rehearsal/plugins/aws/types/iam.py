"""Roles, their policies, and profiles by which instances have them.

Source: terraform-provider-aws internal/service/iam.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls

NEW = ("Invalid IAM Instance Profile name", "NoSuchEntity.*The role with name")  # what IAM says of one it does not see
INVISIBLE = ("MalformedPolicyDocument.*[Pp]rincipal",)  # a principal that has just been made


def _role_after(obj: Object, change: Change) -> None:
    name = obj.id
    if change.first:
        return
    if change.touches("assumeRolePolicy"):
        obj.call("update_assume_role_policy", RoleName=name, PolicyDocument=obj.inputs["assumeRolePolicy"])
    if change.touches("description", "maxSessionDuration"):
        obj.call(
            "update_role",
            RoleName=name,
            Description=obj.inputs.get("description") or "",
            MaxSessionDuration=obj.inputs.get("maxSessionDuration") or 3600,
        )
    if change.touches("permissionsBoundary"):
        if boundary := obj.inputs.get("permissionsBoundary"):
            obj.call("put_role_permissions_boundary", RoleName=name, PermissionsBoundary=boundary)
        else:
            obj.call("delete_role_permissions_boundary", RoleName=name)


def _role_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    attached = obj.search("list_attached_role_policies -> AttachedPolicies[].PolicyArn", RoleName=obj.id)
    return {
        "managedPolicyArns": sorted(attached or ()),
        "permissionsBoundary": (found.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn"),
    }


def _role_delete(obj: Object) -> None:
    if obj.inputs.get("forceDetachPolicies"):
        for arn in obj.search("list_attached_role_policies -> AttachedPolicies[].PolicyArn", RoleName=obj.id) or ():
            obj.missing("detach_role_policy", RoleName=obj.id, PolicyArn=arn)
        for policy in obj.search("list_role_policies -> PolicyNames", RoleName=obj.id) or ():
            obj.missing("delete_role_policy", RoleName=obj.id, PolicyName=policy)
    obj.call("delete_role", RoleName=obj.id)


def _held(obj: Object, *, patient: bool) -> list[str]:
    """Names of the roles in a profile, which IAM may not see for a while after it was made."""
    late = ("NoSuchEntity",) if patient else ()
    found = obj.patiently(late, "get_instance_profile", InstanceProfileName=obj.id)
    return [each["RoleName"] for each in found["InstanceProfile"]["Roles"]]


def _profile_after(obj: Object, change: Change) -> None:
    """A profile has one role at most: another one comes when the old one has been taken out."""
    if not change.touches("role"):
        return
    wanted = obj.inputs.get("role")
    held = _held(obj, patient=change.first)
    for role in held:
        if role != wanted:
            obj.call("remove_role_from_instance_profile", InstanceProfileName=obj.id, RoleName=role)
    if wanted and wanted not in held:
        obj.patiently(NEW, "add_role_to_instance_profile", InstanceProfileName=obj.id, RoleName=wanted)


def _profile_read(obj: Object) -> Any:
    """With the name of its role in place of all that IAM tells of it."""
    found = obj.search("get_instance_profile -> InstanceProfile", InstanceProfileName=obj.fill("{name}"))
    if not found:
        return None
    roles = found.pop("Roles", None) or [{}]
    return {**found, "Role": roles[0].get("RoleName")}


def _profile_delete(obj: Object) -> None:
    """IAM keeps a profile while a role is in it."""
    held = obj.search("get_instance_profile -> InstanceProfile.Roles[].RoleName", InstanceProfileName=obj.id) or ()
    for role in held:
        obj.missing("remove_role_from_instance_profile", InstanceProfileName=obj.id, RoleName=role)
    obj.call("delete_instance_profile", InstanceProfileName=obj.id)


def _attachment_read(obj: Object) -> Any:
    role, arn = obj.fill("{role}"), obj.fill("{policyArn}")
    attached = obj.search("list_attached_role_policies -> AttachedPolicies[].PolicyArn", RoleName=role)
    return {"role": role, "policyArn": arn} if arn in (attached or ()) else None


def _attachment_id(obj: Object) -> str:
    """Made up when attaching, kept as it is afterwards."""
    if obj.id and "/" not in obj.id:
        return obj.id
    return f"{obj.inputs['role']}-{datetime.now(UTC):%Y%m%d%H%M%S%f}000001"


ROWS: dict[str, Row] = {
    "aws:iam/role:Role": Row(
        create="create_role -> Role",
        read="get_role -> Role",
        delete=_role_delete,
        key={"RoleName": "{name}"},
        id="{name}",
        names={
            "name": "RoleName",
            "assumeRolePolicy": "AssumeRolePolicyDocument",
            "uniqueId": "RoleId",
        },
        autoname=Autoname(limit=64),
        defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},
        documents=("assumeRolePolicy",),
        local=("forceDetachPolicies",),
        force_new=words("name namePrefix path"),
        computed=words("name managedPolicyArns inlinePolicies"),
        later=words("assumeRolePolicy description maxSessionDuration permissionsBoundary"),
        after=_role_after,
        look=_role_look,
        unready=INVISIBLE,
        busy=("DeleteConflict",),
        tags=calls({"RoleName": "{name}"}, "tag_role", "untag_role", "list_role_tags -> Tags"),
        timeouts=(120.0, 120.0, 120.0),
    ),
    "aws:iam/instanceProfile:InstanceProfile": Row(
        create="create_instance_profile -> InstanceProfile",
        read=_profile_read,
        delete=_profile_delete,
        key={"InstanceProfileName": "{name}"},
        id="{name}",
        names={"name": "InstanceProfileName", "uniqueId": "InstanceProfileId"},
        autoname=Autoname(limit=128),
        defaults={"path": "/"},
        apart=("role",),
        force_new=words("name namePrefix path"),
        computed=words("name role"),
        after=_profile_after,
        look=lambda _, found: {"role": found["Role"]},
        tags=calls(
            {"InstanceProfileName": "{name}"},
            "tag_instance_profile",
            "untag_instance_profile",
        ),
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Row(
        create="attach_role_policy",
        read=_attachment_read,
        delete="detach_role_policy",
        key={"RoleName": "{role}", "PolicyArn": "{policyArn}"},
        id=_attachment_id,
        imports="{role}/{policyArn}",
        names={"role": "RoleName"},
        force_new=words("role policyArn"),
        look=lambda _, found: found,
        delete_first=True,  # created first, it would be the same attachment and the delete would take it away
    ),
    "aws:iam/rolePolicy:RolePolicy": Row(
        create="put_role_policy",
        read="get_role_policy",
        key={"RoleName": "{role}", "PolicyName": "{name}"},
        id="{role}:{name}",
        names={"role": "RoleName", "name": "PolicyName", "policy": "PolicyDocument"},
        autoname=Autoname(limit=128),
        documents=("policy",),
        force_new=words("role name namePrefix"),
        computed=("name",),
        updates=(("put_role_policy", ("policy",)),),
    ),
}
