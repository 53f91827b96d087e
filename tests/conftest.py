"""Options and tuning of the whole suite."""

import gc
import os

import hypothesis
import pytest

# An Output in an f-string becomes a warning text and goes on; this makes the SDK raise instead.
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "true"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files with what the tests see")


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(100_000, 50, 50)
    # Examples are as slow as the machine is busy, which says nothing about the program.
    hypothesis.settings.register_profile("suite", deadline=None)
    hypothesis.settings.load_profile("suite")
    # The SDK's packages warn about resources that they deprecate as they are imported, whether used or not.
    config.addinivalue_line("filterwarnings", "ignore:.* has been deprecated in favor of:DeprecationWarning")


SHARING = (
    "tests/doctor/",
    "tests/rehearsal/cloud/",
    "tests/rehearsal/plugins/aws/",
    "tests/planner/faces/page/test_browser.py",
)
"""Where tests share something that takes seconds to make: a server of the account, a browser's pages."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share go to one worker, so that what they share is made once; first, as they wait for it at times."""

    def shared(item: pytest.Item) -> str | None:
        return next((each for each in SHARING if item.nodeid.startswith(each)), None)

    for item in items:
        if where := shared(item):
            item.add_marker(pytest.mark.xdist_group(where))
    items.sort(key=lambda item: shared(item) is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Engine tests find the built tools on PATH; build them if they are missing."""
    if any(item.get_closest_marker("engine") for item in session.items):
        from rehearsal import toolchain

        directories = [str(path) for path in toolchain.ensure().directories()]
        os.environ["PATH"] = os.pathsep.join([*directories, os.environ["PATH"]])
    _tune_collector()


def _tune_collector() -> None:
    """Thousands of live SDK objects make the collector's full passes half of the run time; take them out of it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


@pytest.fixture(scope="session")
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether goldens are to be rewritten."""
    return bool(request.config.getoption("--accept"))
