"""Official plugins: found where the engine looks for them, all or none, and written into a site's plugin cache."""

from pathlib import Path

import pytest

from rehearsal import places
from rehearsal.engine import home
from rehearsal.engine.installed import HOST, NotInstalledError, official

VERSIONS = {"aws": {"7.0.0"}, "kubernetes": {"4.34.2"}}


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_nothing_is_asked_for_by_nothing() -> None:
    assert official("", VERSIONS) is None


def test_a_directory_holds_them_side_by_side_or_as_the_engine_keeps_them(tmp_path: Path) -> None:
    host = executable(tmp_path / HOST)
    side = executable(tmp_path / "pulumi-resource-kubernetes")
    kept = executable(tmp_path / "resource-aws-v7.0.0" / "pulumi-resource-aws")
    found = official(str(tmp_path), VERSIONS)
    assert found is not None
    assert found.host == host
    assert found.resources == {("kubernetes", "4.34.2"): side, ("aws", "7.0.0"): kept}


def test_the_machines_own_are_those_of_its_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    host = executable(tmp_path / "bin" / HOST)
    executable(tmp_path / "pulumi/plugins/resource-kubernetes-v4.33.0/pulumi-resource-kubernetes")
    with pytest.raises(NotInstalledError) as raised:
        official("official", VERSIONS)
    assert "pulumi plugin install resource kubernetes 4.34.2" in str(raised.value)
    assert "aws" not in str(raised.value), "the stand-in serves where that one is not installed"

    right = executable(tmp_path / "pulumi/plugins/resource-kubernetes-v4.34.2/pulumi-resource-kubernetes")
    found = official("official", VERSIONS)
    assert found is not None
    assert (found.host, found.resources) == (host, {("kubernetes", "4.34.2"): right})


def test_everything_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotInstalledError, match=r"pulumi-language-python .*, pulumi-resource-kubernetes 4\.34\.2"):
        official(str(tmp_path), VERSIONS)
    with pytest.raises(NotInstalledError, match="neither `official` nor a directory"):
        official("offical", VERSIONS)


def test_a_site_starts_the_installed_ones_and_the_stand_ins_beside_them(tmp_path: Path) -> None:
    folder = tmp_path / "installed"
    host, kubernetes = executable(folder / HOST), executable(folder / "pulumi-resource-kubernetes")
    cli, site = executable(tmp_path / "pulumi"), places.SiteDirectory(tmp_path / "site")
    made = home.prepare(site, cli, "http://127.0.0.1:1", official=official(str(folder), home.wanted(None)))
    started = {path.parent.name.partition("-v")[0]: path.read_text() for path in site.pulumi.glob("plugins/*/*")}
    assert f"rehearsal.plugins.beside {kubernetes}" in started["resource-kubernetes"]
    assert "rehearsal.plugins.aws" in started["resource-aws"]
    text = (made.pulumi.parent / HOST).read_text()
    assert f"exec {host}" in text
    assert f"PATH={folder}" in text, "the host looks for pulumi-language-python-exec on PATH"
