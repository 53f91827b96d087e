"""Which files a change of every stack is about: all that the program reads, whatever it does with them."""

import subprocess
import sys
from importlib.util import source_from_cache
from pathlib import Path

from review.changed import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
APART = (".venv/", "Pulumi.", "rehearsal/", "tests/")
"""What is read besides: packages, files of stacks, and the harness that runs the program here."""
READS = """
import os, sys

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        print(os.path.abspath(arguments[0]))

sys.addaudithook(note)
from tests.graph.stackfiles import graph_of

for stack in ("lab", "prod", "metal"):
    graph_of(stack)
"""


def test_every_file_that_the_program_reads_is_the_programs() -> None:
    """Also those that it reads to run them elsewhere: on a node, in a pod, in the keeper's function."""
    told = subprocess.run([sys.executable, "-c", READS], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = {Path(line) for line in told.stdout.splitlines() if line.startswith(f"{ROOT}/")}
    sources = {Path(source_from_cache(path)) if "__pycache__" in path.parts else path for path in paths}
    read = {str(path.relative_to(ROOT)) for path in sources}
    assert {"stacks/aws_keeper.py", "node/keeper/handler.py"} <= read
    assert sorted(path for path in read if not path.startswith((*PROGRAM, *APART))) == []
    others = [each for each in PROGRAM if not any(path.startswith(each) for path in read)]
    assert others == ["Pulumi.yaml", "requirements.txt", "redfish/"], "what no test here reads, and no slip of the pen"
