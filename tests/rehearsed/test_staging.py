"""A dataset comes to the disks of a simulated node as the pod of a run asks for it."""

from pathlib import Path
from typing import Any

import pytest

from components.platform.pods import PodShape
from components.training import staging as ours
from rehearsal.kubelet.program import Ends, Mount, Program
from rehearsal.tests.inside.simulated import Node
from rehearsed import staging, trainer

PATH = "datasets/web-text-1a2b"
FILES = {f"{PATH}/{index}.bin": 1 << 30 for index in range(5)}


def launched(node: Node, *, worker: bool, index: int, **changes: Any) -> Program:
    """The container of a pod of four."""
    shape = PodShape(gpus=1, cpu_millicores=1000, memory_mib=2048, shm_mib=1024)
    part = changes.pop("part", "shard")
    spec = ours.container("image:1", shape, PATH, part, 4, "script", worker=worker)
    words = [each.replace("$(POD_UID)", "pod").replace("$(REPLICA_INDEX)", str(index)) for each in spec["args"]]
    keys = {"data": "csi:fs", "local": "pod:pod:local", "script": "script"}
    mounts = [
        Mount(each["mountPath"], keys[each["name"]], each.get("subPath", ""), read_only=each.get("readOnly", False))
        for each in spec["volumeMounts"]
    ]
    return staging.run(node.launch(command=spec["command"], args=words, mounts=mounts, **changes))


@pytest.mark.parametrize(
    ("worker", "index", "files"), [(False, 0, ["0.bin", "4.bin"]), (True, 0, ["1.bin"]), (True, 2, ["3.bin"])]
)
def test_a_pod_gets_its_shard_and_the_rank_finds_it(tmp_path: Path, worker: bool, index: int, files: list[str]) -> None:
    node = Node(tmp_path)
    node.world.contents.add("csi:fs", FILES)
    ended = launched(node, worker=worker, index=index)
    assert isinstance(ended, Ends)
    result = ended.exited(1e9)
    assert result is not None
    assert result.code == 0
    found = node.world.contents.under("pod:pod:local", f"{ours.PLACE}/web-text-1a2b")
    assert sorted(each.rpartition("/")[2] for each in found) == files
    mount = Mount("/data", "pod:pod:local", f"{ours.PLACE}/web-text-1a2b", read_only=True)
    assert trainer.data_problem(node.launch(env={"DATASET_DIR": "/data"}, mounts=[mount])) is None


def test_without_data_or_with_fewer_files_than_nodes_it_fails(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for files, words in (({}, "no files in /shared-data"), ({f"{PATH}/0.bin": 1}, "1 files cannot be shared")):
        node.world.contents.add("csi:fs", files)
        result = launched(node, worker=False, index=0).exited(1e9)
        assert result is not None
        assert result.code == 1
        assert words in result.message
