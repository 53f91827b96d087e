"""Kyverno, played: whose signature an image has, what is refused for it, and about what the API server asks (Y09)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rehearsal.images.kyverno.policies import refusal, webhook
from rehearsal.images.kyverno.signed import RegistryError, has_digest, is_here, is_signed
from rehearsal.images.table import known
from rehearsal.kubelet.program import Program
from rehearsal.testing.registry import Registry, Signer
from rehearsal.tests.inside.simulated import Node

DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.stop()


def test_a_signature_by_the_key_is_one(registry: Registry) -> None:
    signer, image = Signer(), registry.image("ml/trainer")
    assert not is_signed(image, signer.public)
    registry.sign(image, signer)
    assert is_signed(image, signer.public)


def test_a_signature_by_another_key_is_none(registry: Registry) -> None:
    image = registry.image("ml/trainer")
    registry.sign(image, Signer())
    assert not is_signed(image, Signer().public)


def test_a_signature_of_another_image_is_none(registry: Registry) -> None:
    """Whoever can push could put the one beside the other."""
    signer, image, other = Signer(), registry.image("ml/trainer"), registry.image("ml/other")
    registry.sign(image, signer, of=other)
    assert not is_signed(image, signer.public)


def test_what_was_signed_cannot_be_changed_behind_the_signature(registry: Registry) -> None:
    signer, image = Signer(), registry.image("ml/trainer")
    registry.sign(image, signer)
    registry.replace("/blobs/", b'{"critical": {"image": {"docker-manifest-digest": "sha256:b"}}}')
    assert not is_signed(image, signer.public)


def test_a_registry_that_fails_is_no_missing_signature(registry: Registry) -> None:
    image = registry.image("ml/trainer")
    registry.status = 503
    with pytest.raises(RegistryError, match="503"):
        is_signed(image, Signer().public)


def test_an_image_by_tag_and_a_key_that_is_none_are_told(registry: Registry) -> None:
    with pytest.raises(ValueError, match="not named by a digest"):
        is_signed(f"{registry.host}/ml/trainer:1", Signer().public)
    with pytest.raises(ValueError, match="PEM"):
        is_signed(registry.image("ml/trainer"), "no key")


@pytest.mark.parametrize(
    ("image", "here", "by_digest"),
    [
        (f"127.0.0.1:5000/a@{DIGEST}", True, True),
        ("localhost:5000/a:1", True, False),
        (f"hub.site:5000/a:1@{DIGEST}", False, True),
        ("127.0.0.1.evil.example/a@sha256:a", False, False),
    ],
)
def test_only_this_machines_registries_are_asked(image: str, here: bool, by_digest: bool) -> None:
    assert (is_here(image), has_digest(image)) == (here, by_digest)


# -- policies


def policy(**changes: Any) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
    selector = {"matchExpressions": [{"key": "name", "operator": "In", "values": ["training"]}]}
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "webhookConfiguration": {"timeoutSeconds": 20},
        "matchConstraints": {"namespaceSelector": selector, "resourceRules": [rule]},
        "autogen": {"podControllers": {"controllers": ["jobs", "pytorchjobs.v1.kubeflow.org", "jbos"]}},
        "attestors": [{"name": "signer", "cosign": {"key": {"data": "KEY"}}}],
        "validations": [
            {
                "expression": f"images.{each}.map(image, verifyImageSignatures(image, [attestors.signer]))"
                ".all(count, count > 0)",
                "message": f"{each} unsigned",
            }
            for each in ("containers", "initContainers", "ephemeralContainers")
        ],
    }
    return {"metadata": {"name": "signed"}, "spec": {**spec, **changes}}


def pod(*images: str, init: str | None = None) -> dict[str, Any]:
    spec = {"containers": [{"image": each} for each in images]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": spec | ({"initContainers": [{"image": init}]} if init else {}),
    }


GOOD, BAD = f"hub/good@{DIGEST}", f"hub/bad@{DIGEST}"


def signed(image: str, _: Mapping[str, Any]) -> bool:
    return image == GOOD


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (pod(GOOD), None),
        (pod(GOOD, init=GOOD), None),
        (pod(GOOD, BAD), "Policy signed failed: containers unsigned"),
        (pod(GOOD, init=BAD), "Policy signed failed: initContainers unsigned"),
        (pod("hub/good:1"), "Policy signed failed: image hub/good:1 does not have a digest"),
    ],
)
def test_a_pod_is_admitted_if_each_of_its_images_is_signed(obj: dict[str, Any], says: str | None) -> None:
    assert refusal(policy(), obj, signed) == says


def gang(worker: str) -> dict[str, Any]:
    roles = {role: {"replicas": 2, "template": pod(image)} for role, image in (("Master", GOOD), ("Worker", worker))}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": roles}}


def test_a_gang_is_refused_as_a_whole() -> None:
    assert refusal(policy(), gang(GOOD), signed) is None
    assert refusal(policy(), gang(BAD), signed) == (
        "Policy signed failed: containers unsigned (pod template at spec.pytorchReplicaSpecs.Worker.template)"
    )


def test_an_object_without_pods_is_an_error_and_no_pass() -> None:
    said = refusal(policy(), {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}}, signed)
    assert said is not None
    assert "no pod template found" in said


def test_what_is_not_played_and_what_fails_is_refused() -> None:
    odd = policy(validations=[{"expression": "true", "message": "m"}])
    assert "rehearsal does not play true" in str(refusal(odd, pod(GOOD), signed))

    def fails(*_: Any) -> bool:
        raise RegistryError("Get http://x: refused")

    assert refusal(policy(), pod(GOOD), fails) == "Policy signed error: Get http://x: refused"


def test_the_api_server_asks_about_pods_and_what_makes_them_in_the_namespaces() -> None:
    of_all = {"matchExpressions": [{"key": "name", "operator": "NotIn", "values": ["kyverno"]}]}
    made = webhook(policy(), {"name": "kyverno-svc", "namespace": "kyverno", "port": 443}, "CA", of_all)
    assert made["name"] == "ivpol.validate.kyverno.svc-fail-finegrained-signed"
    assert made["clientConfig"]["service"]["path"] == "/ivpol/validate/signed"
    assert (made["failurePolicy"], made["timeoutSeconds"]) == ("Fail", 20)
    assert [(each["apiGroups"], each["resources"]) for each in made["rules"]] == [
        ([""], ["pods"]),
        (["batch"], ["jobs"]),
        (["kubeflow.org"], ["pytorchjobs"]),
    ]
    assert [each["operator"] for each in made["namespaceSelector"]["matchExpressions"]] == ["In", "NotIn"]


def test_without_controllers_all_built_in_ones_are_asked_about() -> None:
    made = webhook(policy(autogen={}), {}, "CA", {})
    assert len(made["rules"]) == 7


def test_only_the_controller_of_admission_does_something(tmp_path: Path) -> None:
    spec = {"name": "kyverno", "image": "reg.kyverno.io/kyverno/kyverno:v1.19.1"}
    node = Node(tmp_path)
    assert type(known().start(node.launch(spec=spec, args=["--metricsPort=8000"]))) is Program
