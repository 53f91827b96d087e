"""A node is not ready before the VPC CNI runs on it."""

from collections.abc import Iterator

import pytest

from rehearsal.kubelet.images import Images
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site

pytestmark = pytest.mark.engine


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory, images: Images) -> Iterator[Site]:
    """A cluster without any add-on."""
    made = Site(tmp_path_factory.mktemp("bare"), "bare", images)
    yield made
    made.stop()


def test_node_gets_ready_with_the_network_plugin(bare: Site) -> None:
    account = bare.account
    account.nodegroup("system", 1, account.template("system", "m7i.large"), "AL2023_x86_64_STANDARD")
    node = until(lambda: bare.nodes("system"), 30, "a node registers")[0]["metadata"]["name"]

    def condition() -> dict[str, str]:
        conditions = bare.nodes("system")[0]["status"].get("conditions", [])
        return next((each for each in conditions if each["type"] == "Ready"), {})

    def tainted() -> bool:
        taints = (bare.kube.get("v1", "Node", node) or {})["spec"].get("taints", [])
        return "node.kubernetes.io/not-ready" in [taint["key"] for taint in taints]

    until(lambda: condition().get("status") == "False", 20, "it is not ready")
    assert "cni plugin not initialized" in condition()["message"]
    until(tainted, 20, "it is tainted")
    assert account.status("system") == "CREATING"
    account.addon("vpc-cni")
    until(lambda: condition().get("status") == "True", 30, "it gets ready")
    until(lambda: account.status("system") == "ACTIVE", 30, "the node group is active")
