"""Two stacks in one account, and two sites on one machine, do not get in each other's way."""

import dataclasses
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from rehearsal import places, sites
from rehearsal.engine.events import Diagnostic, Record, Step
from rehearsal.engine.home import Home
from rehearsal.engine.workspace import open_workspace

from .lates import OF_A_STACK
from .rehearsed import Rehearsed, operations, until
from .trees import ROOT, Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

SECOND = "dev2"
THROTTLED = 25


@pytest.fixture(scope="module")
def before(dev: Rehearsed) -> dict[str, list[str]]:
    """What the account holds with the first stack alone."""
    return dict(dev.inventory())


@pytest.fixture(scope="module")
def second(
    dev: Rehearsed, before: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rehearsed]:
    """A stack of another name in the account of the first one; small, and not yet applied."""
    tree = Tree.copy(tmp_path_factory.mktemp(SECOND) / "tree")
    content = yaml.safe_load(tree.text("Pulumi.dev.yaml"))
    config = content["config"]
    config["gpucluster:pools"] = [{"name": "system", "role": "system", "instanceType": "m7i.xlarge", "count": 1}]
    for section in ("gpucluster:training", "gpucluster:serving", "gpucluster:monitoring"):
        del config[section]
    text = yaml.safe_dump(content, sort_keys=False)
    (tree.root / f"Pulumi.{SECOND}.yaml").write_text(text)
    first = dev.session
    home = Home(first.engine.cli, first.engine.env)
    engine = open_workspace(dev.directory, home, tree.root, SECOND).engine
    with closing(Rehearsed(tree, dataclasses.replace(first, engine=engine), SECOND, text)) as made:
        yield made


def names(inventory: dict[str, list[str]]) -> set[str]:
    return {f"{kind} {id}" for kind, ids in inventory.items() for id in ids}


def test_a_whole_up_rides_over_throttling_and_over_what_aws_shows_late(second: Rehearsed) -> None:
    """From the first create on, the account throttles, and does not see yet what it has made; it is the other stack's
    account, too.
    """
    begun: list[str] = []

    def throttle(seen: Step | Diagnostic | None, _: Record) -> None:
        if isinstance(seen, Step) and seen.type.startswith("aws:") and not begun:
            begun.append(seen.urn.label)
            order = {"action": "Create.*|Allocate.*|Put.*|DescribeVpcs|DescribeSubnets", "code": "RequestLimitExceeded"}
            for late in OF_A_STACK:
                second.control("POST", "faults", late)
            second.control("POST", "faults", order | {"status": 503, "times": THROTTLED})

    try:
        made = operations(second.engine.up(watch=throttle))
        assert second.control("GET", "faults") == []
    finally:
        second.control("DELETE", "faults")
    assert ("create", "aws:eks:Cluster", "cluster-control-plane") in made
    second.settled()


def test_each_stack_has_what_is_its_own(dev: Rehearsed, second: Rehearsed, before: dict[str, list[str]]) -> None:
    both = dict(dev.inventory())
    assert names(before) < names(both)
    assert sorted(both["eks:cluster"]) == ["gpucluster-dev", f"gpucluster-{SECOND}"]
    assert len(both["ec2:vpc"]) == 2
    one, other = dev.kube, second.kube
    assert one.server != other.server
    assert len(one.list("v1", "Node")) == 6
    assert len(other.list("v1", "Node")) == 1
    assert one.get("v1", "Namespace", "training") != other.get("v1", "Namespace", "training")


def test_destroying_one_leaves_the_other_untouched(
    dev: Rehearsed, second: Rehearsed, before: dict[str, list[str]]
) -> None:
    state = dev.state_text()
    objects = {each["metadata"]["uid"] for each in dev.kube.list("v1", "Pod")}
    outcome = second.destroy()
    assert outcome.status == 0, outcome.explain()
    until(lambda: len(dev.clusters()) == 1, "the second control plane to be gone")
    assert dict(dev.inventory()) == before
    assert dev.state_text() == state
    assert {each["metadata"]["uid"] for each in dev.kube.list("v1", "Pod")} == objects
    assert dev.view().unready() == []


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[list[Path]]:
    found = [tmp_path / name for name in ("one", "other")]
    yield found
    for directory in found:
        sites.stop(directory)


def test_two_sites_started_at_once_take_ports_and_processes_of_their_own(directories: list[Path]) -> None:
    started: dict[Path, sites.Site] = {}

    def start(directory: Path) -> None:
        started[directory] = sites.start(directory, ROOT)

    threads = [threading.Thread(target=start, args=[directory]) for directory in directories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, other = (started[directory] for directory in directories)
    assert one.cloud_url != other.cloud_url
    assert {one.supervisor, one.cloud}.isdisjoint({other.supervisor, other.cloud})
    sites.stop(one.directory.path)
    assert not places.SiteDirectory(one.directory.path).record.exists()
    assert sites.status(other.directory.path).state is sites.State.RUNNING
