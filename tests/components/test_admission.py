"""The kubeconfig is handed on when its own credentials have been let in (LF05, LF21)."""

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pulumi
import pytest

from components.aws import admission
from components.aws.admission import admitted, await_admission
from components.aws.cluster import kubeconfig
from rehearsal.cluster.pki import Authority
from rehearsal.testing.answering import Asked, Said, answering

ALLOWED, KNOWN, STRANGER = (201, True), (201, False), (401, False)


class Door:
    """An API server that gives these answers, the last one repeated; `asked` holds the bearers it saw, `questions` what
    they wanted to know.
    """

    def __init__(self, directory: Path) -> None:
        self.answers: list[tuple[int, bool]] = []
        self.asked: list[str] = []
        self.questions: list[Any] = []
        authority = Authority("kubernetes")
        pair = authority.server("api", (), ("127.0.0.1",))
        for name, pem in (("certificate", pair.certificate), ("key", pair.key)):
            (directory / name).write_bytes(pem)

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(directory / "certificate", directory / "key")
        self._serving = contextlib.ExitStack()
        where = self._serving.enter_context(answering(self._answer, tls=tls))
        self.kubeconfig = kubeconfig(
            name="lab",
            endpoint=f"https://{where}",
            authority=base64.b64encode(authority.certificate).decode(),
            region="us-east-2",
            profile="ml",
        )

    def _answer(self, asked: Asked) -> Said:
        self.asked.append(asked.headers["Authorization"])
        self.questions.append(asked.content)
        status, allowed = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return Said({"status": {"allowed": allowed}}, status)

    def close(self) -> None:
        self._serving.close()


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """A door, and an `aws` on PATH that tells as token which profile it was called with."""
    command = tmp_path / "aws"
    words = "eks get-token --cluster-name lab --region us-east-2 --output json"
    command.write_text(f'#!/bin/sh\n[ "$*" = "{words}" ] && echo \'{{"status": {{"token": "\'$AWS_PROFILE\'"}}}}\'\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(admission, "PAUSE_SECONDS", 0.0)
    opened = Door(tmp_path)
    yield opened
    opened.close()


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
    assert door.questions[0] == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "create", "resource": "namespaces"}},
    }


def test_access_that_has_settled_costs_no_question_lf05(door: Door) -> None:
    assert asyncio.run(admitted(door.kubeconfig, ago(minutes=10, seconds=1))) == door.kubeconfig
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
    door.close()
    with pytest.raises(pulumi.RunError, match=r"no answer: .*platform\.publicAccessCidrs or platform\.access"):
        await_admission(json.loads(door.kubeconfig), hours(0.0, 61.0))


def test_a_failing_aws_command_is_told_in_its_own_words_lf05(door: Door, tmp_path: Path) -> None:
    (tmp_path / "aws").write_text("#!/bin/sh\necho the profile is gone >&2\nexit 255\n")
    with pytest.raises(pulumi.RunError, match=r"`aws eks get-token .*` returns no token \(the profile is gone\)"):
        await_admission(json.loads(door.kubeconfig), hours(0.0))


def test_a_machine_without_the_aws_command_is_told_to_install_it_lf05(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(pulumi.RunError, match=r"No such file or directory: 'aws'\): install the AWS CLI"):
        await_admission(json.loads(door.kubeconfig), hours(0.0))
