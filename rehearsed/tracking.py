"""What copies databases, and what speaks with a tracker: a run of the reference trainer."""

import sys
from pathlib import Path

from rehearsal.images.postgresql import Client, environment
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Ends, Exit, Launch, Program
from rehearsed import saves, trials
from rehearsed.registry import ROOT

_MYSQLDUMP = """\
mysqldump() { for word; do case $word in --result-file=*) echo "-- Dump completed" > "${word#*=}" ;; esac; done; }
"""
"""In place of MySQL's program, which nothing here has: the last line of a whole copy, and nothing else."""


def dump(launch: Launch) -> Program:
    """The real script, with PostgreSQL's real programs."""
    if launch.argv[:2] != ["sh", "-c"]:
        return Ends(launch.now, Exit(127, f"{' '.join(launch.argv[:1])}: not found"))
    return Client(launch, Path("/bin/sh"), ["-c", _MYSQLDUMP + launch.argv[2]], {}, environment(), own_words=True)


def reporter(launch: Launch) -> RealProcess | None:
    """What the process of rank 0 tells the tracker, by the reference trainer's own code and through the cluster's
    network; None for another trainer, which may tell or not, and without a tracker.
    """
    address = launch.env.get("MLFLOW_TRACKING_URI", "")
    if trials.REFERENCE not in launch.argv or not address or not saves.first(launch):
        return None
    env = {"PYTHONPATH": str(ROOT / "node" / "trainer"), "http_proxy": launch.world.proxy.url}
    # Not from the program's directory: modules there have names of others (-P).
    words = ["-P", str(Path(__file__).with_name("telling.py")), *launch.argv]
    return RealProcess(launch, Path(sys.executable), words, {}, env, own_words=True)
