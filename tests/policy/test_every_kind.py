"""Rules that look into pods do so in every kind that makes pods, typed or a custom resource."""

from collections.abc import Mapping
from typing import Any

import pytest

from policy import collectives, environment, image_fields, literals, memory, security, services, topology
from policy.rule import Rule, rules_of
from tests.policy.test_pods import container, every_kind, made, said, volume

SHM: dict[str, Any] = {"emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}
LIMITED: dict[str, Any] = {
    "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "32Gi"}},
    "volumeMounts": [{"name": "more", "mountPath": "/dev/shm"}],
}


def variable(name: str, value: str) -> dict[str, Any]:
    """The good pod with one more variable."""
    return container(env=[{"name": name, "value": value}])


# what is wrong: (rule, what is different in the pod, what the rule says)
WRONG: Mapping[str, tuple[Rule, dict[str, Any], str]] = {
    "pinned algorithm": (collectives.collectives_take_the_fast_path, variable("NCCL_ALGO", "Ring"), "sets NCCL_ALGO"),
    "no interface": (
        collectives.collectives_take_the_fast_path,
        container(command=["sh", "-c", "export NCCL_SOCKET_IFNAME=ib0; run"]),
        "sets NCCL_SOCKET_IFNAME=ib0",
    ),
    "devices": (
        environment.devices_come_from_the_plugin,
        variable("NVIDIA_VISIBLE_DEVICES", "all"),
        "sets NVIDIA_VISIBLE_DEVICES=all",
    ),
    "secret variable": (literals.no_secret_in_words, variable("HF_TOKEN", "abcdef"), "the secret HF_TOKEN"),
    "secret word": (literals.no_secret_in_words, container(args=["--api-key=abcdef"]), "the secret api-key"),
    "secret of the first": (
        literals.no_secret_in_words,
        {"initContainers": [{"name": "first", "image": "a:1", "command": ["get", "--token=abcdef"]}]},
        "the secret token",
    ),
    "image among words": (
        image_fields.images_elsewhere_pinned,
        container(args=["--side-image=a/b:latest"]),
        "names the image a/b:latest",
    ),
    "shared memory": (memory.shared_memory_fits, {**container(**LIMITED), **volume(**SHM)}, "in containers"),
    "no shared memory": (
        memory.processes_share_memory,
        container(resources={"limits": {"nvidia.com/gpu": "8"}}),
        "64 MiB of shared memory",
    ),
    "unknown port": (
        services.containers_listen_where_asked,
        container(readinessProbe={"httpGet": {"port": "http"}}),
        "on the port http",
    ),
}


@every_kind
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_pod_breaks_its_rule(kind: str, wrong: str) -> None:
    rule, changes, words = WRONG[wrong]
    assert [each for each in said(made(kind, **changes), rule) if words in each]


@every_kind
def test_a_namespace_refuses_a_pod_of_its_level(kind: str) -> None:
    wrong = made(kind, namespace="inference", hostNetwork=True)
    assert said(wrong, security.namespaces_admit_their_pods) == [
        "has hostNetwork, which the namespace inference (baseline) refuses"
    ]


@every_kind
def test_a_good_pod_breaks_no_rule(kind: str) -> None:
    modules = (collectives, environment, image_fields, literals, memory, security, services, topology)
    assert [sentence for rule in rules_of(*modules) for sentence in said(made(kind), rule)] == []
