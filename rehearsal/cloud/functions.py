"""Functions of the account as they were uploaded, for who runs them: moto would, in a container.

It also drops where a function writes its log, which Lambda tells again. Source: Lambda API reference, LoggingConfig
(CreateFunction, GetFunctionConfiguration, UpdateFunctionConfiguration).
"""

import base64
from typing import Any

from moto.awslambda.models import LambdaFunction, lambda_backends

from rehearsal.cloud.account import ACCOUNT
from rehearsal.cloud.amend import Amendments

AMENDMENTS = Amendments()
_LEVELS = {"ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO"}
"""What a function that logs JSON has unless it is told others; one that logs text has none."""


@AMENDMENTS.around(LambdaFunction, "__init__")
def _make(original: Any, self: Any, *, spec: dict[str, Any], **kwargs: Any) -> None:
    original(self, spec=spec, **kwargs)
    self.logging = dict(spec.get("LoggingConfig") or {})


@AMENDMENTS.around(LambdaFunction, "update_configuration")
def _update(original: Any, self: Any, config_updates: dict[str, Any]) -> dict[str, Any]:
    """A member that an update leaves out stays as it is."""
    self.logging |= config_updates.get("LoggingConfig") or {}
    answer: dict[str, Any] = original(self, config_updates)
    return answer


@AMENDMENTS.around(LambdaFunction, "get_configuration")
def _configuration(original: Any, self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Unless it is told otherwise a function logs text, to a group of its own name."""
    told = {"LogFormat": "Text", "LogGroup": self.logs_group_name} | self.logging
    levels = _LEVELS if told["LogFormat"] == "JSON" else {}
    return {**original(self, *args, **kwargs), "LoggingConfig": levels | told}


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
