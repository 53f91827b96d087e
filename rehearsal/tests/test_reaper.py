"""What tests start ends with them, even where nobody tears it down."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehearsal import places
from rehearsal.processes import Process

HOLDER = """
import sys, time
from rehearsal.testing.reaper import *
with reaping(Path(sys.argv[1])):
    print('held', flush=True)
    {}
"""


@pytest.mark.parametrize("what", ["pass", "time.sleep(600)"], ids=["ends", "is killed"])
def test_a_site_ends_with_the_process_that_holds_it(tmp_path: Path, what: str) -> None:
    """And another one, that does not lie below the directory, runs on."""
    processes = [
        Process(name, [sys.executable, "-c", "import time; time.sleep(600)"], log=tmp_path / f"{name}.log")
        for name in ("inside", "outside")
    ]
    for each in processes:
        places.write_json(places.SiteDirectory(tmp_path / each.name / "site").lock, each.start().record())
    inside, outside = processes
    words = [sys.executable, "-c", HOLDER.format(what), str(tmp_path / "inside")]
    with subprocess.Popen(words, cwd=places.CODE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        if what != "pass":
            assert inside.running()
            holder.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while inside.running():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert outside.running()
    outside.stop()
