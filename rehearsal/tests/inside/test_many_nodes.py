"""A node group of hundreds joins in small steps, and a slow machine is no unhealthy node."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cloud.ec2.use import NOTICED
from rehearsal.cloud.seen.aws import Aws
from rehearsal.eks import drain, nodegroup
from rehearsal.eks.nodegroup import JOINING, READY_EACH_SECONDS, READY_SECONDS, NodeGroup
from rehearsal.keys import Account, Keys
from rehearsal.kubelet.hosts import Host, Hosts
from rehearsal.tests.inside import facts

SIZE = 100
PATIENCE = READY_SECONDS + SIZE * READY_EACH_SECONDS
KEYS = Keys("AKIA0", "secret", "word")
DESCRIBED: Mapping[str, Any] = {
    "nodegroupName": "train",
    "status": "CREATING",
    "scalingConfig": {"desiredSize": SIZE},
    "subnets": ["subnet-a"],
}


class Clock:
    """Time that passes when the test says so."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Group(NodeGroup):
    """A node group of a hundred instances, of machines that are told apart by their names alone."""

    def __init__(self, world: Any) -> None:
        super().__init__(world, "train")
        self._instances = {f"i-{each:03}": {"SubnetId": "subnet-a"} for each in range(SIZE)}
        self.told: list[dict[str, Any]] = []

    def _host(self, identity: str, *_: Any) -> Host | None:
        self._hosts[identity] = replace(facts.host(), instance_id=identity, node=identity)
        return self._hosts[identity]

    def _put(self, body: Mapping[str, Any]) -> None:
        self.told.append(dict(body))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(nodegroup, "time", clock)
    return clock


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Group:
    nodes: dict[str, Any] = {}
    world: Any = SimpleNamespace(
        aws=Aws(Account("http://127.0.0.1:1", KEYS), "us-west-2"),
        hosts=Hosts(),
        find=lambda _, name, *__: nodes.get(name),
    )
    made = Group(world)
    monkeypatch.setattr("rehearsal.eks.join.problems", lambda _: [])
    monkeypatch.setattr(nodegroup, "outdated", lambda *_: False)

    def keep(host: Host, _: Mapping[str, Any]) -> None:
        """Joins what is new; what had joined before is told ready."""
        if host.node in nodes:
            nodes[host.node] = {"metadata": {"name": host.node}, "status": {"conditions": READY}}
            return
        world.hosts.add(host)
        nodes[host.node] = {"metadata": {"name": host.node}}
        made._registration.joined[host.node] = clock.now

    monkeypatch.setattr(made._registration, "situation", lambda _: None)
    monkeypatch.setattr(made._registration, "keep", keep)
    return made


READY = [{"type": "Ready", "status": "True"}]


def step(group: Group) -> int:
    """One step of the group; how many of its nodes are ready then."""
    group.reconcile(DESCRIBED, {f"i-{each:03}": {} for each in range(SIZE)})
    return sum(group._is_ready(each) for each in group._live)


def test_those_that_joined_are_ready_before_the_last_has_joined(group: Group) -> None:
    assert [step(group) for _ in range(3)] == [0, JOINING, 2 * JOINING]


def test_a_step_that_takes_minutes_makes_no_node_unhealthy(group: Group, clock: Clock) -> None:
    """Each node has its time from when it joined, not from when its instance began."""
    for _ in range(8):
        step(group)
        clock.now += PATIENCE + 1
        assert not [each for each in group.told if each["status"] == "CREATE_FAILED"]
    assert [each["status"] for each in group.told] == ["ACTIVE"]


def test_a_node_that_joined_and_is_never_ready_fails_the_group(
    group: Group, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(8):
        step(group)
    monkeypatch.setattr(group, "_is_ready", lambda each: each != "i-042")
    told = len(group.told)
    clock.now += PATIENCE - 1
    group._report(DESCRIBED)
    assert group.told[told:] == []
    clock.now += 2
    group._report(DESCRIBED)
    assert group.told[-1]["status"] == "CREATE_FAILED"
    assert [each["resourceIds"] for each in group.told[-1]["issues"]] == [["i-042"]]


def test_machines_that_cannot_join_keep_nobody_from_it(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than join in one step, the first of the group: user data that nodeadm does not read."""
    ours = group._host

    def host(identity: str, *more: Any) -> Host | None:
        if identity < "i-020":
            group._note(identity, ["its user data is no NodeConfig"])
            return None
        return ours(identity, *more)

    monkeypatch.setattr(group, "_host", host)
    for _ in range(9):
        ready = step(group)
    assert ready == 80


def test_a_machine_that_ec2_will_take_is_drained_first_and_another_is_asked_for(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(8):
        step(group)
    asked: list[int] = []
    ended: list[str] = []
    drained: list[str] = []
    pods = [["training/worker-0"], []]

    def launch(_described: Any, missing: int, _held: Any) -> dict[str, Any]:
        asked.append(missing)
        return {}

    monkeypatch.setattr(group._launcher, "launch", launch)
    monkeypatch.setattr(group._registration, "remove", lambda _: None)
    monkeypatch.setattr(drain, "cordon", lambda _world, node: drained.append(node))
    monkeypatch.setattr(drain, "evict", lambda *_: pods.pop(0))
    ec2 = SimpleNamespace(terminate_instances=lambda InstanceIds: ended.extend(InstanceIds))  # noqa: N803 - boto3's
    monkeypatch.setattr(group._world.aws, "ec2", ec2, raising=False)
    live = {f"i-{each:03}": ({NOTICED: "yes"} if each == 42 else {}) for each in range(SIZE)}
    group.reconcile(DESCRIBED, live)
    assert (asked, drained, ended) == ([1], ["i-042"], []), "its pod has not left"
    group.reconcile(DESCRIBED, live)
    assert ended == ["i-042"]


def test_one_look_reads_a_thing_once_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, reads = Clock(), iter(range(10))
    monkeypatch.setattr("rehearsal.cloud.seen.aws.time", clock)
    aws = Aws(Account("http://127.0.0.1:1", KEYS), "us-west-2")

    def asked() -> Any:
        clock.now += 60
        return aws.cached("subnets", lambda: next(reads))

    assert [asked(), asked()] == [0, 1]
    clock.now += 1
    with aws.one_look():
        assert [asked(), asked(), asked()] == [2, 2, 2]
    assert asked() == 3


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("2026-11-28T04:51:00.250Z", "2026-11-28T04:51:00.250000+00:00"),
        ("2026-11-28T04:51:00+01:00", "2026-11-28T04:51:00+01:00"),
        (0, "1970-01-01T00:00:00+00:00"),
        ("Sat, 28 Nov 2026 04:51:00 GMT", "2026-11-28T04:51:00+00:00"),
        ("20261128T045100Z", "2026-11-28T04:51:00+00:00"),
    ],
)
def test_times_of_all_of_aws_protocols_are_read(said: str | int, read: str) -> None:
    session = Account("http://127.0.0.1:1", KEYS).session("us-west-2")
    factory = session._session.get_component("response_parser_factory")
    parser = factory.create_parser("json")
    assert parser._timestamp_parser(said).isoformat() == read
