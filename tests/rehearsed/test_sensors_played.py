"""Controllers of a rehearsal: the pod that reads them answers for each that the stack file names, and dials none."""

import json
from pathlib import Path
from typing import Any

from components.metal.sensors import PORT, SCRIPTS
from rehearsal.cluster.pages import Request
from rehearsal.kubelet.program import Ends, Mount
from rehearsal.tests.inside.simulated import Node, samples
from rehearsed import sensors

ARGV = ("python3", f"{SCRIPTS}/sensors.py", f"--controllers={SCRIPTS}/controllers.json", f"--listen={PORT}")


def run(directory: Path, **more: Any) -> tuple[Node, Any]:
    node = Node(directory)
    pod = node.pod("sensors-0")
    pod["spec"]["volumes"] = [{"name": "script", "configMap": {"name": "sensors"}}]
    listed = [{"node": name, "address": "10.20.4.21", "port": 443, "fingerprint": None} for name in ("a", "b")]
    node.objects["configmaps", "sensors"] = {"data": {"controllers.json": json.dumps(listed)}}
    return node, sensors.run(node.launch(pod, command=ARGV, **more))


def test_it_answers_of_machines_that_are_well(tmp_path: Path) -> None:
    node, program = run(tmp_path, mounts=(Mount(SCRIPTS, "pod:sensors:script", "", name="script"),))
    handler = node.world.backends.handler("ns", "sensors-0", PORT)
    found = samples(str(handler(Request("GET", "/metrics")).content))
    assert {labels["node"]: value for labels, value in found["bmc_up"]} == {"a": 1, "b": 1}
    assert [value for _, value in found["bmc_inlet_celsius"]] == [sensors.INLET_CELSIUS] * 2
    program.stop()
    node.world.backends.close()


def test_without_its_list_it_ends(tmp_path: Path) -> None:
    node, program = run(tmp_path)
    assert isinstance(program, Ends)
    node.world.backends.close()
