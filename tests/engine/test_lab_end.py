"""A lab that ends by itself on the rehearsed account: whole, half up, while `up` runs; and what comes next.

What costs is counted by AWS' own APIs. The clock is the schedule's; all else runs in real time.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rehearsal.cloud.schedules import Schedules
from rehearsal.command import removal
from rehearsal.engine.events import Diagnostic, Record, Step
from rehearsal.engine.run import Outcome
from rehearsed.ending import STEP, Region
from rehearsed.inbox import Inbox
from sweep.vacate import main as vacate

from .rehearsed import Rehearsed, command, operations, rehearsed, until
from .trees import Tree

pytestmark = pytest.mark.engine

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
END = datetime(2028, 1, 1, tzinfo=UTC)
"""Midnight after the expiry in Pulumi.lab.yaml."""


@dataclass
class Lab:
    """The lab on a site of its own, and the clock of its schedules, which stands before its end at first."""

    site: Rehearsed
    clock: Schedules

    @property
    def place(self) -> Region:
        return Region(self.site.session.site.account, self.site.region)

    def look(self) -> bool:
        """One more call of the keeper, ten minutes later by its clock; whether nothing that may go is left."""
        calls = self.clock.run(self.clock.now + STEP)
        answer = (calls[-1].answer or {}) if calls else {}
        return answer.get("phase") == "ends" and not answer["left"]

    def end(self) -> None:
        """Let the clock pass the end until nothing that costs is left, by the keeper's word and by AWS'."""
        self.clock.now = max(self.clock.now, END)
        until(self.look, "the keeper to end the lab")
        assert self.place.billed() == frozenset()
        until(lambda: not self.site.clusters(), "the control plane to go")

    def away(self) -> None:
        """What `make down` does, to its last sentence."""
        removal.destroy(self.site.session)
        removal.prove_empty(self.site.session)
        self.clock.now = datetime.now(UTC)


@contextmanager
def made(directory: Path, name: str, *, killed: bool = False, **changes: object) -> Iterator[Lab]:
    """The lab of Pulumi.lab.yaml, with sections of its file replaced; `killed` is who kills its engine."""
    tree = Tree.copy(directory / "tree")
    file = tree.stack("lab").set("gpucluster:platform.region", "us-east-2")
    for section, value in changes.items():
        file.set(f"gpucluster:{section}", value)
    with rehearsed(name, tree, directory / "state", "lab", killed=killed) as site:
        clock = Schedules(site.session.site.account, site.region, datetime.now(UTC))
        yield Lab(site, clock)
        clock.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with made(tmp_path_factory.mktemp("lab"), "lab-end") as whole:
        yield whole


def test_a_lab_warns_ends_whole_and_leaves_an_empty_account(tmp_path: Path) -> None:
    """Z15, without a run, which its end does not ask about: who is warned, that nothing costs, that all is gone."""
    with made(tmp_path, "lab-whole", training={"runs": []}) as lab:
        lab.site.up().require()
        assert {"cluster", "instance", "NAT gateway", "file system"} <= {kind for kind, _ in lab.place.billed()}
        topic = lab.site.outputs()["hardware"]["keeperTopic"]
        inbox = Inbox(lab.site.session.site.account, lab.site.region, topic)
        assert inbox.emails == ["ml-platform@example.com"]
        whole = lab.place.billed()
        lab.clock.now = END - timedelta(hours=4) - STEP
        assert not lab.look()
        assert not lab.look()
        assert (inbox.subjects, lab.place.billed()) == (["lab ends soon"], whole)
        lab.end()
        assert inbox.subjects == ["lab ends soon", "lab has ended"]
        inbox.leave()
        lab.away()


@pytest.mark.scale
def test_a_lab_that_is_half_up_when_it_expires_ends_and_goes(lab: Lab) -> None:
    """`up` is interrupted while EKS makes the node groups: the keeper was there before all that costs."""
    pressed: list[Step] = []

    def watch(seen: Step | Diagnostic | None, _: Record) -> None:
        if isinstance(seen, Step) and seen.type == NODE_GROUP and not pressed:
            pressed.append(seen)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.site.engine.up(watch=watch)
    kinds = {kind for kind, _ in lab.place.billed()}
    assert {"cluster", "NAT gateway", "address"} <= kinds
    lab.end()
    lab.away()


def volume_for(lab: Lab, space: str) -> None:
    """Somebody's namespace with a pod, and a volume that a driver makes for it."""
    kube, meta = lab.site.kube, {"name": "scratch", "namespace": space}
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "7Gi"}}}
    kube.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": asked})
    holds = {
        "containers": [{"name": "sleeper", "image": "registry.k8s.io/pause:3.10"}],
        "volumes": [{"name": "scratch", "persistentVolumeClaim": {"claimName": "scratch"}}],
    }
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": holds})


def dynamic_volumes(lab: Lab) -> int:
    """Volumes of the account that the driver made, by its own tag."""
    mine = [{"Name": "tag-key", "Values": ["ebs.csi.aws.com/cluster"]}]
    return len(lab.site.aws("ec2").describe_volumes(Filters=mine)["Volumes"])


@pytest.mark.scale
def test_what_controllers_made_goes_before_a_destroy_and_the_rest_after_its_end(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `make vacate`, with the real kubectl; what comes after it is left to the keeper."""
    lab.site.up().require()
    before = dynamic_volumes(lab)
    volume_for(lab, "team")
    until(lambda: dynamic_volumes(lab) == before + 1, "a volume of the team's")
    balanced = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    meta = {"name": "front", "namespace": "default"}
    lab.site.kube.create({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": balanced})
    monkeypatch.setenv("KUBECONFIG", str(lab.site.kubeconfig))
    kubectl = str(lab.site.session.tools["kubectl"])
    assert vacate(["--stack", "lab", "--confirm", "lab", "--kubectl", kubectl]) == 0
    assert dynamic_volumes(lab) == before
    assert lab.site.kube.get("v1", "Service", "front", "default") is None
    assert vacate(["--stack", "lab", "--kubectl", kubectl]) == 0, "nothing is left to ask for"
    volume_for(lab, "late")
    until(lambda: dynamic_volumes(lab) == before + 1, "a volume that nobody vacates")


@pytest.mark.scale
def test_after_its_end_up_alone_makes_nothing_and_destroy_with_a_refresh_takes_the_rest(lab: Lab) -> None:
    """The state says that all is there, so a preview finds nothing to do. An `up` stops at the cluster's door, and a
    destroy without a refresh at what was in the cluster.
    """
    lab.site.up().require()
    lab.end()
    assert operations(lab.site.preview()) == []
    stopped = lab.site.up()
    assert stopped.status != 0
    assert "has not admitted the deployer" in stopped.explain()
    assert lab.place.billed() == frozenset()
    refused = lab.site.destroy()
    assert refused.status != 0
    assert "unreachable" in refused.explain()
    lab.away()


@pytest.mark.scale
def test_a_lab_that_expires_while_up_runs_ends_whatever_up_still_makes(lab: Lab) -> None:
    done: list[Outcome] = []
    working = threading.Thread(target=lambda: done.append(lab.site.engine.up()))
    working.start()
    eks = lab.site.aws("eks")
    until(lambda: eks.list_clusters()["clusters"], "a cluster", seconds=300)
    until(lambda: eks.list_nodegroups(clusterName="gpucluster-lab")["nodegroups"], "a node group", seconds=300)
    lab.clock.now = END
    while working.is_alive():
        lab.look()
        working.join(2)
    (outcome,) = done
    assert outcome.status != 0, "an up whose nodes are taken away does not say that all is well"
    lab.end()
    lab.away()


@pytest.mark.scale
def test_a_destroy_after_the_end_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    """While it deletes what the keeper left: the network, roles and buckets, which cost nothing by the hour."""
    struck: list[Step] = []
    with made(tmp_path, "lab-killed", killed=True, training={"runs": []}) as lab:

        def watch(seen: Step | Diagnostic | None, _: Record) -> None:
            if isinstance(seen, Step) and seen.op == "delete" and seen.type.startswith("aws:") and not struck:
                pid = lab.site.session.locked_by()
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                struck.append(seen)

        lab.site.up().require()
        lab.end()
        engine = replace(lab.site.engine, env={**lab.site.engine.env, **removal.GONE})
        outcome = engine.destroy("--refresh", watch=watch)
        assert (outcome.status, len(struck)) == (-signal.SIGKILL, 1), outcome.explain()
        lab.away()


@pytest.mark.scale
def test_make_rehearse_goes_past_the_end(tmp_path: Path) -> None:
    tree, home = Tree.copy(tmp_path / "tree"), tmp_path / "state"
    done = command(home, "rehearse", "--stack", "lab", "--root", str(tree.root))
    assert done.returncode == 0, done.stdout
    said = done.stdout
    assert "the account's clock is moved to the end of the stack: 2028-01-01T00:00:00Z" in said
    assert "the cluster is gone, so its objects are removed from the state" in said
    assert said.index("have gone") < said.index("\ndestroy\n") < said.index("zero left")
    assert not list(home.glob("gpucluster/*/*")), "something of the site is left"
