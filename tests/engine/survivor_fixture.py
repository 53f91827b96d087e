"""The fixture of the site that is broken on purpose; a module whose tests use it names this one in `pytest_plugins`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .leaks import command_lines
from .rehearsed import rehearsed
from .shared_sites import SURVIVOR, SharedSites
from .survivor import NAME, Survivor
from .trees import Tree


@pytest.fixture(scope="session")
def survivor(shared_sites: SharedSites, tmp_path_factory: pytest.TempPathFactory) -> Survivor:
    """The site before anything is applied. Whoever needs the stack calls `converge`."""
    return shared_sites.entered(SURVIVOR, _survivor(tmp_path_factory.mktemp(NAME)))


@contextmanager
def _survivor(directory: Path) -> Iterator[Survivor]:
    home = directory / "state"
    tree = Tree.copy(directory / "tree")
    with rehearsed(NAME, tree, home, killed=True) as site, command_lines(os.getpid()) as seen:
        yield Survivor(site, home, seen)
