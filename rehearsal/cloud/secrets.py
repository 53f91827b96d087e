"""Secrets Manager: secrets that were in the account before the stack, whom no stack makes."""

import re
from collections.abc import Mapping

from moto.secretsmanager.models import secretsmanager_backends

from rehearsal.cloud.account import ACCOUNT

_ARN = re.compile(r"arn:[^:]+:secretsmanager:[^:]+:\d+:secret:(.+)-[A-Za-z0-9]{6}")


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
