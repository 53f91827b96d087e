"""Sites that several modules share: each ends with the last test that uses it, and not with the test run.

A cluster that nobody looks at takes a fifth of a processor, which the tests after it want.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

Site = TypeVar("Site")

DEV_SITE, SURVIVOR = "dev_site", "survivor"
"""The fixtures of such sites."""


def shared(item: pytest.Item) -> str | None:
    """The site that a test shares with others."""
    used = getattr(item, "fixturenames", ())
    return next((each for each in (DEV_SITE, SURVIVOR) if each in used), None)


@dataclass
class SharedSites:
    """A plugin of pytest's: counts the tests of each site, and closes what `entered` opened for it behind the last."""

    _left: Counter[str] = field(default_factory=Counter)
    _open: dict[str, ExitStack] = field(default_factory=dict)

    def entered(self, name: str, site: AbstractContextManager[Site]) -> Site:
        """The open site of a fixture."""
        return self._open.setdefault(name, ExitStack()).enter_context(site)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._left = Counter(filter(None, map(shared, session.items)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Behind a test's teardown, in which fixtures of its module that use the site have ended."""
        done = yield
        if name := shared(item):
            self._left[name] -= 1
            if not self._left[name]:
                self._open.pop(name, ExitStack()).close()
        return done

    def pytest_sessionfinish(self) -> None:
        for each in [*self._open]:
            self._open.pop(each).close()
