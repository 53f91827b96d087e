"""`make up` ends with 1, and says what does not run, if the stack was applied and does not work."""

import argparse
from pathlib import Path
from types import SimpleNamespace

import pytest

from rehearsal.command import apply, commands, preflight
from rehearsal.engine.events import Record
from rehearsal.engine.view import ClusterView

DEAF = "Service inference/llama port http leads to llama-0:8080, where no container listens"


@pytest.mark.parametrize(("unanswered", "status"), [((), 0), ((DEAF,), 1)])
def test_a_service_that_nobody_answers_fails_up(
    unanswered: tuple[str, ...],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    seen = [ClusterView("c", unanswered=unanswered)]

    def session(*given: object) -> SimpleNamespace:
        screen, meter = given[-2:]
        return SimpleNamespace(console=screen, meter=meter, views=lambda: seen)

    monkeypatch.setattr(preflight, "check", lambda *_: None)
    monkeypatch.setattr(commands, "open_session", session)
    monkeypatch.setattr(apply, "up", lambda *_: SimpleNamespace(record=Record()))
    monkeypatch.setattr(apply, "WAIT_SECONDS", 0.0)
    assert commands.up(argparse.Namespace(root=tmp_path, stack="dev", site="exit-status")) == status
    assert (DEAF in capsys.readouterr().out) is bool(status)
