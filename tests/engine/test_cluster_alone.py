"""A control plane with nothing on it, and a file system: the way in, the deployer's access, the logs of the cluster
before, and a throughput that FSx never changes; made while AWS throttles, and shows late what it has made.
"""

from collections.abc import Iterator

import pytest

from rehearsal.engine.events import Diagnostic, Record, Step

from .cutdown import cut_down
from .lates import OF_A_CLUSTER
from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import Tree

pytestmark = pytest.mark.engine

ALONE = """\
    lustre(planned, base.keys, _storage_place(base, cluster), through)
    Namespace("first", opts=pulumi.ResourceOptions(provider=kubernetes_provider(cluster, kube)))
"""
IMPORTS = """
from pulumi_kubernetes.core.v1 import Namespace
from stacks.aws_storage import lustre
"""
FAST = {"deploymentType": "PERSISTENT_2", "capacityGib": 4800, "throughputMbpsPerTib": 1000, "efa": True}
LOGS = "/aws/eks/gpucluster-dev/cluster"
THROTTLED = {"action": "(Create|Put|Allocate|Associate|Attach|Authorize|Tag|Modify).*", "every": 3}
"""Each third call that changes something, for as long as `up` takes (EC2 API reference, request throttling)."""

ROLES = "GetRole"
"""On a busy machine the roles may be there before the order for them has come: it alone may be left over."""

GROUP = ("aws:cloudwatch:LogGroup", "cluster-logs")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The program cut down to its control plane, on a private endpoint that is asked from inside the VPC."""
    directory = tmp_path_factory.mktemp("alone")
    tree = Tree.copy(directory / "tree")
    cut_down(tree, ALONE, IMPORTS)
    tree.edit("Pulumi.dev.yaml", "publicAccessCidrs: [203.0.113.0/24]", "access: {via: inside}")
    tree.stack("dev").set("gpucluster:storage.lustre", FAST).set("gpucluster:budget.maxHourlyUsd", 40)
    with rehearsed("alone", tree, directory / "state") as opened:
        yield opened


def group(site: Rehearsed) -> dict[str, object] | None:
    found = site.aws("logs").describe_log_groups(logGroupNamePrefix=LOGS)["logGroups"]
    return found[0] if found else None


@pytest.fixture(scope="module")
def applied(site: Rehearsed) -> Rehearsed:
    """Where an earlier cluster left its log group; the account throttles, and shows late what it has made; roles from
    when the first thing is made: who deploys is known before.
    """
    site.aws("logs").create_log_group(logGroupName=LOGS)
    roles = [order for order in OF_A_CLUSTER if order["action"] == ROLES]
    for order in (THROTTLED, *(each for each in OF_A_CLUSTER if each not in roles)):
        site.control("POST", "faults", order)
    begun: list[str] = []

    def late(seen: Step | Diagnostic | None, _: Record) -> None:
        if isinstance(seen, Step) and seen.type.startswith("aws:") and not begun:
            begun.append(seen.urn.label)
            for order in roles:
                site.control("POST", "faults", order)

    done = operations(site.engine.up(watch=late))
    throttled, *left = site.control("GET", "faults")
    site.control("DELETE", "faults")
    assert len(roles) == 1
    assert {each["action"] for each in left} <= {ROLES}, "what was made was never asked for"
    assert throttled["matched"] > 30
    assert [each for each in done if each[2] == "cluster-logs"] == [("import", *GROUP), ("update", *GROUP)]
    assert "first" in [name for operation, _, name in done if operation == "create"]
    return site


def test_a_log_group_that_was_left_is_taken_over_and_made_ours_lf09(applied: Rehearsed) -> None:
    found = group(applied)
    assert found
    assert (found["retentionInDays"], "kmsKeyId" in found) == (30, True)
    applied.assert_quiet()


def test_a_caller_elsewhere_finds_the_cluster_unreachable_lf02(applied: Rehearsed) -> None:
    applied.control("PUT", "caller", {"address": "203.0.113.9"})
    try:
        outcome = until(lambda: (tried := applied.refresh()).status and tried, "the refresh to fail")
    finally:
        applied.control("PUT", "caller", {"address": "10.64.0.1"})
    assert "failed to read resource state due to unreachable cluster" in outcome.explain()


def test_another_throughput_of_a_file_system_with_efa_is_refused_by_the_preview(applied: Rehearsed) -> None:
    """And a larger one is none."""
    tree, kept = applied.tree, applied.tree.text("Pulumi.dev.yaml")
    tree.stack("dev").set("gpucluster:storage.lustre", {**FAST, "capacityGib": 9600, "throughputMbpsPerTib": 500})
    refused = applied.preview()
    tree.write("Pulumi.dev.yaml", kept)
    assert refused.status != 0
    assert "lustre.throughputMbpsPerTib: FSx does not change the throughput" in refused.explain()
    assert "set it to 1000" in refused.explain()
    tree.stack("dev").set("gpucluster:storage.lustre", {**FAST, "capacityGib": 9600})
    grown = operations(applied.preview())
    tree.write("Pulumi.dev.yaml", kept)
    assert ("update", "aws:fsx:LustreFileSystem", "lustre-file-system") in grown


def test_what_eks_writes_after_the_end_does_not_stop_the_next_beginning_lf09(applied: Rehearsed) -> None:
    applied.control("PUT", "late-logs", {"seconds": 30.0})
    assert ("delete", *GROUP) in operations(applied.destroy())
    until(lambda: group(applied), "EKS to make the log group again")
    assert ("import", *GROUP) in operations(applied.preview())
