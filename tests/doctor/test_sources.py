"""LF03, LF11: source buckets - there or not, whose, where, with which key."""

from typing import Any

import pytest

from doctor.results import Result, Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import REGION, Run, case

KEY = f"arn:aws:kms:{REGION}:123456789012:key/5555aaaa-12ab-34cd-56ef-1234567890ab"
OTHER = f"arn:aws:kms:{REGION}:123456789012:key/6666bbbb-12ab-34cd-56ef-1234567890ab"
STRANGER = "999999999999"


@pytest.fixture
def told(cloud: Cloud, examined: Run) -> Any:
    """What is said of one source bucket that the account is given, declared so."""

    def tell(name: str, order: dict[str, Any] | None, **declared: str) -> Result:
        if order is not None:
            cloud.call("PUT", f"buckets/{order.pop('region', REGION)}/{name}", order)
        sources = [{"bucket": name, **declared}]
        (result,) = examined("source", case({"storage.sources": sources}))
        return result

    return tell


def test_a_bucket_of_the_account(told: Any) -> None:
    result = told("doctor-own", {})
    assert (result.status, result.subject, result.remedy) == (Status.OK, "doctor-own", None)
    assert f"account 123456789012 has it in {REGION}" in result.sentence


def test_a_bucket_that_nobody_has_lf03(told: Any) -> None:
    result = told("doctor-nobodys", None)
    assert result.status is Status.FAIL
    assert "anybody could create it" in result.sentence


def test_a_strangers_bucket_lf03(told: Any) -> None:
    result = told("doctor-strangers", {"owner": STRANGER})
    assert result.status is Status.FAIL
    assert "answers 403: account 123456789012 does not own it" in result.sentence
    assert "type its owner in gpucluster:storage.sources" in str(result.remedy)


def test_a_strangers_bucket_that_lets_everybody_look_lf03(told: Any) -> None:
    """The one that is dangerous: copying works, and what is copied is whatever its owner puts there."""
    result = told("doctor-bait", {"owner": STRANGER, "shared": True})
    assert result.status is Status.FAIL
    assert "another account than 123456789012 owns it" in result.sentence


def test_a_declared_owner_is_expected_lf03(told: Any, cloud: Cloud) -> None:
    assert told("doctor-claimed", {}, owner=STRANGER).status is Status.FAIL
    # Its encryption is the owner's to read: that is not known, and no failure.
    result = told("doctor-lent", {"owner": STRANGER, "shared": True}, owner=STRANGER)
    assert result.status is Status.UNKNOWN
    assert "s3:GetEncryptionConfiguration" in result.sentence


def test_a_bucket_in_another_region_is_dear(told: Any) -> None:
    result = told("doctor-elsewhere", {"region": "eu-west-1"})
    assert result.status is Status.WARN
    assert "it lies in eu-west-1" in result.sentence


def test_a_key_that_the_stack_does_not_name_lf11(told: Any) -> None:
    result = told("doctor-sealed", {"keyArn": KEY})
    assert result.status is Status.FAIL
    assert f"{KEY} encrypts it" in result.sentence
    assert f"add keyArn: {KEY}" in str(result.remedy)
    assert told("doctor-sealed", None, keyArn=KEY).status is Status.OK


def test_another_key_than_the_stack_names_lf11(told: Any) -> None:
    assert told("doctor-rekeyed", {"keyArn": KEY}, keyArn=OTHER).status is Status.WARN
    result = told("doctor-open", {}, keyArn=KEY)
    assert result.status is Status.WARN
    assert "no default KMS key" in result.sentence
