"""The provider's arguments, errors and functions."""

import json
from typing import Any

import grpc
import pytest

from rehearsal.plugins.aws.plugin import AwsPlugin
from rehearsal.tests.plugins.aws.conftest import REGION, Cloud
from rehearsal.tests.plugins.aws.world import ROLE, VPC, trust
from rehearsal.tests.plugins.driver import Driver, RefusalError


def test_an_unknown_type_is_refused_by_name(aws: Driver) -> None:
    how = r".* does not know this type\. To add it: a row .* rehearsal/plugins/aws/types/mq\.py"
    with pytest.raises(grpc.RpcError, match=rf"check aws:mq/broker:Broker f: {how}"):
        aws.check("aws:mq/broker:Broker", "f", {})


def test_an_unknown_function_is_refused_by_name(aws: Driver) -> None:
    how = r".* does not have this function\. To add it: an entry .* rehearsal/plugins/aws/invokes\.py"
    with pytest.raises(grpc.RpcError, match=rf"invoke aws:ec2/getAmi:getAmi: {how}"):
        aws.invoke("aws:ec2/getAmi:getAmi")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"region": REGION, "secretKey": "x"}, "credentials come from the environment"),
        ({"region": REGION, "customCaBundle": "x"}, "does not know this provider argument"),
        ({"profile": "x"}, "no region"),
    ],
)
def test_wrong_arguments_are_refused_in_preview(raw: Driver, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusalError, match=reason):
        raw.configure(**arguments)


def test_another_account_is_refused(raw: Driver) -> None:
    with pytest.raises(grpc.RpcError, match=r"account 123456789012 is not in allowedAccountIds \(111122223333\)"):
        raw.configure(region=REGION, allowedAccountIds=json.dumps(["111122223333"]))


def test_the_right_account_is_admitted(raw: Driver) -> None:
    assert raw.configure(region=REGION, allowedAccountIds=json.dumps(["123456789012"])).supportsPreview


def test_a_missing_profile_is_named(raw: Driver) -> None:
    with pytest.raises(grpc.RpcError, match=r"no usable AWS credentials: .*\(nobody\)"):
        raw.configure(region=REGION, profile="nobody")


def test_before_configure_nothing_works(raw: Driver) -> None:
    with pytest.raises(grpc.RpcError, match="check aws:ec2/vpc:Vpc v: the provider has not been configured"):
        raw.check(VPC, "v", {"cidrBlock": "10.0.0.0/16"})


def test_an_endpoint_that_is_not_there_is_named(raw: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("rehearsal.plugins.aws.account.MAX_BACKOFF", 0.01)
    with pytest.raises(grpc.RpcError, match=r"configure aws provider: GetCallerIdentity: .*127.0.0.1:1.*10 attempts"):
        raw.configure(region=REGION)


def test_caller_identity(aws: Driver) -> None:
    who = aws.invoke("aws:index/getCallerIdentity:getCallerIdentity")
    assert who["accountId"] == "123456789012"
    assert who["arn"].startswith("arn:aws:")


def test_session_context_finds_the_role_behind_a_session(aws: Driver) -> None:
    role = aws.create(ROLE, "deployer", {"assumeRolePolicy": trust("ec2.amazonaws.com")})
    session = f"arn:aws:sts::123456789012:assumed-role/{role.id}/me"
    context = aws.invoke("aws:iam/getSessionContext:getSessionContext", arn=session)
    assert context["issuerArn"] == role.outputs["arn"]
    assert context["sessionName"] == "me"


def test_session_context_of_a_user_is_the_user(aws: Driver) -> None:
    user = "arn:aws:iam::123456789012:user/me"
    assert aws.invoke("aws:iam/getSessionContext:getSessionContext", arn=user)["issuerArn"] == user


def test_partition(aws: Driver) -> None:
    assert aws.invoke("aws:index/getPartition:getPartition")["dnsSuffix"] == "amazonaws.com"


def test_clusters_and_log_groups_are_listed_by_name_lf09(aws: Driver, cloud: Cloud) -> None:
    logs = cloud.client("logs")
    for name in ("/aws/eks/a/cluster", "/aws/eks/ab/cluster"):
        logs.create_log_group(logGroupName=name)
    found = aws.invoke("aws:cloudwatch/getLogGroups:getLogGroups", logGroupNamePrefix="/aws/eks/a/")
    assert found["logGroupNames"] == ["/aws/eks/a/cluster"]
    assert found["arns"][0].endswith(":log-group:/aws/eks/a/cluster")
    assert aws.invoke("aws:eks/getClusters:getClusters")["names"] == []


def test_a_version_of_a_parameter_is_what_it_was(aws: Driver, cloud: Cloud) -> None:
    """There is no fallback (Systems Manager user guide, "Working with parameter versions in Parameter Store")."""
    token, ssm = "aws:ssm/getParameter:getParameter", cloud.client("ssm")
    for value in ("ami-1", "ami-2"):
        ssm.put_parameter(Name="/images/node", Value=value, Type="String", Overwrite=True)
    found = aws.invoke(token, name="/images/node:1")
    assert (found["id"], found["name"], found["version"], found["type"]) == (*["/images/node"] * 2, 1, "String")
    assert (found["value"], found["insecureValue"]) == ("ami-1", "ami-1")
    assert found["arn"].endswith(":parameter/images/node")
    assert aws.invoke(token, name="/images/node")["value"] == "ami-2"
    lacking = r"reading SSM Parameter \(/images/node:3\): GetParameter: ParameterVersionNotFound: .* version 3 of"
    with pytest.raises(grpc.RpcError, match=lacking):
        aws.invoke(token, name="/images/node:3")
    with pytest.raises(grpc.RpcError, match="ParameterNotFound"):
        aws.invoke(token, name="/images/other:1")
    ssm.put_parameter(Name="/images/secret", Value="ami-3", Type="SecureString")
    hidden = aws.invoke(token, name="/images/secret:1", withDecryption=False)
    assert hidden["insecureValue"] is None
    assert hidden["value"] != "ami-3"
    ssm.delete_parameters(Names=["/images/node", "/images/secret"])


def test_availability_zones_exclude_what_they_are_told(aws: Driver) -> None:
    token = "aws:index/getAvailabilityZones:getAvailabilityZones"
    everything = aws.invoke(token, state="available")
    assert len(everything["names"]) == len(everything["zoneIds"]) > 2
    rest = aws.invoke(token, excludeZoneIds=everything["zoneIds"][:1])
    assert rest["zoneIds"] == everything["zoneIds"][1:]


def test_one_availability_zone_by_id(aws: Driver) -> None:
    zone = aws.invoke("aws:index/getAvailabilityZone:getAvailabilityZone", zoneId="usw2-az1")
    assert zone["zoneId"] == "usw2-az1"
    assert zone["name"] == f"{REGION}{zone['nameSuffix']}"


def test_roles_are_assumed_in_order(raw: Driver, aws: Driver, cloud: Cloud) -> None:
    role = aws.create(ROLE, "assumed", {"assumeRolePolicy": trust("ec2.amazonaws.com")})
    raw.configure(region=REGION, assumeRoles=json.dumps([{"roleArn": role.outputs["arn"], "sessionName": "me"}]))
    who = raw.invoke("aws:index/getCallerIdentity:getCallerIdentity")
    assert who["arn"].endswith(f":assumed-role/{role.id}/me")


def test_what_is_listed_is_listed_to_the_last_page(aws: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*called: Any) -> dict[str, Any]:
        last = called[2].get("Marker")
        return {"Keys": [last or "first"], "Truncated": not last, "NextMarker": "" if last else "second"}

    plugin = aws.plugin
    assert isinstance(plugin, AwsPlugin)
    monkeypatch.setattr(plugin.account, "call", call)
    assert [page["Keys"] for page in plugin.account.pages("kms", "list_keys", {})] == [["first"], ["second"]]
