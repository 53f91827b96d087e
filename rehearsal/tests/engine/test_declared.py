"""What a program declared of a cluster is read from the state and looked for in the right cluster."""

import json
from pathlib import Path
from typing import Any

from rehearsal.engine.declared import Declared, by_cluster, declared, stored
from rehearsal.engine.state import SIGNATURE
from rehearsal.tests.engine.objects import Cluster, Object

SEALED = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:…"}


def entry(token: str, id: str, **more: Any) -> Object:
    return {"urn": f"urn:pulumi:dev::shop::{token}::x", "type": token, "id": id, "custom": True, **more}


def names(*entries: Object) -> list[tuple[str, str, str | None, str]]:
    found = declared({"deployment": {"resources": list(entries)}})
    return [(each.api_version, each.kind, each.namespace, each.name) for each in found]


def test_every_object_of_the_state_is_declared_with_namespace_and_name() -> None:
    assert names(
        entry("kubernetes:core/v1:Namespace", "web"),
        entry("kubernetes:apps/v1:Deployment", "web/pages"),
        entry("kubernetes:kubeflow.org/v1:PyTorchJob", "training/sft"),
        entry("kubernetes:helm.sh/v3:Release", "web/sessions", outputs={"kind": "?"}),
    ) == [
        ("v1", "Namespace", None, "web"),
        ("apps/v1", "Deployment", "web", "pages"),
        ("kubeflow.org/v1", "PyTorchJob", "training", "sft"),
        ("helm.sh/v3", "Release", "web", "sessions"),
    ]


def test_what_the_program_did_not_make_or_will_not_keep_is_not_declared() -> None:
    assert not names(
        entry("aws:ec2/vpc:Vpc", "vpc-1"),
        entry("pulumi:providers:kubernetes", "1"),
        entry("kubernetes:yaml:ConfigFile", "", custom=False),
        entry("kubernetes:core/v1:Secret", "web/read", external=True),
        entry("kubernetes:core/v1:Secret", "web/old", delete=True),
        entry("kubernetes:core/v1:ConfigMapList", "web/all"),
        entry("kubernetes:apps/v1:DeploymentPatch", "web/pages"),
    )


def test_an_alias_of_a_kind_is_what_the_cluster_knows_it_by() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "pages", "uid": "u"}}
    (found,) = declared(
        {"deployment": {"resources": [entry("kubernetes:extensions/v1beta1:Deployment", "web/pages", outputs=live)]}}
    )
    assert (found.api_version, found.last["metadata"]["uid"]) == ("apps/v1", "u")


def test_all_stacks_of_a_backend_are_read_and_sealed_secrets_are_no_trouble(tmp_path: Path) -> None:
    directory = tmp_path / ".pulumi" / "stacks" / "shop"
    directory.mkdir(parents=True)
    assert stored(tmp_path) == []
    for stack in ("dev", "other"):
        secret = entry("kubernetes:core/v1:Secret", f"{stack}/token", inputs={"stringData": SEALED})
        latest = {"resources": [secret]}
        (directory / f"{stack}.json").write_text(json.dumps({"version": 3, "checkpoint": {"latest": latest}}))
    (directory / "empty.json").write_text(json.dumps({"version": 3, "checkpoint": {"stack": "empty"}}))
    (directory / "dev.json.bak").write_text("no JSON")
    assert [(each.namespace, each.wanted) for each in stored(tmp_path)] == [
        ("dev", {"stringData": None}),
        ("other", {"stringData": None}),
    ]


def test_objects_belong_to_the_cluster_where_their_provider_made_them() -> None:
    def made(provider: str, name: str, uid: str) -> Declared:
        return Declared("v1", "ConfigMap", "web", name, {}, {"metadata": {"uid": uid}}, provider)

    def there(*uids: str) -> Any:
        return Cluster(
            ConfigMap=[{"metadata": {"namespace": "web", "name": f"c{uid[-1]}", "uid": uid}} for uid in uids]
        )

    one, two, gone = made("east", "c1", "u1"), made("west", "c2", "w2"), made("west", "c3", "w3")
    shares = by_cluster([one, two, gone], {"a": there("u1", "u2"), "b": there("w2")})
    assert shares == {"a": [one], "b": [two, gone]}, "a lost one is missed where its provider's others are"
    assert by_cluster([one, two], {"a": there()}) == {"a": [one, two]}
    assert by_cluster([one], {}) == {}
