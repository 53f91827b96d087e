"""The record of IAM's actions is as new as the SDK that is pinned here."""

import pytest
from botocore.loaders import Loader

from catalogue.actions import ACTIONS

MODELS = {"elasticfilesystem": "efs"}
OTHERWISE = {
    "kms": {"ReEncrypt"},
    "sqs": {"ChangeMessageVisibilityBatch", "DeleteMessageBatch", "SendMessageBatch"},
}
"""Calls of the API whose actions have other names; of S3 half have."""


@pytest.mark.parametrize("service", sorted(ACTIONS.keys() - {"s3"}))
def test_every_other_call_of_the_api_is_an_action(service: str) -> None:
    calls = set(Loader().load_service_model(MODELS.get(service, service), "service-2")["operations"])
    assert calls - set(ACTIONS[service]) == OTHERWISE.get(service, set())


def test_calls_of_s3_that_are_written_by_mistake_are_no_actions() -> None:
    calls = set(Loader().load_service_model("s3", "service-2")["operations"])
    none = {"CompleteMultipartUpload", "CopyObject", "DeleteObjects", "HeadObject", "ListObjectsV2", "UploadPart"}
    assert none <= calls - set(ACTIONS["s3"])
    assert {"AbortMultipartUpload", "GetObject", "ListBucket", "PutObject"} <= set(ACTIONS["s3"])
