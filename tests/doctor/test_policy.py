"""What the checks call, recorded from a run in which every question is asked, and the policy that allows just that."""

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest

from catalogue.instances import INSTANCES
from doctor.account import Account
from doctor.case import Case
from doctor.examination import examine, run
from doctor.offers import Wanted, offers
from doctor.policy import ACTIONS, ALWAYS_ALLOWED, FILE, action, document, main
from doctor.results import Status
from rehearsal.tests.cloud.conftest import Cloud, start, until
from rehearsal.tests.cloud.world import make_role
from tests.doctor.conftest import REGION, Call, case, client
from tests.doctor.test_home import make_home
from tests.planner.serving.test_gateway import ZONE, opened

ARN = "arn:aws:acm:us-east-2:123456789012:certificate/1234abcd-12ab-34cd-56ef-1234567890ab"
ROOT = Path(__file__).parents[2]
READS = re.compile(r"\w+:(Describe|Get|Head|List)[A-Z]\w+")


def in_existing(ec2: Any) -> dict[str, Any]:
    """The stack in a VPC of the account, whose subnets it has not."""
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    zones = ("use2-az1", "use2-az2")
    rows = [
        {"id": f"subnet-0{index}aaaaaaa", "role": role, "zone": zone, "cidr": f"10.80.{index * 16}.0/20"}
        for index, (role, zone) in enumerate(
            [(role, zone) for role in ("system", "control-plane") for zone in zones] + [("gpu", zones[0])]
        )
    ]
    return {"platform.vpcCidr": "10.80.0.0/16", "platform.network": {"existing": {"vpcId": vpc, "subnets": rows}}}


def test_every_call_reads(cloud: Cloud, whole: Case, calls: list[Call]) -> None:
    """Both what this side sends, the search for blocks too, and what the account counts: reading calls, and all of what
    the policy allows.
    """
    ec2, eks = client(cloud, "ec2"), client(cloud, "eks")
    role = make_role(cloud, "doctor-theirs", "eks.amazonaws.com")
    subnets = [each["SubnetId"] for each in ec2.describe_subnets()["Subnets"]][:2]
    eks.create_cluster(name="theirs", version="1.35", roleArn=role, resourcesVpcConfig={"subnetIds": subnets})
    fault = {"action": "GetServiceQuota", "code": "NoSuchResourceException", "status": 400, "times": 1}
    cloud.call("POST", "faults", fault)
    home = make_home(cloud)
    cloud.call("DELETE", "requests")
    calls.clear()
    account = Account(whole.settings.platform, attempts=1)
    examine(whole, account)
    list(run("home", case({"storage.home": {"expectedGib": 1}}), account))
    looked = Wanted(pool="training", instance=INSTANCES["p5.48xlarge"], count=2, days=7, first=whole.now.date())
    offers(account, looked, 2, {})
    list(run("network", case(in_existing(ec2)), account))
    for issuer in ({"zone": ZONE}, {"certificate": ARN}):
        list(run("certificate", case(opened(issuer={"kind": "acm", **issuer})), account))
    list(run("own-image", case({"pools.1.ami": "ami-0123456789abcdef0"}), account))
    sent = {f"{service}:{operation}" for service, operation, _ in calls}
    counted = {label.replace(".", ":") for label in cloud.call("GET", "requests")}
    client(cloud, "efs").delete_file_system(FileSystemId=home)
    eks.delete_cluster(name="theirs")
    until(lambda: eks.list_clusters()["clusters"] == [])
    cloud.client("iam").delete_role(RoleName="doctor-theirs")
    assert [each for each in sent | counted if not READS.fullmatch(each)] == []
    assert sent == counted
    assert {action(*call.split(":")) for call in sent} - {ALWAYS_ALLOWED} == set(ACTIONS)


def test_the_account_is_as_it_was(cloud: Cloud, whole: Case) -> None:
    """Ids of everything, before and after."""
    client(cloud, "ec2").describe_vpcs()
    before = cloud.inventory()
    examine(whole, Account(whole.settings.platform, attempts=1))
    assert cloud.inventory() == before


def test_the_policy_file_is_the_one_that_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make reference` writes it."""
    written = tmp_path / FILE
    written.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    main()
    assert (ROOT / FILE).read_text(encoding="utf-8") == written.read_text(encoding="utf-8")


def test_the_policy_allows_reading_only() -> None:
    """No wildcard in an action, no action twice, no parameter beyond EKS's public ones."""
    statements = document()["Statement"]
    actions = [each for statement in statements for each in statement["Action"]]
    assert sorted(actions) == sorted(ACTIONS)
    assert all(READS.fullmatch(each) for each in actions)
    assert {statement["Effect"] for statement in statements} == {"Allow"}
    (parameters,) = [each["Resource"] for each in statements if "ssm:GetParameters" in each["Action"]]
    assert parameters.endswith(":parameter/aws/service/eks/optimized-ami/*")
    assert len(json.dumps(document(), separators=(",", ":"))) <= 2048


def test_a_role_reads_the_parameters_of_the_stack_file_too() -> None:
    """And the file's policy stays as it is."""
    assert case({"pools.1.ami": "/images/node:2"}).parameters == ["/images/node"]
    *rest, last = document(["/images/node"])["Statement"]
    assert rest == document()["Statement"]
    assert (last["Action"], last["Resource"]) == (["ssm:GetParameters"], ["arn:*:ssm:*:*:parameter/images/node"])


def test_the_actions_are_named_as_iam_names_them() -> None:
    """The prefix of an action is the service's name in signatures, and the operations exist."""
    known = {
        action(model.signing_name, operation)
        for service in ("acm", "ec2", "efs", "eks", "fsx", "route53", "s3", "service-quotas", "ssm")
        for model in [boto3.client(service, region_name=REGION).meta.service_model]
        for operation in model.operation_names
    }
    assert set(ACTIONS) <= known


def test_the_policy_is_enough_where_it_is_enforced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with it is answered, and one without it is not. EKS and SSM cannot be tried: moto's IAM refuses them."""
    setting_up = 5
    monkeypatch.setenv("INITIAL_NO_AUTH_ACTION_COUNT", str(setting_up))
    process, strict = start(tmp_path, "--alone")
    try:
        iam = strict.client("iam")
        for name in ("reader", "nobody"):
            iam.create_user(UserName=name)
        iam.put_user_policy(UserName="reader", PolicyName="doctor", PolicyDocument=json.dumps(document()))
        keys = {name: iam.create_access_key(UserName=name)["AccessKey"] for name in ("reader", "nobody")}
        monkeypatch.setenv("AWS_ENDPOINT_URL", strict.url)
        told: dict[str, set[str]] = {}
        for name, key in keys.items():
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
            results = examine(case(), Account(case().settings.platform, attempts=1))
            told[name] = {result.check for result in results if result.status is Status.OK}
    finally:
        process.terminate()
        process.wait(10)
    asked = {"zone", "instance", "offering", "quota", "addresses", "file-system"}
    assert asked <= told["reader"]
    assert not asked & told["nobody"]
