"""A control plane that does not start is told by the cluster that asked for it."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.eks.keeper import Keeper
from rehearsal.processes import StartError


def test_a_cluster_that_failed_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a health issue, which the plugin appends to `is FAILED`; the rest of the words is in the log."""
    told: list[Mapping[str, Any]] = []

    def start(_: ControlPlane) -> None:
        raise StartError("kube-apiserver of cluster c does not work after 180 s:\nI1126 its log")

    monkeypatch.setattr(ControlPlane, "__init__", lambda *_given, **_named: None)
    monkeypatch.setattr(ControlPlane, "start", start)
    cloud: Any = SimpleNamespace(account="1", put_cluster=lambda _region, _name, state: told.append(state))
    nothing: Any = None
    keeper = Keeper(cloud, "us-east-2", "c", directory=tmp_path, logs=tmp_path, tools=nothing, images=nothing)
    keeper.start()
    keeper.release()
    assert keeper.ended(10)
    failed = told[0]
    assert failed["status"] == "FAILED"
    (issue,) = failed["issues"]
    assert issue["message"] == "kube-apiserver of cluster c does not work after 180 s: (see supervisor.log)"
