"""Credentials that a pod's real process is lent: asked as SDKs ask, and what Secrets Manager gives who has them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import urllib3
from botocore.credentials import ContainerProvider
from botocore.exceptions import ClientError, CredentialRetrievalError

from rehearsal.cloud.seen.aws import Aws
from rehearsal.images import identity
from rehearsal.images.lending import Lending
from rehearsal.tests.cloud.conftest import REGION, Cloud, cloud
from rehearsal.tests.inside.simulated import Node

__all__ = ["cloud"]

READ = "secretsmanager:GetSecretValue"


@pytest.fixture
def lending(tmp_path: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lending]:
    """What lends to a pod whose role may read the secret `lent/open`."""
    iam, secrets = cloud.client("iam"), cloud.client("secretsmanager")
    cloud.call("PUT", f"secrets/{REGION}", {"lent/open": "one", "lent/shut": "two"})
    arn = secrets.describe_secret(SecretId="lent/open")["ARN"]
    trust = {"Effect": "Allow", "Principal": {"Service": identity.SERVICE}, "Action": "sts:AssumeRole"}
    assumed = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = iam.create_role(RoleName="lent", AssumeRolePolicyDocument=assumed)["Role"]["Arn"]
    may = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": READ, "Resource": arn}]}
    iam.put_role_policy(RoleName="lent", PolicyName="read", PolicyDocument=json.dumps(may))
    monkeypatch.setattr(identity, "of", lambda _: identity.Identity(role))
    node = Node(tmp_path)
    node.world.aws = Aws(cloud.account, REGION)
    made = Lending(node.launch())
    yield made
    made.close()
    node.world.backends.close()
    iam.delete_role_policy(RoleName="lent", PolicyName="read")
    iam.delete_role(RoleName="lent")


def reader(cloud: Cloud, lending: Lending) -> Any:
    """Secrets Manager as a process with these variables asks it."""
    lent = ContainerProvider(environ=dict(lending.variables)).load()
    keys = {"aws_access_key_id": lent.access_key, "aws_secret_access_key": lent.secret_key}
    session = boto3.session.Session(region_name=REGION, aws_session_token=lent.token, **keys)
    return session.client("secretsmanager", endpoint_url=cloud.url)


def refused(reader: Any, secret: str) -> str:
    with pytest.raises(ClientError) as caught:
        reader.get_secret_value(SecretId=secret)
    error = caught.value.response["Error"]
    return f"{error['Code']}: {error['Message']}"


def test_who_has_them_reads_what_the_roles_policies_allow(cloud: Cloud, lending: Lending) -> None:
    asked = reader(cloud, lending)
    assert asked.get_secret_value(SecretId="lent/open")["SecretString"] == "one"
    said = refused(asked, "lent/shut")
    assert said.startswith("AccessDeniedException: User: arn:aws:sts::123456789012:assumed-role/lent/eks is not")
    assert f"authorized to perform: {READ} on resource: arn:aws:secretsmanager:{REGION}:" in said
    assert said.endswith(f"because no identity-based policy allows the {READ} action")
    assert refused(asked, "lent/none").startswith("ResourceNotFoundException")
    assert cloud.client("secretsmanager").get_secret_value(SecretId="lent/shut")["SecretString"] == "two"


def test_a_secret_that_a_key_of_ones_own_seals_takes_the_right_to_the_key(cloud: Cloud, lending: Lending) -> None:
    kms, iam, secrets = (cloud.client(name) for name in ("kms", "iam", "secretsmanager"))
    key = kms.create_key()["KeyMetadata"]["Arn"]
    secrets.update_secret(SecretId="lent/open", KmsKeyId=key)
    assert refused(reader(cloud, lending), "lent/open") == "AccessDeniedException: Access to KMS is not allowed"
    more = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "kms:Decrypt", "Resource": key}]}
    arn = iam.create_policy(PolicyName="unseal", PolicyDocument=json.dumps(more))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="lent", PolicyArn=arn)
    assert reader(cloud, lending).get_secret_value(SecretId="lent/open")["SecretString"] == "one"
    iam.detach_role_policy(RoleName="lent", PolicyArn=arn)
    secrets.delete_secret(SecretId="lent/open", ForceDeleteWithoutRecovery=True)


def test_a_pod_without_a_role_is_told_why(lending: Lending, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> identity.Identity:
        raise identity.CredentialsError("reader does not trust pods.eks.amazonaws.com to assume it")

    monkeypatch.setattr(identity, "of", none)
    with pytest.raises(CredentialRetrievalError, match=r"does not trust pods\.eks\.amazonaws\.com"):
        ContainerProvider(environ=dict(lending.variables)).load()


def test_nobody_else_is_lent_anything(lending: Lending) -> None:
    url = lending.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
    for headers in ({}, {"Authorization": "guess"}):
        answer = urllib3.request("GET", url, headers=headers, retries=False)
        assert (answer.status, "AccessKeyId" in answer.data.decode()) == (403, False)
