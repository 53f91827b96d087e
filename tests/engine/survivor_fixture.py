"""The fixture of the site that is broken on purpose; a module whose tests use it names this one in `pytest_plugins`."""

import os
from collections.abc import Iterator

import pytest

from .leaks import command_lines
from .rehearsed import rehearsed
from .survivor import NAME, Survivor
from .trees import Tree


@pytest.fixture(scope="session")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survivor]:
    """The site before anything is applied. Whoever needs the stack calls `converge`."""
    directory = tmp_path_factory.mktemp(NAME)
    home = directory / "state"
    tree = Tree.copy(directory / "tree")
    with rehearsed(NAME, tree, home, killed=True) as site, command_lines(os.getpid()) as seen:
        yield Survivor(site, home, seen)
