"""Control plane, access, add-ons, keys and pod identity."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pulumi
import pytest

from components.aws.addons import SERVICE_ADDONS, Addons, AddonsArgs
from components.aws.cluster import Cluster, entry_role, kubeconfig
from components.aws.keys import key_policy
from components.aws.pod_identity import (
    SETTLING_SECONDS,
    effective,
    pod_trust,
    read_prefix,
    through_s3,
    write_prefix,
)
from rehearsal.cloud.seen.iam import decide, trusts
from tests.components.samples import built
from tests.components.samples.aws_nodes import DEPLOYER, cluster_args
from tests.graph.outputs import INVOKES

KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
PODS, TAKE = "pods.eks.amazonaws.com", ("sts:AssumeRole", "sts:TagSession")


def cluster(**changes: Any) -> Any:
    return built(lambda opts: Cluster("sample", cluster_args(**changes), opts))


def test_the_deployer_and_each_administrator_have_one_entry() -> None:
    """And node roles none: EKS makes those of managed node groups itself."""
    graph = cluster(admin_arns=("arn:aws:iam::1:user/ana", DEPLOYER, "arn:aws:iam::2:role/ana"))
    principals = [each.inputs["principalArn"] for each in graph.of_type("AccessEntry")]
    assert sorted(principals) == sorted([DEPLOYER, "arn:aws:iam::1:user/ana", "arn:aws:iam::2:role/ana"])
    assert {each.inputs["policyArn"].rsplit("/", 1)[-1] for each in graph.of_type("AccessPolicyAssociation")} == {
        "AmazonEKSClusterAdminPolicy"
    }


def test_two_administrators_of_one_name_do_not_collide() -> None:
    assert entry_role("arn:aws:iam::1:user/ana") != entry_role("arn:aws:iam::1:role/ana")
    assert entry_role("arn:aws:iam::1:user/ana.b@c").startswith("admin-ana-b-c-")


def test_a_kubeconfig_holds_no_token_and_goes_the_deployers_way() -> None:
    config = json.loads(
        kubeconfig(
            name="lab", endpoint="https://e", authority="Q0E=", region="us-east-2", profile="ml", role_arn=DEPLOYER
        )
    )
    (user,) = config["users"]
    assert "token" not in user["user"]
    assert user["user"]["exec"]["args"][:4] == ["eks", "get-token", "--cluster-name", "lab"]
    assert user["user"]["exec"]["args"][-2:] == ["--role-arn", DEPLOYER]
    assert user["user"]["exec"]["env"] == [{"name": "AWS_PROFILE", "value": "ml"}]
    assert config["clusters"][0]["cluster"] == {"server": "https://e", "certificate-authority-data": "Q0E="}


def test_only_our_cluster_s_logs_may_use_the_key_y06() -> None:
    policy = key_policy(partition="aws", account_id="1", region="us-east-2", log_group_prefix="/aws/eks/lab/cluster")
    logs = policy["Statement"][1]
    assert logs["Principal"] == {"Service": "logs.us-east-2.amazonaws.com"}
    assert logs["Condition"]["ArnLike"] == {
        "kms:EncryptionContext:aws:logs:arn": "arn:aws:logs:us-east-2:1:log-group:/aws/eks/lab/cluster*"
    }


def test_a_pod_role_is_for_pods_of_one_account_of_one_cluster_y07() -> None:
    """EKS user guide, trust policy required by EKS Pod Identity: the tags that EKS gives each session."""
    (statement,) = json.loads(pod_trust("lab", "training", "sft"))["Statement"]
    assert statement["Condition"] == {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-name": "lab",
            "aws:RequestTag/kubernetes-namespace": "training",
            "aws:RequestTag/kubernetes-service-account": "sft",
        }
    }
    assert trusts(json.loads(pod_trust("lab", "training", "sft")), PODS, TAKE, session("lab", "training", "sft"))
    for other in (("lab-2", "training", "sft"), ("lab", "inference", "sft"), ("lab", "training", "default")):
        assert not trusts(json.loads(pod_trust("lab", "training", "sft")), PODS, TAKE, session(*other))


def test_the_control_planes_role_is_for_this_cluster_y07() -> None:
    """EKS user guide, Cross-service confused deputy prevention in Amazon EKS."""
    trust = json.loads(cluster().one("sample-role").inputs["assumeRolePolicy"])
    (statement,) = trust["Statement"]
    source = statement["Condition"]["ArnLike"]["aws:SourceArn"]
    account = statement["Condition"]["StringEquals"]["aws:SourceAccount"]
    assert source == f"arn:aws:eks:us-east-2:{account}:cluster/lab"


def test_a_key_opens_objects_of_its_bucket_only_where_s3_asks_y06() -> None:
    """KMS developer guide, kms:ViaService; with bucket keys the encryption context is the bucket's ARN."""
    condition = through_s3(key_arn=KEY, bucket_arn="arn:aws:s3:::b")
    assert condition["StringEquals"] == {"kms:ViaService": "s3.us-east-2.amazonaws.com"}
    context = {"kms:ViaService": "s3.us-east-2.amazonaws.com", "kms:EncryptionContext:aws:s3:arn": "arn:aws:s3:::b"}
    rights = [{"Statement": write_prefix(partition="aws", bucket="b", prefix="p", owner="1", key_arn=KEY)}]
    assert decide("kms:Decrypt", KEY, rights, context=context) == "allowed"
    for others in (
        {"kms:ViaService": "eks.us-east-2.amazonaws.com"},
        {"kms:EncryptionContext:aws:s3:arn": "arn:aws:s3:::other"},
    ):
        assert decide("kms:Decrypt", KEY, rights, context=context | others) == "not allowed"


def test_a_protected_cluster_is_kept_by_eks_itself_y14() -> None:
    """The console and other states do not see Pulumi's protection."""
    assert cluster(protect=True).one("sample-control-plane").inputs["deletionProtection"] is True
    assert cluster(protect=False).one("sample-control-plane").inputs["deletionProtection"] is False


def session(cluster_name: str, namespace: str, account: str) -> dict[str, str]:
    """The tags with which EKS asks for a pod's session."""
    return {
        "aws:RequestTag/eks-cluster-name": cluster_name,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": account,
    }


@pytest.mark.parametrize("statement", range(4))
def test_object_store_rights_end_at_the_prefix_r07(statement: int) -> None:
    known = {"partition": "aws", "bucket": "b", "prefix": "checkpoints/sft", "owner": "1", "key_arn": KEY}
    rights = write_prefix(**known)[statement]
    resource = rights["Resource"]
    if resource == "arn:aws:s3:::b":
        assert rights["Condition"]["StringLike"]["s3:prefix"] == ["checkpoints/sft/*"]
    else:
        assert resource in ("arn:aws:s3:::b/checkpoints/sft/*", KEY)


def test_a_reader_cannot_write_r07() -> None:
    actions = [each["Action"] for each in read_prefix(partition="aws", bucket="b", prefix="models", owner="1")]
    assert actions == ["s3:ListBucket", "s3:GetObject"]


def test_the_way_of_a_connected_network_is_there_before_the_entry_and_after_it_lf02() -> None:
    graph = cluster(private_access_cidrs=["10.8.0.0/16", "10.9.0.0/24"], private_access_from="office by vpn")
    rules = graph.of_type("SecurityGroupIngressRule")
    assert sorted(each.inputs["cidrIpv4"] for each in rules) == ["10.8.0.0/16", "10.9.0.0/24"]
    assert {each.urn for each in rules} <= set(graph.one("sample-deployer").depends_on)
    assert all(graph.one("sample-control-plane").urn in each.depends_on for each in rules)


def test_pods_under_a_new_association_are_made_when_it_is_effective_lf17(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that come before never get credentials, and a gang's containers restart in place."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    now = datetime.now(UTC)
    for age, pauses in ((3, 1), (90, 1), (121, 0)):
        waited.clear()
        assert asyncio.run(effective("sft", (now - timedelta(seconds=age)).isoformat())) == "sft"
        assert waited == [SETTLING_SECONDS] * pauses
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    assert asyncio.run(effective("sft", now.isoformat())) == "sft"
    assert not waited


def test_a_driver_with_rights_is_registered_once_its_association_is_effective_lf17(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its controller's pods would come a moment before it, never find credentials, and no volume would be made."""

    async def late(account: str, role_made_at: str) -> str:
        await asyncio.sleep(0.2)
        pulumi.ComponentResource("sample:test:Moment", "effective")
        return account

    monkeypatch.setattr("components.aws.pod_identity.effective", late)
    args = AddonsArgs(cluster_name="waits", partition="aws", addons=SERVICE_ADDONS, versions={})
    order = [each.name for each in built(lambda opts: Addons("sample", args, opts)).resources.values()]
    assert order.index("sample-coredns") < order.index("effective") < order.index("sample-aws-ebs-csi-driver")


def test_a_log_group_without_its_cluster_is_taken_over_lf09(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"arns": [], "id": "us-east-2", "logGroupNames": ["/aws/eks/lab/cluster", "/aws/eks/lab/cluster-2"]}
    graph = cluster()
    (looked,) = [each for each in graph.invokes if each.token.endswith(":getLogGroups")]
    assert looked.args == {"logGroupNamePrefix": "/aws/eks/lab/cluster"}
    assert looked.provider.startswith(graph.one("aws").urn)
    assert graph.one("sample-logs").imported == ""
    monkeypatch.setitem(INVOKES, "aws:cloudwatch/getLogGroups:getLogGroups", there)
    assert cluster().one("sample-logs").imported == "/aws/eks/lab/cluster"
    assert cluster(name="la").one("sample-logs").imported == ""
    monkeypatch.setitem(INVOKES, "aws:eks/getClusters:getClusters", {"id": "us-east-2", "names": ["lab"]})
    assert cluster().one("sample-logs").imported == ""


def test_a_reader_reads_only_while_the_owner_has_the_bucket_lf03() -> None:
    """S3 user guide, Condition key examples: s3:ResourceAccount is the account that owns the bucket."""
    for each in read_prefix(partition="aws", bucket="b", prefix="models", owner="210210210210"):
        assert each["Condition"]["StringEquals"] == {"s3:ResourceAccount": "210210210210"}


def test_a_reader_of_an_encrypted_bucket_decrypts_with_its_key_and_no_other_lf11() -> None:
    """S3 user guide, Using server-side encryption with KMS keys: GetObject needs kms:Decrypt on the object's key."""
    known = {"partition": "aws", "bucket": "b", "prefix": "models", "owner": "1"}
    (key,) = [each for each in read_prefix(**known, key_arn=KEY) if each["Action"].startswith("kms:")]
    assert (key["Effect"], key["Action"], key["Resource"]) == ("Allow", "kms:Decrypt", KEY)
