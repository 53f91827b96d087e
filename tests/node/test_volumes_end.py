"""Which volumes a destroy waits for, and that nothing else makes the pod stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Any

import pytest
import volumes_end
from publish import Api
from volumes_end import PROVISIONED, left, wait

SCRIPT = Path(volumes_end.__file__)
GONE, THERE = "uid-of-a-claim-that-is-gone", "uid-of-a-claim"


def volume(name: str, claim: str | None = GONE, policy: str = "Delete", by: str | None = "ebs.csi.aws.com") -> Any:
    spec: dict[str, Any] = {"persistentVolumeReclaimPolicy": policy}
    if claim is not None:
        spec["claimRef"] = {"namespace": "monitoring", "name": "db", "uid": claim}
    return {"metadata": {"name": name, "annotations": {PROVISIONED: by} if by else {}}, "spec": spec}


class Server(Api):
    """The API server: `answers` are what lists of volumes hold, the last one again and again."""

    deployment: dict[str, Any] | None
    answers: list[list[Any] | OSError | HTTPException]
    asked: list[str]

    @classmethod
    def of(cls, deployment: dict[str, Any] | None, *answers: list[Any] | OSError | HTTPException) -> Server:
        server = cls("http://api", "token", "kube-system", None)
        for name, value in (("deployment", deployment), ("answers", list(answers)), ("asked", [])):
            object.__setattr__(server, name, value)
        return server

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        assert (method, body) == ("GET", None)
        self.asked.append(path)
        if path == "/apis/apps/v1/namespaces/kube-system/deployments/volumes-end":
            if self.deployment is None:
                raise FileNotFoundError(f"{path}: not found")
            return {"metadata": self.deployment}
        if path == "/api/v1/persistentvolumeclaims":
            return {"items": [{"metadata": {"uid": THERE}}]}
        assert path == "/api/v1/persistentvolumes"
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, Exception):
            raise said
        return {"items": said}


DELETED = {"name": "volumes-end", "deletionTimestamp": "2026-11-25T19:00:00Z"}


@pytest.mark.parametrize(
    "other",
    [
        volume("claimed", claim=THERE),
        volume("never-claimed", claim=None),
        volume("kept", policy="Retain"),
        volume("made-by-pulumi", by=None),
    ],
)
def test_only_what_a_driver_is_about_to_remove_is_left(other: Any) -> None:
    assert left([other, volume("data")], [{"metadata": {"uid": THERE}}]) == ["data"]


@pytest.mark.parametrize("deployment", [DELETED, None])
def test_a_destroy_waits_until_the_last_volume_is_gone(deployment: Any, capsys: pytest.CaptureFixture[str]) -> None:
    both = [volume("a"), volume("b")]
    server, paused = (
        Server.of(deployment, both, OSError("no route"), IncompleteRead(b""), both, both, [volume("b")], []),
        list[float](),
    )
    wait(lambda: server, "volumes-end", 2, paused.append)
    assert paused == [2] * 6
    assert capsys.readouterr().err.splitlines() == [
        "waiting for the driver to remove a, b",
        "cannot ask the API server: no route",
        "cannot ask the API server: IncompleteRead(0 bytes read)",
        "waiting for the driver to remove a, b",
        "waiting for the driver to remove b",
    ]


def test_a_pod_that_is_moved_or_replaced_waits_for_nothing() -> None:
    server = Server.of({"name": "volumes-end"}, [volume("a")])
    wait(lambda: server, "volumes-end", 2, lambda _: pytest.fail("it waits"))


def test_it_begins_when_it_is_asked_to_end(tmp_path: Path) -> None:
    """Without the account's files it can ask nobody: it says so, and stays, as volumes may be left."""
    words = [str(SCRIPT), f"--identity={tmp_path}", "--deployment=volumes-end", "--look-seconds=0.1"]
    server = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    path = {"PYTHONPATH": str(SCRIPT.parents[1] / "gates")}
    with subprocess.Popen(
        [sys.executable, *words],
        env=os.environ | server | path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "waiting until namespaces and volumes are deleted\n"
            running.send_signal(signal.SIGTERM)
            assert running.stdout.readline().startswith("cannot ask the API server: ")
            assert running.poll() is None
        finally:
            running.kill()
