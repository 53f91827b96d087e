"""Secrets Manager: secrets that were in the account before the stack, whom no stack makes, and who may read them."""

import re
import time
from collections.abc import Mapping
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.secretsmanager.exceptions import SecretNotFoundException
from moto.secretsmanager.models import SecretsManagerBackend, secretsmanager_backends
from moto.secretsmanager.responses import SecretsManagerResponse

from rehearsal.cloud.account import ACCOUNT
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.iam import policies, session
from rehearsal.cloud.kms import key_of_arn
from rehearsal.cloud.seen import iam

AMENDMENTS = Amendments()
_ARN = re.compile(r"arn:[^:]+:secretsmanager:[^:]+:\d+:secret:(.+)-[A-Za-z0-9]{6}")
_READ = "secretsmanager:GetSecretValue"


def set_secrets(region: str, values: Mapping[str, str]) -> list[str]:
    """Make those that are not there yet, by name or ARN; what somebody has changed since stays. Returns all names."""
    backend = secretsmanager_backends[ACCOUNT][region]
    for key, value in values.items():
        found = _ARN.fullmatch(key)
        name = found[1] if found else key
        if name not in backend.secrets:
            backend.create_secret(name, value, None, None, [], None, None, [], False)
        if found:
            backend.secrets[name].arn = key
    return sorted(each.name for each in backend.secrets.values())


@AMENDMENTS.around(SecretsManagerBackend, "rotate_secret")
def _rotate_secret(
    original: Any,
    self: Any,
    secret_id: str,
    client_request_token: str | None = None,
    rotation_lambda_arn: str | None = None,
    rotation_rules: dict[str, Any] | None = None,
    rotate_immediately: bool = True,
) -> str:
    """Without `RotateImmediately` the schedule is kept and no version is left: what the function's test makes is taken
    away again (Secrets Manager API reference, RotateSecret). Whose function it is has it in the account; it is not run.
    """
    if rotate_immediately:
        answer: str = original(self, secret_id, client_request_token, rotation_lambda_arn, rotation_rules)
        return answer
    if not self._is_valid_identifier(secret_id):
        raise SecretNotFoundException()
    secret = self.secrets[secret_id]
    days = (rotation_rules or {}).get("AutomaticallyAfterDays", secret.auto_rotate_after_days)
    secret.rotation_requested = secret.rotation_enabled = True
    secret.rotation_lambda_arn = rotation_lambda_arn or secret.rotation_lambda_arn
    secret.auto_rotate_after_days, secret.next_rotation_date = days, int(time.time()) + days * 86400
    told: str = secret.to_short_dict()
    return told


@AMENDMENTS.around(SecretsManagerResponse, "get_secret_value")
def _get_secret_value(original: Any, self: Any) -> str:
    """A role's session reads what the role's policies allow, and with its key; moto gives everybody everything.

    Sources: Secrets Manager user guide, "Permissions policy examples" (the right to a secret), "Secret encryption and
    decryption" (kms:Decrypt on a customer's key) and "Troubleshoot" ("Access to KMS is not allowed"); IAM user guide,
    "Troubleshoot access denied error messages". Who deploys is nobody's session, and reads all.
    """
    who, secret = session(self.get_access_key()), self.backend.secrets.get(self._get_param("SecretId"))
    if who is not None and secret is not None:
        documents = policies(who.role_arn)
        if iam.decide(_READ, secret.arn, documents) != "allowed":
            raise _denied(
                f"User: {who.arn} is not authorized to perform: {_READ} on resource: {secret.arn} because no "
                f"identity-based policy allows the {_READ} action"
            )
        key = key_of_arn(secret.kms_key_id or "")
        held = key and iam.decide_key("kms:Decrypt", key.arn, documents, iam.document(key.policy), who.role_arn)
        if held not in (None, "allowed"):
            raise _denied("Access to KMS is not allowed")
    answer: str = original(self)
    return answer


def _denied(message: str) -> JsonRESTError:
    return JsonRESTError("AccessDeniedException", message)
