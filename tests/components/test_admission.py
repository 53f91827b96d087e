"""The kubeconfig is handed on when its own credentials have been let in (LF05, LF21)."""

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws import admission
from components.aws.admission import admitted, await_admission
from components.aws.cluster import kubeconfig
from rehearsal.cluster.pki import Authority
from rehearsal.cluster.tls import TlsServer

ALLOWED, KNOWN, STRANGER = (201, True), (201, False), (401, False)


class Door:
    """An API server that gives these answers, the last one repeated; `asked` holds the bearers it saw."""

    def __init__(self, directory: Path) -> None:
        self.answers: list[tuple[int, bool]] = []
        self.asked: list[str] = []
        door, authority = self, Authority("kubernetes")
        pair = authority.server("api", (), ("127.0.0.1",))
        for name, pem in (("certificate", pair.certificate), ("key", pair.key)):
            (directory / name).write_bytes(pem)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                door.asked.append(self.headers["Authorization"])
                status, allowed = door.answers.pop(0) if len(door.answers) > 1 else door.answers[0]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps({"status": {"allowed": allowed}}).encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(directory / "certificate", directory / "key")
        self.server = TlsServer(("127.0.0.1", 0), Handler, tls)
        self.kubeconfig = kubeconfig(
            name="lab",
            endpoint=f"https://127.0.0.1:{self.server.server_address[1]}",
            authority=base64.b64encode(authority.certificate).decode(),
            region="us-east-2",
            profile="ml",
        )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """A door, and an `aws` on PATH that tells as token which profile it was called with."""
    command = tmp_path / "aws"
    command.write_text('#!/bin/sh\n[ "$2" = get-token ] && echo \'{"status": {"token": "\'$AWS_PROFILE\'"}}\'\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(admission, "PAUSE_SECONDS", 0.0)
    opened = Door(tmp_path)
    yield opened
    opened.server.shutdown()
    opened.server.server_close()


def ago(**age: float) -> str:
    return (datetime.now(UTC) - timedelta(**age)).isoformat()


def hours(*times: float) -> Any:
    """A clock that shows these times, the last one repeated."""
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_new_entry_is_waited_for_until_several_answers_in_a_row_let_in_lf05(door: Door) -> None:
    door.answers = [STRANGER, ALLOWED, STRANGER, KNOWN, ALLOWED]
    assert asyncio.run(admitted(door.kubeconfig, ago(seconds=1))) == door.kubeconfig
    assert len(door.asked) == 4 + 3
    assert set(door.asked) == {"Bearer ml"}


def test_access_that_has_settled_costs_no_question_lf05(door: Door) -> None:
    assert asyncio.run(admitted(door.kubeconfig, ago(minutes=11))) == door.kubeconfig
    assert not door.asked


def test_access_of_some_minutes_ago_is_asked_for_lf05(door: Door) -> None:
    """What an interrupted run left may be that old when the next one begins."""
    door.answers = [ALLOWED]
    asyncio.run(admitted(door.kubeconfig, ago(minutes=9)))
    assert door.asked


def test_a_preview_asks_nobody_lf05(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    assert asyncio.run(admitted(door.kubeconfig, ago(seconds=1))) == door.kubeconfig
    assert not door.asked


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (STRANGER, r"after 60 s \(401 Unauthorized\): the deployer has no access entry"),
        (KNOWN, r"\(authenticated, but without permissions\): the access entry lacks the administrator policy"),
    ],
)
def test_who_is_never_let_in_is_told_what_to_change_lf05(door: Door, answer: tuple[int, bool], words: str) -> None:
    door.answers = [answer]
    with pytest.raises(pulumi.RunError, match=words):
        await_admission(json.loads(door.kubeconfig), hours(0.0, 59.0, 61.0))
    assert len(door.asked) == 2


def test_an_endpoint_out_of_reach_names_the_settings_that_open_it_lf02(door: Door) -> None:
    door.server.server_close()
    with pytest.raises(pulumi.RunError, match=r"no answer: .*platform\.publicAccessCidrs or platform\.access"):
        await_admission(json.loads(door.kubeconfig), hours(0.0, 61.0))


def test_a_failing_aws_command_is_told_in_its_own_words_lf05(door: Door, tmp_path: Path) -> None:
    (tmp_path / "aws").write_text("#!/bin/sh\necho the profile is gone >&2\nexit 255\n")
    with pytest.raises(pulumi.RunError, match=r"`aws eks get-token .*the profile is gone"):
        await_admission(json.loads(door.kubeconfig), hours(0.0))
