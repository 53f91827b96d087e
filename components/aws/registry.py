"""Image repositories: tags that never move, scanned at every push, encrypted, without what is too old."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component, physical_name

NAME_LIMIT = 256


@dataclass(frozen=True, kw_only=True)
class RepositorySpec:
    """The newest `keep_images` stay; what has no tag goes after `untagged_days`."""

    name: str
    keep_images: int
    untagged_days: int


@dataclass(frozen=True, kw_only=True)
class RegistryArgs:
    """`key_arn` encrypts the images. A `disposable` repository goes with the images in it."""

    repositories: Sequence[RepositorySpec]
    key_arn: pulumi.Input[str]
    disposable: bool
    protect: bool = False


class Registry(Component):
    """Repositories of ECR. `urls` by the name that the stack file has for each."""

    urls: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: RegistryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.urls = {spec.name: self._create(spec, args) for spec in args.repositories}
        self.register_outputs({"urls": self.urls})

    def _create(self, spec: RepositorySpec, args: RegistryArgs) -> pulumi.Output[str]:
        role = spec.name  # with its slashes: ml/a and ml-a are two repositories
        prefix = physical_name(pulumi.get_project(), pulumi.get_stack(), limit=NAME_LIMIT - len(spec.name) - 1)
        repository = aws.ecr.Repository(
            self.named(role),
            name=f"{prefix}/{spec.name}",
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration=aws.ecr.RepositoryImageScanningConfigurationArgs(scan_on_push=True),
            encryption_configurations=[
                aws.ecr.RepositoryEncryptionConfigurationArgs(encryption_type="KMS", kms_key=args.key_arn)
            ],
            force_delete=args.disposable,
            tags=self.tags(role),
            opts=self.child(protect=args.protect),
        )
        aws.ecr.LifecyclePolicy(
            self.named(f"{role}-lifecycle"),
            aws.ecr.LifecyclePolicyArgs(repository=repository.name, policy=lifecycle(spec)),
            self.child(),
        )
        return repository.repository_url


def lifecycle(spec: RepositorySpec) -> str:
    """The repository's policy, JSON. A rule of `any` has the last priority (ECR user guide, lifecycle policies)."""
    rules: list[dict[str, Any]] = [
        {
            "rulePriority": 1,
            "description": "what has no tag any more",
            "selection": {
                "tagStatus": "untagged",
                "countType": "sinceImagePushed",
                "countUnit": "days",
                "countNumber": spec.untagged_days,
            },
            "action": {"type": "expire"},
        },
        {
            "rulePriority": 2,
            "description": "all but the newest images",
            "selection": {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": spec.keep_images},
            "action": {"type": "expire"},
        },
    ]
    return json.dumps({"rules": rules}, sort_keys=True)
