"""Who asks, in which account."""

from doctor.results import Status
from tests.doctor.conftest import Call, Run, case

HERE, ELSEWHERE = "123456789012", "210987654321"
ROLE = f"arn:aws:iam::{HERE}:role/deployer"


def test_the_account_that_the_stack_names(examined: Run) -> None:
    """Told by its number and the caller's ARN."""
    (told,) = examined("account", case({"platform.accountId": HERE}))
    assert (told.status, told.subject, told.remedy) == (Status.OK, HERE, None)
    assert "assumed-role/deployer" in told.sentence


def test_a_stack_that_names_no_account(examined: Run) -> None:
    """No fault, but it is said how others would be refused."""
    (told,) = examined("account", case())
    assert told.status is Status.OK
    assert "platform.accountId" in told.sentence


def test_another_account_fails(examined: Run) -> None:
    """Both numbers and what to change."""
    (told,) = examined("account", case({"platform.accountId": ELSEWHERE}))
    assert told.status is Status.FAIL
    assert HERE in told.sentence
    assert ELSEWHERE in told.sentence
    assert "gpucluster:platform.accountId" in str(told.remedy)


def test_a_role_is_taken_with_reading_rights_only(examined: Run, calls: list[Call]) -> None:
    """The session policy that goes with AssumeRole has no action that writes; later calls are the role's."""
    (told,) = examined("account", case({"platform.roleArn": ROLE}))
    assert told.status is Status.OK
    assert "assumed-role/deployer/gpucluster-doctor" in told.sentence
    (assumed,) = [request for service, operation, request in calls if operation == "AssumeRole"]
    assert assumed["RoleArn"] == ROLE
    assert "ec2:DescribeInstanceTypes" in assumed["Policy"]
    assert not {"Create", "Delete", "Put", "Run", "Update"} & set(assumed["Policy"].replace(":", '"').split('"'))
    assert len(assumed["Policy"]) <= 2048
