"""Building: only what is missing, in one step, one builder at a time, with the remedy when it fails."""

import dataclasses
import json
import re
import shutil
import stat
import threading
import time
from collections import namedtuple
from pathlib import Path

import pytest

from rehearsal.toolchain import build, families, go, installed, versions
from rehearsal.toolchain.__main__ import main
from rehearsal.toolchain.families import FAMILIES
from rehearsal.toolchain.family import Edit, Family

# Stands for Go: counts its runs, writes the binary, fails on demand; a slow one shows that builders wait.
GO = """#!/bin/sh
echo run >> {log}
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
{first}
echo '#!/bin/sh' > "$out"
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(installed, "pulumi", lambda *_: None)
    return tmp_path / "cache" / "gpucluster"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return use_go(monkeypatch, tmp_path)


def use_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: str = "") -> Path:
    log = tmp_path / "runs"
    log.touch()
    binary = tmp_path / "go"
    binary.write_text(GO.format(log=log, first=first))
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(build, "caches", lambda _: [tmp_path / "go-cache"])
    monkeypatch.setattr(build, "find", lambda _: go.Go(binary, "go1.26", {"PATH": "/usr/bin:/bin"}))
    return log


def until(path: Path) -> str:
    """Shell that waits for a file, ten seconds at most."""
    return f"for _ in $(seq 500); do [ -e {path} ] && break; sleep 0.02; done"


def count(runs: Path) -> int:
    return len(runs.read_text().splitlines())


def test_what_is_missing_is_built_once_with_progress(runs: Path) -> None:
    said: list[str] = []
    tools = build.ensure(["volcano"], said.append)
    assert tools["vc-scheduler"].is_file()
    assert tools["vc-controller-manager"].parent == tools["vc-scheduler"].parent == tools.directories()[0]
    assert count(runs) == len(FAMILIES["volcano"].packages)
    version = versions.VOLCANO
    assert re.fullmatch(rf"building vc-scheduler {version} \(1 of 3, about \d+ min left on this machine\)", said[0])
    assert said[1].startswith(f"building vc-controller-manager {version} (2 of 3, less than a minute left")
    assert re.match(r"built in \d+ s: ", said[3]), "a busy machine takes a second"
    again: list[str] = []
    assert build.ensure(["volcano"], again.append) == tools
    assert (count(runs), again) == (len(FAMILIES["volcano"].packages), [])


def test_what_is_there_is_neither_built_nor_counted(runs: Path) -> None:
    build.ensure(["etcd"], lambda _: None)
    assert build.missing(["etcd", "kwok"]) == ["kwok"]
    said: list[str] = []
    build.ensure(["etcd", "kwok"], said.append)
    assert ["(1 of 1, " in line for line in said] == [True, False]


def test_a_tool_that_is_asked_for_later_is_built_then(runs: Path) -> None:
    tools = build.ensure(["etcd"], lambda _: None)
    assert count(runs) == 1
    assert tools["vc-scheduler"].is_file()
    assert count(runs) == 1 + len(FAMILIES["volcano"].packages)
    with pytest.raises(KeyError):
        tools["no-such-tool"]


def test_modules_of_the_next_family_come_while_the_first_compiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed = tmp_path / "listed"
    first = f'[ "$out" ] || {{ echo "$PWD" > {listed}; exit 0; }}\n{until(listed)}'
    use_go(monkeypatch, tmp_path, first)
    build.ensure(["etcd", "kwok"], lambda _: None)
    assert listed.read_text().strip() == str(FAMILIES["kwok"].directory)


def test_a_build_that_fails_waits_for_no_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listing = tmp_path / "listing"
    first = (
        f'[ "$out" ] || {{ touch {listing}; exec sleep 60; }}\nwhile [ ! -e {listing} ]; do sleep 0.02; done; exit 1'
    )
    use_go(monkeypatch, tmp_path, first)
    begun = time.monotonic()
    with pytest.raises(go.BuildError):
        build.ensure(["etcd", "kwok"], lambda _: None)
    assert time.monotonic() - begun < 30


def test_the_list_of_tools_says_what_each_serves(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["etcd", "volcano"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "etcd" in line and "control plane" in line and versions.ETCD in line]
    assert len([line for line in lines if "vc-" in line and "gangs" in line]) == 3
    assert main(["no-such-family"]) == 2


def test_two_builders_wait_for_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    runs = use_go(monkeypatch, tmp_path, f"while [ ! -e {go_on} ]; do sleep 0.02; done")
    waiting = threading.Event()
    started = threading.Event()
    one = threading.Thread(target=build.ensure, args=(["etcd"], lambda _: started.set()))
    two = threading.Thread(
        target=build.ensure, args=(["etcd"], lambda line: waiting.set() if "waiting" in line else None)
    )
    one.start()
    assert started.wait(10)
    two.start()
    assert waiting.wait(10)
    go_on.touch()
    one.join(10)
    two.join(10)
    assert count(runs) == 1


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("write /x: no space left on device", "The disk is full"),
        ("dial tcp: lookup proxy.example: no such host", "Go's module proxy does not answer"),
        ("verifying module: checksum mismatch", "restore go.mod and go.sum"),
        ("signal: killed", "memory ran out"),
    ],
)
def test_a_failure_shows_the_last_lines_and_the_remedy_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path, output: str, remedy: str
) -> None:
    use_go(monkeypatch, tmp_path, f"echo '{output}'; exit 1")
    with pytest.raises(go.BuildError) as failure:
        build.ensure(["etcd"], lambda *_: None)
    assert str(failure.value).startswith(f"building etcd {versions.ETCD} failed:\n{output}")
    assert remedy in str(failure.value)
    assert "python -m rehearsal.toolchain" in str(failure.value)
    assert [path.name for path in (cache / "toolchain").iterdir()] == [".lock"]


def test_a_full_disk_is_noticed_before_anything_is_built(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, 2**29))
    with pytest.raises(go.BuildError, match=r"takes up to 3 GiB, but 0\.5 GiB are free at .*: make room"):
        build.ensure(["etcd", "pulumi"], lambda *_: None)
    assert count(runs) == 0


def test_leftovers_of_a_killed_build_are_removed(runs: Path, cache: Path) -> None:
    leftover = cache / "toolchain" / ".building-killed" / "bin"
    leftover.mkdir(parents=True)
    build.ensure(["etcd"], lambda *_: None)
    assert not leftover.exists()


def test_the_cache_key_changes_with_whatever_changes_the_binaries(tmp_path: Path) -> None:
    def key(minor: str = "go1.26", **changes: object) -> str:
        fields: dict[str, object] = {
            "name": "etcd",
            "version": "1.0.0",
            "module": "m",
            "packages": {"e": "m"},
            "disk": 1.0,
        }
        family = Family(**(fields | changes))  # type: ignore[arg-type]
        object.__setattr__(family, "directory", tmp_path)
        return family.key(minor)

    (tmp_path / "go.mod").write_text("module m")
    (tmp_path / "go.sum").write_text("")
    first = key()
    assert first == key()
    others = {key("go1.27"), key(tags=("x",)), key(ldflags="-s"), key(packages={"e": "n"}), key(version="1.0.1")}
    (tmp_path / "go.sum").write_text("changed")
    others.add(key())
    assert len(others | {first}) == 7


def test_every_family_knows_where_its_module_file_is() -> None:
    for family in FAMILIES.values():
        assert (family.directory / "go.mod").is_file()
    assert families.FAMILIES["kubernetes"].ldflags.count(f"gitVersion=v{versions.KUBERNETES}") == 2


def test_an_edit_whose_line_is_gone_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    source = tmp_path / "module"
    source.mkdir()
    (source / "main.go").write_text("Port: port,\n")
    answer = json.dumps({"Dir": str(source)})
    use_go(monkeypatch, tmp_path, f"[ \"$out\" ] || {{ echo '{answer}'; exit 0; }}")
    family = FAMILIES["etcd"]
    edits = (Edit("main.go", "Port: port,", 'Host: "127.0.0.1", Port: port,'), Edit("main.go", "gone", "here"))
    monkeypatch.setitem(FAMILIES, "etcd", dataclasses.replace(family, edits=edits[:1]))
    assert build.ensure(["etcd"], lambda _: None)["etcd"].is_file()
    monkeypatch.setitem(FAMILIES, "etcd", dataclasses.replace(family, edits=edits))
    with pytest.raises(go.BuildError, match=r"main\.go no longer holds 'gone' once"):
        build.ensure(["etcd"], lambda _: None)


def test_only_the_edited_module_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Karpenter's addresses are in its core: the module file that is built by takes that one from a copy."""
    family = FAMILIES["karpenter"]
    assert {edit.module for edit in family.edits} == {"sigs.k8s.io/karpenter"}
    core = tmp_path / "core"
    (core / "pkg/operator").mkdir(parents=True)
    (core / "pkg/operator/operator.go").write_text("\n".join(edit.old for edit in family.edits))
    monkeypatch.setattr(build, "source", lambda _family, _go, name: core if name == "sigs.k8s.io/karpenter" else None)
    made = build._edited(family, go.Go(tmp_path / "go", "go1.26", {}), tmp_path)
    (replaced,) = (line for line in made.read_text().splitlines() if line.startswith("replace sigs.k8s.io/karpenter "))
    copy = Path(replaced.partition(" => ")[2])
    assert "127.0.0.1:%d" in (copy / "pkg/operator/operator.go").read_text()
    assert "replace github.com/aws/karpenter-provider-aws" not in made.read_text()


def test_another_modules_edit_is_another_build() -> None:
    family = FAMILIES["karpenter"]
    own = tuple(dataclasses.replace(edit, module=None) for edit in family.edits)
    assert dataclasses.replace(family, edits=own).key("go1.26") != family.key("go1.26")
