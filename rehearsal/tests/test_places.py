"""Paths of the cache and the state, writes that are never torn, ports."""

import json
import socket
import stat
from pathlib import Path

import pytest

from rehearsal import places


def test_the_roots_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "GPUCLUSTER_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert places.cache() == Path("/home/someone/.cache/gpucluster")
    assert places.state() == Path("/home/someone/.local/state/gpucluster")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    assert places.cache() == tmp_path / "c" / "gpucluster"
    assert places.state() == tmp_path / "s" / "gpucluster"
    monkeypatch.setenv("GPUCLUSTER_HOME", str(tmp_path / "g"))
    assert places.state() == tmp_path / "g" / "gpucluster"


def test_a_relative_base_directory_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere/else")
    assert places.cache() == Path("/home/someone/.cache/gpucluster")


def test_two_programs_never_share_a_site(tmp_path: Path) -> None:
    assert places.site("dev", tmp_path / "one") != places.site("dev", tmp_path / "two")
    assert places.site("dev", tmp_path / "one") == places.site("dev", tmp_path / "one")


@pytest.mark.parametrize("name", ["", "..", "a/b"])
def test_a_name_that_leaves_the_state_directory_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be named"):
        places.site(name, tmp_path)


def test_a_sites_directory_is_private(tmp_path: Path) -> None:
    site = places.SiteDirectory(tmp_path / "state" / "dev").create()
    for path in (site.path, site.logs, site.pulumi, site.backend, site.stacks, site.clusters):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_write_replaces_in_one_step_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a" / "site.json"
    places.write_json(path, {"b": 1})
    before = path.open()
    places.write_json(path, {"b": 2})
    with before:
        assert json.load(before) == {"b": 1}, "a reader that opened the old file still reads the old content"
    assert places.read_json(path) == {"b": 2}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["site.json"]


def test_what_is_no_json_reads_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text('{"cloud": {"ur')
    assert places.read_json(tmp_path / "torn.json") is None
    assert places.read_json(tmp_path / "missing.json") is None


def test_a_free_port_can_be_listened_on_and_is_not_one_in_use() -> None:
    taken = places.free_port()
    with socket.socket() as server:
        server.bind((places.LOOPBACK, taken))
        server.listen()
        assert not places._bindable(taken)
        assert places.free_port() != taken


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_site_is_its_owners_alone_and_so_is_what_it_lies_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUCLUSTER_HOME", str(tmp_path))
    (tmp_path / "gpucluster").mkdir(mode=0o755)
    site = places.site("dev", tmp_path / "program").create()
    for path in (places.state(), site.path.parent, site.path, site.pulumi, site.backend, site.logs):
        assert mode(path) == 0o700, path
    site.path.chmod(0o777)
    site.create()
    assert mode(site.path) == 0o700


def test_a_directory_of_somebody_elses_or_a_link_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(places.PlaceError, match=f"{tmp_path / 'link'} belongs to uid .* or is a link"):
        places.own_directory(tmp_path / "link")
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(places.PlaceError, match="set GPUCLUSTER_HOME to a directory of yours"):
        places.own_directory(tmp_path / "real")
