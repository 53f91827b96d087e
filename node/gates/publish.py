"""Tells the cluster what a gate found: labels of the node, a taint where it failed, a line of the pool's ConfigMap."""

from __future__ import annotations

import json
import os
import random
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEY = "gpucluster/gate"
"""Label of a node: pass, warn or fail. Taint of one that failed."""

RACK, UNIT = "gpucluster/rack", "gpucluster/unit"
"""Labels of a node that say where its machine stands."""

_SECONDS = 30
_TRIES = 10
_LONGEST = 30.0
"""Seconds between two tries at most. Each waits a part of them, by chance: hundreds shall not come back together."""
_CONFLICT, _GONE, _MISSING, _THROTTLED, _SERVER = 409, 410, 404, 429, 500


class ConflictError(OSError):
    """Somebody else changed the object since it was read."""


class BusyError(OSError):
    """The server, or what stands before it, cannot answer now (429, 500 and above)."""


class GoneError(OSError):
    """What happened since that version is not known any more: read everything again."""


@dataclass(frozen=True)
class Api:
    """The API server as a pod's account reaches it."""

    address: str
    token: str
    namespace: str
    context: ssl.SSLContext | None

    @classmethod
    def inside(cls, identity: Path) -> Api:
        """From within a pod: Kubernetes sets address and port, and mounts the account's files."""
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        return cls(
            address=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            token=(identity / "token").read_text(encoding="utf-8").strip(),
            namespace=(identity / "namespace").read_text(encoding="utf-8").strip(),
            context=ssl.create_default_context(cafile=str(identity / "ca.crt")),
        )

    def patch(self, path: str, body: Mapping[str, Any]) -> None:
        """Changes a part of an object, by a merge patch. Raises OSError where the server refuses, with its sentence."""
        self.ask("PATCH", path, body)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the server answers. Raises ConflictError, or OSError with the server's sentence."""
        with self._open(method, path, body) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def text(self, path: str) -> str:
        """What the server answers as it is, such as a log."""
        with self._open("GET", path) as answer:
            said: str = answer.read().decode(errors="replace")
            return said

    def lines(self, path: str, seconds: float) -> Iterator[dict[str, Any]]:
        """What a watch tells, until the server or `seconds` of silence end it."""
        with self._open("GET", path, seconds=seconds) as answer:
            for line in answer:
                found: dict[str, Any] = json.loads(line)
                yield found

    def _open(self, method: str, path: str, body: Mapping[str, Any] | None = None, seconds: float = _SECONDS) -> Any:
        """The answer. Raises FileNotFoundError, ConflictError, GoneError, BusyError or another OSError, with the
        server's sentence.
        """
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = urllib.request.Request(  # noqa: S310 - the address is https, or a test's
            self.address + path,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind},
            method=method,
        )
        try:
            return urllib.request.urlopen(request, timeout=seconds, context=self.context)  # noqa: S310
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace")
            try:
                said = json.loads(said)["message"]
            except (ValueError, KeyError, TypeError):
                said = said[:200]
            kinds = {_CONFLICT: ConflictError, _GONE: GoneError, _MISSING: FileNotFoundError}
            other = BusyError if error.code == _THROTTLED or error.code >= _SERVER else OSError
            raise kinds.get(error.code, other)(f"{path}: {said}") from error


def node_patch(node: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Labels and taint of a verdict. A node's taints are one value (core/v1, NodeSpec: listType atomic), so that the
    others go along, of the version that was read.
    """
    labels = {
        KEY: kept["state"],
        f"{KEY}-tests": label(kept["tests"]),
        f"{KEY}-driver": label(kept["driver"]),
        f"{KEY}-at": label(kept["at"]),
    }
    others = [each for each in node["spec"].get("taints") or [] if each["key"] != KEY]
    failed = [{"key": KEY, "value": "fail", "effect": "NoSchedule"}] if kept["state"] == "fail" else []
    version = {"resourceVersion": node["metadata"]["resourceVersion"]}
    return {"metadata": {**version, "labels": labels}, "spec": {"taints": [*others, *failed] or None}}


def label(value: str) -> str:
    """A text as the value of a label: 63 letters, digits, dots and dashes at most, one of the former at each end."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", value)[:63].strip("._-")


def place_of(identity: Path, node: str) -> str:
    """Rack and unit of a machine that is labelled with them; nothing where it is not, or nobody answers: the verdict
    is told all the same.
    """
    try:
        labels = Api.inside(identity).ask("GET", f"/api/v1/nodes/{node}")["metadata"].get("labels") or {}
    except (OSError, ValueError, KeyError):
        return ""
    return ", ".join(f"{word} {labels[key]}" for word, key in (("rack", RACK), ("unit", UNIT)) if labels.get(key))


def tell(api: Api, node: str, config_map: str, kept: Mapping[str, Any]) -> None:
    """First what is kept, then what decides. Raises OSError where either is refused.

    All nodes of a pool end together and change one ConfigMap, and a node changes often, by its kubelet and its
    controllers: who was too late, or got no answer, reads and tries again.
    """
    kept_in = f"/api/v1/namespaces/{api.namespace}/configmaps/{config_map}"
    path = f"/api/v1/nodes/{node}"
    _tried(lambda: api.patch(kept_in, {"data": {node: json.dumps(kept, separators=(",", ":"))}}))
    _tried(lambda: api.patch(path, node_patch(api.ask("GET", path), kept)))


def _tried(change: Callable[[], None]) -> None:
    """Done, in ten tries at most. Raises OSError of the last, and at once what the server refuses."""
    for number in range(_TRIES):
        try:
            return change()
        except (ConflictError, BusyError, TimeoutError, ConnectionError, urllib.error.URLError):
            if number == _TRIES - 1:
                raise
            time.sleep(random.uniform(0, min(2.0**number, _LONGEST)))  # noqa: S311 - no secret
    return None
