"""The import contract of DESIGN: who may know whom (.importlinter)."""

import os

import pytest
from importlinter.cli import lint_imports

from tests.graph.stackfiles import ROOT


def test_every_import_is_allowed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    code = lint_imports(config_filename=os.fspath(ROOT / ".importlinter"), no_cache=True)
    assert code == 0, capsys.readouterr().out
