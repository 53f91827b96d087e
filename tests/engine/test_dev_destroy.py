"""The end of the dev stack: account and clusters are what they were before `up`."""

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from rehearsal import places
from rehearsal.engine import state
from rehearsal.engine.events import Urn, short_type
from rehearsal.images.ebs import DRIVER
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.procfs import tree

from .rehearsed import Rehearsed, operations

pytestmark = pytest.mark.engine

WAITER = ("apps/v1", "Deployment", "volumes-end", "kube-system")
SECONDS = 5.0


class Detaching:
    """Volumes that cannot be deleted, as if they were being detached, until what waits for that is asked to end, and
    some seconds more. `left` are those that were there then.
    """

    def __init__(self, dev: Rehearsed) -> None:
        self.left: list[str] = []
        self._dev, self._kube, self._over = dev, dev.kube, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Detaching":
        self._dev.control("POST", "faults", {"action": "DeleteVolume", "code": "VolumeInUse", "status": 400})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._dev.control("DELETE", "faults")

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            with contextlib.suppress(ApiError, Unreachable):
                found = self._kube.get(*WAITER)
                if found and found["metadata"].get("deletionTimestamp"):
                    self._over.wait(SECONDS)
                    self.left = [each["spec"]["csi"]["volumeHandle"] for each in self._volumes()]
                    self._dev.control("DELETE", "faults")
                    return

    def _volumes(self) -> list[dict[str, Any]]:
        every = [each for each in self._kube.list("v1", "PersistentVolume") if each["spec"].get("csi")]
        return [each for each in every if each["spec"]["csi"]["driver"] == DRIVER]


def test_destroy_removes_every_resource_and_leaves_what_was_there_before(dev: Rehearsed) -> None:
    """Also the volumes of claims, which are in no state and which their driver removes when it can."""
    urns = [Urn(each["urn"]) for each in state.resources(dev.engine.export())]
    held: dict[str, list[str]] = places.read_json(dev.session.baseline) or {}
    before = dev.inventory()
    assert any(set(ids) - set(held.get(kind, ())) for kind, ids in before.items())
    with Detaching(dev) as detaching:
        assert operations(dev.destroy()) == sorted(("delete", short_type(urn.type), urn.name) for urn in urns)
    assert state.resources(dev.engine.export()) == []
    assert detaching.left, f"nothing waited for {before['ec2:volume']}"
    assert set(detaching.left) <= set(before["ec2:volume"])
    assert dev.inventory() == held
    assert dev.clusters() == []


def test_no_process_of_a_control_plane_runs_on(dev: Rehearsed) -> None:
    site = dev.session.site
    names = {Path(f"/proc/{pid}/exe").resolve().name for pid in tree(site.supervisor.pid)}
    assert not names & {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
    assert site.supervisor.alive()
    assert site.cloud.alive()
