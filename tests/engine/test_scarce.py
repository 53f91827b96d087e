"""A whole `up` where EC2 has no machine of one pool, and the account no quota for another: the end names both with the
next step, and when both have come the next `up` makes what is missing.

The program is cut down to network, cluster and pools: what runs on them is no part of this.
"""

import json
from collections.abc import Iterator

import pytest

from .cutdown import cut_down
from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

NODES = """\
    hardware = HardwarePool("hardware", through)
    daemons = _addons("node-addons", node_addons(apart=False, prefixes=False), cluster, base, kube, base.endpoints)
    node_pools(planned, base, cluster, hardware, [], after=[daemons.installed["vpc-cni"]])
"""
IMPORTS = """
from components.aws.addons import node_addons
from stacks.aws_pools import node_pools
"""
SCARCE, BEYOND = "pool-training-nodes", "pool-inference-nodes"
QUOTA = "ec2/L-DB2E81BA"
"""Running On-Demand G and VT instances."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    directory = tmp_path_factory.mktemp("scarce")
    tree = Tree.copy(directory / "tree")
    cut_down(tree, NODES, IMPORTS)
    with rehearsed("scarce", tree, directory / "state") as opened:
        yield opened


def order(site: Rehearsed, *, machines: bool, quota: bool) -> None:
    """Whether EC2 has p5.4xlarge, and whether the account has its quota of G instances."""
    site.control("PUT", f"capacity/{site.region}/p5.4xlarge", {} if machines else {"count": 0})
    site.control("PUT", f"quotas/{site.region}/{QUOTA}", {} if quota else {"value": 0})


def states(site: Rehearsed) -> dict[str, str]:
    """What EKS says of each node group."""
    eks = site.aws("eks")
    (cluster,) = eks.list_clusters()["clusters"]
    named = eks.list_nodegroups(clusterName=cluster)["nodegroups"]
    found = (eks.describe_nodegroup(clusterName=cluster, nodegroupName=each)["nodegroup"] for each in named)
    return {each["nodegroupName"]: each["status"] for each in found}


def test_what_ec2_does_not_have_and_what_the_account_may_not_is_said_with_the_next_step(site: Rehearsed) -> None:
    order(site, machines=False, quota=False)
    failed = site.up("--continue-on-error")
    assert failed.status != 0
    by_name = {each.urn.name: str(each) for each in failed.record.errors() if each.urn is not None}
    for name, code in ((SCARCE, "InsufficientInstanceCapacity"), (BEYOND, "VcpuLimitExceeded")):
        assert by_name[name].startswith(f"aws:eks:NodeGroup {name}: "), by_name[name]
        assert "is CREATE_FAILED; AsgInstanceLaunchFailures: Could not launch instances" in by_name[name]
        assert code in by_name[name]
    said = failed.explain()
    assert "try again later, or take another zone or type, or a reservation" in said
    assert "request a higher one (Service Quotas, same region)" in said
    assert "pulumi up --replace" in said
    assert states(site) == {"system": "ACTIVE", "training": "CREATE_FAILED", "inference": "CREATE_FAILED"}


def test_when_both_have_come_the_next_up_makes_the_groups_again_and_no_others(site: Rehearsed) -> None:
    """As the remedy says; EKS never looks at a group again whose creation failed."""
    order(site, machines=True, quota=True)
    kept = json.loads(site.state_text())["checkpoint"]["latest"]["resources"]
    urns = [each["urn"] for each in kept if each["urn"].endswith((f"::{SCARCE}", f"::{BEYOND}"))]
    done = operations(site.up(*(word for each in urns for word in ("--replace", each))))
    assert {name for _, _, name in done} == {SCARCE, BEYOND}
    assert set(states(site).values()) == {"ACTIVE"}
    until(lambda: len(site.kube.list("v1", "Node")) == 6, "all nodes")
    site.assert_quiet()
