"""What run-watch makes of pods that ended, and of a run that stands still; before a server of its own.

Statuses are as Kubernetes writes them, words as PyTorch and CUDA do (monitoring/words.py has the sources).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ends import Table
from pace import Pace, Patience
from publish import Api, GoneError
from watch import KEPT, Watch

from monitoring import words
from monitoring.failures import failures

TABLE = Table(**words.told())
WATCHDOG = (
    "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=600000) ran for "
    "600029 milliseconds before timing out."
)
ECC = "Traceback (most recent call last):\nRuntimeError: CUDA error: uncorrectable ECC error encountered"
PAGE = "# TYPE training_step gauge\ntraining_step {step}\ntraining_step_seconds 10\n"


class Server(Api):
    """The API server, as far as run-watch asks it."""

    objects: dict[str, Any]
    events: dict[str, dict[str, Any]]
    gone: list[str]
    stream: list[dict[str, Any]]
    pods: list[dict[str, Any]]

    @classmethod
    def new(cls) -> Server:
        server = cls("http://api", "token", "training", None)
        for name, value in (("objects", {"kept": {}}), ("events", {}), ("gone", []), ("stream", []), ("pods", [])):
            object.__setattr__(server, name, value)
        return server

    def patch(self, path: str, body: Any) -> None:
        if "/events/" in path:
            name = path.rpartition("/")[2]
            if name not in self.events:
                raise FileNotFoundError(path)
            self.events[name].update(body)
        else:
            self.objects["kept"].update(body["data"])

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if method == "POST":
            self.events[body["metadata"]["name"]] = dict(body)
        if method == "DELETE":
            self.gone.append(path.rpartition("/")[2])
        if "/configmaps/" in path:
            return {"data": dict(self.objects["kept"])}
        return {"items": list(self.pods), "metadata": {"resourceVersion": "7"}}

    def text(self, path: str) -> str:
        return f"last words of {path.split('/')[-2]}"

    def lines(self, path: str, seconds: float) -> Iterator[dict[str, Any]]:
        assert "resourceVersion=7" in path
        assert seconds > 10, "the server ends it, not silence"
        yield from self.stream


def pod(index: int, said: str = "", at: str = "2026-11-23T14:00:00Z", **changes: Any) -> dict[str, Any]:
    """A worker of the run, which ended with these words if there are any."""
    over = {"exitCode": 1, "reason": "Error", "message": said, "finishedAt": at, **changes}
    status = {"name": "pytorch", "state": {"running": {}}, "lastState": {"terminated": over} if said else {}}
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "sft", "uid": "job-1"}
    labels = {
        "gpucluster/run": "sft",
        "training.kubeflow.org/replica-index": str(index),
        "training.kubeflow.org/replica-type": "worker",
    }
    return {
        "metadata": {
            "name": f"sft-worker-{index}",
            "uid": f"uid-{index}",
            "resourceVersion": "8",
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": f"node-{index}",
            "containers": [{"name": "pytorch", "ports": [{"name": "metrics", "containerPort": 9464}]}],
        },
        "status": {"phase": "Running", "podIP": f"10.0.0.{index}", "containerStatuses": [status]},
    }


@pytest.fixture
def server() -> Server:
    return Server.new()


def watching(server: Server, **how: Any) -> Watch:
    return Watch(server, "run-failures", TABLE, Patience(20, 900), **how)


def kept(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(server.objects["kept"].get("sft", "[]"))
    return found


def test_ranks_that_waited_for_one_that_was_gone_are_part_of_its_failure(server: Server) -> None:
    """Ten minutes later, by PyTorch's watchdog; the next time the same pod gives up it is another failure."""
    watch = watching(server)
    watch.see("MODIFIED", pod(1, ECC))
    watch.see("MODIFIED", pod(2, WATCHDOG, "2026-11-23T14:10:20Z"))
    (found,) = kept(server)
    assert (found["rank"], found["pods"], found["said"]) == ("worker 1", 2, ECC.splitlines()[-1])
    watch.see("MODIFIED", pod(2, WATCHDOG, "2026-11-23T14:11:00Z"))
    assert [each["failure"] for each in kept(server)][1:] == ["run-hangs"]
    watch.see("MODIFIED", pod(3, WATCHDOG, "2026-11-23T14:21:10Z"))
    assert len(kept(server)) == 3, "of ranks that all waited none is late"


def test_of_ranks_that_end_together_the_one_with_the_cause_is_named(server: Server) -> None:
    watch = watching(server)
    watch.see("MODIFIED", pod(1, WATCHDOG))
    assert [each["failure"] for each in kept(server)] == ["run-hangs"]
    assert kept(server)[0]["rank"] == "rank 1"
    watch.see("MODIFIED", pod(3, ECC, "2026-11-23T14:00:40Z"))
    watch.see("MODIFIED", pod(2, WATCHDOG, "2026-11-23T14:00:50Z"))
    (found,) = kept(server)
    assert (found["failure"], found["node"], found["rank"], found["pods"]) == ("gpu-memory", "node-3", "worker 3", 3)
    assert found["page"] == "docs/runbooks/gpu-memory.md"
    assert found["said"] == "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    (event,) = server.events.values()
    assert event["involvedObject"]["kind"] == "PyTorchJob"
    assert event["message"] == found["sentence"]
    alerts = {each.id: each.alert for each in failures()}
    assert event["reason"] == alerts["gpu-memory"]


def test_what_was_told_is_not_told_again_by_the_next_process(server: Server) -> None:
    for _ in range(2):
        watch = watching(server)
        for _ in range(2):
            watch.see("MODIFIED", pod(1, WATCHDOG))
    assert len(kept(server)) == 1
    watch.see("MODIFIED", pod(1, WATCHDOG, "2026-11-23T14:10:00Z"))
    assert [each["at"] for each in kept(server)] == ["2026-11-23T14:00:00Z", "2026-11-23T14:10:00Z"]


def test_the_newest_failures_are_kept(server: Server) -> None:
    watch = watching(server)
    for minute in range(0, 4 * KEPT, 3):
        watch.see("MODIFIED", pod(1, "ValueError: x", f"2026-11-23T14:{minute:02d}:00Z"))
    assert len(kept(server)) == KEPT
    assert kept(server)[-1]["at"] == "2026-11-23T14:39:00Z"


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({"reason": "OOMKilled", "exitCode": 137}, "out-of-memory"),
        ({"message": "OSError: [Errno 28] No space left on device"}, "shared-files-full"),
        ({"message": "OSError: [Errno 116] Stale file handle: '/data/a.bin'"}, "node-mount"),
        ({"message": "RuntimeError: CUDA error: unknown error"}, "gpu-unavailable"),
        (
            {"message": "NCCL error: NET/OFI Request completed with error. 15 (Unreachable remote)"},
            "fabric-link",
        ),
        ({"message": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"}, "out-of-memory"),
        ({"message": "KeyError: 'tokens'"}, "run-failed"),
    ],
)
def test_each_kind_of_words_has_its_row_of_the_table(server: Server, change: dict[str, Any], failure: str) -> None:
    watching(server).see("MODIFIED", pod(0, "x", **change))
    assert [each["failure"] for each in kept(server)] == [failure]


def test_a_pod_that_was_stopped_or_is_done_failed_at_nothing(server: Server) -> None:
    watch = watching(server)
    watch.see("MODIFIED", pod(0, "x", exitCode=143))
    watch.see("MODIFIED", pod(1, "x", exitCode=0))
    watch.see("MODIFIED", {**pod(2, ECC), "metadata": {**pod(2)["metadata"], "labels": {}}})
    assert kept(server) == []


@pytest.mark.parametrize("reason", ["DeletionByTaintManager", "DeletionByPodGC"])
def test_a_node_that_is_lost_comes_before_what_its_neighbours_say(server: Server, reason: str) -> None:
    watch, lost = watching(server), pod(4)
    lost["status"]["conditions"] = [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "message": "in Kubernetes' own words",
            "lastTransitionTime": "2026-11-23T14:00:30Z",
        }
    ]
    watch.see("MODIFIED", pod(1, WATCHDOG))
    watch.see("DELETED", lost)
    (found,) = kept(server)
    assert (found["failure"], found["node"], found["pod"]) == ("node-unreachable", "node-4", "sft-worker-4")
    assert "uid-4" not in watch.pods


def test_a_run_that_stands_still_is_written_down_and_begun_again(server: Server) -> None:
    now, step = [0.0], [7]
    watch = watching(server, fetch=lambda _: PAGE.format(step=step[0]), clock=lambda: now[0])
    watch.see("MODIFIED", pod(0))
    for now[0], step[0] in ((0.0, 7), (800.0, 8), (1690.0, 8)):
        watch.look()
    assert server.gone == []
    now[0] = 1701.0
    watch.look()
    assert server.gone == ["sft-worker-0"]
    (found,) = kept(server)
    assert (found["failure"], found["said"]) == ("run-hangs", "step 8 has stood for 901 s")
    assert "training_step 8" in found["evidence"]
    assert "--- sft-worker-0\nlast words of sft-worker-0" in found["evidence"]
    watch.look()
    assert server.gone == ["sft-worker-0"], "it waits as long again"


def test_a_slow_step_and_a_long_save_are_no_hang() -> None:
    patience = Patience(20, 900)
    assert patience.seconds({"training_step_seconds": 10}) == 900
    assert patience.seconds({"training_step_seconds": 60}) == 1200
    assert patience.seconds({"training_step_seconds": 60, "training_checkpoint_pause_seconds": 300}) == 1800
    assert Pace(3, 0.0, "").stands("", 1e9, patience) is None, "a run that tells nothing is not judged"
    assert Pace(9, 0.0, "").stands(PAGE.format(step=3), 1e9, patience) is None, "it began again"


def test_pods_are_followed_from_the_version_that_was_read(server: Server) -> None:
    watch = watching(server)
    version = watch.begin()
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "11"}}}
    server.stream.extend([{"type": "MODIFIED", "object": pod(0, ECC)}, bookmark])
    assert watch.follow(version) == "11"
    assert len(kept(server)) == 1
    server.stream[:] = [{"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}]
    with pytest.raises(GoneError, match="too old"):
        watch.follow(version)


def test_every_sign_is_a_row_of_the_table_with_a_page() -> None:
    pages = Path(__file__).parents[2] / "docs" / "runbooks"
    rows = words.told()
    assert {each["pattern"] for each in rows["signs"][:-1]} & {""} == set()
    assert rows["signs"][-1]["pattern"] == "", "the last one is for all other words"
    for each in (*rows["signs"], *rows["reasons"]):
        assert (pages / each["page"].rpartition("/")[2]).is_file()
