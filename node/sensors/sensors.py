"""Shows Prometheus what machines' management controllers measure: power supplies, fans, the air that comes in.

It asks each controller over Redfish once in a while, and serves what was found last, so that a controller that takes
half a minute to answer keeps no scrape waiting. The password goes to a controller only after its certificate was
compared, and one that is refused is not tried again before it changed: controllers lock accounts. Only GET is asked,
beside a session that is opened and closed.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import ssl
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from chassis import page, read
from exposed import Sample, served

from redfish import ROOT, Document, Reader

REQUEST_SECONDS, ALL_SECONDS, AT_ONCE = 20, 90, 16
"""For one answer, for all of one controller; so many controllers at a time."""


@dataclass(frozen=True)
class Controller:
    """The controller of a node. Without a fingerprint (SHA-256) of its certificate an authority vouches for it."""

    node: str
    address: str
    port: int
    fingerprint: str | None = None


class RefusedError(Exception):
    """The controller does not know this user with this password."""


@dataclass
class Session(Reader):
    """One controller's documents, within ALL_SECONDS. Raises OSError, ValueError, http.client.HTTPException."""

    controller: Controller
    authority: str | None
    headers: dict[str, str] = field(default_factory=dict)
    _end: float = field(default_factory=lambda: time.monotonic() + ALL_SECONDS)

    def __post_init__(self) -> None:
        if self.controller.fingerprint is None:
            self._trust = ssl.create_default_context(cadata=self.authority)
        else:
            self._trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._trust.check_hostname, self._trust.verify_mode = False, ssl.CERT_NONE

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and content of one answer, of whom the certificate proves."""
        if time.monotonic() > self._end:
            raise TimeoutError(f"no complete answer after {ALL_SECONDS} s")
        here = http.client.HTTPSConnection(
            self.controller.address, self.controller.port, timeout=REQUEST_SECONDS, context=self._trust
        )
        try:
            here.connect()
            if pinned := self.controller.fingerprint:
                shown = hashlib.sha256(here.sock.getpeercert(binary_form=True) or b"").hexdigest()
                if shown != pinned.replace(":", "").lower():
                    raise ssl.SSLCertVerificationError("it shows another certificate than its fingerprint says")
            sent = None if body is None else json.dumps(body)
            here.request(method, path, sent, {"Content-Type": "application/json", **self.headers})
            answer = here.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            here.close()

    def must(self, path: str) -> Document:
        """A document without which nothing is known."""
        status, _, content = self.ask("GET", path)
        if status != http.client.OK:
            raise ValueError(f"{path} returned status {status}")
        found = json.loads(content)
        return found if isinstance(found, Mapping) else {}

    def open(self, user: str, password: str) -> str | None:
        """Opens a session (DSP0266, Redfish session login authentication); where it is, to be closed."""
        body = {"UserName": user, "Password": password}
        status, headers, _ = self.ask("POST", f"{ROOT}SessionService/Sessions", body)
        if status in (401, 403):
            raise RefusedError(f"the login was refused (status {status})")
        if status != http.client.CREATED or "x-auth-token" not in headers:
            raise ValueError(f"creating a session returned status {status}")
        self.headers["X-Auth-Token"] = headers["x-auth-token"]
        where = headers.get("location", "")
        return where[where.index(ROOT) :] if ROOT in where else None


@dataclass
class Watch:
    """Asks all controllers as `user` with the password in a file, and keeps what they said last."""

    controllers: Sequence[Controller]
    authority: str | None
    user: str
    password: Path
    text: str = field(default_factory=lambda: page([]))
    _refused: dict[str, str] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """Asks each once."""
        password = self.password.read_text(encoding="utf-8").strip()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = pool.map(lambda each: self._one(each, password), self.controllers)
            self.text = page([sample for each in found for sample in each])

    def _one(self, controller: Controller, password: str) -> list[Sample]:
        up: Sample = ("bmc_up", {"node": controller.node}, 0.0)
        if self._refused.get(controller.node) == password:
            return [up]
        try:
            found = self._read(controller, password)
        except (OSError, ValueError, http.client.HTTPException, RefusedError) as error:
            if isinstance(error, RefusedError):
                self._refused[controller.node] = password
            self._tell(controller, f"{error or type(error).__name__}")
            return [up]
        self._tell(controller, "")
        return [("bmc_up", up[1], 1.0), *found]

    def _read(self, controller: Controller, password: str) -> list[Sample]:
        session = Session(controller, self.authority)
        opened = session.open(self.user, password)
        try:
            return read(session, controller.node)
        finally:
            if opened:
                session.ask("DELETE", opened)

    def _tell(self, controller: Controller, sentence: str) -> None:
        """Says a sentence once, as long as it is the same."""
        if sentence and self._told.get(controller.node) != sentence:
            print(f"controller of {controller.node} ({controller.address}): {sentence}", file=sys.stderr, flush=True)
        self._told[controller.node] = sentence


def main(words: Sequence[str]) -> NoReturn:
    """Looks until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--controllers", type=Path, required=True, help="a JSON list of node, address, port, fingerprint"
    )
    parser.add_argument("--authority", type=Path, help="CA of certificates without a fingerprint, as PEM")
    parser.add_argument("--user", required=True, help="user name for the controllers")
    parser.add_argument("--password", type=Path, required=True, help="the file with the password")
    parser.add_argument("--listen", type=int, required=True, help="port of /metrics")
    parser.add_argument("--look-seconds", type=float, required=True, help="seconds between two checks")
    asked = parser.parse_args(list(words))
    controllers = [Controller(**each) for each in json.loads(asked.controllers.read_text(encoding="utf-8"))]
    authority = asked.authority.read_text(encoding="utf-8") if asked.authority else None
    watch = Watch(controllers, authority, asked.user, asked.password)
    served(lambda: watch.text, "", asked.listen)
    while True:
        watch.look()
        time.sleep(asked.look_seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
