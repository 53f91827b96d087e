"""KMS: rotation periods, the state of a key on its way out, and the check other services make of a key.

Sources: KMS API reference, EnableKeyRotation, GetKeyRotationStatus, ScheduleKeyDeletion; developer guide, "Key states".
"""

from __future__ import annotations

import json
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.kms.exceptions import ValidationException
from moto.kms.responses import KmsResponse

from .account import kms
from .amend import Amendments
from .iam import policy_allows_service

AMENDMENTS = Amendments()

DEFAULT_ROTATION_DAYS = 365


def find_key(region: str, key_or_alias: str) -> Any | None:
    """The key of an id, an ARN, an alias or an alias ARN; None if there is none."""
    backend = kms(region)
    name = backend.get_alias_name(key_or_alias)
    key_id = backend.get_key_id_from_alias(name) if name.startswith("alias/") else backend.get_key_id(name)
    return backend.keys.get(key_id)


def key_fault(region: str, key_or_alias: str, service: str | None = None) -> str:
    """Why a key cannot be used for encryption, or by a service its policy must name; empty when it can."""
    key = find_key(region, key_or_alias)
    if key is None:
        return "it does not exist"
    if key.key_state != "Enabled":
        return f"its state is {key.key_state}"
    if service and not policy_allows_service(key.policy, service):
        return f"its policy does not allow {service}"
    return ""


@AMENDMENTS.around(KmsResponse, "enable_key_rotation")
def enable_key_rotation(original: Any, self: Any) -> Any:
    """EnableKeyRotation keeps RotationPeriodInDays (90 to 2560, 365 unless given)."""
    reply = _refuse_pending(original, self)
    key = find_key(self.region, self._get_param("KeyId"))
    if key is not None:
        key.rotation_period = int(self._get_param("RotationPeriodInDays") or DEFAULT_ROTATION_DAYS)
    return reply


@AMENDMENTS.around(KmsResponse, "get_key_rotation_status")
def get_key_rotation_status(original: Any, self: Any) -> Any:
    """GetKeyRotationStatus tells the period while rotation is on."""
    reply = original(self)
    key = find_key(self.region, self._get_param("KeyId"))
    if key is None or not isinstance(reply, str):
        return reply
    status = json.loads(reply)
    if status.get("KeyRotationEnabled"):
        status["RotationPeriodInDays"] = getattr(key, "rotation_period", DEFAULT_ROTATION_DAYS)
    return json.dumps(status)


@AMENDMENTS.around(KmsResponse, "schedule_key_deletion")
def schedule_key_deletion(original: Any, self: Any) -> Any:
    """ScheduleKeyDeletion tells KeyState and the window, and takes an ARN as well as an id."""
    key = find_key(self.region, self._get_param("KeyId"))
    if key is None:
        return original(self)
    days = int(self._get_param("PendingWindowInDays") or 30)
    if not 7 <= days <= 30:
        raise ValidationException(f"PendingWindowInDays must be between 7 and 30, not {days}")
    date = self.kms_backend.schedule_key_deletion(key.id, days)
    reply = {"KeyId": key.arn, "DeletionDate": date, "KeyState": key.key_state, "PendingWindowInDays": days}
    return json.dumps(reply)


def _refuse_pending(original: Any, self: Any) -> Any:
    """Operations on a key that is pending deletion fail with KMSInvalidStateException."""
    named = self._get_param("KeyId") or self._get_param("TargetKeyId")
    key = find_key(self.region, named) if named else None
    if key is not None and key.key_state == "PendingDeletion":
        raise JsonRESTError("KMSInvalidStateException", f"{key.arn} is pending deletion.")
    return original(self)


for _operation in (
    "create_alias",
    "create_grant",
    "decrypt",
    "encrypt",
    "generate_data_key",
    "put_key_policy",
    "tag_resource",
    "untag_resource",
    "update_alias",
    "update_key_description",
):
    AMENDMENTS.around(KmsResponse, _operation)(_refuse_pending)
