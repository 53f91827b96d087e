"""`python -m tests.oob.emulated FILE`: sushy-tools' emulator with its fake machine, and around it what that leaves out.

FILE is JSON, and read again with every request. `documents` and `members` are whole documents, and members of the
emulator's own (null members stay null), by path; `without` are members that are left out. `slow` are seconds before an
answer, `status` answers instead of one, `sessions` offers logins by session (DSP0266, "Redfish session login
authentication"), `record` is where requests are written, a line of JSON for each. Members are of DMTF's schemas
(DSP8010): ComputerSystem, Power, PowerSupply, LogEntry.
"""

import base64
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

Start = Callable[..., Any]
SESSIONS = "/redfish/v1/SessionService/Sessions"
ROOT = "/redfish/v1"
TOKEN = "token-of-the-emulator"


class Around:
    """A WSGI application around the emulator's."""

    def __init__(self, inner: Any, file: Path) -> None:
        self._inner, self._file = inner, file
        self._told: dict[str, Any] = {}

    def __call__(self, env: dict[str, Any], start: Start) -> Iterable[bytes]:
        self._told = json.loads(self._file.read_text(encoding="utf-8"))
        method, path = env["REQUEST_METHOD"], env["PATH_INFO"].rstrip("/")
        body = env["wsgi.input"].read(int(env.get("CONTENT_LENGTH") or 0))
        env["wsgi.input"] = BytesIO(body)
        self._record(method, path, body)
        time.sleep(self._told["slow"].get(path, 0))
        if self._told["sessions"]:
            if method == "POST" and path == SESSIONS:
                return self._login(json.loads(body), start)
            if env.get("HTTP_X_AUTH_TOKEN") == TOKEN:
                env["HTTP_AUTHORIZATION"] = self._basic()
        if path in self._told["status"]:
            return _answer(start, self._told["status"][path], {"error": {"code": "Base.1.0.GeneralError"}})
        known = env.get("HTTP_AUTHORIZATION") == self._basic()
        if method == "DELETE" and path.startswith(SESSIONS) and known:
            return _answer(start, 204, None)
        if path in self._told["documents"] and known:
            return _answer(start, 200, self._told["documents"][path])
        return self._of_the_emulator(env, start, path)

    def _of_the_emulator(self, env: dict[str, Any], start: Start, path: str) -> Iterable[bytes]:
        said: list[Any] = []
        text = b"".join(self._inner(env, lambda *words: said.extend(words)))
        status = int(said[0].split()[0])
        if env["REQUEST_METHOD"] != "GET" or status != 200 or "json" not in dict(said[1]).get("Content-Type", ""):
            start(*said[:2])
            return [text]
        document = json.loads(text) | self._told["members"].get(path, {})
        if path == ROOT and self._told["sessions"]:
            document["Links"] = {"Sessions": {"@odata.id": SESSIONS}}
        for name in self._told["without"].get(path, ()):
            document.pop(name, None)
        return _answer(start, 200, document)

    def _login(self, body: dict[str, str], start: Start) -> Iterable[bytes]:
        if (body["UserName"], body["Password"]) != (self._told["user"], self._told["password"]):
            return _answer(start, 401, {"error": {"code": "Base.1.0.InsufficientPrivilege"}})
        location = [("X-Auth-Token", TOKEN), ("Location", f"{SESSIONS}/1")]
        return _answer(start, 201, {"Id": "1"}, location)

    def _basic(self) -> str:
        pair = f"{self._told['user']}:{self._told['password']}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"

    def _record(self, method: str, path: str, body: bytes) -> None:
        with Path(self._told["record"]).open("a", encoding="utf-8") as record:
            record.write(json.dumps([method, path, json.loads(body) if body else None]) + "\n")


def _answer(start: Start, status: int, document: Any, more: list[tuple[str, str]] | None = None) -> Iterable[bytes]:
    text = json.dumps(document).encode() if document is not None else b""
    start(f"{status} x", [("Content-Type", "application/json"), ("Content-Length", str(len(text))), *(more or [])])
    return [text]


def main(file: Path) -> None:
    """Serve until the process is ended."""
    told = json.loads(file.read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        # Of WebOb, which the emulator reads.
        warnings.filterwarnings("ignore", "'cgi' is deprecated", DeprecationWarning)
        from sushy_tools.emulator.main import app
    app.configure(
        extra_config={
            "SUSHY_EMULATOR_FAKE_DRIVER": True,
            "SUSHY_EMULATOR_FAKE_SYSTEMS": told["systems"],
            "SUSHY_EMULATOR_AUTH_FILE": told["passwords"],
            "SUSHY_EMULATOR_STATE_DIR": str(file.parent),
        }
    )
    app.wsgi_app = Around(app.wsgi_app, file)
    app.run(host="127.0.0.1", port=told["port"], ssl_context=(told["certificate"], told["key"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
