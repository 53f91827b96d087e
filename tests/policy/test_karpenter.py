"""Nodes that Karpenter makes: on ground that is there, of a role that may join, for pods that find them."""

import pytest

from policy import RULES
from policy.rule import violations
from tests.graph.changes import MISSING, Change, both, gone, put
from tests.stacks.test_scaled import deployed

CLASS, POOL, SERVER = "pool-inference-class", "pool-inference-nodes", "service-llama-3-8b-deployment"
TEMPLATE, POD = "spec.template", "spec.template.spec"
GROUND, JOIN, NAMED = "node_classes_find_their_ground", "karpenters_nodes_may_join", "node_pools_have_their_class"
FIND, KEPT = "pods_can_be_placed", "runs_are_not_consolidated"
SUBNETS, GROUPS = "spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms"
MODE = "accessConfig.authenticationMode"
DISCOVERY = [{"tags": {"karpenter.sh/discovery": "gpucluster-dev"}}]
OF_EKS = [{"tags": {"aws:eks:cluster-name": "gpucluster-dev"}}]


def run_on_it(name: str, policy: object) -> Change:
    """The run selects Karpenter's nodes, which it consolidates by this policy."""
    roles = ("Master", "Worker")
    selector = {"gpucluster/pool": "inference"}
    path = "spec.pytorchReplicaSpecs.{}.template.spec.nodeSelector"
    return both(
        *(put(name, path.format(role), selector) for role in roles),
        put(POOL, "spec.disruption.consolidationPolicy", policy),
    )


RUN = next(each.name for each in deployed().of_type("PyTorchJob"))
WRONG: list[tuple[str, Change, str]] = [
    (GROUND, put(CLASS, SUBNETS, DISCOVERY), "selects by subnetSelectorTerms"),
    (GROUND, put(CLASS, SUBNETS, [{"id": "subnet-0"}]), "selects by subnetSelectorTerms"),
    (GROUND, put(CLASS, GROUPS, DISCOVERY), "selects by securityGroupSelectorTerms"),
    (JOIN, gone("karpenter-account-nodes"), "which has no access entry of type EC2_LINUX"),
    (JOIN, put("karpenter-account-nodes", "type", "STANDARD"), "starts nodes of the role gpucluster-dev-karpenter"),
    (JOIN, both(put(CLASS, "spec.instanceProfile", MISSING), put(CLASS, "spec.role", "other")), "of the role other"),
    (NAMED, put(POOL, f"{POD}.nodeClassRef.name", "gpus"), "names the EC2NodeClass gpus"),
    (FIND, put(POOL, f"{TEMPLATE}.metadata.labels.gpucluster/pool", "serving"), "which no node has"),
    (FIND, put(SERVER, f"{POD}.tolerations", []), "tolerates the taints of none"),
    (KEPT, run_on_it(RUN, "WhenEmptyOrUnderutilized"), f"on which pods of {RUN} run"),
    (KEPT, run_on_it(RUN, MISSING), "consolidates nodes (WhenEmptyOrUnderutilized)"),
    ("tagged", put(CLASS, "spec.tags", MISSING), "lets Karpenter start nodes without gpucluster:project"),
]
RIGHT: list[tuple[str, Change]] = [
    (GROUND, both(put(CLASS, SUBNETS, DISCOVERY), gone("network-vpc"))),
    (GROUND, put(CLASS, GROUPS, OF_EKS)),
    (GROUND, put(CLASS, SUBNETS, [{"tags": {"gpucluster:network": "backend", "Name": "*"}}])),
    (
        JOIN,
        both(
            gone("karpenter-account-nodes"),
            put("cluster-control-plane", MODE, "API_AND_CONFIG_MAP"),
        ),
    ),
    (NAMED, put(POOL, f"{POD}.nodeClassRef", {"kind": "NodeClass", "name": "of-auto-mode"})),
    (FIND, put(SERVER, f"{POD}.nodeSelector", {"example.com/by-hand": "yes", "gpucluster/pool": "inference"})),
    (KEPT, run_on_it(RUN, "WhenEmpty")),
]


def said(rule: str, change: Change) -> list[str]:
    """What a rule says of the changed stack."""
    return [str(each) for each in violations(change(deployed()), [each for each in RULES if each.id == rule])]


@pytest.mark.parametrize(("rule", "change", "sentence"), WRONG)
def test_a_wrong_pool_is_found(rule: str, change: Change, sentence: str) -> None:
    found = said(rule, change)
    assert [each for each in found if sentence in each], found


@pytest.mark.parametrize(("rule", "change"), RIGHT)
def test_another_pool_passes(rule: str, change: Change) -> None:
    assert said(rule, change) == []


BROKEN = {rule for rule, *_ in WRONG}
