"""Fixtures for tests against a real API server."""

import itertools
from collections.abc import Iterator

import pytest

from rehearsal.kube.client import Kube
from rehearsal.tests.kube.control_plane import ControlPlane
from rehearsal.tests.kube.engine import Stack

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running control plane, one for all tests of the session."""
    plane = ControlPlane(tmp_path_factory.mktemp("plane"))
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    """A client that may do everything."""
    client = control_plane.kube()
    yield client
    client.close()


@pytest.fixture
def namespace(kube: Kube) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"test-{next(_numbers)}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    kube.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.fixture
def stack(control_plane: ControlPlane) -> Iterator[Stack]:
    """One stack's objects in the cluster, gone after the test."""
    made = Stack(control_plane.kubeconfig())
    yield made
    made.destroy()
