"""What plugins note about charts does not interrupt a preview: it stands behind the diff (C6)."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from rehearsal import sites
from rehearsal.command import difference
from rehearsal.command.meter import Meter
from rehearsal.engine.events import Diagnostic, Record
from rehearsal.engine.run import Outcome

LOG = """Previewing update (dev):
    ~ aws:eks/nodeGroup:NodeGroup: (update)
rendered volcano 1.14.1 from the chart
volcano 1.14.1: values are compared with those of version 1.15.1
      ~ scalingConfig: {
"""


def test_notes_follow_the_diff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (log := tmp_path / "preview.log").write_text(LOG)
    notes = [
        Diagnostic("info", "rendered volcano 1.14.1 from the chart", passing=True),
        Diagnostic("info", "volcano 1.14.1: values are compared with those of version 1.15.1"),
    ]
    record = Record(diagnostics=[*notes, *notes], changes={"update": 1})
    console = Console(file=io.StringIO(), width=200)
    session = SimpleNamespace(
        console=console,
        meter=Meter(),
        lines=lambda **_: None,
        program=SimpleNamespace(loses=None),
        engine=SimpleNamespace(preview=lambda *_, **__: Outcome("preview", 0, record, 1.0, log)),
    )
    running: Any = SimpleNamespace(state=sites.State.RUNNING)
    monkeypatch.setattr(sites, "status", lambda _: running)
    monkeypatch.setattr(difference, "open_session", lambda *_: session)
    monkeypatch.setattr(difference, "recover_if_needed", lambda _: None)
    difference.preview(tmp_path, "dev", "dev", None, console, Meter())
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "Previewing update (dev):",
        "    ~ aws:eks/nodeGroup:NodeGroup: (update)",
        "      ~ scalingConfig: {",
        "notes:",
        "  volcano 1.14.1: values are compared with those of version 1.15.1",
        "update 1",
    ]
