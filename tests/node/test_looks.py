"""Whole looks of the keeper at an account in memory: what it says, what it asks of AWS and what it remembers (Z15)."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import handler
import pytest
from blocks import Block
from decide import OffHours, Task
from handler import handle, keep
from markets import Spot

from sweep.ends import NEVER, written
from tests.sweep.conftest import listed, tags
from tests.sweep.inventory import Inventory, Thing

END = datetime(2026, 11, 23, 18, tzinfo=UTC)
GIVEN: Mapping[str, Any] = {
    "project": "gpucluster",
    "stack": "lab",
    "cluster": "gpucluster-lab",
    "ends_parameter": "/ends",
    "record_parameter": "/record",
    "topic": "arn:aws:sns:us-east-2:123456789012:told",
    "warn_hours": 2,
    "hourly_usd": 4,
}
TAINT = {"key": "gpucluster/block-ends", "value": "now", "effect": "NO_EXECUTE"}
POOL = Spot(spot="shared", on_demand="shared-on-demand", nodes=4, wait_minutes=15, again_hours=6)
BLOCK = Block.of(
    {
        "group": "block",
        "reservation": "cr-1",
        "nodes": 8,
        "save_minutes": 45,
        "empty_minutes": 40,
        "start": "2026-11-23T12:00:00Z",
        "end": "2026-11-24T12:00:00Z",
    }
)


def group(name: str, least: int, wanted: int, most: int, *taints: Mapping[str, str]) -> Thing:
    sizes = {"minSize": least, "desiredSize": wanted, "maxSize": most}
    told: Thing = {"nodegroupName": name, "clusterName": "gpucluster-lab", "status": "ACTIVE", "taints": [*taints]}
    return told | {"scalingConfig": sizes}


def node(name: str, of: str, state: str = "running") -> Thing:
    """As EKS tags what a group starts."""
    told = tags("lab", **{"eks:cluster-name": "gpucluster-lab", "eks:nodegroup-name": of})
    return {"InstanceId": name, "InstanceType": "g6.xlarge", "State": {"Name": state}, "Tags": listed(told)}


def account(ends: str, *groups: Thing, **record: Any) -> Inventory:
    made = Inventory({"/ends": ends, "/record": json.dumps(record)})
    made.things["eks list_nodegroups"] = [*groups]
    made.things["eks list_clusters"] = [{"name": "gpucluster-lab", "status": "ACTIVE", "tags": tags("lab")}]
    return made


def subjects(there: Inventory) -> list[str]:
    assert {topic for topic, _, _ in there.told} <= {GIVEN["topic"]}
    return [subject for _, subject, _ in there.told]


def test_the_function_looks_at_its_region_with_its_task_by_the_callers_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warned in whole sentences; what was done goes to the log."""
    there = account(written(END))
    regions: list[str] = []
    monkeypatch.setattr(handler, "AwsAccount", lambda region: regions.append(region) or there)  # type: ignore[func-returns-value]
    here = f"region-{id(there)}"  # the function keeps an account for each
    monkeypatch.setenv("AWS_REGION", here)
    monkeypatch.setenv("KEEPER", json.dumps(GIVEN))
    told = handle({"now": "2026-11-23T16:15:00Z"})
    assert told == {"phase": "warns", "ends": "2026-11-23T18:00:00Z"}
    assert capsys.readouterr().out == f"{told}\n"
    assert there.told == [
        (
            GIVEN["topic"],
            "lab ends soon",
            "lab ends at 2026-11-23T18:00:00Z, in 1.8 hours: its nodes, disks and scratch go.\n"
            "make extend STACK=lab HOURS=2 gives it two hours more.",
        )
    ]
    assert json.loads(there.values["/record"]) == {
        "started": "2026-11-23T16:15:00Z",
        "warnedOf": "2026-11-23T18:00:00Z",
        "stopped": "",
        "emptied": False,
        "asleep": [],
    }
    assert handle({"now": "2026-11-23T16:25:00Z"})["phase"] == "runs"
    assert regions == [here], "kept while the runtime is warm"


def test_a_subject_is_as_long_as_sns_takes() -> None:
    """100 characters at most (SNS API reference, Publish)."""
    there, long = account(written(END)), "l" * 90
    keep(there, Task(**{**GIVEN, "stack": long}), END - timedelta(hours=1))
    assert subjects(there) == [f"{'l' * 60} ends soon"]


def test_an_end_from_its_first_look_to_the_word_that_nothing_is_left() -> None:
    """GPU pools first; what stays is named with its reason, and what remains to be typed."""
    task = Task(**{**GIVEN, "gpu_pools": {"training": 3}})
    there = account(written(END), group("system", 1, 1, 1), group("training", 3, 3, 3))
    there.things["ec2 describe_volumes"] = [
        {"VolumeId": "vol-1", "State": "in-use", "Size": 1, "Tags": listed(tags("lab"))},
        {"VolumeId": "vol-2", "State": "available", "Size": 1, "Tags": listed(tags("other"))},
        {"VolumeId": "vol-3", "State": "available", "Size": 1}
        | {"Tags": listed(tags("lab", **{"gpucluster:protect": "true"}))},
    ]
    lasting: Thing = {"FileSystemId": "fs-00lasting", "FileSystemType": "LUSTRE", "Lifecycle": "AVAILABLE"}
    lasting |= {"StorageCapacity": 1200, "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"}}
    there.things["fsx describe_file_systems"] = [lasting | {"Tags": listed(tags("lab"))}]
    assert keep(there, task, END) == {
        "phase": "ends",
        "ends": "2026-11-23T18:00:00Z",
        "asked": ["training", "system"],
        "left": [
            "node group training ACTIVE",
            "cluster gpucluster-lab ACTIVE",
            "node group system ACTIVE",
            "volume vol-1 in-use",
        ],
        "refused": {},
    }
    assert keep(there, task, END)["asked"] == ["gpucluster-lab"]
    assert there.told == []
    there.things["ec2 describe_volumes"][0]["State"] = "available"
    assert keep(there, task, END)["left"] == ["volume vol-1 available"]
    assert keep(there, task, END + timedelta(minutes=1))["left"] == []
    assert keep(there, task, END + timedelta(minutes=2))["left"] == []
    ((_, subject, text),) = there.told
    assert subject == "lab has ended"
    assert text.splitlines() == [
        "lab has ended (its time was over): nothing is left of it that costs by the hour and may go.",
        "",
        "volume vol-3 stays: it is protected",
        "file system fs-00lasting stays: it is persistent, so its data is kept",
        "PULUMI_K8S_DELETE_UNREACHABLE=true make undeploy STACK=lab ARGS=--refresh takes along what costs nothing, "
        "and what stands in its state.",
    ]
    assert [each for each in there.done if not each.startswith("ssm")] == [
        "eks delete_nodegroup training",
        "eks delete_nodegroup system",
        "eks delete_cluster gpucluster-lab",
        "ec2 delete_volume vol-1",
    ]


def test_what_controllers_made_goes_though_nothing_else_of_the_lab_is_left() -> None:
    """It carries the cluster's name and no tag of the stack's."""
    there = account(written(END))
    there.things["eks list_clusters"] = []
    made = {"kubernetes.io/cluster/gpucluster-lab": "owned"}
    there.things["elb describe_load_balancers"] = [{"LoadBalancerName": "a-front", "BalancerTags": made}]
    assert keep(there, Task(**GIVEN), END)["asked"] == ["a-front"]
    assert there.told == []
    keep(there, Task(**GIVEN), END)
    assert subjects(there) == ["lab has ended"]


def test_a_notice_of_the_budget_is_remembered_before_anything_is_done() -> None:
    """By a call that is killed in the middle: the next one, of the schedule, goes on."""
    there = account(written(END))
    there.things["eks list_clusters"][0].pop("status")  # the look fails
    task = Task(**GIVEN)
    with pytest.raises(KeyError):
        keep(there, task, END - timedelta(days=1), "AWS Budgets: spent")
    assert json.loads(there.values["/record"])["stopped"] == "AWS Budgets: spent"
    there.things["eks list_clusters"] = []
    assert keep(there, task, END - timedelta(days=1), "AWS Budgets: again")["phase"] == "ends"
    assert json.loads(there.values["/record"])["stopped"] == "AWS Budgets: spent", "the first reason"


def test_a_day_and_a_night_of_pools() -> None:
    """What slept is remembered first, and woken with the stack file's number; what is busy waits for the next look."""
    hours = OffHours(time_zone="UTC", days=("mon", "tue"), start="08:00", end="17:00")
    task = Task(**{**GIVEN, "gpu_pools": {"training": 3, "other": 2}, "off_hours": hours})
    there = account(NEVER, group("training", 3, 3, 3), group("other", 2, 2, 2), group("system", 1, 1, 1))
    there.things["eks list_nodegroups"][1]["status"] = "UPDATING"
    assert keep(there, task, END) == {"phase": "runs", "ends": None, "pools": {"training": 0}}
    kept = "ssm put_parameter /record"
    assert there.done == [kept, kept, "training is 0/0/3", kept]
    there.things["eks list_nodegroups"][1]["status"] = "ACTIVE"
    assert keep(there, task, END + timedelta(minutes=10))["pools"] == {"other": 0}
    assert json.loads(there.values["/record"])["asleep"] == ["other", "training"]
    there.done.clear()
    assert keep(there, task, END + timedelta(hours=14))["pools"] == {"other": 2, "training": 3}
    assert there.done == ["other is 2/2/2", "training is 3/3/3", "ssm put_parameter /record"]
    assert json.loads(there.values["/record"])["asleep"] == []
    assert there.told == []


def test_a_block_from_its_delay_to_its_end() -> None:
    """Each time people are told in one sentence, and the node group asks for what AWS gives."""
    task, there = Task(**{**GIVEN, "blocks": (BLOCK,)}), account(NEVER, group("block", 0, 0, 6))
    looks = {
        BLOCK.start + timedelta(minutes=30): None,
        BLOCK.start + timedelta(minutes=40): "active",
        BLOCK.end - timedelta(minutes=45): "active",
        BLOCK.end: "expired",
    }
    seen = []
    for now, state in looks.items():
        held = [{"CapacityReservationId": "cr-1", "State": state, "EndDate": BLOCK.end}] if state else []
        there.things["ec2 describe_capacity_reservations"] = held
        seen.append(keep(there, task, now)["blocks"])
    assert seen == [{"cr-1 block": stage} for stage in ("waits", "runs", "saves", "over")]
    assert [each for each in there.done if not each.startswith("ssm")] == [
        "block is 0/8/8",
        "block is 0/8/8 and ends pods",
        "block is 0/0/8",
    ]
    assert [(subject, text) for _, subject, text in there.told] == [
        (
            "lab capacity block: waits",
            "block cr-1 (block) was to start at 2026-11-23 12:00 UTC and is unknown to AWS: its pool has no nodes",
        ),
        (
            "lab capacity block: runs",
            "block cr-1 (block) has begun: 8 nodes are asked for, until 2026-11-24T12:00:00Z",
        ),
        (
            "lab capacity block: saves",
            "block cr-1 (block) ends at 2026-11-24 12:00 UTC: its pods are told to save and end",
        ),
        (
            "lab capacity block: over",
            "block cr-1 (block) is over: name the next block in the stack file, or remove its pool",
        ),
    ]
    known = {"filled": "2026-11-24T12:00:00Z", "told": ["saves", "over"]}
    assert json.loads(there.values["/record"])["blocks"] == {"cr-1 block": known}


def test_a_block_that_ends_has_the_taint_that_ends_pods() -> None:
    """As its name stands in the tolerations of what may stay."""
    task, there = Task(**{**GIVEN, "blocks": (BLOCK,)}), account(NEVER, group("block", 0, 8, 8))
    held = {"CapacityReservationId": "cr-1", "State": "active", "EndDate": BLOCK.end}
    there.things["ec2 describe_capacity_reservations"] = [held]
    keep(there, task, BLOCK.end - timedelta(minutes=45))
    assert there.things["eks list_nodegroups"][0]["taints"] == [TAINT]


def test_a_pool_on_spot_that_falls_back_and_returns() -> None:
    """Of two groups the one that asks for less is told first, and each gets the pool's number as its most."""
    task = Task(**{**GIVEN, "spots": (POOL,)})
    there = account(NEVER, group("shared", 0, 0, 1), group("shared-on-demand", 0, 0, 1))
    there.things["ec2 describe_instances"] = [node("i-1", "shared"), node("i-2", "shared", "terminated")]
    seen = [keep(there, task, END + timedelta(minutes=each))["spots"] for each in (0, 14, 15)]
    assert seen == [{"shared": [4, 0]}, {"shared": [4, 0]}, {"shared": [1, 3]}]
    there.things["ec2 describe_instances"] += [node(f"i-{each}", "shared-on-demand", "pending") for each in (3, 4, 5)]
    assert keep(there, task, END + timedelta(minutes=20))["spots"] == {"shared": [1, 3]}
    assert keep(there, task, END + timedelta(minutes=15, hours=6))["spots"] == {"shared": [4, 0]}
    assert [each for each in there.done if not each.startswith("ssm")] == [
        "shared-on-demand is 0/0/4",
        "shared is 0/4/4",
        "shared is 0/1/4",
        "shared-on-demand is 0/3/4",
        "shared-on-demand is 0/0/4",
        "shared is 0/4/4",
    ]
    assert [(subject, text) for _, subject, text in there.told] == [
        (
            "lab spot capacity",
            "pool shared: 3 nodes are not to be had on spot since 18:00 UTC; asked for on demand",
        ),
        ("lab spot capacity", "pool shared: 3 nodes on demand go, and are asked for on spot again"),
    ]


def test_a_pool_on_spot_is_left_alone_at_night_and_while_a_group_is_changed() -> None:
    hours = OffHours(time_zone="UTC", days=("mon",), start="08:00", end="20:00")
    task = Task(**{**GIVEN, "spots": (POOL,), "off_hours": hours})
    there = account(NEVER, group("shared", 0, 0, 4), group("shared-on-demand", 0, 0, 4))
    there.things["eks list_nodegroups"][1]["status"] = "UPDATING"
    assert keep(there, task, END) == {"phase": "runs", "ends": None, "pools": {}, "spots": {}}
    there.things["eks list_nodegroups"][1]["status"] = "ACTIVE"
    keep(there, task, END)
    assert "shared" in json.loads(there.values["/record"])["spots"]
    assert keep(there, task, END + timedelta(hours=3)) == {"phase": "runs", "ends": None, "pools": {}}
    assert "spots" not in json.loads(there.values["/record"]), "who waited in the evening waits anew"
