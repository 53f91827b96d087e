"""One AWS stand-in for these tests, asked as a user's account is: by boto3's own settings."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import botocore.client
import pytest

from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from doctor.account import Account
from doctor.case import Case
from doctor.examination import run
from doctor.results import Result
from planner.plan import plan
from rehearsal.tests.cloud.conftest import Cloud, as_user, running
from tests.planner.stacks import settings

REGION = "us-east-2"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
BLOCK = "cr-0123456789abcdef0"
PROJECT, STACK = "gpucluster", "dev"
OWN_TAGS = [{"Key": "gpucluster:project", "Value": PROJECT}, {"Key": "gpucluster:stack", "Value": STACK}]
OTHER_TAGS = [{"Key": "gpucluster:project", "Value": PROJECT}, {"Key": "gpucluster:stack", "Value": "prod"}]

BUCKETS: dict[str, dict[str, str]] = {
    "acme-model-weights": {},
    "acme-datasets": {},
    "team-a-models": {},
    "team-a-text": {},
}

PATHS = ("llama-3-8b", "llama-3-70b", "instructions", "web-text")
"""Below each bucket: where the committed stacks look for weights and datasets."""

Run = Callable[..., list[Result]]
Call = tuple[str, str, Mapping[str, Any]]


def case(
    changes: Mapping[str, Any] | None = None,
    *,
    stack: str = STACK,
    catalogue: Catalogue = SHIPPED,
    now: datetime = NOW,
) -> Case:
    """A committed stack with values replaced, as the doctor sees it."""
    wanted = settings(stack, changes)
    planned = plan(wanted, catalogue=catalogue, today=now.date())
    return Case(project=PROJECT, stack=STACK, settings=wanted, plan=planned, now=now)


@pytest.fixture(scope="package")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """An account with the buckets that the committed stacks name."""
    with running(tmp_path_factory.mktemp("cloud"), "--alone") as made:
        for bucket, order in BUCKETS.items():
            made.call("PUT", f"buckets/{REGION}/{bucket}", order)
            for path in PATHS:
                client(made, "s3").put_object(Bucket=bucket, Key=f"{path}/config.json", Body=b"{}")
        yield made


@pytest.fixture(autouse=True)
def environment(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Credentials and endpoint as a user sets them, and nothing of the machine's own; faults end with the test."""
    as_user(cloud, monkeypatch)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield
    cloud.call("DELETE", "faults")


@pytest.fixture
def examined() -> Run:
    """Runs one check on a stack and returns what it says."""

    def examine(check: str, examined_case: Case) -> list[Result]:
        return list(run(check, examined_case, Account(examined_case.settings.platform, attempts=1)))

    return examine


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every call that boto3 makes, by the service's IAM prefix, operation and request."""
    made: list[Call] = []
    original = botocore.client.BaseClient._make_api_call

    def recorded(self: Any, operation: str, request: Mapping[str, Any]) -> Any:
        made.append((self.meta.service_model.signing_name, operation, dict(request)))
        return original(self, operation, request)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", recorded)
    return made


@pytest.fixture
def whole(cloud: Cloud) -> Iterator[Case]:
    """A stack about which every check has a question."""
    block = {"id": BLOCK, "zone": "use2-az1", "start": "2026-11-20", "end": "2026-11-27"}
    order = {"instanceType": "p5.48xlarge", "zoneId": "use2-az1", "count": 2, "end": "2026-11-27T11:30:00+00:00"}
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {**order, "start": "2026-11-20T11:30:00+00:00"})
    yield case(
        {
            "pools.1.instanceType": "p5.48xlarge",
            "pools.1.capacity": "capacity-block",
            "pools.1.reservation": block,
        }
    )
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {"state": None})


def client(cloud: Cloud, service: str) -> Any:
    """A client for what others do in the account."""
    return cloud.client(service, REGION)
