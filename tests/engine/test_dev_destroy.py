"""The end of the dev stack: account and clusters are what they were before `up`."""

from pathlib import Path

import pytest

from rehearsal import places
from rehearsal.engine import state
from rehearsal.engine.events import Urn, short_type
from rehearsal.processes import tree

from .rehearsed import Rehearsed, operations

pytestmark = pytest.mark.engine

REFUSALS = 40
"""Of two volumes and two replicas of a driver that asks each second: ten seconds, as if volumes were being detached."""


def test_destroy_removes_every_resource_and_leaves_what_was_there_before(dev: Rehearsed) -> None:
    urns = [Urn(each["urn"]) for each in state.resources(dev.engine.export())]
    held: dict[str, list[str]] = places.read_json(dev.session.baseline) or {}
    assert any(set(ids) - set(held.get(kind, ())) for kind, ids in dev.inventory().items())
    slow = {"action": "DeleteVolume", "code": "VolumeInUse", "status": 400, "times": REFUSALS}
    dev.control("POST", "faults", slow)
    assert operations(dev.destroy()) == sorted(("delete", short_type(urn.type), urn.name) for urn in urns)
    assert state.resources(dev.engine.export()) == []
    assert dev.inventory() == held
    assert dev.control("GET", "faults") == [], "nobody tried to delete the volumes as often"
    assert dev.clusters() == []


def test_no_process_of_a_control_plane_runs_on(dev: Rehearsed) -> None:
    site = dev.session.site
    names = {Path(f"/proc/{pid}/exe").resolve().name for pid in tree(site.supervisor.pid)}
    assert not names & {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
    assert site.supervisor.alive()
    assert site.cloud.alive()
