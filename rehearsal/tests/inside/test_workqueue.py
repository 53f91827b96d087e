"""The queue behind the kubelet and the tasks."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from rehearsal.kube.workqueue import WorkQueue

Make = Callable[[Callable[[str], float | None], int], WorkQueue]


@pytest.fixture
def queue() -> Iterator[Make]:
    made: list[WorkQueue] = []

    def make(handle: Callable[[str], float | None], workers: int = 1) -> WorkQueue:
        made.append(WorkQueue("test", handle, workers))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_a_key_is_never_handled_twice_at_once(queue: Make) -> None:
    busy, clashes, done = threading.Lock(), [], threading.Semaphore(0)

    def handle(key: str) -> None:
        if not busy.acquire(blocking=False):
            clashes.append(key)
            return
        time.sleep(0.01)
        busy.release()
        done.release()

    work = queue(handle, 4)
    for _ in range(5):
        work.add("a")
        assert done.acquire(timeout=5)
    assert not clashes


def test_a_key_added_while_it_is_handled_is_handled_again(queue: Make) -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Semaphore(0)

    def handle(key: str) -> None:
        begun.set()
        go.wait(5)
        done.release()

    work = queue(handle, 2)
    work.add("a")
    assert begun.wait(5)
    work.add("a")
    go.set()
    assert done.acquire(timeout=5)
    assert done.acquire(timeout=5)


def test_the_earliest_time_counts(queue: Make) -> None:
    done = threading.Event()
    work = queue(lambda _: done.set(), 1)
    work.add("a", 60.0)
    work.add("a", 0.0)
    assert done.wait(5)


def test_a_handler_may_ask_to_be_called_again_and_survives_its_errors(queue: Make) -> None:
    calls, done = [], threading.Event()

    def handle(key: str) -> float | None:
        calls.append(key)
        if len(calls) == 2:
            done.set()
            return None
        return 0.01

    queue(handle, 1).add("a")
    assert done.wait(5)
