"""An account that does not answer: every check still says something, and nothing is a failure of the stack."""

import socket

import pytest

from doctor.account import Account
from doctor.case import Case
from doctor.examination import CHECKS, OF_THE_FILE, examine, exit_code
from doctor.policy import action
from doctor.report import as_table
from doctor.results import Result, Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import Call, Run, case


def all_of(examined_case: Case) -> tuple[Result, ...]:
    """What the account was asked, without what the stack file alone says."""
    found = examine(examined_case, Account(examined_case.settings.platform, attempts=1))
    return tuple(result for result in found if result.check not in OF_THE_FILE)


ACTIONS = {
    "account": ("GetCallerIdentity", "sts"),
    "zone": ("DescribeAvailabilityZones", "ec2"),
    "instance": ("DescribeInstanceTypes", "ec2"),
    "offering": ("DescribeInstanceTypeOfferings", "ec2"),
    "quota": ("GetServiceQuota", "servicequotas"),
    "capacity-block": ("DescribeCapacityReservations", "ec2"),
    "kubernetes": ("DescribeClusterVersions", "eks"),
    "image": ("GetParameters", "ssm"),
    "source": ("GetBucketEncryption", "s3"),
    "objects": ("ListObjectsV2", "s3"),
    "addresses": ("DescribeSubnets", "ec2"),
    "file-system": ("DescribeFileSystems", "fsx"),
}


ELSEWHERE = {"certificate", "home", "network", "own-image", "reservation"}
"""Checks that ask something of some stacks only: test_certificates.py, test_home.py, test_existing_vpc.py,
test_versions.py and test_reservations.py here.
"""


def test_each_check_is_denied_below() -> None:
    """A new check is tried, too."""
    assert set(ACTIONS) == set(CHECKS) - ELSEWHERE


@pytest.mark.parametrize("check", ACTIONS)
@pytest.mark.parametrize("code", ["AccessDeniedException", "UnauthorizedOperation"])
def test_a_permission_that_is_missing(examined: Run, cloud: Cloud, whole: Case, check: str, code: str) -> None:
    """The check does not know, and names the action to grant."""
    operation, prefix = ACTIONS[check]
    cloud.call("POST", "faults", {"action": operation, "code": code, "status": 403})
    told = examined(check, whole)
    assert {result.status for result in told} == {Status.UNKNOWN}
    assert all(action(prefix, operation) in result.sentence for result in told)
    assert all(f"grant {action(prefix, operation)}" in str(result.remedy) for result in told)


def test_one_denial_leaves_the_others_alone(cloud: Cloud, whole: Case) -> None:
    """All checks run, whatever one of them is not told."""
    cloud.call("POST", "faults", {"action": "DescribeInstanceTypes", "code": "UnauthorizedOperation", "status": 403})
    told = all_of(whole)
    assert {result.check for result in told} == set(CHECKS) - ELSEWHERE
    assert {result.check for result in told if result.status is Status.UNKNOWN} == {"instance"}


def test_an_endpoint_that_refuses_connections(whole: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known, and nothing fails."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    told = all_of(whole)
    assert {result.check for result in told} == set(CHECKS) - ELSEWHERE
    assert {result.status for result in told} == {Status.UNKNOWN}
    assert all(f"127.0.0.1:{port}" in result.sentence for result in told)
    assert all("network" in str(result.remedy) for result in told)


def test_a_dead_endpoint_is_asked_once_per_service(
    whole: Case, monkeypatch: pytest.MonkeyPatch, calls: list[Call]
) -> None:
    """Each question would wait for the same end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    all_of(whole)
    services = [service for service, _, _ in calls]
    assert len(services) == len(set(services))


def test_no_credentials(whole: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown, with the way to log in."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    told = all_of(whole)
    assert {result.status for result in told} == {Status.UNKNOWN}
    assert all("aws sso login" in str(result.remedy) for result in told)


def test_no_credentials_is_one_row_and_a_failure(whole: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make doctor && pulumi up` must not go on where nothing could be asked; twenty equal rows hide the reason."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    told = all_of(whole)
    assert exit_code(told) == 3
    shown = as_table(whole, told)
    assert shown.count("there are no credentials") == 1
    assert f"unknown {len(ACTIONS)} checks" in shown
    assert shown.endswith("the account answered no request")
    placeholder = Result(check="placeholder", status=Status.FAIL, subject="x", sentence="y")
    assert exit_code((placeholder, *told)) == 1


def test_no_network_is_one_row(whole: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each service has an address of its own, and one remedy serves all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    told = all_of(whole)
    assert exit_code(told) == 3
    assert as_table(whole, told).count("check network") == 1


def test_one_answer_is_enough_to_go_on(cloud: Cloud, whole: Case) -> None:
    """What is not known of one thing stops nobody; its reason stays a row of its own."""
    cloud.call("POST", "faults", {"action": "DescribeInstanceTypes", "code": "UnauthorizedOperation", "status": 403})
    told = all_of(whole)
    assert exit_code(told) == 0
    assert "unknown instance" in as_table(whole, told)


def test_a_profile_that_does_not_exist() -> None:
    """The stack file names it."""
    told = all_of(case({"platform.profile": "nobody"}))
    assert {result.status for result in told if result.check != "capacity-block"} == {Status.UNKNOWN}
    assert all("nobody" in result.sentence for result in told)


@pytest.mark.parametrize("code", ["ExpiredToken", "AuthFailure", "UnrecognizedClientException"])
def test_credentials_that_are_not_accepted(examined: Run, cloud: Cloud, code: str) -> None:
    """Another matter than a missing permission."""
    cloud.call("POST", "faults", {"action": "Describe.*|Get.*", "code": code, "status": 403})
    (told,) = examined("zone", case())
    assert told.status is Status.UNKNOWN
    assert code in told.sentence
    assert "log in" in str(told.remedy)


def test_a_role_that_may_not_be_assumed(cloud: Cloud) -> None:
    """The action is the role's, not the check's."""
    cloud.call("POST", "faults", {"action": "AssumeRole", "code": "AccessDenied", "status": 403})
    told = all_of(case({"platform.roleArn": "arn:aws:iam::123456789012:role/deployer"}))
    assert {result.status for result in told} == {Status.UNKNOWN}
    assert all("sts:AssumeRole on arn:aws:iam::123456789012:role/deployer" in str(result.remedy) for result in told)


def test_an_answer_that_is_an_error(examined: Run, cloud: Cloud) -> None:
    """Throttling and the like: try again."""
    cloud.call("POST", "faults", {"action": "DescribeClusterVersions", "code": "ServerException", "status": 500})
    (told,) = examined("kubernetes", case())
    assert told.status is Status.UNKNOWN
    assert "ServerException" in told.sentence


def test_an_answer_without_what_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS leaves members out; that is no reason to stop."""
    account = Account(case().settings.platform, attempts=1)
    monkeypatch.setattr(account, "every", lambda *_, **__: [{"InstanceType": name} for name in case().types])
    told = [result for result in examine(case(), account) if result.check == "instance"]
    assert [result.status for result in told] == [Status.UNKNOWN]
    assert "KeyError" in told[0].sentence


def test_an_action_that_is_not_on_the_list_is_a_mistake_of_the_program() -> None:
    """Nothing that changes anything can be called, by whatever check."""
    account = Account(case().settings.platform, attempts=1)
    with pytest.raises(ValueError, match="ec2:TerminateInstances"):
        account.get("ec2", "TerminateInstances", InstanceIds=["i-0123456789abcdef0"])


def test_each_question_is_asked_once(whole: Case, calls: list[Call]) -> None:
    """Several checks need the same list."""
    all_of(whole)
    questions = [f"{service} {operation} {sorted(request.items())}" for service, operation, request in calls]
    assert len(questions) == len(set(questions))
