"""A4: what the stack file says it copies lies where it says, asked before a GPU is paid for."""

from typing import Any

import pytest

from doctor.results import Result, Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import Call, Run, case

WEIGHTS, SOURCE = "serving.services.0.weights", "training.datasets.0.source"


@pytest.fixture
def told(examined: Run) -> Any:
    """What is said of each address of the dev stack with these weights."""

    def tell(weights: str) -> dict[str, Result]:
        return {each.subject: each for each in examined("objects", case({WEIGHTS: weights}))}

    return tell


def test_each_address_of_the_stack_is_looked_at(examined: Run) -> None:
    found = examined("objects", case())
    assert [each.status for each in found] == [Status.OK, Status.OK]
    assert [each.subject for each in found] == ["s3://acme-model-weights/llama-3-8b", "s3://acme-datasets/instructions"]


def test_weights_that_nobody_uploaded(told: Any) -> None:
    """A name that only begins alike does not count: the copier reads below the prefix."""
    result = told("s3://team-a-models/llama-3")["s3://team-a-models/llama-3"]
    assert result.status is Status.FAIL
    assert result.sentence.startswith("holds no object (weights of service llama-3-8b)")
    assert result.remedy == "upload them (aws s3 sync DIRECTORY s3://team-a-models/llama-3/), or correct the address"


def test_a_bucket_that_nobody_has(told: Any) -> None:
    result = told("s3://objects-nobodys/llama")["s3://objects-nobodys/llama"]
    assert (result.status, "does not exist" in result.sentence) == (Status.FAIL, True)


def test_one_bucket_that_may_not_be_listed_hides_no_other(told: Any, cloud: Cloud) -> None:
    cloud.call("PUT", "buckets/us-east-2/objects-closed", {"owner": "999999999999"})
    found = told("s3://objects-closed/llama")
    assert found["s3://objects-closed/llama"].status is Status.UNKNOWN
    assert "grant s3:ListBucket" in str(found["s3://objects-closed/llama"].remedy)
    assert found["s3://acme-datasets/instructions"].status is Status.OK


def test_addresses_without_a_bucket_are_not_asked_for(told: Any) -> None:
    revision = "0" * 40
    assert list(told(f"hf://meta-llama/Meta-Llama-3-8B@{revision}")) == ["s3://acme-datasets/instructions"]


def test_a_bucket_that_is_lent_is_asked_for_by_its_owner(examined: Run, calls: list[Call]) -> None:
    """Whoever takes the name of a bucket decides what is read from it."""
    sources = [{"bucket": "team-a-models", "owner": "999999999999"}, {"bucket": "acme-datasets"}]
    examined("objects", case({WEIGHTS: "s3://team-a-models/llama-3-8b", "storage.sources": sources}))
    owners = {request["Bucket"]: request.get("ExpectedBucketOwner") for _, _, request in calls}
    assert owners == {"team-a-models": "999999999999", "acme-datasets": None}
