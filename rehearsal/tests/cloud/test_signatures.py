"""Who has no key of the account is not answered: not by AWS' operations, not by the rehearsal's own routes."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.auth
import pytest
import urllib3
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from rehearsal import keys
from rehearsal.cloud.server import LARGEST_BODY
from rehearsal.keys import HEADER, Account
from rehearsal.tests import strangers
from rehearsal.tests.cloud.conftest import REGION, Cloud, refused

IDENTITY = "Action=GetCallerIdentity&Version=2011-06-15"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def signed(
    account: Account, service: str, body: str = "", path: str = "/", method: str = "POST", headers: Any = None
) -> AWSRequest:
    """A request signed by botocore's own signer for the account that it is sent to."""
    request = AWSRequest(method, account.url + path, data=body, headers=dict(headers or FORM))
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    signer(Credentials(account.keys.access, account.keys.secret), service, REGION).add_auth(request)
    return request


def send(request: AWSRequest, body: str | None = None, **headers: str) -> tuple[int, str]:
    """Status and body; another body or other headers than were signed if they are given."""
    prepared = request.prepare()
    given = {name: value if isinstance(value, str) else value.decode() for name, value in prepared.headers.items()}
    data = prepared.body if body is None else body
    given |= headers | ({"Content-Length": str(len(data))} if data else {})
    answer = urllib3.request(prepared.method, prepared.url, body=data or None, headers=given, retries=False, timeout=10)
    return answer.status, answer.data.decode()


def test_a_request_with_the_accounts_key_is_answered(cloud: Cloud) -> None:
    assert send(signed(cloud.account, "sts", IDENTITY))[0] == 200


@pytest.mark.parametrize(
    ("service", "body", "headers", "code"),
    [
        ("sts", IDENTITY, FORM, "MissingAuthenticationToken"),
        ("ec2", "Action=DescribeVpcs&Version=2016-11-15", FORM, "MissingAuthenticationToken"),
        ("s3", "", {}, "AccessDenied"),
        ("kms", "{}", {"X-Amz-Target": "TrentService.ListKeys"}, "MissingAuthenticationTokenException"),
    ],
)
def test_a_request_without_a_signature_is_refused(
    cloud: Cloud, service: str, body: str, headers: Mapping[str, str], code: str
) -> None:
    """Nothing but its form names the service then."""
    answer = urllib3.request("POST", f"{cloud.url}/", body=body, headers=dict(headers), retries=False, timeout=30)
    assert (answer.status, code in answer.data.decode()) == (403, True), (service, answer.data)


@pytest.mark.parametrize(
    ("service", "operation", "unknown", "wrong"),
    [
        ("sts", "get_caller_identity", "InvalidClientTokenId", "SignatureDoesNotMatch"),
        ("ec2", "describe_vpcs", "AuthFailure", "AuthFailure"),
        ("eks", "list_clusters", "UnrecognizedClientException", "InvalidSignatureException"),
        ("s3", "list_buckets", "InvalidAccessKeyId", "SignatureDoesNotMatch"),
        ("kms", "list_keys", "UnrecognizedClientException", "InvalidSignatureException"),
    ],
)
def test_an_unknown_key_and_a_wrong_secret_are_refused_in_every_protocol(
    cloud: Cloud, service: str, operation: str, unknown: str, wrong: str
) -> None:
    own = cloud.account.keys
    for pair, code in ((replace(own, access="AKIAREHEARSAL0000000"), unknown), (replace(own, secret="guess"), wrong)):
        stranger = replace(cloud.account, keys=pair).client(service, REGION)
        refused(getattr(stranger, operation), code)


def test_what_was_signed_cannot_be_changed(cloud: Cloud) -> None:
    request = signed(cloud.account, "sts", IDENTITY)
    assert send(request, body=IDENTITY.replace("GetCallerIdentity", "GetSessionToken"))[0] == 403
    assert send(request, **{"X-Amz-Date": f"{datetime.now(UTC) + timedelta(seconds=9):%Y%m%dT%H%M%SZ}"})[0] == 403
    put = signed(cloud.account, "s3", "weights", "/some-bucket/key", "PUT", {"Content-Type": "text/plain"})
    status, answer = send(put, body="other weights")
    assert (status, "SignatureDoesNotMatch" in answer) == (403, True), "the body's hash is signed"
    moved = AWSRequest("PUT", f"{cloud.url}/other-bucket/key", data="weights", headers=dict(put.headers))
    assert send(moved)[0] == 403


@pytest.mark.parametrize(
    ("minutes", "code"), [(-6, "SignatureDoesNotMatch"), (6, "SignatureDoesNotMatch"), (-4, ""), (4, "")]
)
def test_a_clock_that_jumped_more_than_five_minutes_either_way_is_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, minutes: int, code: str
) -> None:
    then = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=minutes)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_a, **_k: then)
    call = cloud.client("sts").get_caller_identity
    if code:
        refused(call, code, "too far from the server's")
    else:
        assert call()["Account"]


@pytest.mark.parametrize("key", ["plain.txt", "with space/ä+b=c&d.txt", "a//b/c", "100%/~tilde*(1)"])
def test_s3_takes_paths_as_they_are(cloud: Cloud, key: str) -> None:
    s3 = cloud.account.client("s3", REGION, Config(signature_version="s3v4", s3={"addressing_style": "path"}))
    s3.create_bucket(Bucket="signed-paths")
    s3.put_object(Bucket="signed-paths", Key=key, Body=b"x", Metadata={"made-by": "a  b"})
    assert s3.get_object(Bucket="signed-paths", Key=key)["Body"].read() == b"x"
    assert [each["Key"] for each in s3.list_objects_v2(Bucket="signed-paths", Prefix=key)["Contents"]] == [key]
    url = s3.generate_presigned_url("get_object", {"Bucket": "signed-paths", "Key": key}, ExpiresIn=60)
    assert urllib3.request("GET", url, retries=False).status == 200
    assert urllib3.request("GET", url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"), retries=False).status == 403
    s3.delete_object(Bucket="signed-paths", Key=key)
    s3.delete_bucket(Bucket="signed-paths")


@pytest.fixture
def intern(cloud: Cloud) -> Iterator[Mapping[str, str]]:
    """A user's own key."""
    iam = cloud.client("iam")
    iam.create_user(UserName="signer")
    key = iam.create_access_key(UserName="signer")["AccessKey"]
    yield key
    iam.delete_access_key(UserName="signer", AccessKeyId=key["AccessKeyId"])
    iam.delete_user(UserName="signer")


def client(cloud: Cloud, key: str, secret: str, token: str | None = None) -> Any:
    keys = {"aws_access_key_id": key, "aws_secret_access_key": secret, "aws_session_token": token}
    return boto3.session.Session(region_name=REGION).client("sts", endpoint_url=cloud.url, **keys)


def test_a_users_key_that_is_off_is_refused(cloud: Cloud, intern: Mapping[str, str]) -> None:
    call = client(cloud, intern["AccessKeyId"], intern["SecretAccessKey"]).get_caller_identity
    assert call()["Arn"].endswith(":user/signer")
    refused(client(cloud, intern["AccessKeyId"], "guess").get_caller_identity, "SignatureDoesNotMatch")
    cloud.client("iam").update_access_key(UserName="signer", AccessKeyId=intern["AccessKeyId"], Status="Inactive")
    refused(call, "InvalidClientTokenId")


def test_a_roles_session_is_known_by_its_token(cloud: Cloud) -> None:
    arn = cloud.client("iam").get_role(RoleName="deployer")["Role"]["Arn"]
    lent = cloud.client("sts").assume_role(RoleArn=arn, RoleSessionName="borrowed")["Credentials"]
    own = (cloud, lent["AccessKeyId"], lent["SecretAccessKey"])
    assert client(*own, lent["SessionToken"]).get_caller_identity()["Arn"].endswith("deployer/borrowed")
    for token in (None, "another"):
        refused(client(*own, token).get_caller_identity, "InvalidClientTokenId")


def routed(cloud: Cloud, path: str, method: str = "GET", **headers: str) -> int:
    return urllib3.request(method, cloud.url + path, headers=headers, retries=False, timeout=30).status


@pytest.mark.parametrize(("method", "path"), [("GET", "clusters"), ("POST", "faults"), ("PUT", "caller")])
def test_the_rehearsals_own_routes_ask_for_its_key(cloud: Cloud, method: str, path: str) -> None:
    for place in (f"/rehearsal/{path}", "/moto-api/none"):
        assert routed(cloud, place, method) == 403
        assert routed(cloud, place, method, **{HEADER: "guess"}) == 403
        assert routed(cloud, place, method, **{HEADER: cloud.account.keys.control}) != 403


@pytest.mark.parametrize("host", ["rebound.example.com", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_name_that_leads_here_is_not_answered(cloud: Cloud, host: str) -> None:
    """A browser's page with a name of its own for this address has no Host but that (DNS rebinding)."""
    assert routed(cloud, "/rehearsal/health", **{HEADER: cloud.account.keys.control, "Host": host}) in (400, 403)


def test_a_body_has_a_limit(cloud: Cloud) -> None:
    headers = {"Content-Length": str(LARGEST_BODY + 1), HEADER: cloud.account.keys.control}
    assert urllib3.request("PUT", f"{cloud.url}/rehearsal/caller", headers=headers, retries=False).status == 413


STRANGER = """
import json, os, sys, urllib.error, urllib.request
def status(url, body=None):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body), timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
def opens(path):
    try:
        return bool(open(path).read())
    except OSError:
        return False
url, keys = sys.argv[1:]
told = [status(url + "/rehearsal/clusters"), status(url + "/", b"Action=GetCallerIdentity"), opens(keys)]
print(json.dumps([os.getuid(), *told]))
"""


@pytest.fixture
def keys_file() -> Iterator[Path]:
    """Keys in a directory that everybody may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        keys.make(Path(name, "keys.json"))
        yield Path(name, "keys.json")


@pytest.mark.parametrize("by_sudo", [False, True], ids=["root becomes it", "sudo starts it"])
def test_another_account_of_this_machine_is_not_answered_and_reads_no_key(
    cloud: Cloud, keys_file: Path, *, by_sudo: bool
) -> None:
    if not by_sudo and os.geteuid():
        pytest.skip("only root becomes another account by itself; the other way of this test does not need it")
    done = strangers.run(STRANGER, cloud.url, str(keys_file), by_sudo=by_sudo)
    if done is None:
        pytest.skip(strangers.NEITHER)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [strangers.uid(), 403, 403, False]
