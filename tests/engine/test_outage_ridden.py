"""The AWS endpoint and the API server fail for a while in the middle of `up` and `destroy`.

Each test goes on with the stack as the one before left it; the last one takes it away.
"""

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from rehearsal.engine.events import Diagnostic, Record, Step, short_type
from rehearsal.engine.run import Watcher

from .crashes import assert_gone, assert_nothing_forgotten
from .rehearsed import Rehearsed, operations, until
from .survivor import Survivor

pytest_plugins = ["tests.engine.survivor_fixture"]
pytestmark = pytest.mark.engine

FROZEN_SECONDS = 10.0
PLACEMENT = "gpucluster-dev-pool-burst-placement"
QUEUE = "scheduling.volcano.sh/v1beta1"
BURST_POOL = {"name": "burst", "role": "training", "instanceType": "p5.4xlarge", "count": 1}
RESEARCH_QUEUE = {"name": "research", "weight": 1}


@pytest.fixture(scope="module")
def site(survivor: Survivor) -> Rehearsed:
    survivor.converge()
    survivor.whole = False
    return survivor.site


def fault(site: Rehearsed, action: str, code: str, status: int, times: int) -> None:
    site.control("POST", "faults", {"action": action, "code": code, "status": status, "times": times})


@contextmanager
def no_faults_left(site: Rehearsed) -> Iterator[None]:
    """Every fault that was ordered inside struck as often as it was to; none outlives a test."""
    site.control("DELETE", "requests")
    try:
        yield
        left = site.control("GET", "faults")
        assert left == [], left
    finally:
        site.control("DELETE", "faults")


def requests(site: Rehearsed) -> dict[str, int]:
    counts: dict[str, int] = site.control("GET", "requests")
    return counts


def test_what_exists_is_never_adopted(site: Rehearsed) -> None:
    """Objects of the right names that somebody else made: `up` names them, touches neither, and goes on without."""
    stack = site.tree.stack("dev")
    stack.set("gpucluster:pools", [*stack.get("gpucluster:pools"), BURST_POOL])
    stack.set("gpucluster:scheduling.queues", [*stack.get("gpucluster:scheduling.queues"), RESEARCH_QUEUE])
    stack.set("gpucluster:budget.maxHourlyUsd", 60)
    ec2 = site.aws("ec2")
    ec2.create_placement_group(GroupName=PLACEMENT, Strategy="cluster")
    foreign = {"apiVersion": QUEUE, "kind": "Queue", "metadata": {"name": "research"}, "spec": {"weight": 9}}
    site.kube.create(foreign)
    failed = site.up("--continue-on-error")
    assert failed.status != 0
    said = sorted(map(str, failed.record.errors()))
    for complaint in (
        rf"PlacementGroup pool-burst-placement: .*{PLACEMENT}.*already exists",
        r'Queue queues-research: .*queues\.scheduling\.volcano\.sh "research" already exists',
    ):
        assert any(re.search(complaint, each) for each in said), said
    queue = site.kube.get(QUEUE, "Queue", "research")
    assert queue is not None
    assert queue["spec"]["weight"] == 9
    assert not ec2.describe_placement_groups(GroupNames=[PLACEMENT])["PlacementGroups"][0].get("Tags")
    ec2.delete_placement_group(GroupName=PLACEMENT)
    site.kube.delete(queue)


def test_a_refusal_names_resource_operation_and_the_words_of_aws(site: Rehearsed) -> None:
    """Throttling and server errors beside it are ridden out; a refusal is not tried again."""
    with no_faults_left(site):
        fault(site, "CreatePlacementGroup", "RequestLimitExceeded", 503, 2)
        fault(site, "CreateNodegroup", "AccessDeniedException", 403, 1)
        failed = site.up("--continue-on-error")
    assert failed.status != 0
    words = "create aws:eks/nodeGroup:NodeGroup pool-burst-nodes: CreateNodegroup: AccessDeniedException: "
    first, *others = map(str, failed.record.errors())
    assert first.startswith(f"aws:eks:NodeGroup pool-burst-nodes: {words}Ordered by the rehearsal.")
    assert others in ([], ["update failed"]), others
    assert requests(site)["ec2.CreatePlacementGroup"] == 3
    assert requests(site)["eks.CreateNodegroup"] == 1


def test_the_second_up_converges_through_throttling_and_server_errors(site: Rehearsed) -> None:
    with no_faults_left(site):
        fault(site, "CreateNodegroup", "ThrottlingException", 429, 1)
        fault(site, "CreateNodegroup", "ServerException", 500, 1)
        fault(site, "CreateNodegroup", "ServiceUnavailableException", 503, 1)
        fault(site, "DescribeNodegroup", "InternalError", 500, 2)
        made = operations(site.up())
    assert ("create", "aws:eks:NodeGroup", "pool-burst-nodes") in made
    assert requests(site)["eks.CreateNodegroup"] == 4
    site.settled()
    assert_nothing_forgotten(site)


def at_first(kind: str, act: Callable[[], None]) -> Watcher:
    """A watcher that acts when the first step on a type begins."""
    done: list[str] = []

    def watch(seen: Step | Diagnostic | None, _: Record) -> None:
        if isinstance(seen, Step) and seen.type.startswith(kind) and not done:
            done.append(seen.urn.label)
            act()

    return watch


def pids(site: Rehearsed) -> tuple[int, int]:
    """Of the API server and its etcd."""
    known = json.loads((site.kubeconfig.parent / "processes.json").read_text())
    return known["kube-apiserver"]["pid"], known["etcd"]["pid"]


@pytest.mark.scale
def test_a_frozen_api_server_is_waited_for(site: Rehearsed) -> None:
    pid, _ = before = pids(site)
    thaw = threading.Timer(FROZEN_SECONDS, os.kill, (pid, signal.SIGCONT))

    def freeze() -> None:
        os.kill(pid, signal.SIGSTOP)
        thaw.start()

    site.tree.stack("dev").set("gpucluster:scheduling.queues[1].weight", 2)
    try:
        outcome = site.engine.up(watch=at_first("kubernetes:", freeze))
    finally:
        os.kill(pid, signal.SIGCONT)
        thaw.cancel()
    assert operations(outcome) == [("update", f"{QUEUE}:Queue", "queues-research")]
    assert pids(site) == before


def test_a_killed_api_server_and_etcd_fail_what_is_under_way_and_the_next_up_goes_on_lf21(site: Rehearsed) -> None:
    """Pulumi's provider has no patience with a server that is away. `up` takes the additions back meanwhile. What etcd
    had taken is on its disk.
    """
    killed = pids(site)

    def kill() -> None:
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    site.tree.restore()
    # Not with --continue-on-error: where it is the end of a replaced resource that fails, Pulumi 3.259 waits with the
    # program for each other.
    outcome = site.engine.up(watch=at_first("kubernetes:", kill))
    broken = [str(each) for each in outcome.record.errors() if each.urn and each.urn.type.startswith("kubernetes:")]
    assert broken or not outcome.status, outcome.explain()
    # One that has just begun again knows no roles for a moment.
    assert all(re.search(r"does not answer|unreachable|clusterrole\S* \S+ not found", each) for each in broken), broken
    assert until(lambda: not {*pids(site)} & {*killed} and site.kube.ready(), "another API server and etcd")
    begun = [(op, short_type(kind), name) for op, kind, name in outcome.record.operations()]
    done = begun + operations(site.engine.up())
    assert ("delete", f"{QUEUE}:Queue", "queues-research") in done
    assert ("delete", "aws:eks:NodeGroup", "pool-burst-nodes") in done
    site.settled()
    assert_nothing_forgotten(site)
    site.assert_quiet()


@pytest.mark.scale
def test_destroy_leaves_nothing_though_aws_throttles(site: Rehearsed) -> None:
    """Also what was made by engines that were killed: the stack of the crash tests is this one."""
    with no_faults_left(site):
        fault(site, "Delete.*", "RequestLimitExceeded", 503, 12)
        fault(site, "DescribeCluster|DescribeNodegroup|DescribeFileSystems", "InternalError", 500, 4)
        outcome = site.destroy()
    assert outcome.status == 0, outcome.explain()
    assert_gone(site)
