"""Fixtures for tests against a real API server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from rehearsal.kube.client import Kube
from rehearsal.tests.kube import control_plane as planes

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[planes.ControlPlane]:
    """A running control plane, one for all tests of the session."""
    yield planes.shared()
    planes.stop_shared()


@pytest.fixture
def kube(control_plane: planes.ControlPlane) -> Iterator[Kube]:
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
