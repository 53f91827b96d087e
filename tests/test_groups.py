"""What shares a server or a site runs in one worker: pytest-xdist says so by the end of a test's id."""

import os
from collections.abc import Iterator

import pytest

from rehearsal.testing.plugin import uses_what_goes_on


@pytest.mark.xdist_group("some")
def test_groups_are_heeded(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@some") == ("PYTEST_XDIST_WORKER" in os.environ)


def test_the_first_line_that_names_a_path_counts(request: pytest.FixtureRequest) -> None:
    """Files of the corpus share nothing though they lie below what does."""
    groups: dict[bool, set[str | None]] = {True: set(), False: set()}
    for item in request.session.items:
        if item.nodeid.startswith("tests/stacks/"):
            named = (mark.args[0] for mark in item.iter_markers("xdist_group"))
            groups[item.path.name == "test_corpus.py"].add(next(named, None))
    assert groups[True] <= {None}
    assert groups[False] <= {"stacks"}


@pytest.fixture(scope="session")
def running() -> Iterator[list[str]]:
    """Something that ends after the tests of all modules."""
    here = ["runs"]
    yield here
    here.clear()


def test_what_runs_on_after_a_module_is_shared(request: pytest.FixtureRequest, running: list[str]) -> None:
    assert uses_what_goes_on(request.node)


def test_what_ends_with_its_module_or_never_ran_is_not(
    request: pytest.FixtureRequest, tmp_path: object, accept: bool
) -> None:
    assert not uses_what_goes_on(request.node)
