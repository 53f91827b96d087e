"""The rehearsal as a package of its own: all that it needs lies in the wheel, and it runs where it is installed."""

import ast
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rehearsal

HERE = Path(rehearsal.__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
OFFLINE = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")
LOOKUPS = """
from rehearsal.toolchain import go
from rehearsal.toolchain.families import FAMILIES
import rehearsal.cluster.components, sys
assert all((family.directory / name).is_file() for family in FAMILIES.values() for name in ("go.mod", "go.sum"))
assert go.REQUIREMENTS.is_file()
print(rehearsal.__file__)
"""


def pip(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package built and installed into a directory of its own."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the package, is not installed: make setup")
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    pip("wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", str(wheels), str(HERE))
    pip("install", *OFFLINE, "--target", str(target), *map(str, wheels.iterdir()))
    return target


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, "-P", *words], cwd=installed.parent, env=env, capture_output=True, text=True, timeout=60
    )


def test_every_file_but_tests_and_docs_is_in_the_package(installed: Path) -> None:
    there = {path.relative_to(installed / "rehearsal") for path in (installed / "rehearsal").rglob("*")}
    words = ["git", "-C", str(HERE), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {Path(name) for name in listed if not name.startswith(("tests/", "docs/")) and name != "pyproject.toml"}
    assert {name for name in wanted if (HERE / name).is_file()} <= there
    assert not (installed / "rehearsal" / "tests").exists()


def test_the_installed_package_runs_and_finds_its_files(installed: Path) -> None:
    helped = run(installed, "-m", "rehearsal", "--help")
    assert helped.returncode == 0, helped.stderr
    assert helped.stdout.startswith("usage: rehearse ")
    found = run(installed, "-c", LOOKUPS)
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).is_relative_to(installed)
    script = subprocess.run(
        [installed / "bin" / "rehearse", "status"],
        cwd=installed,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert script.returncode == 1
    assert script.stderr.startswith(f"error: no Pulumi.yaml in {installed} or above it: ")


def imported() -> set[str]:
    """The third-party packages that the code imports."""
    found: set[str] = set()
    for path in HERE.rglob("*.py"):
        if path.relative_to(HERE).parts[0] in {"tests", "testing"}:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"rehearsal"}


def test_what_the_code_imports_is_listed() -> None:
    named = {re.split(r"[\[<>=]", each)[0] for each in PROJECT["dependencies"]}
    owners = importlib.metadata.packages_distributions()
    lacking = {
        each
        for each in imported()
        if not named & {re.sub(r"[-_.]+", "-", name).lower() for name in owners.get(each, ())}
    }
    assert lacking == set()
