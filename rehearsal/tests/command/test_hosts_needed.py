"""A stack with racked hosts says what the machine lacks for them before anything is started."""

from pathlib import Path

import pytest

from rehearsal.command import preflight
from rehearsal.command.errors import CommandError

RACKED = """from rehearsal.metal.machine import Machine
from rehearsal.particulars import Content, Particulars
def account(text):
    return Content("us-east-1", machines=(Machine("a", "10.0.0.1", "S"),) if "racks" in text else ())
PROGRAM = Particulars(account=account)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    (tmp_path / "Pulumi.own.yaml").write_text("config: {p:where: racks}\n")
    (tmp_path / "Pulumi.aws.yaml").write_text("config: {p:where: aws}\n")
    (tmp_path / "rehearsed").mkdir()
    (tmp_path / "rehearsed/__init__.py").write_text(RACKED)
    return tmp_path


def test_what_is_missing_is_said_in_one_sentence(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "missing", lambda: "rehearsed hosts need sudo: apt-get install sudo")
    with pytest.raises(CommandError, match="apt-get install sudo"):
        preflight.hosts(program, "own")
    preflight.hosts(program, "aws")
    monkeypatch.setattr(preflight, "missing", lambda: None)
    preflight.hosts(program, "own")
