"""One emulated controller for the tests of this directory; each tells it what it is."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.oob.emulator import Emulator, start

Emulated = Callable[..., Emulator]


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    made = start(tmp_path_factory.mktemp("controller"))
    yield made
    made.stop()


@pytest.fixture
def emulated(running: Emulator) -> Emulated:
    """The controller as it is told to be (emulated.py); a test may tell it again."""

    def one(**told: Any) -> Emulator:
        return running.tell(**told)

    return one
