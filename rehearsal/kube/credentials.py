"""Who a client is: the user entry of a kubeconfig, credential commands included."""

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from rehearsal.kube.errors import CredentialsFailed

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_TIMEOUT_SECONDS = 60
EARLY = timedelta(seconds=10)


class StaticToken:
    """A token written into the kubeconfig, or none (client certificate, anonymous)."""

    def __init__(self, token: str | None, description: str) -> None:
        self._token, self.description = token, description

    def token(self) -> str | None:
        """The bearer token to send."""
        return self._token

    def refused(self, token: str | None) -> bool:  # noqa: ARG002 - the interface of CommandToken
        """Whether asking again could help: it cannot."""
        return False


class CommandToken:
    """A token made by the kubeconfig's `exec` command, kept until it expires.

    Source: the client authentication protocol of Kubernetes (client.authentication.k8s.io/v1 and v1beta1).
    """

    def __init__(self, entry: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
        self._entry, self._cluster = entry, cluster
        self._lock = threading.Lock()
        self._token: str | None = None
        self._expires: datetime | None = None
        command = " ".join([str(entry.get("command", "")), *map(str, entry.get("args") or [])])
        self.description = f"the token made by `{command}`"
        if entry.get("apiVersion") not in EXEC_VERSIONS:
            raise ValueError(
                f"the kubeconfig's credential command speaks {entry.get('apiVersion')!r}; write one of {EXEC_VERSIONS}"
            )

    def token(self) -> str:
        """The cached token, or a new one from the command. Raises CredentialsFailed."""
        with self._lock:
            if self._token is None or (self._expires is not None and datetime.now(UTC) >= self._expires - EARLY):
                self._token, self._expires = self._run()
            return self._token

    def refused(self, token: str | None) -> bool:
        """The server refused `token`: forget it. True, since a fresh one may be accepted."""
        with self._lock:
            if self._token == token:
                self._token = None
        return True

    def _run(self) -> tuple[str, datetime | None]:
        argv = [str(self._entry["command"]), *map(str, self._entry.get("args") or [])]
        try:
            done = subprocess.run(
                argv,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=EXEC_TIMEOUT_SECONDS,
            )
        except FileNotFoundError:
            hint = self._entry.get("installHint") or f"put {argv[0]} on PATH"
            raise CredentialsFailed(f"the kubeconfig's credential command {argv[0]!r} does not exist: {hint}") from None
        except subprocess.TimeoutExpired:
            raise CredentialsFailed(f"{self.description} did not come within {EXEC_TIMEOUT_SECONDS} s") from None
        if done.returncode:
            said = done.stderr.strip()[-600:]
            raise CredentialsFailed(f"no credentials: {self.description} failed with code {done.returncode}: {said}")
        return self._parse(done.stdout)

    def _environment(self) -> dict[str, str]:
        version = self._entry["apiVersion"]
        spec: dict[str, Any] = {"interactive": False}
        if self._entry.get("provideClusterInfo"):
            keep = ("server", "certificate-authority-data", "tls-server-name", "insecure-skip-tls-verify")
            spec["cluster"] = {key: self._cluster[key] for key in keep if key in self._cluster}
        info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
        own = {str(pair["name"]): str(pair["value"]) for pair in self._entry.get("env") or []}
        return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _parse(self, text: str) -> tuple[str, datetime | None]:
        try:
            status = json.loads(text)["status"]
            token = str(status["token"])
            stamp = status.get("expirationTimestamp")
            expires = datetime.fromisoformat(stamp.replace("Z", "+00:00")) if stamp else None
            if expires is not None and expires.tzinfo is None:
                raise ValueError(stamp)  # RFC 3339 has a zone: client-go reads none without
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CredentialsFailed(f"{self.description} is not an ExecCredential with a token") from None
        return token, expires


Credentials = StaticToken | CommandToken
