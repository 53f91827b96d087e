"""One hall for the tests of this directory; each test racks machines of its own."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.lacking import missing

from .racks import gpu_node

LACKING = missing()
Rack = Callable[..., Host]


@pytest.fixture(scope="session")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    if LACKING:
        pytest.skip(LACKING)
    made = Hall(tmp_path_factory.mktemp("hall"))
    made.start()
    yield made
    made.stop()


_numbers = itertools.count(1)


@pytest.fixture
def rack(hall: Hall) -> Iterator[Rack]:
    """Racks an H100 server, delivered and prepared by nobody; its facts may be changed."""
    racked: list[Host] = []

    def one(**facts: Any) -> Host:
        number = next(_numbers)
        machine = gpu_node(f"gpu-{number}", f"10.20.{number // 250}.{number % 250 + 1}", **facts)
        hall.rack([machine])
        racked.append(hall.hosts[machine.name])
        return racked[-1]

    yield one
    for host in racked:
        host.power_off()
