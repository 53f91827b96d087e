"""The stack's own image repositories, from the stack file to what is registered (Y08, Y10)."""

from typing import Any

from components.aws.registry import Registry, RegistryArgs, RepositorySpec
from tests.components.samples import built
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered, stack_config

REPOSITORIES: list[dict[str, Any]] = [{"name": "ml/llama-trainer", "keepImages": 40}, {"name": "ml-llama-trainer"}]


def deployed() -> Recorded:
    config = {**stack_config("dev"), "gpucluster:registry": {"repositories": REPOSITORIES}}
    return registered(config, stack="dev")


def test_tags_never_move_and_every_push_is_scanned() -> None:
    graph = deployed()
    for name in ("ml/llama-trainer", "ml-llama-trainer"):
        made = graph.one(f"registry-{name}").inputs
        assert made["name"] == f"gpucluster-dev/{name}"
        assert made["imageTagMutability"] == "IMMUTABLE"
        assert made["imageScanningConfiguration"] == {"scanOnPush": True}
        assert made["encryptionConfigurations"][0]["kmsKey"].startswith("arn:aws:kms:")


def test_old_images_go() -> None:
    policy = deployed().one("registry-ml/llama-trainer-lifecycle").inputs["policy"]
    assert '"countNumber": 40' in policy
    assert '"countNumber": 14' in policy


def test_an_unprotected_stack_takes_its_images_along() -> None:
    made = deployed().one("registry-ml/llama-trainer")
    assert (made.inputs["forceDelete"], made.protect) == (True, False)


def test_a_protected_one_keeps_them() -> None:
    spec = RepositorySpec(name="one", keep_images=1, untagged_days=1)
    args = RegistryArgs(repositories=[spec], key_arn="arn:aws:kms:key", disposable=False, protect=True)
    made = built(lambda opts: Registry("sample", args, opts)).one("sample-one")
    assert (made.inputs.get("forceDelete", False), made.protect) == (False, True)


def test_people_are_told_where_to_push() -> None:
    assert set(deployed().outputs["storage"]["repositories"]) == {"ml/llama-trainer", "ml-llama-trainer"}


def test_a_stack_without_a_registry_has_none() -> None:
    graph = graph_of("dev")
    assert not graph.of_type("Repository")
    assert "repositories" not in graph.outputs["storage"]
