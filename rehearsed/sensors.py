"""The pod that reads management controllers. A rehearsal has none, so it connects to nothing.

The script itself meets an emulated controller in tests/rehearsed/test_machine_sensors.py.
"""

import json
import posixpath
from collections.abc import Iterable

from rehearsal.cluster.pages import texts
from rehearsal.kubelet import volumes
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.exposition import Family, family, text
from rehearsal.kubelet.program import Ends, Exit, Launch, Program

INLET_CELSIUS = 24.0


def run(launch: Launch) -> Program:
    """Answers of machines that are well: those of the mounted list. Without a list it ends as the script does."""
    words = dict(word.split("=", 1) for word in launch.argv if "=" in word)
    path = words.get("--controllers", "")
    mount = launch.mount_of(path) if path else None
    if mount is None:
        return Ends(launch.now, Exit(1, f"No such file or directory: '{path}'"))
    volume = next(each for each in launch.pod["spec"]["volumes"] if each["name"] == mount.name)
    found = volumes.files(volume, launch.namespace, launch.world.find) or {}
    listed = json.loads(found[posixpath.normpath(mount.inside(path) or "")])
    nodes = [str(each["node"]) for each in listed]
    return Answering(launch, {int(words["--listen"]): texts({"/metrics": lambda: text(_well(nodes))})})


def _well(nodes: Iterable[str]) -> Iterable[Family]:
    yield family("bmc_up", "gauge", "", *(({"node": node}, 1) for node in nodes))
    inlets = (({"node": node, "sensor": "Intake"}, INLET_CELSIUS) for node in nodes)
    yield family("bmc_inlet_celsius", "gauge", "", *inlets)
