"""The VPC beyond its subnets, from the stack file to what is registered."""

import json
from typing import Any

from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, registered, stack_config
from tests.stacks.connections import End, Network


def deployed(network: dict[str, Any]) -> Recorded:
    """The dev stack with this said of its network."""
    config = stack_config("dev")
    platform = {**config["gpucluster:platform"], "network": network}
    return registered({**config, "gpucluster:platform": platform}, stack="dev")


def test_flow_logs_are_of_the_whole_network_and_end() -> None:
    graph = deployed({"flowLogs": {"retentionDays": 90, "traffic": "reject"}})
    group, log = graph.one("flow-logs-group").inputs, graph.one("flow-logs-log").inputs
    assert (group["retentionInDays"], log["trafficType"]) == (90, "REJECT")
    assert log["vpcId"] == graph.one("network-vpc").id
    assert log["iamRoleArn"].endswith("flow-logs")


def test_the_stacks_key_serves_the_group_of_flow_logs() -> None:
    """Its policy names the groups that it is for, by how their names begin."""
    graph = deployed({"flowLogs": {}})
    group = graph.one("flow-logs-group").inputs
    (statement,) = (
        each for each in json.loads(graph.one("keys-key").inputs["policy"])["Statement"] if "Condition" in each
    )
    pattern = statement["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    assert pattern.endswith("*")
    assert group["name"].startswith(pattern.removesuffix("*").partition("log-group:")[2])
    assert group["kmsKeyId"].startswith("arn:aws:kms:")


def test_nobody_records_unless_asked() -> None:
    assert not graph_of("dev").of_type("FlowLog")


INSIDE = ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]


def waived(network: dict[str, Any]) -> Recorded:
    """The dev stack in a closed network whose registries are reached some other way."""
    config = stack_config("dev")
    hosts = ["registry.example.com", "docker.io", "ghcr.io", "registry.k8s.io", "public.ecr.aws", "nvcr.io", "quay.io"]
    hosts += ["raw.githubusercontent.com"]
    known = {"rule": "closed-network", "reason": "a proxy of the site's leads there", "until": "2027-12-31"}
    waivers = [{**known, "subject": each} for each in hosts]
    platform = {**config["gpucluster:platform"], "network": network}
    more = {"gpucluster:platform": platform, "gpucluster:waivers": [*config.get("gpucluster:waivers", []), *waivers]}
    return registered({**config, **more}, stack="dev")


def test_a_closed_network_has_no_way_out_and_keeps_its_subnets() -> None:
    graph, plain = waived({"nat": "none", "endpoints": INSIDE}), graph_of("dev")
    for kind in ("NatGateway", "InternetGateway", "Eip", "Route"):
        assert not graph.of_type(kind)
    assert {each.urn for each in graph.of_type("Subnet")} == {each.urn for each in plain.of_type("Subnet")}
    assert graph.one("network-s3").inputs["routeTableIds"] == [graph.one("network-private-routes").id]


def test_each_zone_leaves_by_its_own_gateway() -> None:
    """The first keeps the names that the only one has, so that a second one replaces nothing."""
    graph, plain = deployed({"nat": "per-zone"}), graph_of("dev")
    assert {each.urn for each in plain.resources.values()} <= {each.urn for each in graph.resources.values()}
    tables = {each.inputs["subnetId"]: each.inputs["routeTableId"] for each in graph.of_type("RouteTableAssociation")}
    second = graph.one("network-private-use2-az2-routes")
    assert tables[graph.one("network-subnet-system-use2-az2").id] == second.id
    assert tables[graph.one("network-subnet-system-use2-az1").id] == graph.one("network-private-routes").id
    nat = graph.one("network-private-use2-az2-default-route").inputs["natGatewayId"]
    assert nat == graph.one("network-nat-use2-az2").id
    assert graph.one("network-nat-use2-az2").inputs["subnetId"] == graph.one("network-subnet-public-use2-az2").id
    assert second.id in graph.one("network-s3").inputs["routeTableIds"]


def test_endpoints_answer_the_services_own_names_before_nodes_start() -> None:
    graph = waived({"nat": "none", "endpoints": INSIDE, "endpointsPerZone": True})
    subnets = {graph.one(f"network-subnet-system-use2-az{number}").id for number in (1, 2)}
    for service in INSIDE:
        made = graph.one(f"endpoints-{service}").inputs
        assert made["serviceName"] == f"com.amazonaws.us-east-2.{service}"
        assert (made["vpcEndpointType"], made["privateDnsEnabled"]) == ("Interface", True)
        assert set(made["subnetIds"]) == subnets
        assert graph.one(f"endpoints-{service}").urn in graph.one("node-addons-vpc-cni").depends_on
    (rule,) = [each for each in graph.of_type("SecurityGroupIngressRule") if each.name.startswith("endpoints-")]
    assert (rule.inputs["cidrIpv4"], rule.inputs["fromPort"], rule.inputs["toPort"]) == ("10.64.0.0/16", 443, 443)


def test_pods_that_ask_aws_may_ask_it_inside() -> None:
    """Fluent Bit's logs go to an address of the VPC then; without endpoints nothing but port 443 of the API does."""
    inside, open_ = deployed({"endpoints": ["logs"]}), graph_of("dev")
    agent = End(namespace="monitoring", labels={"app.kubernetes.io/name": "fluent-bit"})
    endpoint = End(address="10.64.40.9")
    run = "run-llama-3-8b-sft-job"
    assert Network(inside).passes(agent, endpoint, 443)
    assert Network(inside).passes(run, endpoint, 443)
    assert not Network(inside).passes(run, endpoint, 6379)
    assert not Network(open_).passes(run, endpoint, 443)
