"""Options of the program's suite."""

import hypothesis
import pytest

from tests.examples import EACH


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files with what the tests see")


def pytest_configure() -> None:
    # Examples are as slow as the machine is busy, which says nothing about the program.
    hypothesis.settings.register_profile("suite", deadline=None, max_examples=EACH, derandomize=True)
    hypothesis.settings.load_profile("suite")


@pytest.fixture(scope="session")
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether goldens are to be rewritten."""
    return bool(request.config.getoption("--accept"))
