"""Security groups of single services and teams, where the stack file asks for them."""

import json
from copy import deepcopy
from typing import Any

import jsonschema_rs
import pytest

from components.aws.addons import POD_GROUPS
from rehearsal.cluster.eks import SECURITY_GROUP_POLICY
from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import closed
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.planner.stacks import plan_of

OWN, OTHER = "sg-0f1e2d3c4b5a69788", "sg-08796a5b4c3d2e1f0"
WANTED = [{"service": "llama-3-8b", "groups": [OWN]}, {"team": "vision", "groups": [OWN, OTHER]}]
POLICY = "AmazonEKSVPCResourceController"


def config(wanted: list[dict[str, Any]] | None = None, **network: Any) -> dict[str, Any]:
    found = deepcopy(stack_config("dev"))
    found["gpucluster:platform"].setdefault("network", {}).update({"podGroups": wanted or WANTED, **network})
    found["gpucluster:scheduling"]["queues"] = [
        *found["gpucluster:scheduling"]["queues"],
        {"name": "vision", "gpus": 1},
    ]
    member = {"role": "trainer", "group": "research"}
    found["gpucluster:teams"] = [{"name": "vision", "queue": "vision", "gpus": 1, "members": [member]}]
    return found


@pytest.fixture(scope="module")
def graph() -> Recorded:
    return run_program(config(), stack="dev")


def test_pods_keep_the_clusters_group_beside_their_own(graph: Recorded) -> None:
    """Without it no pod asks the name service, and no kubelet probes it."""
    service, team = graph.one("pod-firewall-llama-3-8b"), graph.one("team-firewall-vision")
    cluster = graph.one("cluster-control-plane")
    for each, groups in ((service, [OWN]), (team, [OWN, OTHER])):
        first, *rest = each.inputs["spec"]["securityGroups"]["groupIds"]
        assert (first.startswith("sg-"), rest) == (True, groups)
        assert cluster.urn in each.references["spec"]
    selected = {"matchLabels": {"app.kubernetes.io/instance": "llama-3-8b"}}
    assert (service.inputs["metadata"]["namespace"], service.inputs["spec"]["podSelector"]) == ("inference", selected)
    assert (team.inputs["metadata"]["namespace"], team.inputs["spec"]["podSelector"]) == ("team-vision", {})
    pod = graph.one("service-llama-3-8b-deployment").inputs["spec"]["template"]["metadata"]["labels"]
    assert selected["matchLabels"].items() <= pod.items()


def test_policies_have_the_shape_of_their_kind(graph: Recorded) -> None:
    """As the rehearsed cluster's own definition has it, with no field beside."""
    (version,) = SECURITY_GROUP_POLICY["spec"]["versions"]
    shape = closed(version["schema"]["openAPIV3Schema"])
    for each in ("pod-firewall-llama-3-8b", "team-firewall-vision"):
        spec = graph.one(each).inputs["spec"]
        jsonschema_rs.validate(shape, {"spec": spec})
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validate(shape, {"spec": {**spec, "groupIds": [OWN]}})


def test_a_service_comes_when_its_pods_would_get_their_groups(graph: Recorded) -> None:
    """A pod that runs already keeps the groups that it has."""
    deployment, policy = graph.one("service-llama-3-8b-deployment"), graph.one("pod-firewall-llama-3-8b")
    assert policy.urn in deployment.references["metadata"]


def test_plugin_and_control_plane_may_make_interfaces_of_pods(graph: Recorded) -> None:
    told = json.loads(graph.one("node-addons-vpc-cni").inputs["configurationValues"])
    assert told == {"enableNetworkPolicy": "true", "env": POD_GROUPS}
    rights = graph.one("cluster-interfaces-policy")
    assert rights.inputs["policyArn"].endswith(f":iam::aws:policy/{POLICY}")
    assert rights.urn in graph.one("cluster-control-plane").depends_on


def test_nobody_who_does_not_ask_has_any_of_it() -> None:
    plain = graph_of("dev")
    assert not [each for each in plain.resources.values() if "SecurityGroupPolicy" in each.token]
    assert "cluster-interfaces-policy" not in {each.name for each in plain.resources.values()}
    assert all(not pool.branch_interfaces for pool in plan_of(stack_config("dev")).pools.values())


def test_a_trunk_takes_the_place_of_an_interface_with_addresses() -> None:
    """g6e.xlarge has four interfaces of 15 addresses, m7i.xlarge as many: three carry pods, and two of the host's."""
    plan = plan_of(config())
    before = plan_of(stack_config("dev"))
    assert {name: pool.branch_interfaces > 0 for name, pool in plan.pools.items()} == dict.fromkeys(plan.pools, True)
    system, was = plan.pools["system"], before.pools["system"]
    assert (system.branch_interfaces, was.addressed_pods - system.addressed_pods) == (18, 14)
    assert plan.errors == ()


def test_pods_in_a_range_of_their_own_need_one_interface_more() -> None:
    """p5.4xlarge: four places, of which EFA has one, the node one, the trunk one; the last one is the pods'."""
    assert plan_of(config(podCidr="100.64.0.0/16")).pools["training"].branch_interfaces == 58
