"""What the controller asks Secrets Manager for, with its pod's identity.

Source: external-secrets v2.9.0, providers/v1/aws/secretsmanager/secretsmanager.go (GetSecret: GetSecretValue and
nothing else; a property is a key of the JSON object); Secrets Manager user guide, "Secret encryption and decryption"
(who reads a secret that a key of one's own seals needs kms:Decrypt on it).
"""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.images import identity
from rehearsal.kubelet.program import Launch

GONE = "Secret does not exist"
_ACTION = "secretsmanager:GetSecretValue"


class KeeperError(Exception):
    """Why a value cannot be had, in the words of the controller or of AWS."""


def value(launch: Launch, ref: Mapping[str, Any]) -> str:
    """The value that a `remoteRef` names. Raises KeeperError."""
    key, client = str(ref["key"]), launch.world.aws.secretsmanager
    try:
        who = identity.of(launch)
    except identity.CredentialsError as error:
        raise KeeperError(str(error)) from None
    try:
        about = client.describe_secret(SecretId=key)
        _allowed(launch, who, _ACTION, about["ARN"])
        sealed = str(about.get("KmsKeyId") or "")
        if sealed.startswith("arn:") and ":key/" in sealed:
            _allowed(launch, who, "kms:Decrypt", sealed)
        found = client.get_secret_value(SecretId=key, VersionStage=str(ref.get("version") or "AWSCURRENT"))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException" or "marked for deletion" in str(error):
            raise KeeperError(GONE) from None
        raise KeeperError(str(error)) from None
    text, wanted = found.get("SecretString"), ref.get("property")
    if text is None:
        raise KeeperError(f"invalid secret received. no secret string nor binary for key: {key}")
    return _property(str(text), str(wanted), key) if wanted else str(text)


def _property(text: str, wanted: str, key: str) -> str:
    try:
        held = json.loads(text)
    except ValueError:
        held = None
    if not isinstance(held, dict) or wanted not in held:
        raise KeeperError(f"key {wanted} does not exist in secret {key}")
    return held[wanted] if isinstance(held[wanted], str) else json.dumps(held[wanted])


def _allowed(launch: Launch, who: identity.Identity, action: str, resource: str) -> None:
    kind = identity.refusal(launch, who, action, resource)
    if kind is not None:
        raise KeeperError(
            f"AccessDeniedException: User: {who.session()} is not authorized to perform: {action} on resource: "
            f"{resource} because no {kind} policy allows the {action} action"
        )
