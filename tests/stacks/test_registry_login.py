"""A mirror that asks who pulls: from the stack file to what nodes are given (J16)."""

import base64
import json
from collections.abc import Iterator
from email import message_from_string
from functools import cache
from typing import Any

import yaml

from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.arns import strangers
from tests.stacks.test_metal import concerns_of, machines, told
from tests.stacks.test_scaled import scaled

HOST = "hub.site.example:5000"
ARN = "arn:aws:secretsmanager:us-east-2:123456789012:secret:mirror-AbCdEf"
PASSWORD = "registryPassword-secret-for-tests-long-enough"
LOGIN = base64.b64encode(f"robot$nodes:{PASSWORD}".encode()).decode()


@cache
def on_metal() -> Recorded:
    supply = {"registry": f"{HOST}/mirror", "registryLogin": {"user": "robot$nodes"}}
    return run_program({**stack_config("metal"), "gpucluster:supply": supply}, stack="metal")


@cache
def on_aws() -> Recorded:
    """The dev stack, whose services run where Karpenter makes nodes."""
    supply = {"registry": f"{HOST}/mirror", "registryLogin": {"secretArn": ARN}}
    return run_program(scaled(supply=supply), stack="dev")


def test_every_node_of_own_machines_signs_in_after_its_drives_and_before_its_kubelet() -> None:
    nodes = [name for name in machines(on_metal()) if "kubelet" in concerns_of(name, on_metal())]
    assert len(nodes) > 3
    for name in nodes:
        names = concerns_of(name, on_metal())
        at = names.index("registry-login")
        assert names[at + 1] == "kubelet", name
        assert "nvme" not in names[at:]
        given = told(name, on_metal())
        assert (given["REGISTRY"], given["REGISTRY_LOGIN"]) == (HOST, LOGIN)
        assert given["PAUSE_IMAGE"].startswith(f"{HOST}/mirror/registry.k8s.io/pause:")


def test_kubeadm_who_is_nobody_there_pulls_nothing() -> None:
    for name in machines(on_metal()):
        given = told(name, on_metal())
        for text in (given[each] for each in ("KUBEADM", "JOIN") if each in given):
            first = next(iter(yaml.safe_load_all(text)))
            assert first["nodeRegistration"]["imagePullPolicy"] == "Never", name


def test_the_password_is_in_nothing_that_the_state_has_in_clear() -> None:
    for each in on_metal().resources.values():
        for name, value in each.inputs.items():
            if name != "stdin" or "stdin" not in each.secret:
                assert PASSWORD not in str(value), (each.name, name)
                assert LOGIN not in str(value), (each.name, name)
    assert LOGIN not in str(on_metal().outputs)


def test_nodes_on_aws_read_it_themselves_and_nobody_else_is_told() -> None:
    scripts = list(_scripts())
    assert len(scripts) == 3
    for text in scripts:
        call = f"/usr/local/sbin/gpucluster-registry-login {ARN} us-east-2 {HOST}"
        assert f"ExecStartPre=-{call}" in text
        assert f"ExecStart={call}" in text
    for role in ("node-role-login", "karpenter-node-role-login"):
        (statement,) = json.loads(on_aws().one(role).inputs["policy"])["Statement"]
        assert (statement["Action"], statement["Resource"]) == (["secretsmanager:GetSecretValue"], [ARN])


KINDS = """
    capacity-reservation fleet instance launch-template network-interface placement-group security-group
    spot-instances-request subnet volume
"""
STRANGERS = """
    ec2:us-east-2::image/* ec2:us-east-2::snapshot/* iam::123456789012:instance-profile/*
    ssm:us-east-2::parameter/aws/service/* iam::123456789012:root iam::123456789012:role/deployer
    s3:::acme-datasets s3:::acme-datasets/instructions/* s3:::acme-model-weights s3:::acme-model-weights/llama-3-8b/*
"""


def test_karpenter_and_nodes_name_the_secret_and_kinds_of_things_beside_what_the_stack_makes() -> None:
    """Those of the region, since it starts what has no name yet."""
    kinds = {f"arn:aws:ec2:us-east-2:*:{each}/*" for each in KINDS.split()}
    assert strangers(on_aws()) == {ARN, *kinds, *(f"arn:aws:{each}" for each in STRANGERS.split())}


def _scripts() -> Iterator[str]:
    """What nodes run at their first boot, of each pool."""
    for name in ("system", "training"):
        yield _script(base64.b64decode(on_aws().one(f"pool-{name}-template").inputs["userData"]).decode())
    yield _script(on_aws().one("pool-inference-class").inputs["spec"]["userData"])


def _script(message: str) -> str:
    parts: list[Any] = list(message_from_string(message).walk())
    return str(parts[-1].get_payload())


def test_a_mirror_that_lets_anybody_pull_changes_no_node() -> None:
    supply = {"registry": f"{HOST}/mirror"}
    metal = run_program({**stack_config("metal"), "gpucluster:supply": supply}, stack="metal")
    assert not [name for name in machines(metal) if "registry-login" in concerns_of(name, metal)]
    aws = run_program({**stack_config("dev"), "gpucluster:supply": supply}, stack="dev")
    assert "node-role-login" not in {each.name for each in aws.resources.values()}
