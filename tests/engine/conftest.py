"""Sites for the engine tier: one with the dev stack applied, which all share; whoever breaks things opens another."""

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from . import rehearsed as sites
from .rehearsed import Rehearsed, rehearsed
from .shared_sites import DEV_SITE, SharedSites, shared
from .trees import Tree

END_OF_DEV = "test_dev_destroy"
"""The module that destroys the shared stack."""
SITES = pytest.StashKey[SharedSites]()
SCRATCH = pytest.StashKey[pytest.TempPathFactory]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SITES] = SharedSites()
    config.pluginmanager.register(config.stash[SITES])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First what shares the applied stack, then its end and other shared sites, then the rest, in which what takes
    minutes begins before much that is short; what shares a site goes to one worker.
    """

    def turn(item: pytest.Item) -> int:
        if item.path.parent != Path(__file__).parent:
            return 3
        if item.path.stem != END_OF_DEV and shared(item) == DEV_SITE:
            return 0
        return 1 if shared(item) else 2

    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group(shared(item) or item.path.stem))
    items.sort(key=turn)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the logs of the sites that run when a test fails, and say where."""
    report = yield
    if report.failed and sites.running:
        kept = item.config.stash[SCRATCH].mktemp("logs")
        for site in sites.running:
            shutil.copytree(site.directory.logs, kept / site.directory.path.name)
        report.sections.append(("logs of the sites", str(kept)))
    return report


@pytest.fixture(scope="session", autouse=True)
def scratch(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the logs of a failure go."""
    pytestconfig.stash[SCRATCH] = tmp_path_factory


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A copy of the program for one test."""
    return Tree.copy(tmp_path / "tree")


@pytest.fixture(scope="session")
def shared_sites(pytestconfig: pytest.Config) -> SharedSites:
    """Where a site that modules share is opened, so that it ends with its last test."""
    return pytestconfig.stash[SITES]


@pytest.fixture(scope="session")
def dev_site(shared_sites: SharedSites, tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """The shared site before anything is applied."""
    directory = tmp_path_factory.mktemp("dev")
    return shared_sites.entered(DEV_SITE, rehearsed("dev", Tree.copy(directory / "tree"), directory / "state"))


@pytest.fixture(scope="session")
def dev(dev_site: Rehearsed) -> Rehearsed:
    """The shared site with the dev stack applied and running; a test leaves stack and tree as it found them."""
    dev_site.up().require()
    dev_site.settled()
    return dev_site
