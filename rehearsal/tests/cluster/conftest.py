"""One control plane for all tests of this package, beside an AWS stand-in of its own."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rehearsal import keys
from rehearsal.cluster import ControlPlane
from rehearsal.kube.client import Kube
from rehearsal.tests.cloud.conftest import running
from rehearsal.toolchain import Tools, ensure

REGION, CLUSTER = "us-east-1", "trial"


def eventually(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first true value of `condition`; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:.0f} s: {condition}")
        time.sleep(0.05)
    return value


@dataclass(frozen=True)
class Trial:
    """A cluster that runs, and its account."""

    plane: ControlPlane
    account: keys.Account
    tools: Tools

    def aws(self, service: str) -> Any:
        return self.account.client(service, REGION)


@pytest.fixture(scope="session")
def tools() -> Tools:
    return ensure(["etcd", "kubernetes", "kwok"])


@pytest.fixture(scope="session")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[keys.Account]:
    """An AWS stand-in that finishes EKS's work by itself."""
    with running(tmp_path_factory.mktemp("cloud"), "--alone") as made:
        yield made.account


@pytest.fixture(scope="session")
def trial(account: keys.Account, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    directory: Path = tmp_path_factory.mktemp("a-long-directory-name-" + "x" * 80)
    plane = ControlPlane(directory, CLUSTER, REGION, account, tools)
    plane.start()
    try:
        yield Trial(plane, account, tools)
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def kube(trial: Trial) -> Kube:
    return trial.plane.kube()


def node(name: str) -> dict[str, Any]:
    room = {"cpu": "8", "memory": "32Gi", "pods": "50"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room},
    }
