"""Real machines of a hall: one whose namespaces are killed is named, and switched on by the next order."""

import os
import signal
import threading
from pathlib import Path

import pytest

from rehearsal.metal.lacking import missing
from rehearsal.metal.machine import Machine
from rehearsal.places import SiteDirectory
from rehearsal.racks import keeper
from rehearsal.racks.keeper import HallKeeper
from rehearsal.tests.inside.account import until

pytestmark = pytest.mark.engine

LACKING = missing()
MACHINES = [Machine(name, f"10.20.0.{number}", f"S{number}", memory_gib=256) for number, name in enumerate("ab", 1)]


def boots(site: SiteDirectory, name: str) -> list[int]:
    """The processes that a machine's namespaces end with."""
    place, found = f"{site.hall}/hosts/{name}".encode(), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == b"unshare" and place in words:
            found.append(int(path.parent.name))
    return found


def test_killed_namespaces_are_a_machine_that_is_off(tmp_path: Path) -> None:
    if LACKING:
        pytest.skip(LACKING)
    site = SiteDirectory(tmp_path / "site").create()
    kept = HallKeeper(site, None, None, None)  # type: ignore[arg-type]  # of a cluster, which nobody begins
    ending = threading.Event()

    def look() -> None:
        while not ending.wait(0.05):
            kept.reconcile()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        keeper.place(site, MACHINES, {})
        first = boots(site, "b")
        assert len(keeper.shown(site)) == len(first) == 1
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(keeper.shown(site)) == 2, 60, "the hall to see it")
        assert keeper.shown(site)[1].startswith("off: b; ")
        other = boots(site, "a")
        keeper.place(site, MACHINES, {})
        until(lambda: len(keeper.shown(site)) == 1, 60, "the machine to be back")
        assert boots(site, "b") not in ([], first)
        assert boots(site, "a") == other, "who was on stays on"
    finally:
        ending.set()
        thread.join()
        kept.stop()
    assert not boots(site, "a")
    assert not boots(site, "b")
