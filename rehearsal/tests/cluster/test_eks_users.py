"""Users enter through the real `aws eks get-token`, as far as the access entries let them."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.keys import Account
from rehearsal.kube.client import ApiError, Kube
from rehearsal.tests.cluster.conftest import CLUSTER, REGION, Trial, eventually

pytestmark = pytest.mark.engine
ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@pytest.fixture(scope="module")
def eks_cluster(trial: Trial) -> str:
    """The account's EKS cluster that the control plane belongs to; nobody has access yet."""
    ec2, iam, eks = trial.aws("ec2"), trial.aws("iam"), trial.aws("eks")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{i}.0/24", AvailabilityZone=f"{REGION}{zone}")["Subnet"]
        for i, zone in enumerate("ab")
    ]
    role = iam.create_role(RoleName="control-plane", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    iam.attach_role_policy(RoleName="control-plane", PolicyArn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy")
    eks.create_cluster(
        name=CLUSTER,
        roleArn=role,
        resourcesVpcConfig={"subnetIds": [subnet["SubnetId"] for subnet in subnets]},
        accessConfig={"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False},
    )
    return CLUSTER


def token(account: Account, cluster: str = CLUSTER) -> str:
    """What the real `aws eks get-token` prints."""
    aws = Path(sys.executable).parent / "aws"
    command = [str(aws), "eks", "get-token", "--cluster-name", cluster, "--region", REGION]
    env = {"PATH": os.environ["PATH"], **account.variables}
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return str(json.loads(run.stdout)["status"]["token"])


def as_user(trial: Trial, bearer: str) -> Kube:
    authority = base64.b64encode(trial.plane.ca).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": trial.plane.endpoint, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "u", "user": {"token": bearer}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    return Kube.from_kubeconfig(json.dumps(config))


def outcome(trial: Trial, cluster: str = CLUSTER) -> int:
    """The status of listing namespaces as the deployer, with a token for this cluster."""
    try:
        found = as_user(trial, token(trial.account, cluster)).list("v1", "Namespace")
    except ApiError as error:
        return error.code
    assert {"default", "kube-system"} <= {each["metadata"]["name"] for each in found}
    return 200


def test_access_is_what_the_access_entries_say(trial: Trial, eks_cluster: str) -> None:
    eks, session = trial.aws("eks"), trial.aws("sts").get_caller_identity()["Arn"]
    arn = trial.aws("iam").get_role(RoleName=session.split("/")[1])["Role"]["Arn"]
    assert outcome(trial) == 401

    # The API server keeps an answer for some seconds, and two tokens of one second are the same.
    eks.create_access_entry(clusterName=eks_cluster, principalArn=arn)
    eventually(lambda: outcome(trial) == 403)

    eks.associate_access_policy(
        clusterName=eks_cluster, principalArn=arn, policyArn=ADMIN_POLICY, accessScope={"type": "cluster"}
    )
    eventually(lambda: outcome(trial) == 200)
    assert outcome(trial, "another") == 401

    eks.delete_access_entry(clusterName=eks_cluster, principalArn=arn)
    eventually(lambda: outcome(trial) == 401)
