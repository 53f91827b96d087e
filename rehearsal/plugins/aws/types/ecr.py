"""Image repositories. Sources: terraform-provider-aws internal/service/ecr; pulumi-aws pull request 2085 for the order
in which lifecycle policies are replaced."""

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


ROWS: dict[str, Row] = {
    "aws:ecr/repository:Repository": Row(
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
        create="create_pull_through_cache_rule",
        read="describe_pull_through_cache_rules -> pullThroughCacheRules[0]",
        key={"ecrRepositoryPrefixes": "{ecrRepositoryPrefix}", "ecrRepositoryPrefix": "{ecrRepositoryPrefix}"},
        id="{ecrRepositoryPrefix}",
        force_new=words("ecrRepositoryPrefix upstreamRegistryUrl upstreamRepositoryPrefix"),
        computed=words("upstreamRepositoryPrefix"),
        updates=(("update_pull_through_cache_rule", words("credentialArn customRoleArn")),),
    ),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": Row(
        create="put_lifecycle_policy",
        read="get_lifecycle_policy",
        delete="delete_lifecycle_policy",
        key={"repositoryName": "{repository}"},
        id="{repository}",
        names={"repository": "repositoryName", "policy": "lifecyclePolicyText"},
        documents=("policy",),
        force_new=("*",),
        delete_first=True,
    ),
}
