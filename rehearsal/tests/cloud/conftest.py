"""One cloud for all of these tests, driven as users drive AWS: through boto3."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from rehearsal import keys

if TYPE_CHECKING:
    from rehearsal.tests.cloud.world import Network

ROOT = Path(__file__).parents[3]
REGION = "us-east-1"
PATIENCE_SECONDS = 60.0


class Cloud:
    """A running cloud: boto3 clients without retries, and its control routes."""

    def __init__(self, account: keys.Account) -> None:
        self.account, self.url = account, account.url
        self.client = cache(self._client)

    def _client(self, service: str, region: str = REGION) -> Any:
        config = Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}, max_pool_connections=32)
        return self.account.client(service, region, config)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One control route; the decoded JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/rehearsal/{path}", data, self.account.headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as reply:  # noqa: S310
            return json.load(reply)

    def inventory(self) -> dict[str, list[str]]:
        """Ids by kind of what could be left behind."""
        found: dict[str, list[str]] = self.call("GET", "inventory")
        return found


def start(folder: Path, *options: str) -> tuple[subprocess.Popen[bytes], Cloud]:
    """Start a cloud on a free port and wait until it answers."""
    port_file = folder / "port"
    command = [sys.executable, "-m", "rehearsal.cloud", "--port-file", str(port_file), *options]
    command += ["--keys", str(folder / "keys.json")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)})
    until(port_file.exists)
    url = f"http://127.0.0.1:{port_file.read_text().strip()}"
    return process, Cloud(keys.Account(url, keys.read(folder / "keys.json")))


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Cloud]:
    """A cloud of its own, which ends with the block."""
    process, made = start(folder, *options)
    try:
        yield made
    finally:
        process.terminate()
        process.wait(10)


def as_user(cloud: Cloud, patch: pytest.MonkeyPatch) -> None:
    """Credentials and endpoint as a user sets them, and nothing of the machine's own."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        patch.delenv(name)
    nothing = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull)
    for name, value in (cloud.account.variables | nothing).items():
        patch.setenv(name, value)


def until(true: Callable[[], bool]) -> None:
    """Wait for a condition, and fail when it does not come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def refused(call: Callable[..., Any], code: str, words: str = "", **arguments: Any) -> None:
    """Assert that AWS' error ``code``, with ``words`` in its message, answers the call."""
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response["Error"]
    assert error["Code"] == code, error
    assert words in error["Message"], error


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud on its own: EKS finishes by itself."""
    with running(tmp_path_factory.mktemp("cloud"), "--alone") as made:
        yield made


@pytest.fixture(scope="session")
def led_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud whose EKS waits for a supervisor's word."""
    with running(tmp_path_factory.mktemp("led-cloud")) as made:
        yield made


@pytest.fixture(scope="module")
def ec2(cloud: Cloud) -> Any:
    """EC2 of the test region."""
    return cloud.client("ec2")


@pytest.fixture(scope="module")
def network(cloud: Cloud) -> Iterator[Network]:
    """One network for the module; what is left in it fails the teardown."""
    from rehearsal.tests.cloud.world import make_network, remove_network

    made = make_network(cloud)
    yield made
    remove_network(cloud, made)
