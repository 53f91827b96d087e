"""Every registered resource against every schema there is for it, and what each check finds."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import pytest

from policy.graph import Resource
from tests.graph import schema_aws, schema_kubernetes, schema_sdk
from tests.graph.changes import changed
from tests.graph.harness import Recorded
from tests.graph.stackfiles import SHIPPED, run_program
from tests.graph.stackfiles import graph_of as graph_of_file
from tests.stacks import test_gateway, test_teams
from tests.stacks.test_corpus import CORPUS, config_in

OTHERS: Mapping[str, Callable[[], Recorded]] = {
    "a gateway": cache(test_gateway.graph),
    "a gateway with an authority": cache(partial(test_gateway.graph, acme=True)),
    "a gateway with an authority that looks into a zone": cache(partial(test_gateway.graph, zone=True)),
    "a team with hosts": test_teams.on_premises,
    "experiments": cache(
        partial(run_program, config_in(CORPUS / "good" / "experiment-with-a-winner.yaml"), stack="dev")
    ),
}
"""What no committed stack has."""
STACKS = (*SHIPPED, *OTHERS)
every_stack = pytest.mark.parametrize("stack", STACKS)


def graph_of(stack: str) -> Recorded:
    """What a committed stack registers, or one with what no committed stack has."""
    return OTHERS[stack]() if stack in OTHERS else graph_of_file(stack)


@every_stack
def test_inputs_are_those_of_the_sdk(stack: str) -> None:
    assert [problem for each in graph_of(stack).resources.values() for problem in schema_sdk.problems(each)] == []


@every_stack
def test_aws_would_take_every_value(stack: str) -> None:
    assert [problem for each in graph_of(stack).resources.values() for problem in schema_aws.problems(each)] == []


@every_stack
def test_kubernetes_would_take_every_built_in_object(stack: str) -> None:
    built_in = [each for each in graph_of(stack).resources.values() if each.kind not in schema_kubernetes.CUSTOM]
    assert [problem for each in built_in for problem in schema_kubernetes.problems(each)] == []


@every_stack
@pytest.mark.parametrize("kind", schema_kubernetes.CUSTOM)
def test_kubernetes_would_take_every_custom_object_kj05(stack: str, kind: str) -> None:
    if schema_kubernetes.crd_file(kind) is None:
        pytest.skip(f"off: no CRD of {kind}; make toolchain generates it, GPUCLUSTER_UPSTREAM may hold it")
    custom = graph_of(stack).of_type(kind)
    assert [problem for each in custom for problem in schema_kubernetes.problems(each)] == []


@pytest.mark.parametrize("kind", schema_kubernetes.CUSTOM)
def test_every_custom_kind_is_in_some_stack(kind: str) -> None:
    assert [stack for stack in STACKS if graph_of(stack).of_type(kind)]


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("pool-training-template", "placement.groupNam", "x", "placement.groupNam: unknown property"),
        ("pool-training-template", "networkInterfaces.0.networkCardIndex", "zero", "'zero' is not int"),
        ("pool-training-nodes", "taints.0", {"key": "a"}, "taints[0].effect: required"),
        ("service-llama-3-70b-deployment", "spec.template.spec.containers.0.imagee", "x", "imagee: unknown property"),
        ("namespaces-training", "metadata.labels", {"a": 1}, "labels.a: 1 is not str"),
        ("network-vpc", "enableDnsSupport", "yes", "'yes' is not bool"),
        ("network-vpc", "tags", [], "tags: list is not a map"),
    ],
)
def test_the_sdk_check_finds(name: str, path: str, value: Any, said: str) -> None:
    assert any(problem.endswith(said) for problem in schema_sdk.problems(changed(name, path, value)))


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("lustre-file-system", "deploymentType", "PERSISTENT_3", '"PERSISTENT_3" is not one of'),
        ("lustre-file-system", "perUnitStorageThroughput", 7, "valid min value: 12"),
        ("lustre-file-system", "perUnitStorageThroughput", 7000, "less than or equal to 1000"),
        ("pool-training-nodes", "taints.0.effect", "NoSchedule", '"NoSchedule" is not one of NO_SCHEDULE'),
        ("pool-training-nodes", "amiType", "AL2023_NVIDIA", '"AL2023_NVIDIA" is not one of'),
        ("pool-training-nodes", "scalingConfig.maxSize", 0, "valid min value: 1"),
        ("pool-training-template", "instanceType", "p5.49xlarge", '"p5.49xlarge" is not one of'),
        ("cluster-role", "name", "a b", "Member must satisfy pattern"),
        ("cluster-control-plane", "name", "-prod", "Member must satisfy pattern"),
        ("cluster-control-plane", "accessConfig.authenticationMode", "IAM", '"IAM" is not one of'),
        ("network-vpc", "cidr", "10.0.0.0/16", "network-vpc has no input cidr"),
    ],
)
def test_the_aws_check_finds(name: str, path: str, value: Any, said: str) -> None:
    assert any(said in problem for problem in schema_aws.problems(changed(name, path, value)))


def test_an_aws_type_without_a_row_is_a_problem() -> None:
    unknown = Resource(urn="urn", token="aws:ec2/vpnGateway:VpnGateway", name="vpn", custom=True)
    assert "To add it: a row" in schema_aws.problems(unknown)[0]


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("service-llama-3-70b-deployment", "spec", {"template": {}}, "'selector' is a required property"),
        ("service-llama-3-70b-service", "spec.portz", [], "portz"),
        ("queues-training", "spec.wieght", 3, "wieght"),
        ("run-llama-3-70b-pretrain-job", "spec.elasticPolicy", {"rdzvConfigs": []}, "rdzvConfigs"),
        ("run-llama-3-70b-pretrain-job", "spec.nprocPerNode", 8, '8 is not of type "string"'),
    ],
)
def test_the_kubernetes_check_finds_kj05(name: str, path: str, value: Any, said: str) -> None:
    resource = changed(name, path, value)
    if resource.kind in schema_kubernetes.CUSTOM and schema_kubernetes.crd_file(resource.kind) is None:
        pytest.skip(f"off: no CRD of {resource.kind}")
    assert any(said in problem for problem in schema_kubernetes.problems(resource))
