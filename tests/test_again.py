"""Files of a few failures run again alone: what fails twice is wrong, and what passes then is named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.again import MOST
from tests.graph.stackfiles import ROOT

FLAKY = """
from pathlib import Path
def test_of_a_busy_machine():
    seen = Path(__file__).with_suffix(".seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""


@pytest.mark.parametrize(
    ("tests", "status", "words"),
    [
        ({"right": "def test_it(): pass"}, 0, ()),
        ({"busy": FLAKY, "right": "def test_it(): pass"}, 0, ("again, alone: ", "beside others:", "test_of_a_busy")),
        ({"wrong": "def test_it(): raise RuntimeError"}, 1, ("test_it: call failed after 0 s\n", "again, alone: ")),
        ({"busy": FLAKY, "wrong": "def test_it(): raise RuntimeError"}, 1, ("again, alone: ",)),
        ({f"busy{each}": FLAKY for each in range(MOST + 1)}, 1, ()),
        ({"broken": "import nothing_of_this_name"}, 2, ()),
        ({"none": ""}, 5, ()),
    ],
)
def test_a_run_ends_as_it_would_alone(
    tests: dict[str, str], status: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    for name, text in tests.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "tests.again", "-n", "0", "-p", "no:cacheprovider", "-c", "/dev/null"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == status, done.stdout + done.stderr
    for word in words:
        assert word in done.stdout
    assert ("again, alone" in done.stdout) == bool(words), "nothing runs twice without a reason"
