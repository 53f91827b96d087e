"""Whatever things are called, they are played the same: behaviour follows image, arguments, ports and volumes."""

import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cluster.backends import Backends
from rehearsal.images.table import known
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.attaching import Attachments
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.environment import words
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.orders import Orders
from rehearsal.kubelet.program import Launch, Mount
from rehearsed import PROGRAM
from tests.graph.stackfiles import run_program
from tests.planner.stacks import sections

BYTES = 20 * 10**9
SCRATCH = {"FileSystems": [{"StorageCapacity": 1200, "LustreConfiguration": {"DeploymentType": "SCRATCH_2"}}]}
NAMES = ("llama-3-8b", "llama-3-8b-sft")


def pods(run: str, service: str) -> dict[str, dict[str, Any]]:
    """The pod of a rank and that of a server, of the dev stack with such names."""
    data = sections("dev")
    data["training"]["runs"][0]["name"], data["serving"]["services"][0]["name"] = run, service
    graph = run_program({f"gpucluster:{key}": value for key, value in data.items()}, stack="dev")
    gang = graph.one(f"run-{run}-job").inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    server = graph.one(f"service-{service}-deployment").inputs["spec"]["template"]
    return {"rank": deepcopy(gang), "server": deepcopy(server)}


def played(template: Mapping[str, Any], name: str, directory: Path) -> tuple[str, list[bool], float | None, list[str]]:
    """What a pod does: kind of program, ports that answer, when it changes, and its log."""
    spec = template["spec"]
    container = spec["containers"][0]
    claims = {each["name"] for each in spec["volumes"] if "persistentVolumeClaim" in each}
    mounts = [
        Mount(each["mountPath"], "csi:fsx.csi.aws.com:fs-1" if each["name"] in claims else "pod:1:x", name=each["name"])
        for each in container["volumeMounts"]
    ]
    contents = Contents(directory / "volumes.json")
    path = next((word for word in container.get("command", ()) if word.startswith("/models/")), "/models/none")
    contents.add("csi:fsx.csi.aws.com:fs-1", {path.removeprefix("/models/") + "/model.safetensors": BYTES})
    fsx = SimpleNamespace(describe_file_systems=lambda **_: SCRATCH)
    world: Any = SimpleNamespace(
        attached=Attachments(),
        contents=contents,
        aws=SimpleNamespace(fsx=fsx),
        find=lambda *_: None,
        hosts=Hosts(),
        allotted=Allotted(),
        orders=Orders(directory / "orders.json"),
        tasks=SimpleNamespace(run=lambda *_: None),
        backends=Backends(),
    )
    env = {each["name"]: str(each.get("value", "")) for each in container["env"]} | {"PET_NNODES": "2", "RANK": "1"}
    pod = {"metadata": {**template["metadata"], "name": name, "namespace": "x"}, "spec": spec}
    argv = (words(container.get("command"), env), words(container.get("args"), env))
    launch = Launch(world, pod, container, "node", *argv, env, mounts, directory / "c", print, 0.0)
    program = known(PROGRAM.images).start(launch)
    log = (directory / "c" / "log").read_text().splitlines()
    return (
        type(program).__name__,
        [program.listens(port, 1e9) for port in (8000, 8001)],
        program.next_change(0.0),
        [re.sub(r"/models/\S+", "MODEL", line) for line in log],
    )


@pytest.fixture(scope="module")
def named() -> dict[str, dict[str, dict[str, Any]]]:
    """The pods as shipped, with their names, and with names that say something else."""
    return {"shipped": pods(*reversed(NAMES)), "renamed": pods("nightly", "llama-3-70b")}


@pytest.mark.parametrize("role", ["rank", "server"])
def test_other_names_play_the_same_lf04(named: Any, role: str, tmp_path: Path) -> None:
    shipped = played(named["shipped"][role], "a", tmp_path / "a")
    renamed = played(named["renamed"][role], "vllm-405b-worker-9", tmp_path / "b")
    assert shipped == renamed
    assert shipped[0] == {"rank": "Trainer", "server": "Server"}[role]


def test_a_server_loads_as_long_as_its_file_system_takes_lf04(named: Any, tmp_path: Path) -> None:
    """20 GB at the 234 MB/s of 1200 GiB of scratch, and a minute of start-up, in twentieths."""
    _, listens, loaded, _ = played(named["renamed"]["server"], "a", tmp_path)
    assert listens == [False, False], "it listens on the loopback of its pod alone"
    assert loaded == pytest.approx((60 + BYTES / 234.375e6) / 20)
