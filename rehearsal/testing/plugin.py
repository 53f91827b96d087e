"""A pytest plugin for suites with rehearsals: built tools on PATH, no site left behind, shared servers in one worker.

The vendors' files of the program at pytest's root are at hand.

Three settings of pytest: `engine_paths`, the directories in which tests marked `engine` may lie; `slow_paths`, where
tests are marked `slow`; and `sharing`, a line `what = path path` for every set of paths whose tests share something
that takes seconds to make; the first line that holds for a test counts, and without a `what` its tests share nothing.
"""

import gc
import inspect
import os
import signal
from collections.abc import Iterator

import pytest

from rehearsal import awsmodels, particulars
from rehearsal.testing.reaper import reaping

# An Output in an f-string becomes a warning text and goes on; this makes the SDK raise instead.
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "true"

awsmodels.read_once()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("engine_paths", "where tests marked engine lie", type="linelist")
    parser.addini("slow_paths", "where tests are marked slow", type="linelist")
    parser.addini("sharing", "`what = path path`: tests below these paths share something", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    # A shell starts background jobs with interrupts ignored, and what they start inherits that: engines would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(particulars.upstream(config.rootpath))
    config.addinivalue_line("markers", "slow: takes too long for the loop of every day")
    config.addinivalue_line("markers", "engine: needs the built toolchain; applies stacks with the real engine")
    config.addinivalue_line("markers", "apart: shares nothing with the other engine tests of its module")
    # The SDK's packages warn about resources that they deprecate as they are imported, whether used or not.
    config.addinivalue_line("filterwarnings", "ignore:.* has been deprecated in favor of:DeprecationWarning")


def _engine(item: pytest.Item) -> bool:
    return item.get_closest_marker("engine") is not None


def uses_what_goes_on(item: pytest.Item) -> bool:
    """Whether a test uses something that is ended only after the tests of other modules: a cluster, a hall."""
    used = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    return any(
        made.scope in ("package", "session") and made.baseid and inspect.isgeneratorfunction(made.func)
        for *_, made in used
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share go to one worker, so that what they share is made once; first, as they wait for it at times.

    Engine tests share what their directory keeps running, and those that use nothing of it what their module makes,
    unless something gave them a group already, or they are marked `apart`: then each goes to whichever worker is free.
    """
    places = tuple(config.getini("engine_paths"))
    lines = (line.partition("=") for line in config.getini("sharing"))
    sharing = {what.strip(): tuple(paths.split()) for what, _, paths in lines}

    def shared(item: pytest.Item) -> str | None:
        if _engine(item):
            if item.get_closest_marker("xdist_group") or item.get_closest_marker("apart"):
                return None
            return str(item.path.parent if uses_what_goes_on(item) else item.path)
        return next((what for what, paths in sharing.items() if item.nodeid.startswith(paths)), None) or None

    if strays := [item.nodeid for item in items if _engine(item) and not item.nodeid.startswith(places)]:
        raise pytest.UsageError(f"engine tests outside of {' and '.join(places)}: {', '.join(strays)}")
    slow = tuple(config.getini("slow_paths"))
    for item in items:
        if item.nodeid.startswith(slow):
            item.add_marker(pytest.mark.slow)
        if where := shared(item):
            item.add_marker(pytest.mark.xdist_group(where))
    items.sort(key=lambda item: not _engine(item) and shared(item) is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Engine tests find the built tools on PATH; build them if they are missing."""
    if any(_engine(item) for item in session.items):
        from rehearsal import toolchain

        directories = [str(path) for path in toolchain.ensure(toolchain.BASE).directories()]
        os.environ["PATH"] = os.pathsep.join([*directories, os.environ["PATH"]])
    # Thousands of live SDK objects make the collector's full passes half of the run time; take them out of it.
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 50, 50)


@pytest.fixture(scope="session", autouse=True)
def reaped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engine tests leave no site behind, not even where they are interrupted or killed."""
    if not any(_engine(item) for item in request.session.items):
        yield
        return
    with reaping(tmp_path_factory.getbasetemp()):
        yield
