"""One AWS stand-in per test process, and a driven plugin configured against it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.plugins.aws.plugin import AwsPlugin
from rehearsal.tests.cloud import conftest as running
from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import Driver, driven

REGION = "us-west-2"


class Cloud(running.Cloud):
    """The AWS stand-in: its address, clients to it in the region of these tests, and its control routes."""

    def _client(self, service: str, region: str = REGION) -> Any:
        return super()._client(service, region)

    def fault(self, action: str, code: str, status: int = 503, times: int = 1, message: str = "") -> None:
        """The next calls of this action fail."""
        order = {"action": action, "code": code, "status": status, "times": times, "message": message}
        self.call("POST", "faults", order)


@pytest.fixture(scope="package")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running.running(tmp_path_factory.mktemp("cloud"), "--alone") as made:
        yield Cloud(made.account)


@pytest.fixture(scope="package", autouse=True)
def environment(cloud: Cloud) -> Iterator[None]:
    """The environment that the rehearsal gives the engine: the stand-in's address, credentials, no configuration."""
    with pytest.MonkeyPatch.context() as patch:
        running.as_user(cloud, patch)
        patch.setattr("rehearsal.plugins.aws.account.FIRST_PAUSE", 0.05)
        yield


@pytest.fixture
def raw() -> Iterator[Driver]:
    """A separate plugin that has not been configured."""
    with driven(AwsPlugin()) as driver:
        yield driver


@pytest.fixture(scope="package")
def aws(environment: None) -> Iterator[Driver]:
    """A plugin for all tests, configured with one default tag."""
    with driven(AwsPlugin()) as driver:
        driver.configure(region=REGION, defaultTags=json.dumps({"tags": {"stack": "test"}}))
        yield driver


@pytest.fixture(scope="package")
def world(aws: Driver) -> World:
    """Objects for all tests to stand on."""
    return World(aws)
