"""Functions of the account as they were uploaded, for who runs them: moto would, in a container."""

from __future__ import annotations

import base64
from typing import Any

from moto.awslambda.models import lambda_backends

from rehearsal.cloud.account import ACCOUNT


def function_told(region: str, name: str) -> dict[str, Any]:
    """Archive (base64), handler, environment and seconds of a function; raises ValueError if there is none."""
    function = next(
        (each for each in lambda_backends[ACCOUNT][region].list_functions() if each.function_name == name), None
    )
    if function is None:
        raise ValueError(f"there is no function {name} in {region}")
    return {
        "archive": base64.b64encode(function.code_bytes).decode(),
        "handler": function.handler,
        "environment": dict(function.environment_vars),
        "seconds": function.timeout,
    }
