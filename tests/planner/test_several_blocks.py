"""Pools in several capacity blocks and who keeps them (PF10), pools that are cut, and sandboxes."""

from collections.abc import Mapping
from math import ceil
from typing import Any

import pytest

from catalogue.gpus import A100_40, H100, H200, L40S, T4
from planner.findings import Severity
from planner.pool_types import mig_config, product_label, profile
from planner.types import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import changed, planned, rules

DAYS = {"zone": "use2-az1", "start": "2026-11-22", "end": "2026-11-29"}


def share(last: int, count: int, **days: str) -> dict[str, Any]:
    return {"id": f"cr-0123456789abcdef{last}", "count": count, **DAYS, **days}


def booked(*shares: dict[str, Any], run: dict[str, Any] | None = None, **changes: Any) -> AwsPlan:
    """The dev stack's training pool in blocks; `run` changes the run on it."""
    given = {
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.capacity": "capacity-block",
        "pools.1.count": sum(each["count"] for each in shares),
        "pools.1.reservations": list(shares),
        "budget.maxHourlyUsd": 99_999,
        **{f"training.runs.0.{key}": value for key, value in (run or {}).items()},
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    return planned(changes=given)


def of_blocks(found: AwsPlan) -> list[str]:
    names = ("block-size", "block-group-taken", "blocks-never-together", "blocks-apart", "block-save-too-long")
    return [each.rule for each in found.findings if each.rule in (*names, "keeper-without-block")]


def test_a_pool_is_the_sum_of_its_blocks() -> None:
    found = booked(share(0, 64), share(1, 8))
    pool = found.pools["training"]
    assert [(each.group, each.count, each.nodes) for each in pool.shares] == [
        ("training-1", 64, 0),
        ("training-2", 8, 0),
    ]
    assert pool.count == 72
    assert pool.gpus == 576
    assert of_blocks(found) == []
    assert [block.hours for block in found.prices.blocks] == [168, 168]


def test_times_are_those_in_which_all_run() -> None:
    later = share(1, 8, start="2026-11-24", end="2026-12-01")
    block = booked(share(0, 8), later).pools["training"].block
    assert block
    assert (block.times.start.day, block.times.end.day) == (24, 29)


def test_blocks_that_never_run_together_are_refused() -> None:
    after = share(1, 8, start="2026-11-29", end="2026-12-06")
    assert of_blocks(booked(share(0, 8), after)) == ["blocks-never-together"]


def test_one_share_beyond_a_block_is_refused_by_its_own_path() -> None:
    found = booked(share(0, 65), share(1, 8))
    (refused,) = [each for each in found.errors if each.rule == "block-size"]
    assert refused.path == "gpucluster:pools[1].reservations[0].count"


def test_a_node_groups_name_is_not_another_pools() -> None:
    found = booked(share(0, 8), share(1, 8), pools__2__name="training-2", serving__services__0__pool="training-2")
    assert of_blocks(found) == ["block-group-taken"]


def test_a_gang_over_two_blocks_is_told_what_lies_between() -> None:
    run = {"nodes": 10}
    assert "blocks-apart" in of_blocks(booked(share(0, 8), share(1, 8), run=run))
    assert "blocks-apart" not in of_blocks(booked(share(0, 12), share(1, 4), run=run))


@pytest.mark.parametrize(
    ("seconds", "keeper", "refused"),
    [(570, None, False), (571, None, True), (870, {"blocks": True}, False), (871, {"blocks": True}, True)],
)
def test_the_last_save_ends_before_ec2_takes_the_nodes(seconds: int, keeper: Any, refused: bool) -> None:
    """Ten minutes from EKS' drain, a quarter of an hour from the keeper's signal; 30 s of it to end in."""
    run = {"checkpoint": {"everyMinutes": 60, "withinSeconds": seconds}}
    changes = {"keeper": keeper} if keeper else {}
    assert ("block-save-too-long" in of_blocks(booked(share(0, 8), run=run, **changes))) is refused


def test_the_copy_of_the_last_save_ends_before_ec2_takes_the_nodes() -> None:
    """S05: Llama 3 8B's 112 GB go to 1.2 TiB of FSx at 1,000 MB/s per TiB in 96 s, and 30 s are for the ranks."""
    lustre = {"storage__lustre": {"deploymentType": "PERSISTENT_2", "capacityGib": 1200, "throughputMbpsPerTib": 1000}}

    def found(seconds: int) -> AwsPlan:
        checkpoint = {"everyMinutes": 60, "withinSeconds": seconds, "local": True}
        return booked(share(0, 8), run={"checkpoint": checkpoint, "model": "llama-3-8b", "method": "full"}, **lustre)

    saving = found(400).runs["llama-3-8b-sft"].saving
    assert saving is not None
    copy = ceil(saving.copy_s)
    assert "block-save-too-long" not in of_blocks(found(600 - 30 - copy))
    (late,) = [each for each in found(601 - 30 - copy).errors if each.rule == "block-save-too-long"]
    assert f"its copy to the file system {saving.copy_s:.0f} s, and its ranks 30 s to end" in late.sentence


def test_a_keeper_of_blocks_without_one_is_refused() -> None:
    assert rules(planned(changes={"keeper": {"blocks": True}})) == ["keeper-without-block"]


def test_nobody_is_told_to_run_a_command_that_the_keeper_runs() -> None:
    def remedy(**changes: Any) -> str:
        (found,) = [each for each in booked(share(0, 8), **changes).findings if each.rule == "block-not-started"]
        return found.remedy

    assert "--nodegroup-name training-1 --scaling-config desiredSize=8" in remedy()
    assert "nothing to do" in remedy(keeper={"blocks": True})


def test_profiles_belong_to_a_gpu() -> None:
    """KJ24: 1g.5gb is the A100's with 40 GB, 1g.10gb no H200's; an L40S cannot be cut."""
    assert profile(A100_40, "1g.5gb") is not None
    assert profile(H100, "1g.5gb") is None
    assert profile(H200, "1g.10gb") is None
    assert profile(L40S, "1g.10gb") is None
    found = profile(H200, "1g.18gb")
    assert found is not None
    assert (found.count, found.memory_gb) == (7, 18)


def test_labels_name_slices_and_sharing() -> None:
    """KJ21, KJ25, KJ26: a slice's node names the profile and offers GPUs, and sharing adds SHARED."""
    assert product_label(H100) == "NVIDIA-H100-80GB-HBM3"
    assert product_label(T4, replicas=4) == "Tesla-T4-SHARED"
    assert product_label(T4, replicas=1) == "Tesla-T4"
    assert product_label(A100_40, "1g.5gb") == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert product_label(A100_40, "1g.5gb", replicas=2) == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"
    assert product_label(H100, "1g.10gb+me") == "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me"


def test_one_configuration_for_a_node() -> None:
    """KJ24: a node carries one nvidia.com/mig.config, which cuts all its GPUs alike."""
    assert mig_config("1g.10gb") == "all-1g.10gb"
    assert mig_config("1g.10gb+me") == "all-1g.10gb.me"


def test_more_servers_of_a_gpu_than_vllm_has_parts_for_are_told_what_can_be_typed() -> None:
    """K04: a tenth of a GPU is the least of a server; 16 of them have 6 % each."""
    changes = {"pools.2.timeSlices": 16}
    (found,) = (each for each in planned("dev", changes).findings if each.rule == "time-slices-memory")
    assert found.remedy == "lower the pool's timeSlices to at most 10, and set it to 0.1"


SANDBOX = {"source": "s3://acme-tools/gvisor/20261116", "runscSha256": "a" * 64, "shimSha256": "b" * 64}


def test_nodes_of_the_pool_have_it() -> None:
    plan = planned("dev", {"pools.0.sandbox": SANDBOX})
    assert [str(each) for each in plan.findings if each.severity is Severity.ERROR] == []
    pool = plan.pools["system"]
    assert pool.sandboxed
    assert pool.sandbox
    assert pool.sandbox.source == "s3://acme-tools/gvisor/20261116"
    assert not planned("dev").pools["system"].sandboxed


@pytest.mark.parametrize(
    ("changes", "path", "why"),
    [
        ({"pools.1.sandbox": SANDBOX}, "pools[1].sandbox", "neither MIG nor RDMA"),
        (
            {"pools.0.sandbox": {**SANDBOX, "source": "https://storage.googleapis.com/gvisor"}},
            "sandbox.source",
            "s3://",
        ),
        ({"pools.0.sandbox": {**SANDBOX, "source": "s3://acme-tools/x;reboot"}}, "sandbox.source", "s3://"),
        ({"pools.0.sandbox": {**SANDBOX, "runscSha256": "latest"}}, "sandbox.runscSha256", "SHA-256"),
    ],
)
def test_what_is_no_sandbox_is_refused(changes: Mapping[str, Any], path: str, why: str) -> None:
    """PF04: GPUs are not passed on, and what nodes fetch is named by its hash."""
    with pytest.raises(SettingsError) as refused:
        planned("dev", changes)
    assert path in str(refused.value)
    assert why in str(refused.value)


def test_gpu_machines_have_none_on_premises_either() -> None:
    with pytest.raises(SettingsError) as refused:
        changed("metal", {"pools.1.sandbox": True})
    assert "pools[1].sandbox" in str(refused.value)


def test_steps_find_a_node_that_has_it() -> None:
    steps = {"training.pipelines": {"sandbox": True}}
    found = [each for each in planned("dev", steps).findings if each.rule == "pipeline-sandbox"]
    assert [each.path for each in found] == ["gpucluster:training.pipelines.sandbox"]
    assert "pipeline-sandbox" not in [
        each.rule for each in planned("dev", {**steps, "pools.0.sandbox": SANDBOX}).findings
    ]
