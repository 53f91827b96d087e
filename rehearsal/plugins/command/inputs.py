"""What a `command:remote:Command` takes: its inputs checked, and the defaults of its connection filled in.

Source: pulumi/pulumi-command 1.2.1, provider/cmd/pulumi-resource-command/schema.json and
provider/pkg/provider/remote/{command,connection}.go; a field that the schema does not have is refused, as
pulumi-go-provider's decoder does (infer/resource.go, Check).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.plugins.wire import UNKNOWN

TOKEN = "command:remote:Command"  # noqa: S105 - a Pulumi type token
TRIGGERS = "triggers"
_TEXT: tuple[type, ...] = (str,)
_NUMBER: tuple[type, ...] = (int, float)
_HOST = {
    "user": _TEXT,
    "password": _TEXT,
    "host": _TEXT,
    "port": _NUMBER,
    "privateKey": _TEXT,
    "privateKeyPassword": _TEXT,
    "agentSocketPath": _TEXT,
    "dialErrorLimit": _NUMBER,
    "perDialTimeout": _NUMBER,
    "hostKey": _TEXT,
}
_CONNECTION: dict[str, tuple[type, ...]] = {**_HOST, "proxy": (dict,)}
_INPUTS: dict[str, tuple[type, ...]] = {
    "create": _TEXT,
    "update": _TEXT,
    "delete": _TEXT,
    "stdin": _TEXT,
    TRIGGERS: (list,),
    "environment": (dict,),
    "logging": _TEXT,
    "connection": (dict,),
    "addPreviousOutputInEnv": (bool,),
}
_LOGGING = ("stdout", "stderr", "stdoutAndStderr", "none")
_DEFAULTS = {"user": "root", "port": 22, "dialErrorLimit": 10, "perDialTimeout": 15}
NOT_PLAYED = ("password", "privateKeyPassword", "agentSocketPath", "proxy")
"""Ways in that a rehearsed host does not have; they are refused by name."""


def complaints(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each input that is wrong, with the reason."""
    yield from _shape(inputs, _INPUTS, "")
    connection = inputs.get("connection")
    if connection is None:
        yield "connection", "missing required field 'connection'"
    elif isinstance(connection, Mapping):
        yield from _shape(connection, _CONNECTION, "connection.")
        if "host" not in connection:
            yield "connection.host", "missing required field 'host'"
        for name in NOT_PLAYED:
            if name in connection:
                yield f"connection.{name}", f"a rehearsed host lets nobody in by '{name}': use privateKey and hostKey"
    if (logging := inputs.get("logging")) not in (None, UNKNOWN, *_LOGGING):
        yield "logging", f"'{logging}' is none of {', '.join(_LOGGING)}"


def with_defaults(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with the connection's defaults."""
    connection = inputs.get("connection")
    return {**inputs, "connection": {**_DEFAULTS, **connection}} if isinstance(connection, Mapping) else dict(inputs)


def _shape(values: Mapping[str, Any], known: Mapping[str, tuple[type, ...]], where: str) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if name not in known:
            yield where + name, f"Unrecognized field '{name}'"
        elif value not in (None, UNKNOWN) and not _fits(value, known[name]):
            yield where + name, f"Field '{name}' must be of type {known[name][0].__name__}"


def _fits(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
