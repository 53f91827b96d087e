"""What can go wrong between a client and a Kubernetes API server."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """The API server answered with an error.

    Attributes: `code` (HTTP status), `reason` (Kubernetes' machine word: NotFound, AlreadyExists, Conflict, Invalid,
    Forbidden, ...; `NoMatch` when the server serves no such kind), `message` (its sentence), `body` (the whole Status).
    """

    def __init__(self, code: int, reason: str, message: str, body: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.body = code, reason, message, body or {}

    @classmethod
    def from_status(cls, code: int, body: object) -> ApiError:
        """The error of an HTTP answer whose body is a Status, or whatever a proxy in between wrote."""
        status = body if isinstance(body, dict) else {}
        message = status.get("message") or str(body)[:400] or f"the API server answered {code} without a body"
        return cls(code, str(status.get("reason") or ""), message, status)


class CredentialsFailed(ApiError):  # noqa: N818 - named for what happened
    """No credentials could be made: the kubeconfig's credential command is missing, failed or said nothing useful."""

    def __init__(self, message: str) -> None:
        super().__init__(401, "Unauthorized", message)


class Unreachable(Exception):  # noqa: N818 - named for what happened
    """No answer came. `delivered` says whether the server may have received, and acted on, the request."""

    def __init__(self, message: str, delivered: bool = False) -> None:
        super().__init__(message)
        self.delivered = delivered
