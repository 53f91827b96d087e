"""Faults on order: throttling and server errors for chosen operations, and the wording of errors by protocol."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from xml.sax.saxutils import escape

from rehearsal.cloud.operations import Operation

ORDERED = "Ordered by the rehearsal."
REQUEST_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(slots=True)
class Fault:
    """Answer operations whose name matches ``action`` with ``code`` until ``times`` are used up or ``until`` passes.

    Of the operations that match it hits each ``every``-th.
    """

    action: re.Pattern[str]
    code: str
    status: int
    times: int | None
    until: float | None
    every: int = 1
    message: str = ORDERED
    matched: int = 0

    @classmethod
    def parse(cls, order: dict[str, Any]) -> Fault:
        """Read ``{"action", "code", "status", "message", "times", "seconds", "every"}``; ValueError says what is wrong.

        Without ``times`` and ``seconds`` the fault lasts until faults are cleared.
        """
        if not order.get("action"):
            raise ValueError('a fault needs "action", a regular expression on operation names such as "CreateSubnet"')
        try:
            action = re.compile(str(order["action"]))
        except re.error as error:
            raise ValueError(f'"action" is no regular expression: {error}') from error
        times, seconds = order.get("times"), order.get("seconds")
        return cls(
            action=action,
            code=str(order.get("code") or "RequestLimitExceeded"),
            status=int(order.get("status") or HTTPStatus.SERVICE_UNAVAILABLE),
            times=None if times is None else int(times),
            until=None if seconds is None else time.monotonic() + float(seconds),
            every=int(order.get("every") or 1),
            message=str(order.get("message") or ORDERED),
        )

    @property
    def spent(self) -> bool:
        """Whether it will never strike again."""
        return self.times == 0 or (self.until is not None and time.monotonic() >= self.until)

    def strikes(self, operation: Operation) -> bool:
        """Whether it hits this operation; uses up one of its times if it does."""
        if self.spent or not self.action.fullmatch(operation.name):
            return False
        self.matched += 1
        if self.matched % self.every:
            return False
        if self.times is not None:
            self.times -= 1
        return True


def error_body(protocol: str, code: str, message: str) -> tuple[str, bytes]:
    """An AWS error in a protocol's own form: content type and body."""
    text = escape(message)
    if protocol == "ec2":
        body = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{text}</Message></Error></Errors>"
            f"<RequestID>{REQUEST_ID}</RequestID></Response>"
        )
        return "text/xml", body.encode()
    if protocol == "query":
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{text}</Message></Error>"
            f"<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
        )
        return "text/xml", body.encode()
    if protocol == "rest-xml":
        return "application/xml", f"<Error><Code>{code}</Code><Message>{text}</Message></Error>".encode()
    return "application/json", json.dumps({"__type": code, "message": message}).encode()
