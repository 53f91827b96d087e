"""What the keeper asks of AWS, call by call (Z15, PF10): the account is played, the rest is the function's own code."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import blocks
import decide
import groups
import handler
import markets
import pytest
from blocks import SIGNAL, Block
from botocore.exceptions import ClientError
from decide import OffHours, Record, Task
from groups import seen
from handler import keep, when
from markets import Seen, Spot

from sweep.ends import NEVER, written

END = datetime(2026, 11, 23, 18, tzinfo=UTC)
TASK = Task(
    project="gpucluster",
    stack="lab",
    cluster="gpucluster-lab",
    ends_parameter="/ends",
    record_parameter="/record",
    topic="arn:told",
    warn_hours=2,
    hourly_usd=4,
    gpu_pools={"training": 3},
)
GROUP = {"status": "ACTIVE", "scalingConfig": {"minSize": 3, "desiredSize": 3, "maxSize": 3}, "taints": []}


class Played:
    """An account with two parameters and node groups; `calls` are those that change something."""

    def __init__(self, ends: str, groups: Mapping[str, Any] | None = None, **answers: Any) -> None:
        self.values = {"/ends": ends, "/record": "{}"}
        self.groups, self.answers = groups or {}, answers
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def pages(self, service: str, operation: str, **request: Any) -> Iterator[Any]:
        self.answers.setdefault("asked", []).append((service, operation, request))
        yield from self.answers.get(operation, ())

    def call(self, service: str, operation: str, **request: Any) -> Any:
        if operation == "get_parameter":
            return {"Parameter": {"Value": self.values[request["Name"]]}}
        if operation == "describe_nodegroup":
            assert request["clusterName"] == "gpucluster-lab"
            if request["nodegroupName"] not in self.groups:
                raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}, operation)
            return {"nodegroup": self.groups[request["nodegroupName"]]}
        if operation in self.answers:
            assert request == self.answers[operation][0]
            return self.answers[operation][1]
        if operation.startswith("describe_"):
            return defaultdict(list)
        self.calls.append((f"{service} {operation}", request))
        if operation == "put_parameter":
            assert request["Overwrite"] is True
            self.values[request["Name"]] = request["Value"]
        return {}

    @property
    def record(self) -> Record:
        return Record.parse(self.values["/record"])


class Stopped(datetime):
    """A machine's clock, which a test forbids to be read."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Stopped":
        raise AssertionError(f"the keeper reads the clock of the machine that it runs on ({tz})")


@pytest.mark.parametrize("off", [timedelta(hours=-1), timedelta(hours=1)], ids=["behind", "ahead"])
def test_a_life_is_judged_by_the_callers_clock_alone(off: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of an hour before the end ends nothing, and one of an hour after it does."""
    for module in (blocks, decide, groups, handler, markets):
        monkeypatch.setattr(module, "datetime", Stopped, raising=False)
    account = Played(written(END), {"training": GROUP})
    told = keep(account, replace(TASK, warn_hours=0), *when({"now": written(END + off)}))
    assert told["phase"] == ("ends" if off > timedelta() else "runs")


def test_a_call_that_comes_again_late_tells_nobody_that_an_ended_stack_ends_soon() -> None:
    """Scheduler tries a call again for ten minutes, with the moment that it was meant for."""
    task = replace(TASK, max_usd=40)
    account = Played(NEVER)
    keep(account, task, END - timedelta(hours=10))
    assert keep(account, task, END)["phase"] == "ends"
    account.calls.clear()
    assert keep(account, task, END - timedelta(minutes=10)) == {"phase": "runs", "ends": written(END)}
    assert account.calls == []
    assert account.record.started == END - timedelta(hours=10)
    assert keep(account, task, END + timedelta(minutes=5))["phase"] == "ends"


def test_the_warning_says_when_and_what_to_type() -> None:
    account = Played(written(END))
    told = keep(account, TASK, END - timedelta(hours=1.5))
    assert told == {"phase": "warns", "ends": "2026-11-23T18:00:00Z"}
    ((_, said),) = [each for each in account.calls if each[0] == "sns publish"]
    assert (said["TopicArn"], said["Subject"]) == ("arn:told", "lab ends soon")
    assert "lab ends at 2026-11-23T18:00:00Z, in 1.5 hours" in said["Message"]
    assert "make extend STACK=lab HOURS=2" in said["Message"]
    assert (account.record.warned_of, account.record.started) == (written(END), END - timedelta(hours=1.5))
    account.calls.clear()
    assert keep(account, TASK, END - timedelta(hours=1))["phase"] == "runs"
    assert account.calls == [], "nothing is new, so nothing is written"


def test_an_end_is_told_once_with_why_and_what_remains_to_be_typed() -> None:
    account = Played(NEVER)
    assert keep(account, TASK, END, "AWS Budgets: spent")["phase"] == "ends"
    ((_, said),) = [each for each in account.calls if each[0] == "sns publish"]
    assert said["Subject"] == "lab has ended"
    assert "lab has ended (AWS Budgets: spent)" in said["Message"]
    assert "make undeploy STACK=lab ARGS=--refresh" in said["Message"]
    assert (account.record.stopped, account.record.emptied) == ("AWS Budgets: spent", True)
    account.calls.clear()
    assert keep(account, TASK, END + timedelta(minutes=10))["phase"] == "ends"
    assert account.calls == []


def test_the_gpu_pools_are_the_first_to_go_and_what_is_left_is_told() -> None:
    """Of its own stack alone: another's gateway stays."""

    def gateway(name: str, stack: str) -> dict[str, Any]:
        tags = {"gpucluster:project": "gpucluster", "gpucluster:stack": stack}
        told = [{"Key": key, "Value": value} for key, value in tags.items()]
        return {"NatGatewayId": name, "State": "available", "Tags": told}

    cluster = {"status": "ACTIVE", "tags": {"gpucluster:project": "gpucluster", "gpucluster:stack": "lab"}}
    account = Played(
        written(END),
        {"system": GROUP, "training": GROUP},
        list_clusters=[{"clusters": ["gpucluster-lab"]}],
        describe_cluster=({"name": "gpucluster-lab"}, {"cluster": cluster}),
        list_nodegroups=[{"nodegroups": ["system", "training"]}],
        describe_nat_gateways=[{"NatGateways": [gateway("nat-1", "lab"), gateway("nat-2", "prod")]}],
    )
    told = keep(account, TASK, END)
    assert (told["asked"], told["refused"]) == (["training", "system"], {})
    left = ["cluster gpucluster-lab ACTIVE", "node group system ACTIVE", "NAT gateway nat-1 available"]
    assert told["left"] == ["node group training ACTIVE", *left]
    assert "sns publish" not in [name for name, _ in account.calls], "it has not ended yet"
    assert account.record.emptied is False


@pytest.mark.parametrize("status", ["ACTIVE", "DEGRADED"])
def test_a_pool_sleeps_and_is_remembered_first(status: str) -> None:
    """Also one that has lost a node: the others cost all night."""
    hours = OffHours(time_zone="UTC", days=("mon",), start="08:00", end="17:00")
    account = Played(NEVER, {"training": {**GROUP, "status": status}, "other": GROUP})
    told = keep(account, replace(TASK, off_hours=hours), END)
    assert told["pools"] == {"training": 0}
    put = "ssm put_parameter"
    assert [name for name, _ in account.calls] == [put, put, "eks update_nodegroup_config", put]
    assert json.loads(account.calls[1][1]["Value"])["asleep"] == ["training"]
    assert account.calls[2][1] == {
        "clusterName": "gpucluster-lab",
        "nodegroupName": "training",
        "scalingConfig": {"minSize": 0, "desiredSize": 0},
    }
    busy = Played(NEVER, {"training": {**GROUP, "status": "UPDATING"}})
    assert keep(busy, replace(TASK, off_hours=hours), END)["pools"] == {}


def test_a_block_is_filled_and_signalled_by_its_own_reservation() -> None:
    start = END - timedelta(hours=1)
    block = Block.of(
        {
            "group": "training-1",
            "reservation": "cr-1",
            "nodes": 2,
            "save_minutes": 45,
            "empty_minutes": 40,
            "start": written(start),
            "end": written(start + timedelta(days=1)),
        }
    )
    extended = {"State": "active", "EndDate": start + timedelta(days=2)}
    reserved = ({"CapacityReservationIds": ["cr-1"]}, {"CapacityReservations": [extended]})
    empty = {**GROUP, "scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 2}}
    account = Played(NEVER, {"training-1": empty}, describe_capacity_reservations=reserved)
    keep(account, replace(TASK, blocks=(block,)), END)
    (change,) = [request for name, request in account.calls if name == "eks update_nodegroup_config"]
    assert change["nodegroupName"] == "training-1"
    assert change["scalingConfig"] == {"minSize": 0, "desiredSize": 2, "maxSize": 2}
    account.groups = {"training-1": {**GROUP, "scalingConfig": {"minSize": 0, "desiredSize": 2, "maxSize": 2}}}
    account.calls.clear()
    assert keep(account, replace(TASK, blocks=(block,)), start + timedelta(hours=23, minutes=16))["blocks"] == {
        "cr-1 training-1": "runs"
    }
    keep(account, replace(TASK, blocks=(block,)), start + timedelta(hours=47, minutes=16))
    (change,) = [request for name, request in account.calls if name == "eks update_nodegroup_config"]
    assert change["taints"] == {"addOrUpdateTaints": [SIGNAL]}
    account.groups["training-1"]["taints"] = [SIGNAL]
    account.calls.clear()
    keep(account, replace(TASK, blocks=(block,)), start + timedelta(hours=47, minutes=17))
    assert account.calls == [], "it has the signal, and people were told"
    extended["EndDate"] = start + timedelta(days=3)
    keep(account, replace(TASK, blocks=(block,)), start + timedelta(hours=47, minutes=18))
    (change,) = [request for name, request in account.calls if name == "eks update_nodegroup_config"]
    assert (change["nodegroupName"], change["taints"]) == ("training-1", {"removeTaints": [SIGNAL]})


@pytest.mark.parametrize("status", ["ACTIVE", "DEGRADED"])
def test_a_pool_on_spot_is_seen_by_the_tags_that_eks_gives(status: str) -> None:
    pool = Spot.of({"spot": "a", "on_demand": "b", "nodes": 3, "wait_minutes": 10, "again_hours": None})
    groups = {name: {**GROUP, "status": status, "nodegroupName": name} for name in "ab"}
    account = Played(NEVER, groups, describe_instances=[{"Reservations": [{"Instances": [{}, {}]}]}])
    assert seen(account, TASK, pool) == (Seen(3, 2, 3), Seen(3, 2, 3))
    for (service, _, request), name in zip(account.answers["asked"], "ab", strict=True):
        assert service == "ec2"
        assert request["Filters"] == [
            {"Name": "tag:eks:cluster-name", "Values": ["gpucluster-lab"]},
            {"Name": "tag:eks:nodegroup-name", "Values": [name]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
        ]
    assert seen(Played(NEVER, {"a": groups["a"]}), TASK, pool) is None
    assert seen(Played(NEVER, {**groups, "b": {**GROUP, "status": "UPDATING"}}), TASK, pool) is None
