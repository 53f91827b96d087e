"""Keys and their aliases. Source: terraform-provider-aws internal/service/kms."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Autoname, Change, Row, words
from rehearsal.plugins.aws.tagging import calls

LATE = ("NotFoundException", "DisabledException")


def _key_after(obj: Object, change: Change) -> None:
    rotation = obj.inputs.get("enableKeyRotation")
    if change.touches("enableKeyRotation", "rotationPeriodInDays") and (rotation or not change.first):
        if rotation:
            period = obj.inputs.get("rotationPeriodInDays")
            days = {"RotationPeriodInDays": period} if period else {}
            obj.patiently(LATE, "enable_key_rotation", KeyId=obj.id, **days)
        else:
            obj.patiently(LATE, "disable_key_rotation", KeyId=obj.id)
    if change.touches("isEnabled") and not (change.first and obj.inputs.get("isEnabled", True)):
        obj.call("enable_key" if obj.inputs.get("isEnabled", True) else "disable_key", KeyId=obj.id)
    if not change.first and change.touches("description"):
        obj.call("update_key_description", KeyId=obj.id, Description=obj.inputs.get("description") or "")
    if not change.first and change.touches("policy"):
        obj.call("put_key_policy", KeyId=obj.id, PolicyName="default", Policy=obj.inputs["policy"])


def _key_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    rotation = {}
    try:
        rotation = obj.call("get_key_rotation_status", KeyId=obj.id)
    except CallError as error:
        if "Unsupported" not in error.code:  # asymmetric keys cannot rotate
            raise
    rotates = bool(rotation.get("KeyRotationEnabled"))
    return {
        "policy": obj.search("get_key_policy -> Policy", KeyId=obj.id, PolicyName="default"),
        "enableKeyRotation": rotates,
        "rotationPeriodInDays": rotation.get("RotationPeriodInDays") if rotates else None,
        "isEnabled": found.get("Enabled"),
        "customerMasterKeySpec": found.get("KeySpec"),
    }


def _key_delete(obj: Object) -> None:
    window = obj.inputs.get("deletionWindowInDays")
    obj.call("schedule_key_deletion", KeyId=obj.id, **({"PendingWindowInDays": window} if window else {}))


def _alias_read(obj: Object) -> Any:
    name = obj.fill("{name}")
    return next((alias for alias in obj.list("list_aliases -> Aliases") if alias["AliasName"] == name), None)


def _alias_look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    target = found.get("TargetKeyId")
    return {"targetKeyArn": f"{found['AliasArn'].rpartition(':')[0]}:key/{target}" if target else None}


ROWS: dict[str, Row] = {
    "aws:kms/key:Key": Row(
        create="create_key -> KeyMetadata",
        read="describe_key -> KeyMetadata",
        delete=_key_delete,
        id="{KeyId}",
        listing="list_keys -> Keys",
        names={"customerMasterKeySpec": "KeySpec"},
        defaults={
            "bypassPolicyLockoutSafetyCheck": False,
            "customerMasterKeySpec": "SYMMETRIC_DEFAULT",
            "enableKeyRotation": False,
            "isEnabled": True,
            "keyUsage": "ENCRYPT_DECRYPT",
        },
        documents=("policy",),
        apart=words("enableKeyRotation rotationPeriodInDays isEnabled"),
        local=("deletionWindowInDays",),
        unseen=("bypassPolicyLockoutSafetyCheck",),
        force_new=words("keyUsage customerMasterKeySpec multiRegion customKeyStoreId xksKeyId"),
        computed=words("description policy multiRegion rotationPeriodInDays"),
        later=words("description policy"),
        after=_key_after,
        look=_key_look,
        gone="KeyState=='PendingDeletion' || KeyState=='PendingReplicaDeletion' || KeyManager=='AWS'",
        lingers=True,
        unready=("MalformedPolicyDocumentException",),
        tags=calls({"KeyId": "{KeyId}"}, read="list_resource_tags -> Tags"),
        timeouts=(2 * MINUTE, 10 * MINUTE, 20 * MINUTE),
    ),
    "aws:kms/alias:Alias": Row(
        create="create_alias",
        read=_alias_read,
        key={"AliasName": "{name}"},
        id="{name}",
        names={"name": "AliasName", "arn": "AliasArn"},
        autoname=Autoname(limit=238, prefix="alias/"),
        force_new=words("name namePrefix"),
        computed=("name",),
        updates=(("update_alias", ("targetKeyId",)),),
        unready=("NotFoundException",),
        look=_alias_look,
    ),
}
