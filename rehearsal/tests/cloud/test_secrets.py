"""Secrets that are in the account before a stack: made once, by name or ARN, and left as somebody changed them."""

import boto3
from moto import mock_aws

from rehearsal.cloud.secrets import set_secrets

ARN = "arn:aws:secretsmanager:eu-north-1:123456789012:secret:models/hub-AbCdEf"


def test_a_secret_is_made_once_under_its_name_or_arn() -> None:
    with mock_aws():
        client = boto3.client("secretsmanager", "eu-north-1", aws_access_key_id="k", aws_secret_access_key="s")
        assert set_secrets("eu-north-1", {ARN: "one", "callers": "two"}) == ["callers", "models/hub"]
        assert client.get_secret_value(SecretId=ARN)["SecretString"] == "one"
        assert client.describe_secret(SecretId="models/hub")["ARN"] == ARN
        client.put_secret_value(SecretId="callers", SecretString="rotated")
        set_secrets("eu-north-1", {ARN: "one", "callers": "two"})
        assert client.get_secret_value(SecretId="callers")["SecretString"] == "rotated"
