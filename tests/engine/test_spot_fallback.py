"""A pool on spot that finds none falls back on demand and its workload runs, with nobody at a laptop (Z01); EC2
then takes the spot instance, and what is missing is asked for again. Another count moves its groups and empties none.
Its run resumes after a gang of higher priority took its nodes.

Engine, cluster and its controllers are the real ones; the function comes from the account, its clock from the test.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rehearsal.cloud.schedules import Schedules

from .rehearsed import Rehearsed, operations, rehearsed, until
from .test_gates import logs
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

RUN, TYPE = "llama-3-8b-sft", "g6e.12xlarge"


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rehearsed, Schedules]]:
    """The dev stack with its training pool of two on spot, of which EC2 has one."""
    directory = tmp_path_factory.mktemp("short")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    for path, value in {
        "pools[1].instanceType": TYPE,
        "pools[1].count": 2,
        "pools[1].capacity": "spot",
        "pools[1].spot": {"onDemandMinutes": 15},
        "training.runs[0].checkpoint": {"everyMinutes": 15, "withinSeconds": 60},
        "serving.services": [],
        "keeper": {},
        "budget.maxHourlyUsd": 900,
    }.items():
        stack.set(f"gpucluster:{path}", value)
    with rehearsed("short", tree, directory / "state") as site:
        limit(site, 1)
        site.up().require()
        clock = Schedules(site.session.site.account, site.region, datetime.now(UTC))
        yield site, clock
        clock.close()


def limit(site: Rehearsed, count: int) -> None:
    site.session.control("PUT", f"capacity/{site.region}/{TYPE}", {"count": count, "market": "spot"})


def after(short: tuple[Rehearsed, Schedules], minutes: int) -> None:
    _, clock = short
    clock.run(clock.now + timedelta(minutes=minutes))


def markets(site: Rehearsed) -> list[str]:
    """How the pool's nodes were bought, sorted."""
    found = site.kube.list("v1", "Node")
    labels = [each["metadata"]["labels"] for each in found]
    return sorted(
        each["eks.amazonaws.com/capacityType"] for each in labels if each.get("gpucluster/pool") == "training"
    )


def gang(site: Rehearsed, run: str = RUN) -> list[dict[str, Any]]:
    pods = site.kube.list("v1", "Pod", "training", label_selector=f"gpucluster/run={run}")
    alive = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    return [pod for pod in alive if pod["status"]["phase"] == "Running"]


def kept(site: Rehearsed) -> list[int]:
    """Steps of the run's whole saves, by the files that the volumes of its cluster hold."""
    volumes = (site.kubeconfig.parent / "effects" / "volumes.json").read_text()
    return [int(each) for each in re.findall(rf"checkpoints/{RUN}/step-(\d+)/SHA256SUMS", volumes)]


def test_spot_is_asked_first_and_gives_one(short: tuple[Rehearsed, Schedules]) -> None:
    site, _ = short
    assert markets(site) == []
    after(short, 2)
    until(lambda: markets(site) == ["SPOT"], "the one spot node")
    after(short, 10)
    assert markets(site) == ["SPOT"]
    assert gang(site) == [], "a gang starts whole"


def test_what_is_missing_comes_on_demand_and_the_gang_runs(short: tuple[Rehearsed, Schedules]) -> None:
    site, _ = short
    after(short, 6)
    until(lambda: markets(site) == ["ON_DEMAND", "SPOT"], "a node on demand")
    until(lambda: len(gang(site)) == 2, "the gang to run")
    site.assert_quiet()


def test_what_ec2_takes_is_drained_at_its_notice_and_asked_for_on_demand(
    short: tuple[Rehearsed, Schedules],
) -> None:
    """EC2 has no other one. The pod that was there ends while its instance still runs; the first rank saves then."""
    site, _ = short
    ec2 = site.aws("ec2")
    tags = [{"Name": "tag:eks:nodegroup-name", "Values": ["training"]}]
    running = [*tags, {"Name": "instance-state-name", "Values": ["running"]}]
    ((doomed,),) = (each["Instances"] for each in ec2.describe_instances(Filters=running)["Reservations"])
    address = doomed["PrivateDnsName"]
    (there,) = [pod for pod in gang(site) if pod["spec"]["nodeName"] == address]
    before = max(kept(site))
    limit(site, 0)
    site.session.control("PUT", f"spot-notices/{site.region}/{doomed['InstanceId']}", {})
    until(lambda: there["metadata"]["uid"] not in {pod["metadata"]["uid"] for pod in gang(site)}, "its pod to end")
    assert ec2.describe_instances(Filters=running)["Reservations"], "it was ended by its node's drain"
    until(lambda: markets(site) == ["ON_DEMAND"], "the spot node to go")
    after(short, 18)
    until(lambda: markets(site) == ["ON_DEMAND"] * 2, "another one on demand")
    until(lambda: len(gang(site)) == 2, "the gang to run again")
    if there["metadata"]["name"] == f"{RUN}-master-0":
        assert resumed(site) > before


def resumed(site: Rehearsed) -> int:
    """The step from which the first rank's process goes on, which is that of the newest save at its start."""
    said = logs(site, f"{RUN}-master-0")[-1]
    found = re.search(r"^resumed from /checkpoints/step-(\d+): step \1$", said, re.MULTILINE)
    assert found, said
    assert "skipped" not in said, "what was saved at the end is whole"
    return int(found[1])


def test_another_count_brings_a_node_and_those_that_run_stay(short: tuple[Rehearsed, Schedules]) -> None:
    """An `up` tells the keeper alone; EC2 has a spot instance again."""
    site, _ = short
    before = {pod["metadata"]["uid"] for pod in gang(site)}
    limit(site, 1)
    site.tree.stack("dev").set("gpucluster:pools[1].count", 3)
    changed = operations(site.up())
    assert [name for _, token, name in changed if token == "aws:eks:NodeGroup"] == []
    assert "keeper-function" in [name for _, _, name in changed]
    assert len(markets(site)) == 2
    after(short, 2)
    until(lambda: markets(site) == ["ON_DEMAND", "ON_DEMAND", "SPOT"], "the third node, on spot")
    assert {pod["metadata"]["uid"] for pod in gang(site)} == before, "the run was not touched"
    site.assert_quiet()


def test_a_smaller_count_lets_nodes_on_demand_go(short: tuple[Rehearsed, Schedules]) -> None:
    site, _ = short
    site.tree.stack("dev").set("gpucluster:pools[1].count", 2)
    site.up().require()
    after(short, 2)
    until(lambda: markets(site) == ["ON_DEMAND", "SPOT"], "one node on demand to go")
    until(lambda: len(gang(site)) == 2, "the gang to run again")


def test_a_run_that_a_gang_of_higher_priority_ends_saves_and_resumes_there_m04_t01(
    short: tuple[Rehearsed, Schedules],
) -> None:
    """Volcano takes both nodes: the pods that go save the step that they are at within their grace period, and those
    that the operator makes in their place begin at it when the other gang is gone.
    """
    site, _ = short
    stack = site.tree.stack("dev")
    (run,) = stack.get("gpucluster:training.runs")
    before = {pod["metadata"]["uid"] for pod in gang(site)}
    stack.set("gpucluster:training.runs", [run, {**run, "name": "urgent", "priority": "training"}])
    site.up().require()
    until(lambda: len(gang(site, "urgent")) == 2, "the gang of higher priority to run")
    assert gang(site) == []
    newest = max(kept(site))
    stack.set("gpucluster:training.runs", [run])
    site.up().require()
    until(lambda: len(gang(site)) == 2, "the run to have its nodes again")
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in gang(site))
    assert resumed(site) == newest
    assert newest > 0, "a save of its first step alone is what every run has"
