"""The fixtures of `fixtures.py` for this directory's tests."""

from rehearsal.tests.kube.fixtures import control_plane, kube, namespace

__all__ = ["control_plane", "kube", "namespace"]
