"""Work in forked copies of this process: what one copy breaks, no other sees."""

import os
import pickle
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Work = TypeVar("Work")

PATIENTLY = 30
"""How much longer than its seconds of the processor a copy may take: others may be using it."""


def _start(work: Callable[[], object], seconds: int) -> tuple[int, int]:
    """Fork, and let the copy write its pickled answer, or exception, into a pipe: (process, pipe)."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        return process, reader
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds * PATIENTLY)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        os.close(reader)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            answer = work()
        except Exception as error:
            answer = RuntimeError(str(error) or type(error).__name__)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
    finally:
        os._exit(0)


def _finish(process: int, reader: int) -> object:
    """The answer of a copy, None if it died or its time was over."""
    with os.fdopen(reader, "rb") as pipe:
        written = pipe.read()
    os.waitpid(process, 0)
    return pickle.loads(written) if written else None  # noqa: S301 - our own copy wrote it


def each_forked(works: Iterable[tuple[Work, Callable[[], object], int]], jobs: int) -> Iterator[tuple[Work, object]]:
    """Answers to (work, what to call, seconds of the processor), up to `jobs` at a time, as they come."""
    running: dict[int, tuple[int, Work]] = {}
    for work, call, seconds in works:
        process, reader = _start(call, seconds)
        running[reader] = (process, work)
        while len(running) >= jobs:
            yield from _ready(running)
    while running:
        yield from _ready(running)


def _ready(running: dict[int, tuple[int, Work]]) -> Iterator[tuple[Work, object]]:
    for reader in select.select(list(running), [], [])[0]:
        process, work = running.pop(reader)
        yield work, _finish(process, reader)
