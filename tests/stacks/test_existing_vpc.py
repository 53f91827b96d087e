"""A stack in a VPC that somebody else made: nothing of it is registered, so a destroy leaves it."""

from copy import deepcopy
from typing import Any

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.outputs import INVOKES
from tests.graph.stackfiles import graph_of, refusal, run_program, stack_config
from tests.stacks.connections import End, Network

VPC, GPU = "vpc-0fe12d34c56b78a90", "subnet-0aaaaaaaaaaaaaaa1"
SYSTEM = {"use2-az1": "subnet-0aaaaaaaaaaaaaaa2", "use2-az2": "subnet-0aaaaaaaaaaaaaaa3"}
RANGES = {"use2-az1": "10.40.16.0/20", "use2-az2": "10.40.32.0/20"}
PUBLIC = {"id": "subnet-0aaaaaaaaaaaaaaa4", "role": "public", "zone": "use2-az1", "cidr": "10.40.0.0/24"}
KINDS = ("Vpc", "Subnet", "RouteTable", "RouteTableAssociation", "Route", "NatGateway", "InternetGateway", "Eip")


def existing(**more: Any) -> dict[str, Any]:
    """What the stack file says of the VPC: one subnet for nodes and control plane in each zone."""
    nodes = [
        {"id": SYSTEM[zone], "role": role, "zone": zone, "cidr": RANGES[zone]}
        for zone in SYSTEM
        for role in ("system", "control-plane")
    ]
    gpu = {"id": GPU, "role": "gpu", "zone": "use2-az1", "cidr": "10.40.64.0/18"}
    return {"vpcId": VPC, "subnets": [gpu, *nodes], **more}


def config(stack: str = "dev", said: dict[str, Any] | None = None, **network: Any) -> dict[str, Any]:
    """A shipped stack in the VPC."""
    found = deepcopy(stack_config(stack))
    found["gpucluster:platform"] |= {"vpcCidr": "10.40.0.0/16", "network": {"existing": said or existing(), **network}}
    return found


def deployed(**network: Any) -> Recorded:
    return run_program(config(**network), stack="dev")


def test_nothing_of_the_vpc_is_the_stacks() -> None:
    """The rest is what a stack in a VPC of its own registers."""
    graph, plain = deployed(), graph_of("dev")
    assert [each.urn for kind in KINDS for each in graph.of_type(kind)] == []
    left = {each.urn for each in plain.resources.values() if not each.name.startswith("network")}
    assert {each.urn for each in graph.resources.values()} - {each.urn for each in plain.resources.values()} == set()
    assert left <= {each.urn for each in graph.resources.values()}
    assert [str(each) for each in violations(graph, RULES)] == []


def test_everything_stands_in_the_subnets_that_are_named() -> None:
    graph = deployed(endpoints=["sts"], endpointsPerZone=True, flowLogs={})
    control = graph.one("cluster-control-plane").inputs["vpcConfig"]["subnetIds"]
    assert control == list(SYSTEM.values())
    assert graph.one("pool-system-nodes").inputs["subnetIds"] == list(SYSTEM.values())
    assert graph.one("pool-training-nodes").inputs["subnetIds"] == [GPU]
    assert graph.one("lustre-file-system").inputs["subnetIds"] == GPU
    assert graph.one("endpoints-sts").inputs["subnetIds"] == list(SYSTEM.values())
    for name in ("efa-group", "lustre-group-group", "endpoints-group", "endpoints-sts", "flow-logs-log"):
        assert graph.one(name).inputs["vpcId"] == VPC
    assert graph.outputs["fabric"]["vpc"] == VPC


def test_pods_may_ask_services_that_the_vpc_has_inside() -> None:
    graph = run_program(config(said=existing(endpoints=["logs"])), stack="dev")
    agent = End(namespace="monitoring", labels={"app.kubernetes.io/name": "fluent-bit"})
    assert Network(graph).passes(agent, End(address="10.40.40.9"), 443)
    assert graph.of_type("VpcEndpoint") == []


def test_what_ends_a_lab_is_there_before_what_stands_in_the_vpc() -> None:
    """The VPC itself waits for nothing, so what is made in it does."""
    graph = run_program(config("lab"), stack="lab")
    watches = {each.urn for each in graph.of_type("Schedule")}
    assert watches
    for name in ("cluster-control-plane", "lustre-file-system"):
        assert watches & set(graph.one(name).depends_on), name


def test_a_gateway_to_the_internet_needs_a_public_subnet() -> None:
    gateway = {
        "reach": "internet",
        "domain": "llm.team-a.ai",
        "issuer": {"kind": "private-ca"},
        "callers": ["0.0.0.0/0"],
    }
    wanted = config()
    wanted["gpucluster:serving"]["gateway"] = gateway
    assert "existing-without-public" in refusal(wanted, stack="dev")
    said = existing()
    said["subnets"] = [*said["subnets"], PUBLIC]
    wanted["gpucluster:platform"]["network"] = {"existing": said}
    graph = run_program(wanted, stack="dev")
    (service,) = [each for each in graph.resources.values() if PUBLIC["id"] in str(each.inputs)]
    assert "load-balancer-subnets" in str(service.inputs)


@pytest.mark.parametrize(
    ("own", "stands_in", "named", "sentence"),
    [
        (True, "vpc-0aaa", True, f"is in a VPC of the stack's own (10.64.0.0/16), not in {VPC}"),
        (False, "vpc-0aaa", True, f"is in vpc-0aaa, not in {VPC}"),
        (False, "vpc-0aaa", False, "is in vpc-0aaa, which the stack file no longer names"),
        (False, VPC, True, ""),
    ],
)
def test_a_cluster_does_not_move_to_another_vpc_lf18(
    own: bool, stands_in: str, named: bool, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn = "arn:aws:eks:us-east-2:123456789012:cluster/gpucluster-dev"
    role = "arn:aws:iam::123456789012:role/gpucluster-dev-control-plane"
    outputs = {"arn": arn, "roleArn": role, "vpcConfig": {"vpcId": stands_in}}
    left: dict[str, Any] = {"cluster": {"type": "aws:eks/cluster:Cluster", "outputs": outputs}}
    if own:
        left["vpc"] = {"type": "aws:ec2/vpc:Vpc", "outputs": {"cidrBlock": "10.64.0.0/16"}}
    monkeypatch.setitem(INVOKES, "pulumi:pulumi:readStackOutputs", {"outputs": {"kubePlatform": {}}})
    monkeypatch.setitem(INVOKES, "pulumi:pulumi:readStackResourceOutputs", {"outputs": left})
    wanted = config() if named else stack_config("dev")
    if sentence:
        said = refusal(wanted, stack="dev")
        assert "gpucluster:platform.network.existing" in said
        assert sentence in said
    else:
        assert run_program(wanted, stack="dev").of_type("Cluster")
