"""Kyverno's images: the arguments of the real controller, and the exception for registries out of reach (Y09)."""

import re
from pathlib import Path

from rehearsal.images.kyverno.controller import exception, flags
from rehearsal.images.table import known
from rehearsal.kubelet.program import Ends
from rehearsal.tests.inside.simulated import Node


def test_the_process_listens_on_loopback_and_keeps_the_charts_flags() -> None:
    given = ["--caSecretName=ca", "--webhookServerPort=9443", "--metricsPort=8000", "--enablePolicyException=false"]
    argv, ports = flags([*given, "--controllerRuntimeMetricsAddress=:8080"], "signatures")
    assert set(ports) == {9443, 8000, 8080}
    assert {"--webhookServerHost=127.0.0.1", "--metricsHost=127.0.0.1", "--caSecretName=ca"} <= set(argv)
    assert f"--webhookServerPort={ports[9443]}" in argv
    assert f"--controllerRuntimeMetricsAddress=127.0.0.1:{ports[8080]}" in argv
    assert [word for word in argv if "xception" in word] == [
        "--enablePolicyException=false",
        "--enablePolicyException=true",
        "--exceptionNamespace=signatures",
    ], "of two, Go takes the last"


def test_an_exception_is_of_each_policy_and_looks_into_pods_templates_and_schedules() -> None:
    made = exception("signatures", ["a", "b"])
    assert [each["name"] for each in made["spec"]["policyRefs"]] == ["a", "b"]
    (condition,) = made["spec"]["matchConditions"]
    assert re.findall(r"(\S+)\.containers\.all", condition["expression"].replace("(", " ")) == [
        "object.spec",
        "object.spec.template.spec",
        "object.spec.jobTemplate.spec.template.spec",
    ]


def test_what_prepares_ends_well(tmp_path: Path) -> None:
    node = Node(tmp_path)
    spec = {"name": "kyverno-pre", "image": "reg.kyverno.io/kyverno/kyvernopre:v1.19.1"}
    program = known().start(node.launch(spec=spec))
    assert isinstance(program, Ends)
