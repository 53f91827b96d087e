"""Options and tuning of the whole suite."""

import gc
import os
from collections.abc import Iterator

import hypothesis
import pytest

from rehearsal import awsmodels
from tests.reaper import reaping

# An Output in an f-string becomes a warning text and goes on; this makes the SDK raise instead.
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "true"


awsmodels.read_once()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files with what the tests see")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    # Examples are as slow as the machine is busy, which says nothing about the program.
    hypothesis.settings.register_profile("suite", deadline=None)
    hypothesis.settings.load_profile("suite")
    # The SDK's packages warn about resources that they deprecate as they are imported, whether used or not.
    config.addinivalue_line("filterwarnings", "ignore:.* has been deprecated in favor of:DeprecationWarning")


SHARING = {
    "doctor": ("tests/doctor/",),
    "cloud": ("tests/rehearsal/cloud/",),
    "plugin": ("tests/rehearsal/plugins/aws/",),
    "browser": ("tests/planner/faces/page/test_browser.py",),
    "SDK": ("tests/stacks/", "tests/components/", "tests/graph/", "tests/test_lifecycle.py"),
}
"""Where tests share something that takes seconds to make: a server of the account, pages in a browser, the SDK."""
ENGINE = ("tests/engine/", "tests/rehearsal/")
"""Where `make engine` looks for its tests; to look at all the others would take every worker some seconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share go to one worker, so that what they share is made once; first, as they wait for it at times.

    Engine tests share the cluster of their directory; tests/engine, which has several, has a rule and an order of its
    own.
    """

    def engine(item: pytest.Item) -> bool:
        return item.get_closest_marker("engine") is not None

    def shared(item: pytest.Item) -> str | None:
        if engine(item):
            return None if item.nodeid.startswith("tests/engine/") else str(item.path.parent)
        return next((what for what, places in SHARING.items() if item.nodeid.startswith(places)), None)

    if strays := [item.nodeid for item in items if engine(item) and not item.nodeid.startswith(ENGINE)]:
        raise pytest.UsageError(f"engine tests outside of {' and '.join(ENGINE)}: {', '.join(strays)}")
    for item in items:
        if where := shared(item):
            item.add_marker(pytest.mark.xdist_group(where))
    items.sort(key=lambda item: not engine(item) and shared(item) is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Engine tests find the built tools on PATH; build them if they are missing."""
    if any(item.get_closest_marker("engine") for item in session.items):
        from rehearsal import toolchain

        directories = [str(path) for path in toolchain.ensure().directories()]
        os.environ["PATH"] = os.pathsep.join([*directories, os.environ["PATH"]])
    _tune_collector()


def _tune_collector() -> None:
    """Thousands of live SDK objects make the collector's full passes half of the run time; take them out of it."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 50, 50)


@pytest.fixture(scope="session", autouse=True)
def reaped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engine tests leave no site behind, not even where they are interrupted or killed."""
    if not any(item.get_closest_marker("engine") for item in request.session.items):
        yield
        return
    with reaping(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(scope="session")
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether goldens are to be rewritten."""
    return bool(request.config.getoption("--accept"))
