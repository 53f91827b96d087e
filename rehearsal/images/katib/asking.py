"""How the collector asks Katib's services: gRPC through the cluster's network (pkg/apis/manager/v1beta1/api.proto)."""

from collections.abc import Sequence

import grpc

SECONDS = 30.0
_NO_TIME = b"0001-01-01T00:00:00Z"
"""Of a value in a line that begins with no time (parseLogsInTextFormat)."""


class RefusedError(Exception):
    """An answer that says no, or none at all, and why."""


def report(proxy: str, address: str, trial: str, log: Sequence[tuple[str, str]]) -> None:
    """Tells the database manager at `address` (host:port) a trial's metrics and values. Raises RefusedError."""
    rows = (_part(1, _NO_TIME) + _part(2, _part(1, name.encode()) + _part(2, value.encode())) for name, value in log)
    message = _part(1, trial.encode()) + _part(2, b"".join(_part(1, row) for row in rows))
    _ask(proxy, address, "DBManager/ReportObservationLog", message)


def set_stopped(proxy: str, address: str, trial: str) -> None:
    """Tells early stopping at `address` that a trial was ended. Raises RefusedError."""
    _ask(proxy, address, "EarlyStopping/SetTrialStatus", _part(1, trial.encode()))


def _ask(proxy: str, address: str, method: str, message: bytes) -> None:
    with grpc.insecure_channel(address, options=[("grpc.http_proxy", proxy)]) as channel:
        try:
            channel.unary_unary(f"/api.v1.beta1.{method}")(message, timeout=SECONDS)
        except grpc.RpcError as error:
            raise RefusedError(str(error.details() if isinstance(error, grpc.Call) else error)) from error


def _part(number: int, content: bytes) -> bytes:
    """A member of a message (Protocol Buffers documentation, Encoding: length-delimited records)."""
    length, digits = len(content), []
    while True:
        length, digit = length >> 7, length & 127
        digits.append(digit | (128 if length else 0))
        if not length:
            return bytes([number << 3 | 2, *digits]) + content
