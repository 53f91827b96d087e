"""Image repositories and their policies."""

import json
from collections.abc import Callable
from typing import Any

from rehearsal.tests.plugins.aws.case import Case, Inputs
from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import State

REPOSITORY = "aws:ecr/repository:Repository"
PUSHERS = {"filterType": "WILDCARD", "filter": "dev-*"}


def repository(world: World) -> str:
    return world.make(REPOSITORY, "images", {}).id


def expire(days: int) -> str:
    """A lifecycle policy for images without a tag."""
    selection = {"tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days", "countNumber": days}
    rule = {"rulePriority": 1, "description": "untagged", "selection": selection, "action": {"type": "expire"}}
    return json.dumps({"rules": [rule]})


CACHE_RULE = "aws:ecr/pullThroughCacheRule:PullThroughCacheRule"


def one_image(client: Callable[[str], Any], state: State) -> None:
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": []}
    client("ecr").put_image(repositoryName=state.id, imageManifest=json.dumps(manifest), imageTag="v1")


def encrypted(key: str) -> Inputs:
    return {"encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": key}]}


CASES = (
    Case(
        REPOSITORY,
        lambda world: {
            "imageTagMutability": "IMMUTABLE_WITH_EXCLUSION",
            "imageTagMutabilityExclusionFilters": [PUSHERS],
            "imageScanningConfiguration": {"scanOnPush": True},
            **encrypted(world.key.outputs["arn"]),
        },
        {
            "imageTagMutability": "IMMUTABLE",
            "imageTagMutabilityExclusionFilters": None,
            "imageScanningConfiguration": {"scanOnPush": False},
        },
        {
            "imageTagMutability": "update",
            "imageTagMutabilityExclusionFilters": "delete",
            "imageScanningConfiguration.scanOnPush": "update",
        },
        {"encryptionConfigurations": [{"encryptionType": "AES256"}]},
        ("encryptionConfigurations",),
        outputs=("arn", "registryId", "repositoryUrl"),
        refused={
            "KmsException": encrypted("alias/nothing"),
            "repositoryName": {"name": "Upper/Case"},
            "is not one of MUTABLE": {"imageTagMutability": "FIXED"},
        },
        fill=one_image,
        force={"forceDelete": True},
    ),
    Case(
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        lambda world: {"repository": repository(world), "policy": expire(14)},
        replaces={"policy": expire(30)},
        replaced=("policy",),
        outputs=("registryId",),
        refused={"InvalidParameterException": {"policy": json.dumps({"rules": [{"rulePriority": 1}], "x": "y" * 100})}},
    ),
    Case(
        CACHE_RULE,
        lambda _: {"ecrRepositoryPrefix": "lab/quay.io", "upstreamRegistryUrl": "quay.io"},
        replaces={"ecrRepositoryPrefix": "lab/other"},
        replaced=("ecrRepositoryPrefix",),
        outputs=("registryId",),
        refused={
            "UnsupportedUpstreamRegistryException": {"upstreamRegistryUrl": "nvcr.io"},
            "A credential ARN is required": {"upstreamRegistryUrl": "ghcr.io"},
            "SecretNotFoundException": {
                "upstreamRegistryUrl": "ghcr.io",
                "credentialArn": "arn:aws:secretsmanager:us-east-2:123456789012:secret:ecr-pullthroughcache/nothing",
            },
        },
    ),
)
