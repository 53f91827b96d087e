"""What shares a server or a site runs in one worker: pytest-xdist says so by the end of a test's id."""

import os

import pytest


@pytest.mark.xdist_group("some")
def test_groups_are_heeded(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@some") == ("PYTEST_XDIST_WORKER" in os.environ)
