"""KMS: rotation periods, the state of a key on its way out, and the check other services make of a key.

Sources: KMS API reference, EnableKeyRotation, GetKeyRotationStatus, ScheduleKeyDeletion; developer guide, "Key states".
"""

import json
from collections.abc import Callable
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.kms.exceptions import ValidationException
from moto.kms.models import kms_backends
from moto.kms.responses import KmsResponse

from rehearsal.cloud.account import kms
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.iam import policy_allows_service, policy_may_be_changed

AMENDMENTS = Amendments()

DEFAULT_ROTATION_DAYS = 365


def find_key(region: str, key_or_alias: str) -> Any | None:
    """The key of an id, an ARN, an alias or an alias ARN; None if there is none."""
    backend = kms(region)
    name = backend.get_alias_name(key_or_alias)
    key_id = backend.get_key_id_from_alias(name) if name.startswith("alias/") else backend.get_key_id(name)
    return backend.keys.get(key_id)


def key_of_arn(arn: str) -> Any | None:
    """The key of an ARN, whatever account and region it is of; None if there is none, or if that is no key's ARN."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or not parts[5].startswith("key/"):
        return None
    return kms_backends[parts[4]][parts[3]].keys.get(parts[5].removeprefix("key/"))


def key_told(region: str, account: str, key_id: str) -> dict[str, Any]:
    """State and policy of a key, whosever it is; both are None where there is none."""
    key = kms_backends[account][region].keys.get(key_id)
    return {"state": key.key_state, "policy": key.policy} if key else {"state": None, "policy": None}


def key_error(key: Any) -> tuple[str, str] | None:
    """The code and the words with which KMS refuses to encrypt and decrypt with a key; None if it does not.

    Source: KMS API reference, Decrypt and GenerateDataKey, errors; developer guide, "Key states": a key that is
    disabled answers DisabledException, one that is pending deletion KMSInvalidStateException.
    """
    if key is None:
        return "NotFoundException", "Key does not exist"
    if key.key_state == "Disabled":
        return "DisabledException", f"{key.arn} is disabled."
    if key.key_state == "PendingDeletion":
        return "KMSInvalidStateException", f"{key.arn} is pending deletion."
    return None


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


@AMENDMENTS.around(KmsResponse, "disable_key")
def disable_key(original: Any, self: Any) -> Any:
    """DisableKey takes an ARN as well as an id, and refuses a key on its way out."""
    return _switch(original, self, self.kms_backend.disable_key)


@AMENDMENTS.around(KmsResponse, "enable_key")
def enable_key(original: Any, self: Any) -> Any:
    """EnableKey takes an ARN as well as an id, and refuses a key on its way out."""
    return _switch(original, self, self.kms_backend.enable_key)


def _switch(original: Any, self: Any, change: Callable[[str], None]) -> Any:
    def switched(request: Any) -> Any:
        key = find_key(self.region, request._get_param("KeyId"))
        if key is None:
            return original(request)
        change(key.id)
        return "null"

    return _refuse_pending(switched, self)


LOCKED_OUT = "The new key policy will not allow you to update the key policy in the future."


def _refuse_lockout(original: Any, self: Any) -> Any:
    """A key's policy lets somebody change it, unless the request bypasses the check.

    Who may is taken from the principals of kind AWS alone, whoever calls: KMS looks whether the caller is one of them.
    Source: KMS API reference, CreateKey and PutKeyPolicy, Policy and BypassPolicyLockoutSafetyCheck.
    """
    policy = self._get_param("Policy")
    if policy and not self._get_param("BypassPolicyLockoutSafetyCheck") and not policy_may_be_changed(policy):
        raise JsonRESTError("MalformedPolicyDocumentException", LOCKED_OUT)
    return original(self)


def _refuse_unusable(original: Any, self: Any) -> Any:
    """Cryptographic operations need a key that is Enabled."""
    named = self._get_param("KeyId")
    key = find_key(self.region, named) if named else None
    error = key_error(key) if key is not None else None
    if error:
        raise JsonRESTError(*error)
    return original(self)


for _operation in ("encrypt", "generate_data_key", "generate_data_key_without_plaintext"):
    AMENDMENTS.around(KmsResponse, _operation)(_refuse_unusable)


for _operation in (
    "create_alias",
    "create_grant",
    "decrypt",
    "tag_resource",
    "untag_resource",
    "update_alias",
    "update_key_description",
):
    AMENDMENTS.around(KmsResponse, _operation)(_refuse_pending)


AMENDMENTS.around(KmsResponse, "create_key")(_refuse_lockout)


@AMENDMENTS.around(KmsResponse, "put_key_policy")
def put_key_policy(original: Any, self: Any) -> Any:
    """PutKeyPolicy refuses a key on its way out, and a policy that nobody may change."""
    return _refuse_pending(lambda request: _refuse_lockout(original, request), self)
