"""What is read of FSx' rates, how the request is signed, and what is told where CloudWatch refuses (X05)."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import signing
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Theirs
from rates import QUERIES, Watch, form
from signing import Credentials, signed

from planner.vpc import QUERIES_A_MINUTE

NOW = datetime(2026, 11, 26, 3, 4, 5, tzinfo=UTC)
WHO = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a-session")
ADDRESS = "https://monitoring.us-east-2.amazonaws.com"


def answer(**values: float) -> bytes:
    """An answer of CloudWatch: the newest value first, one query without any."""
    members = "".join(
        f"<member><Id>{name}</Id><StatusCode>Complete</StatusCode><Timestamps><member>2026-11-26T03:01:00Z</member>"
        f"<member>2026-11-26T03:00:00Z</member></Timestamps><Values><member>{value}</member><member>1.0</member>"
        "</Values></member>"
        for name, value in values.items()
    )
    return (
        '<GetMetricDataResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><GetMetricDataResult>'
        f"<MetricDataResults>{members}<member><Id>metadata</Id><Timestamps/><Values/></member></MetricDataResults>"
        "</GetMetricDataResult></GetMetricDataResponse>"
    ).encode()


def watch(monkeypatch: pytest.MonkeyPatch, said: bytes | Exception) -> Watch:
    """A watch of a file system of 1,000 bytes that carries 500 a second."""

    def opened(request: urllib.request.Request, timeout: float) -> Any:
        if isinstance(said, Exception):
            raise said
        return io.BytesIO(said)

    monkeypatch.setattr(urllib.request, "urlopen", opened)
    monkeypatch.setattr(signing, "credentials", lambda: WHO)
    return Watch("fs-1", "us-east-2", ADDRESS, 1000, 500, now=lambda: NOW)


def shown(text: str) -> dict[str, float]:
    """Values by what stands before them."""
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


def test_the_newest_whole_minutes_are_asked_for() -> None:
    """Ten of them, whose servers had two to tell of; each query is charged, as the plan's bill counts them."""
    told = dict(parse_qsl(form("fs-1", NOW).decode()))
    assert (told["StartTime"], told["EndTime"]) == ("2026-11-26T02:52:00Z", "2026-11-26T03:02:00Z")
    assert told["ScanBy"] == "TimestampDescending"
    first = {key.rpartition("member.1.")[2]: value for key, value in told.items() if ".member.1." in key}
    assert first["MetricStat.Metric.Namespace"] == "AWS/FSx"
    assert first["MetricStat.Stat"] == "Sum"
    assert sum(key.endswith(".Id") for key in told) == len(QUERIES) == QUERIES_A_MINUTE


def test_sums_of_a_minute_are_shown_by_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest value counts; of two targets the one with 100 of its 500 bytes free is 80 % full."""
    one = watch(monkeypatch, answer(read=6000, write=600, reads=120, free=400, least=100, targets=2))
    one.look()
    assert shown(one.text) == {
        'shared_files_up{file_system="fs-1"}': 1,
        'shared_files_bytes_per_second{file_system="fs-1",operation="read"}': 100,
        'shared_files_bytes_per_second{file_system="fs-1",operation="write"}': 10,
        'shared_files_rate_bytes_per_second{file_system="fs-1"}': 500,
        'shared_files_operations_per_second{file_system="fs-1",operation="read"}': 2,
        'shared_files_used_ratio{file_system="fs-1"}': 0.6,
        'shared_files_fullest_target_ratio{file_system="fs-1"}': 0.8,
    }


def test_what_is_refused_is_said_once_and_old_values_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = watch(monkeypatch, answer(read=6000))
    one.look()
    for request in ("a", "b"):
        body = (
            f"<Error><Code>AccessDenied</Code><Message>not authorized</Message></Error><RequestId>{request}</RequestId>"
        )
        refused = urllib.error.HTTPError(ADDRESS, 403, "Forbidden", Message(), io.BytesIO(body.encode()))
        watch(monkeypatch, refused)
        one.look()
    assert shown(one.text) == {'shared_files_up{file_system="fs-1"}': 0}
    assert capsys.readouterr().err == "fs-1: CloudWatch answers 403: not authorized\n"


@pytest.mark.parametrize("said", [b"no XML", TimeoutError("timed out")])
def test_no_answer_ends_nothing(monkeypatch: pytest.MonkeyPatch, said: bytes | Exception) -> None:
    one = watch(monkeypatch, said)
    one.look()
    assert shown(one.text) == {'shared_files_up{file_system="fs-1"}': 0}


@pytest.mark.parametrize("who", [WHO, Credentials("AKID", "secret")])
def test_a_request_is_signed_as_botocore_signs_it(who: Credentials) -> None:
    """By AWS' own library, of the same headers at the same time."""
    ours = {
        name.lower(): value
        for name, value in signed(ADDRESS, b"a=b", "us-east-2", "monitoring", who, NOW).headers.items()
    }
    theirs = AWSRequest(
        "POST", f"{ADDRESS}/", {"Content-Type": ours["content-type"], "X-Amz-Date": ours["x-amz-date"]}, b"a=b"
    )
    signer = SigV4Auth(Theirs(who.key, who.secret, who.token), "monitoring", "us-east-2")
    theirs.context["timestamp"] = ours["x-amz-date"]
    if who.token:
        theirs.headers["X-Amz-Security-Token"] = who.token
    signature = signer.signature(signer.string_to_sign(theirs, signer.canonical_request(theirs)), theirs)
    assert ours["authorization"].endswith(f"Signature={signature}")


def test_credentials_are_the_pods_own_until_shortly_before_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EKS' agent is asked with the pod's token (AWS SDKs reference guide, container credential provider)."""
    (tmp_path / "token").write_text("of-the-pod\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="the pod has no role"):
        signing.credentials()
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
    said: Mapping[str, str] = {
        "AccessKeyId": "ASIA1",
        "SecretAccessKey": "s",
        "Token": "t",
        "Expiration": "2026-11-26T09:00:00Z",
    }

    def opened(request: urllib.request.Request, timeout: float) -> Any:
        assert request.get_header("Authorization") == "of-the-pod"
        return io.BytesIO(json.dumps(said).encode())

    monkeypatch.setattr(urllib.request, "urlopen", opened)
    found = signing.credentials()
    assert (found.key, found.token) == ("ASIA1", "t")
    ends = datetime(2026, 11, 26, 9, tzinfo=UTC)
    assert found.last(ends - timedelta(minutes=6))
    assert not found.last(ends - timedelta(minutes=4))
