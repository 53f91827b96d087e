"""Signed images: what admission would refuse or could not ask is refused at preview (Y09, Y10)."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from catalogue.images import DIGESTS
from planner.findings import Finding
from planner.supply import images_in, plan_signatures, signable
from settings.errors import SettingsError
from tests.planner.stacks import planned, settings

REGISTRY = "123456789012.dkr.ecr.us-east-2.amazonaws.com/lab"
KEY = (
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8nXRh950IZbRj8Ra/N9sbqOPZrfM\n"
    "5/KAQN0/KjHcorm/J5yctVd7iEcnessRQjU917hmKO6JWVGHpDguIyakZA==\n"
    "-----END PUBLIC KEY-----"
)
KEYLESS = {
    "issuer": "https://token.actions.githubusercontent.com",
    "identity": "https://github.com/acme/cluster/.github/workflows/images.yml@refs/heads/main",
}
DIGEST = f"sha256:{'a' * 64}"


def supply(registry: str = REGISTRY, **signatures: Any) -> dict[str, Any]:
    return {"registry": registry, "signatures": signatures or {"key": KEY}}


def said(rule: str, **changes: Any) -> list[Finding]:
    return [each for each in planned(changes=changes).findings if each.rule == rule]


@pytest.fixture
def pinned() -> Iterator[None]:
    """Every image of the dev stack has a digest, as make pin-images writes them."""
    found = dict(images_in(settings(), ("training", "inference"))).values()
    every = {image for _, image in images_in(settings(), ("training", "inference"))}
    assert every >= set(found)
    with patch.dict(DIGESTS, dict.fromkeys(every, DIGEST)):
        yield


@pytest.mark.usefixtures("pinned")
def test_a_stack_whose_images_are_pinned_may_ask_for_signatures() -> None:
    plan = planned(changes={"supply": supply()})
    assert not [each for each in plan.findings if each.rule.startswith(("signed", "keyless"))]
    assert "kyverno" in plan.charts
    assert plan.signatures
    assert (plan.signatures.key, plan.signatures.identity, plan.signatures.port) == (KEY, None, 443)
    assert plan.signatures.namespaces == ("inference", "training")


def test_an_image_by_tag_is_refused_where_only_signed_ones_run() -> None:
    """With its path, once each, and of the program's own too."""
    found = said("signed-image-not-pinned", supply=supply())
    subjects = [each.subject for each in found]
    assert len(subjects) == len(set(subjects))
    assert {"vllm/vllm-openai:v0.29.0", "registry.example.com/ml/llama-trainer:1.0"} <= set(subjects)
    (run,) = (each for each in found if each.subject == "registry.example.com/ml/llama-trainer:1.0")
    assert (run.path, run.severity.name) == ("gpucluster:training.runs[0].image", "ERROR")
    assert any(each.path == "gpucluster:supply.signatures" for each in found)


def test_images_of_other_namespaces_are_not_looked_at() -> None:
    found = said("signed-image-not-pinned", supply=supply(key=KEY, namespaces=["inference"]))
    assert "registry.example.com/ml/llama-trainer:1.0" not in {each.subject for each in found}


def test_without_signatures_nothing_is_installed_and_nothing_said() -> None:
    plan = planned(changes={"supply": {"registry": REGISTRY}})
    assert plan.signatures is None
    assert "kyverno" not in plan.charts
    assert not said("signed-image-not-pinned", supply={"registry": REGISTRY})


def test_a_namespace_of_charts_is_refused_by_its_place() -> None:
    (found,) = said("signed-namespace", supply=supply(key=KEY, namespaces=["training", "monitoring"]))
    assert found.path == "gpucluster:supply.signatures.namespaces[1]"
    assert "inference, training" in found.remedy


def test_a_team_may_have_signed_images_only() -> None:
    team = {"name": "vision", "queue": "training", "gpus": 1, "members": [{"group": "vision", "role": "trainer"}]}
    (namespace,) = set(signable(settings("dev", {"teams": [team]}))) - {"training", "inference"}
    assert not said("signed-namespace", supply=supply(key=KEY, namespaces=[namespace]), teams=[team])


def test_keyless_signatures_need_a_way_out() -> None:
    closed = {"supply": supply(keyless=KEYLESS), "platform.network": {"nat": "none", "endpoints": ["ec2"]}}
    (found,) = said("keyless-without-a-way-out", **closed)
    assert found.path == "gpucluster:supply.signatures.keyless"
    assert not said("keyless-without-a-way-out", supply=supply(keyless=KEYLESS))
    assert not said("keyless-without-a-way-out", **{**closed, "supply": supply()})


def test_a_namespace_that_is_named_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match="lists a namespace twice"):
        settings("dev", {"supply": supply(key=KEY, namespaces=["training", "training"])})


def test_signatures_are_fetched_from_the_registrys_port() -> None:
    found = plan_signatures(settings("dev", {"supply": supply("hub.site.example:5000/lab")}))
    assert found is not None
    assert found.port == 5000


# -- what charts bring


def test_images_of_charts_are_counted_in_a_protected_stack() -> None:
    """Until they come from a private registry."""
    (found,) = said("chart-images-not-pinned", **{"lifecycle.protect": True})
    assert (found.severity.name, found.path) == ("WARNING", "gpucluster:supply.registry")
    count, of = found.sentence.split(" images")[0].split(" of ")
    assert 0 < int(count) <= int(of)
    assert not said("chart-images-not-pinned")
    assert not said("chart-images-not-pinned", **{"lifecycle.protect": True, "supply": {"registry": REGISTRY}})
