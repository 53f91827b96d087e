"""One AWS stand-in per test process, and a driven plugin configured against it."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rehearsal import keys
from rehearsal.plugins.aws.plugin import AwsPlugin
from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import Driver, driven

REGION = "us-west-2"


@dataclass(frozen=True)
class Cloud:
    """The AWS stand-in: its address, clients to it and its control routes."""

    account: keys.Account

    @property
    def url(self) -> str:
        return self.account.url

    def client(self, service: str) -> Any:
        """A boto3 client, for what happens behind the program's back."""
        return self.account.client(service, REGION)

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """A call to a private route, such as fault injection."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/rehearsal/{path}", data, self.account.headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.loads(answer.read() or b"{}")

    def fault(self, action: str, code: str, status: int = 503, times: int = 1) -> None:
        """The next calls of this action fail."""
        self.control("POST", "faults", {"action": action, "code": code, "status": status, "times": times})


@pytest.fixture(scope="package")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    log = tmp_path_factory.mktemp("cloud") / "log"
    own = log.with_name("keys.json")
    with log.open("w") as errors:
        command = [sys.executable, "-m", "rehearsal.cloud", "--alone", "--keys", str(own)]
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=Path(__file__).parents[4]
        )
        try:
            assert server.stdout
            port = server.stdout.readline().strip()
            assert port, f"the AWS stand-in did not start:\n{log.read_text()[-2000:]}"
            yield Cloud(keys.Account(f"http://127.0.0.1:{port}", keys.read(own)))
        finally:
            server.kill()
            server.communicate()


@pytest.fixture(scope="package", autouse=True)
def environment(cloud: Cloud) -> Iterator[None]:
    """The environment that the rehearsal gives the engine: the stand-in's address, credentials, no configuration."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("AWS_"):
                patch.delenv(name)
        for name, value in cloud.account.variables.items():
            patch.setenv(name, value)
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
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
