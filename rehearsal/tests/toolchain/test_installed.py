"""A Pulumi that is there already is used if its version will do."""

import os
import stat
from pathlib import Path

import pytest

from rehearsal.toolchain import installed


def put_pulumi(directory: Path, says: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "pulumi"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("says", ["v3.250.0", "v3.301.2"])
def test_a_good_version_is_copied_away_from_its_language_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str
) -> None:
    original = put_pulumi(tmp_path / "real", says)
    (tmp_path / "real" / "pulumi-language-python").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pulumi").symlink_to(original)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    said: list[str] = []
    found = installed.pulumi(tmp_path / "cache", said.append)
    assert found is not None
    assert not found.is_symlink()
    assert [path.name for path in found.parent.iterdir()] == ["pulumi"]
    assert says.removeprefix("v") in said[0]
    assert installed.pulumi(tmp_path / "cache", said.append) == found
    assert len(said) == 1


@pytest.mark.parametrize("says", ["v3.249.9", "v4.0.0", "v2.25.0", "something else"])
def test_another_version_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str) -> None:
    put_pulumi(tmp_path / "bin", says)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    assert installed.pulumi(tmp_path / "cache", print) is None


def test_without_one_nothing_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed.pulumi(tmp_path / "cache", print) is None
