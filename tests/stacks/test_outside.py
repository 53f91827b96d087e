"""Secrets that Secrets Manager keeps, from the stack file to what is registered (Y07)."""

import json
from copy import deepcopy
from functools import cache
from typing import Any
from unittest.mock import patch

import pulumi
import pytest

from components.serving.keys import templates
from policy import RULES
from policy.pods import pods
from policy.references import before
from policy.rule import violations
from stacks.namespaces import OUTSIDE
from stacks.refusal import _kept_twice, _without_tokens
from tests.graph import schema_kubernetes, schema_sdk, stackfiles
from tests.graph.harness import Recorded
from tests.graph.stackfiles import refusal, run_program, stack_config
from tests.planner.stacks import planned
from tests.planner.test_external_secrets import ARN, CALLERS, FUNCTION, HUB, KEY, MONTHLY
from tests.stacks.connections import End, Network

RECEIVERS = [
    {"name": "on-call", "kind": "pagerduty", "secret": "pagerdutyKey", "atLeast": "critical"},
    {"name": "chat", "kind": "slack", "secret": "slackUrl", "atLeast": "warning", "channel": "#gpus"},
]
WHOLE = {**HUB, **CALLERS, "trackingKey": {"id": "wandb/key"}, "pagerdutyKey": {"id": "alerts", "property": "page"}}


def config() -> dict[str, Any]:
    """The dev stack with a model of the hub, two keys for callers, a tracker outside, and receivers of alerts, one of
    them from the file.
    """
    told = deepcopy(stack_config("dev"))
    told["gpucluster:serving"]["services"][0]["weights"] = f"hf://our-team/llama-3-8b@{'1' * 40}"
    told["gpucluster:serving"]["services"][0]["keys"] = ["apiToken", "apiTokenBefore"]
    told["gpucluster:training"]["tracking"] = {"kind": "wandb"}
    told["gpucluster:monitoring"] = {**(told.get("gpucluster:monitoring") or {}), "receivers": RECEIVERS}
    told["gpucluster:externalSecrets"] = {"refreshMinutes": 90, "secrets": WHOLE}
    return told


@cache
def dev() -> Recorded:
    return run_program(config(), stack="dev")


def external(graph: Recorded, name: str) -> dict[str, Any]:
    return dict(graph.one(f"{name}-external-secret").inputs)


def test_a_schedule_is_set_for_the_secret_and_for_no_other_y07() -> None:
    """A value changes at the schedule's next window, and not because somebody types `pulumi up`."""
    told = config()
    told["gpucluster:externalSecrets"]["secrets"] = {**WHOLE, "hfToken": {**HUB["hfToken"], "rotation": MONTHLY}}
    graph = run_program(told, stack="dev")
    made = graph.one("rotation-hf-token-schedule")
    assert made.inputs == {
        "secretId": ARN,
        "rotationLambdaArn": FUNCTION,
        "rotateImmediately": False,
        "rotationRules": {"automaticallyAfterDays": 30},
    }
    assert not [each for each in dev().resources.values() if "secretRotation" in each.token]


def test_the_controller_comes_when_its_pods_can_run() -> None:
    assert dev().one("service-addons-coredns").urn in dev().one("external-secrets-release").depends_on


def test_each_secret_is_brought_where_it_is_read() -> None:
    graph = dev()
    made = {each.name for each in graph.of_type("ExternalSecret") if each.token.startswith("kubernetes:")}
    assert made == {
        f"{name}-external-secret" for name in ("token-hf-token", "keys-llama-3-8b", "tracking-key", "receivers")
    }
    hub = external(graph, "token-hf-token")
    assert (hub["metadata"]["namespace"], hub["spec"]["target"]["name"]) == ("inference", "hf-token")
    assert hub["spec"]["data"] == [{"secretKey": "token", "remoteRef": {"key": ARN}}]
    assert hub["spec"]["refreshInterval"] == "1h30m0s"
    assert hub["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Ready"}
    assert external(graph, "tracking-key")["metadata"]["namespace"] == "training"
    keys = external(graph, "keys-llama-3-8b")["spec"]
    kept = [{"key": "models/callers", "property": each} for each in ("current", "previous")]
    assert keys["data"] == [{"secretKey": f"value{index}", "remoteRef": each} for index, each in enumerate(kept)]
    assert keys["target"]["template"]["data"] == templates(["value0", "value1"])
    page = {"key": "alerts", "property": "page"}
    assert external(graph, "receivers")["spec"]["data"] == [{"secretKey": "on-call", "remoteRef": page}]
    stores = {each.inputs["metadata"]["namespace"] for each in graph.of_type("SecretStore") if each.inputs}
    assert stores == {"inference", "training", "monitoring"}
    secrets = {each.inputs["metadata"]["name"] for each in graph.of_type("Secret")}
    assert not secrets & {"hf-token", "tracking-key", "llama-3-8b-keys"}


def test_each_goes_before_the_controller_that_lets_it_go() -> None:
    """External Secrets 2.9 has a finalizer on each, and the older binary of a rehearsal none that would show it."""
    graph = dev()
    made = [each for each in graph.of_type("ExternalSecret") if each.token.startswith("kubernetes:")]
    controller = graph.one("external-secrets-release").urn
    assert [each.name for each in made if controller not in before(graph, each)] == []


def test_pods_read_them_by_the_names_that_they_have() -> None:
    graph = dev()
    server = graph.one("service-llama-3-8b-deployment").inputs["spec"]["template"]["spec"]
    volumes = {each["name"]: each for each in server["volumes"]}
    assert volumes["door-keys"]["secret"]["secretName"] == "llama-3-8b-keys"
    door = next(each for each in server["containers"] if each["name"] == "door")
    assert door["command"][:3] == ["sh", "/etc/door/rules/serve.sh", "/etc/door/keys/keys.conf"]
    assert "kill -HUP" in graph.one("service-llama-3-8b-door-rules").inputs["data"]["serve.sh"]
    env = {each["name"]: each for pod in pods(graph) for each in pod.containers[0].get("env") or []}
    assert env["WANDB_API_KEY"]["valueFrom"]["secretKeyRef"] == {"name": "tracking-key", "key": "key"}
    values = graph.one("monitoring-stack-chart-release").inputs["values"]["alertmanager"]["alertmanagerSpec"]
    assert values["secrets"] == ["alertmanager-receivers", "alertmanager-receivers-outside"]
    told = graph.one("monitoring-stack-alertmanager-config").inputs["stringData"]["alertmanager.yaml"]
    assert "/secrets/alertmanager-receivers-outside/on-call" in told
    assert "/secrets/alertmanager-receivers/chat" in told


def test_the_controller_may_read_what_is_named() -> None:
    """The name of a secret is followed by six characters that nobody chooses."""
    read, unseal = json.loads(dev().one("secrets-identity-policy").inputs["policy"])["Statement"]
    begin = "arn:aws:secretsmanager:us-east-2:123456789012:secret:"
    named = sorted([ARN, *(f"{begin}{each}-??????" for each in ("alerts", "models/callers", "wandb/key"))])
    assert read == {
        "Sid": "ReadSecrets",
        "Effect": "Allow",
        "Action": "secretsmanager:GetSecretValue",
        "Resource": named,
    }
    assert unseal == {
        "Sid": "Unseal0",
        "Effect": "Allow",
        "Action": "kms:Decrypt",
        "Resource": KEY,
        "Condition": {
            "StringEquals": {"kms:ViaService": "secretsmanager.us-east-2.amazonaws.com"},
            "StringLike": {"kms:EncryptionContext:SecretARN": [ARN]},
        },
    }
    association = dev().one("secrets-identity-association").inputs
    assert (association["namespace"], association["serviceAccount"]) == (OUTSIDE, "external-secrets")


def test_the_controller_asks_its_keeper_and_the_api_and_nobody_asks_it() -> None:
    network = Network(dev())
    pod = End(namespace=OUTSIDE, labels={"app.kubernetes.io/name": "external-secrets"})
    assert network.passes(pod, End(address="52.95.16.10"), 443)
    assert network.passes(pod, End(address="169.254.170.23"), 80)
    assert network.passes(pod, End(address="172.20.0.1"), 443)
    assert not network.passes(pod, End(address="52.95.16.10"), 80)
    assert not network.passes(pod, End(namespace="inference", labels={"app": "llama"}), 8000)
    assert not network.passes(End(namespace="training", labels={"app": "run"}), pod, 8080)
    assert not network.passes(End(address="172.20.0.1"), pod, 10250)


def test_all_of_it_is_valid_and_no_rule_is_broken() -> None:
    graph = dev()
    ours = [each for each in graph.resources.values() if each.kind in ("ExternalSecret", "SecretStore")]
    assert len([each for each in ours if each.token.startswith("kubernetes:")]) == 7
    if schema_kubernetes.crd_file("ExternalSecret") is None:
        pytest.skip("GPUCLUSTER_UPSTREAM has no definitions of external-secrets.io")
    assert [problem for each in ours for problem in schema_kubernetes.problems(each)] == []
    assert [problem for each in ours for problem in schema_sdk.problems(each)] == []
    assert [str(each) for each in violations(graph, RULES)] == []


def test_what_is_kept_is_not_missed_and_not_kept_twice() -> None:
    hub = {"serving.services.0.weights": f"hf://our-team/llama-3-8b@{'1' * 40}"}
    plan, told = planned(changes={**hub, "externalSecrets": {"secrets": HUB}}), pulumi.Config("gpucluster")
    with patch.object(pulumi.Config, "get_secret", lambda *_: None):
        assert list(_without_tokens(plan, told)) == []
        assert list(_without_tokens(planned(changes=hub), told)) != []
        assert list(_without_tokens(planned(), told)) == []
        assert list(_kept_twice(plan, told)) == []
    with patch.object(pulumi.Config, "get_secret", lambda *_: "something"):
        (said,) = _kept_twice(plan, told)
    assert said.startswith("gpucluster:externalSecrets.secrets.hfToken: the value comes from Secrets Manager")
    assert "pulumi config rm gpucluster:hfToken" in said


def test_a_stack_that_has_a_secret_twice_is_refused_before_anything_is_registered() -> None:
    sealed = {f"gpucluster:{key}": "for-tests" for key in ("hfToken", "slackUrl")}
    with patch.object(stackfiles, "secrets_of", lambda _: sealed):
        message = refusal(config(), stack="dev")
    assert message.startswith("gpucluster:externalSecrets.secrets.hfToken: the value comes from Secrets Manager")


def test_metal_refuses_the_section_with_what_to_do() -> None:
    told = {**stack_config("metal"), "gpucluster:externalSecrets": {"secrets": HUB}}
    message = refusal(told, stack="dev")
    assert "gpucluster:externalSecrets: belongs to platform.kind aws, and the kind is metal; remove it" in message
