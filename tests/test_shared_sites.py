"""A site of the engine tier that modules share ends with the last test that uses it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.stackfiles import ROOT

CONFTEST = """
import contextlib
import pytest
from tests.engine.shared_sites import SharedSites

SITES = SharedSites()

def pytest_configure(config):
    config.pluginmanager.register(SITES)

@contextlib.contextmanager
def site():
    print("opened")
    yield "site"
    print("closed")

@pytest.fixture(scope="session")
def survivor():
    return SITES.entered("survivor", site())
"""
FIRST = """
import pytest

@pytest.fixture(scope="module", autouse=True)
def around(survivor):
    yield
    print("module ended")

def test_one(survivor): print("one")
"""
SECOND = """
def test_two(survivor): print("two"); assert {}
def test_other(): print("other")
"""


def run(directory: Path, **modules: str) -> subprocess.CompletedProcess[str]:
    """pytest over these modules, with what they print."""
    for name, text in {"conftest": CONFTEST, **modules}.items():
        (directory / f"{name}.py").write_text(text)
    words = ["-s", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null", "--rootdir", str(directory)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(directory)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("passes", [True, False])
def test_it_is_closed_behind_the_last_that_uses_it_passed_or_failed(tmp_path: Path, passes: bool) -> None:
    """Before the test that needs none, and behind what modules keep of it."""
    done = run(tmp_path, test_first=FIRST, test_second=SECOND.format(passes))
    assert done.returncode == (0 if passes else 1), done.stdout
    said = ("opened", "one", "module ended", "two", "closed", "other")
    words = [word for line in done.stdout.splitlines() for word in said if word == line.strip(". F")]
    assert words == list(said)


def test_a_run_that_is_ended_early_closes_it_too(tmp_path: Path) -> None:
    done = run(tmp_path, test_first=FIRST.replace('print("one")', "raise KeyboardInterrupt"), test_second=SECOND)
    assert "opened" in done.stdout
    assert "closed" in done.stdout
    assert "two" not in done.stdout
