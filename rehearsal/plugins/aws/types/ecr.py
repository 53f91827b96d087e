"""Image repositories. Sources: terraform-provider-aws internal/service/ecr; pulumi-aws pull request 2085 for the order
in which lifecycle policies are replaced."""

from __future__ import annotations

from typing import Any

from rehearsal.plugins.aws.account import CallError
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import Autoname, Row, words
from rehearsal.plugins.aws.tagging import calls
from rehearsal.plugins.servicer import PluginError


def _delete(obj: Object) -> None:
    try:
        obj.call("delete_repository", repositoryName=obj.id, force=bool(obj.inputs.get("forceDelete")))
    except CallError as error:
        if error.code != "RepositoryNotEmptyException":
            raise
        raise PluginError(f"{error}; empty it, or set forceDelete and run `pulumi up` before destroying") from None


def _policy(noun: str, text: str, put: str, **more: Any) -> Row:
    """A document that a repository has one of."""
    return Row(
        service="ecr",
        create=put,
        read=f"get_{noun}",
        delete=f"delete_{noun}",
        key={"repositoryName": "{repository}"},
        id="{repository}",
        names={"repository": "repositoryName", "policy": text},
        documents=("policy",),
        **more,
    )


ROWS: dict[str, Row] = {
    "aws:ecr/repository:Repository": Row(
        service="ecr",
        create="create_repository -> repository",
        read="describe_repositories -> repositories[0]",
        delete=_delete,
        key={"repositoryNames": "{name}", "repositoryName": "{name}"},
        id="{name}",
        names={"name": "repositoryName", "arn": "repositoryArn", "repositoryUrl": "repositoryUri"},
        autoname=Autoname(),
        prefix="",
        defaults={"imageTagMutability": "MUTABLE"},
        local=("forceDelete",),
        force_new=words("name encryptionConfigurations"),
        computed=words("name encryptionConfigurations imageScanningConfiguration"),
        updates=(
            ("put_image_tag_mutability", words("imageTagMutability imageTagMutabilityExclusionFilters")),
            ("put_image_scanning_configuration", ("imageScanningConfiguration",)),
        ),
        lingers=True,
        tags=calls({"resourceArn": "{repositoryArn}"}, read="list_tags_for_resource -> tags"),
    ),
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": Row(
        service="ecr",
        create="create_pull_through_cache_rule",
        read="describe_pull_through_cache_rules -> pullThroughCacheRules[0]",
        key={"ecrRepositoryPrefixes": "{ecrRepositoryPrefix}", "ecrRepositoryPrefix": "{ecrRepositoryPrefix}"},
        id="{ecrRepositoryPrefix}",
        force_new=words("ecrRepositoryPrefix upstreamRegistryUrl upstreamRepositoryPrefix"),
        computed=words("upstreamRepositoryPrefix"),
        updates=(("update_pull_through_cache_rule", words("credentialArn customRoleArn")),),
    ),
    "aws:ecr/repositoryPolicy:RepositoryPolicy": _policy(
        "repository_policy",
        "policyText",
        "set_repository_policy",
        force_new=("repository",),
        updates=(("set_repository_policy", ("policy",)),),
        unready=("InvalidParameterException.*Invalid repository policy provided",),
    ),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": _policy(
        "lifecycle_policy", "lifecyclePolicyText", "put_lifecycle_policy", force_new=("*",), delete_first=True
    ),
}
