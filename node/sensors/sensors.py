"""Shows Prometheus what machines' management controllers measure: power supplies, fans, the air that comes in.

It asks each controller over Redfish once in a while, and serves what was found last, so that a controller that takes
half a minute to answer keeps no scrape waiting. The password goes to a controller only after its certificate was
compared, and one that is refused is not tried again before it changed: controllers lock accounts. Only GET is asked,
beside a session that is opened and closed.

Source of members: DMTF Redfish schemas Power, Thermal, PowerSupply, Fan, ThermalMetrics, Chassis (DSP2046).
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import ssl
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

ROOT = "/redfish/v1/"
REQUEST_SECONDS, ALL_SECONDS, AT_ONCE, MOST = 20, 90, 16, 64
"""For one answer, for all of one controller; so many controllers at a time, and members of one collection."""

Document = Mapping[str, Any]
Sample = tuple[str, Mapping[str, str], float]

HELP = {
    "bmc_up": "Whether the controller of the node answered.",
    "bmc_power_supply_ok": "Whether a power supply is in its place, on and healthy.",
    "bmc_fan_ok": "Whether a fan is healthy.",
    "bmc_inlet_celsius": "Temperature of the air that comes in.",
    "bmc_power_watts": "What the machine draws.",
}


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
class Session:
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
            raise TimeoutError(f"it was not done answering after {ALL_SECONDS} s")
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
            raise ValueError(f"{path} has status {status}")
        found = json.loads(content)
        return found if isinstance(found, Mapping) else {}

    def may(self, path: str | None) -> Document:
        """A document, or an empty one where there is none."""
        try:
            return self.must(path) if path else {}
        except ValueError:
            return {}

    def members(self, path: str | None) -> Iterator[Document]:
        """The documents of a collection; some controllers put them into it, others name them."""
        for each in _list(self.may(path), "Members")[:MOST]:
            yield each if len(each) > 1 else self.may(_text(each, "@odata.id"))

    def open(self, user: str, password: str) -> str | None:
        """Opens a session (DSP0266, Redfish session login authentication); where it is, to be closed."""
        body = {"UserName": user, "Password": password}
        status, headers, _ = self.ask("POST", f"{ROOT}SessionService/Sessions", body)
        if status in (401, 403):
            raise RefusedError(f"it refuses the user (status {status})")
        if status != http.client.CREATED or "x-auth-token" not in headers:
            raise ValueError(f"a session has status {status}")
        self.headers["X-Auth-Token"] = headers["x-auth-token"]
        where = headers.get("location", "")
        return where[where.index(ROOT) :] if ROOT in where else None


def read(session: Session) -> list[Sample]:
    """What the machine's chassis say."""
    systems = session.members(_link(session.must(ROOT), "Systems"))
    named = [_text(each, "@odata.id") for system in systems for each in _list(_dict(system, "Links"), "Chassis")]
    found: list[Sample] = []
    for path in dict.fromkeys(named):
        chassis = session.may(path)
        found += [*_supplies(session, chassis), *_air(session, chassis)]
    node = {"node": session.controller.node}
    # A machine of several chassis may show a part in two of them.
    return list({(name, *labels.values()): (name, {**node, **labels}, value) for name, labels, value in found}.values())


def _supplies(session: Session, chassis: Document) -> Iterator[Sample]:
    """Of PowerSubsystem (since 2020.4), or of Power, which older controllers have alone and some newer ones fill."""
    power = session.may(_link(chassis, "Power"))
    subsystem = session.may(_link(chassis, "PowerSubsystem"))
    supplies = list(session.members(_link(subsystem, "PowerSupplies"))) or _list(power, "PowerSupplies")
    for each in supplies:
        if _dict(each, "Status").get("State") != "Absent":
            yield "bmc_power_supply_ok", {"supply": _name(each)}, float(_well(each))
    drawn = [_number(each, "PowerConsumedWatts") for each in _list(power, "PowerControl")[:1]]
    metrics = session.may(_link(chassis, "EnvironmentMetrics")) if not any(drawn) else {}
    for watts in (*drawn, _number(_dict(metrics, "PowerWatts"), "Reading")):
        if watts:
            yield "bmc_power_watts", {}, watts


def _air(session: Session, chassis: Document) -> Iterator[Sample]:
    """Of Thermal, or of ThermalSubsystem, which replaces it."""
    thermal = session.may(_link(chassis, "Thermal"))
    subsystem = session.may(_link(chassis, "ThermalSubsystem"))
    for each in list(session.members(_link(subsystem, "Fans"))) or _list(thermal, "Fans"):
        if _dict(each, "Status").get("State") != "Absent":
            yield "bmc_fan_ok", {"fan": _name(each)}, float(_well(each))
    inlets = [each for each in _list(thermal, "Temperatures") if each.get("PhysicalContext") == "Intake"]
    for each in inlets:
        if (celsius := _number(each, "ReadingCelsius")) is not None:
            yield "bmc_inlet_celsius", {"sensor": _name(each)}, celsius
    if not inlets:
        metrics = session.may(_link(subsystem, "ThermalMetrics"))
        intake = _dict(_dict(metrics, "TemperatureSummaryCelsius"), "Intake")
        if (celsius := _number(intake, "Reading")) is not None:
            yield "bmc_inlet_celsius", {"sensor": "Intake"}, celsius


def page(samples: Sequence[Sample]) -> str:
    """The samples as Prometheus reads them."""
    lines: list[str] = []
    for name, help_ in HELP.items():
        lines += [f"# HELP {name} {help_}", f"# TYPE {name} gauge"]
        for _, labels, value in (each for each in samples if each[0] == name):
            told = ",".join(f"{key}={json.dumps(text, ensure_ascii=False)}" for key, text in labels.items())
            lines.append(f"{name}{{{told}}} {value:g}")
    return "\n".join(lines) + "\n"


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
            return read(session)
        finally:
            if opened:
                session.ask("DELETE", opened)

    def _tell(self, controller: Controller, sentence: str) -> None:
        """Says a sentence once, as long as it is the same."""
        if sentence and self._told.get(controller.node) != sentence:
            print(f"controller of {controller.node} ({controller.address}): {sentence}", file=sys.stderr, flush=True)
        self._told[controller.node] = sentence


def served(watch: Watch, address: str, port: int) -> ThreadingHTTPServer:
    """Answers /metrics with what is known."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/metrics"
            content = watch.text.encode() if known else b""
            self.send_response(http.client.OK if known else http.client.NOT_FOUND)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer((address, port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def _well(part: Document) -> bool:
    status = _dict(part, "Status")
    return status.get("Health") in (None, "OK") and status.get("State") not in ("Disabled", "UnavailableOffline")


def _name(part: Document) -> str:
    return next(filter(None, (_text(part, key) for key in ("Name", "FanName", "MemberId", "Id"))), "unnamed")


def _dict(document: Document, name: str) -> Document:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _list(document: Document, name: str) -> list[Document]:
    found = document.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _link(document: Document, name: str) -> str | None:
    return _text(_dict(document, name), "@odata.id")


def _text(document: Document, name: str) -> str | None:
    found = document.get(name)
    return found.strip() or None if isinstance(found, str) else None


def _number(document: Document, name: str) -> float | None:
    found = document.get(name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def main(words: Sequence[str]) -> NoReturn:
    """Looks until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--controllers", type=Path, required=True, help="a JSON list of node, address, port, fingerprint"
    )
    parser.add_argument("--authority", type=Path, help="who signed certificates without a fingerprint, as PEM")
    parser.add_argument("--user", required=True, help="who asks")
    parser.add_argument("--password", type=Path, required=True, help="the file with the password")
    parser.add_argument("--listen", type=int, required=True, help="port of /metrics")
    parser.add_argument("--look-seconds", type=float, required=True, help="so long between two looks")
    asked = parser.parse_args(list(words))
    controllers = [Controller(**each) for each in json.loads(asked.controllers.read_text(encoding="utf-8"))]
    authority = asked.authority.read_text(encoding="utf-8") if asked.authority else None
    watch = Watch(controllers, authority, asked.user, asked.password)
    served(watch, "", asked.listen)
    while True:
        watch.look()
        time.sleep(asked.look_seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
