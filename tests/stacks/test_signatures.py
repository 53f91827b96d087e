"""Namespaces where only signed images run, from the stack file to what is registered (Y09)."""

import json
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from catalogue.images import DIGESTS
from components.platform.image_signatures import ImageSignaturesArgs, Signer, policy
from planner.supply import images_in
from policy import RULES
from policy.rule import violations
from stacks.namespaces import SIGNATURES
from tests.graph import schema_sdk
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import settings
from tests.planner.test_signatures import DIGEST, KEY, KEYLESS, REGISTRY


@cache
def deployed(registry: str = REGISTRY, *, keyless: bool = False) -> Recorded:
    signatures: dict[str, Any] = {"keyless": KEYLESS} if keyless else {"key": KEY}
    every = {image for _, image in images_in(settings(), ("training", "inference"))}
    supply = {"registry": registry, "signatures": signatures}
    with patch.dict(DIGESTS, dict.fromkeys(every, DIGEST)):
        return run_program({**stack_config("dev"), "gpucluster:supply": supply}, stack="dev")


def spec(graph: Recorded) -> dict[str, Any]:
    found: dict[str, Any] = graph.one("signed-images-policy").inputs["spec"]
    return found


def test_a_pod_and_a_gang_are_refused_without_the_signature() -> None:
    """A job is asked about as its pods are: no part of a gang is admitted for itself."""
    found = spec(deployed())
    assert found["failurePolicy"] == "Fail"
    assert found["validationActions"] == ["Deny"]
    assert found["attestors"][0]["cosign"]["key"]["data"] == KEY
    assert {"pytorchjobs.v1.kubeflow.org", "mpijobs.v2beta1.kubeflow.org", "deployments", "jobs"} <= set(
        found["autogen"]["podControllers"]["controllers"]
    )
    assert found["validationConfigurations"] == {"mutateDigest": False, "verifyDigest": True, "required": True}
    asked = [each["expression"].partition(".map")[0] for each in found["validations"]]
    assert asked == ["images.containers", "images.initContainers", "images.ephemeralContainers"]


def test_while_it_is_down_nobody_else_notices() -> None:
    """The API server asks about the named namespaces only: not kube-system's, not its own."""
    graph = deployed()
    values = graph.one("kyverno-release").inputs["values"]
    among = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["inference", "training"]}
    assert values["config"]["webhooks"]["namespaceSelector"] == {"matchExpressions": [among]}
    assert spec(graph)["matchConstraints"]["namespaceSelector"] == {"matchExpressions": [among]}
    assert values["admissionController"]["replicas"] == 3
    assert graph.one("kyverno-release").inputs["namespace"] == SIGNATURES


def test_who_signs_keyless_is_named_in_full() -> None:
    cosign = spec(deployed(keyless=True))["attestors"][0]["cosign"]
    assert cosign["keyless"]["identities"] == [{"issuer": KEYLESS["issuer"], "subject": KEYLESS["identity"]}]
    assert "insecureIgnoreTlog" not in cosign["ctlog"]
    assert "key" not in cosign


def test_it_reads_the_stacks_registry_and_no_other() -> None:
    graph = deployed()
    assert spec(graph)["credentials"] == {"providers": ["amazon"]}
    (document,) = (
        json.loads(each.inputs["policy"]) for each in graph.of_type("RolePolicy") if "signatures" in each.name
    )
    sign_in, read = document["Statement"]
    assert sign_in == {"Sid": "SignIn", "Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"}
    assert read == {
        "Sid": "ReadImages",
        "Effect": "Allow",
        "Action": [
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
            "ecr:ListImageReferrers",
        ],
        "Resource": "arn:aws:ecr:us-east-2:123456789012:repository/lab/*",
    }
    (association,) = (
        each.inputs
        for each in graph.of_type("PodIdentityAssociation")
        if each.inputs["serviceAccount"].startswith("kyverno")
    )
    assert association["namespace"] == SIGNATURES
    assert association["clusterName"] == graph.one("cluster-control-plane").inputs["name"]


def test_a_registry_elsewhere_is_read_at_its_port_without_rights_in_the_cloud() -> None:
    graph = deployed("hub.site.example:5000/lab")
    assert "credentials" not in spec(graph)
    assert not [each for each in graph.of_type("RolePolicy") if "signatures" in each.name]
    (rule,) = (each.inputs for each in graph.of_type("NetworkPolicy") if "asks-registry" in each.name)
    assert rule["metadata"]["namespace"] == SIGNATURES
    ports = {port["port"] for flow in rule["spec"]["egress"] for port in flow.get("ports") or []}
    assert {443, 5000} <= ports


def test_its_own_images_come_from_the_mirror() -> None:
    values = deployed().one("kyverno-release").inputs["values"]
    controller = values["admissionController"]
    assert controller["container"]["image"]["registry"] == f"{REGISTRY}/reg.kyverno.io"
    assert controller["initContainer"]["image"]["registry"] == f"{REGISTRY}/reg.kyverno.io"
    assert values["webhooksCleanup"]["image"]["registry"] == f"{REGISTRY}/ghcr.io"


def test_pods_there_come_after_the_policy() -> None:
    """Whatever is in such a namespace depends on the policy, which `up` waits for; other namespaces do not."""
    graph = deployed()
    annotations = graph.one("signed-images-policy").inputs["metadata"]["annotations"]
    assert annotations == {"pulumi.com/waitFor": "jsonpath={.status.conditionStatus.ready}=true"}
    waits = {each.name for each in graph.resources.values() if graph.one("signed-images-policy").urn in each.depends_on}
    assert {"run-llama-3-8b-sft-job", "claims-training-checkpoints-claim", "service-llama-3-8b-deployment"} <= waits
    assert not {"volcano-release", "kyverno-release"} & waits
    monitors = graph.one("prometheus-operator-crds-release").urn
    assert monitors in graph.one("kyverno-release").depends_on


@pytest.mark.parametrize("keyless", [False, True])
def test_what_is_registered_has_the_shape_of_its_kinds_and_breaks_no_rule(keyless: bool) -> None:
    graph = deployed(keyless=keyless)
    own = [each for each in graph.resources.values() if "signatures" in each.name or "kyverno" in each.name]
    assert own
    assert [problem for each in own for problem in schema_sdk.problems(each)] == []
    assert [str(each) for each in violations(graph, RULES)] == []


def test_nothing_of_it_without_the_setting() -> None:
    graph = run_program({**stack_config("dev"), "gpucluster:supply": {"registry": REGISTRY}}, stack="dev")
    assert "kyverno-release" not in graph.resources
    assert SIGNATURES not in {each.inputs["metadata"]["name"] for each in graph.of_type("Namespace")}


def test_a_policy_without_a_cloud_signs_in_nowhere() -> None:
    args = ImageSignaturesArgs(
        namespaces=["training"],
        signer=Signer(key=KEY),
        timeout_seconds=20,
        providers=[],
        after=None,  # type: ignore[arg-type]
    )
    assert "credentials" not in policy(args)
