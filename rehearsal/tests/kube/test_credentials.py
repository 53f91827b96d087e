"""Tokens of a kubeconfig's command, by clocks that are set while one is kept."""

import json
import sys
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from rehearsal.kube import credentials
from rehearsal.kube.credentials import CommandToken
from rehearsal.kube.errors import CredentialsFailed

MADE = datetime(2026, 11, 28, 10, tzinfo=UTC)
COUNTS = """
import json, pathlib, sys
count, expires = pathlib.Path(sys.argv[1]), sys.argv[2]
count.write_text(str(int(count.read_text() or 0) + 1))
print(json.dumps({"status": {"token": "token-" + count.read_text(), "expirationTimestamp": expires}}))
"""


class Clock:
    """Stands for datetime in the module: its present is what a test says."""

    present = MADE
    fromisoformat = datetime.fromisoformat

    @classmethod
    def now(cls, _: tzinfo) -> datetime:
        return cls.present


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(credentials, "datetime", Clock)
    monkeypatch.setattr(Clock, "present", MADE)
    return Clock


def counting(tmp_path: Path, expires: str) -> CommandToken:
    """A command that counts how often it runs; each token says which one it is."""
    (tmp_path / "count").write_text("")
    command = [sys.executable, "-I", "-S", "-c", COUNTS, str(tmp_path / "count"), expires]
    entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": command[0], "args": command[1:]}
    return CommandToken(json.loads(json.dumps(entry)), {})


def test_a_token_is_kept_until_shortly_before_it_ends(tmp_path: Path, clock: type[Clock]) -> None:
    token = counting(tmp_path, "2026-11-28T10:14:00Z")
    assert [token.token(), token.token()] == ["token-1", "token-1"]
    clock.present = MADE + timedelta(minutes=13, seconds=49)
    assert token.token() == "token-1"
    clock.present = MADE + timedelta(minutes=13, seconds=50)
    assert token.token() == "token-2"


@pytest.mark.parametrize("off", [timedelta(days=-1), timedelta(days=1)], ids=["back", "ahead"])
def test_a_clock_that_is_set_leaves_no_dead_token(tmp_path: Path, clock: type[Clock], off: timedelta) -> None:
    """Set ahead, the token is made anew before it is used; set back, once the server has refused it."""
    token = counting(tmp_path, "2026-11-28T10:14:00Z")
    assert token.token() == "token-1"
    clock.present = MADE + off
    kept = token.token()
    assert kept == ("token-2" if off > timedelta() else "token-1")
    assert token.refused(kept)
    assert token.token() == ("token-3" if off > timedelta() else "token-2")


@pytest.mark.parametrize("expires", ["2026-11-28T10:14:00", "soon", "2026-11-28"])
def test_an_end_without_a_zone_is_said_by_its_command(tmp_path: Path, clock: type[Clock], expires: str) -> None:
    """It cannot be compared with the present: every later request failed with a TypeError."""
    token = counting(tmp_path, expires)
    with pytest.raises(CredentialsFailed, match="is not an ExecCredential with a token"):
        token.token()
    assert clock.present == MADE
