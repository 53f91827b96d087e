"""Rules that no committed stack file can break, and the edges of those it can."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from catalogue.tables import SHIPPED
from catalogue.types import NetworkCard, UsageClass
from catalogue.versions import KUBERNETES
from catalogue.whole import Catalogue
from planner.rules import images as version_rules
from tests.planner.stacks import DEAR, TODAY, planned, planned_metal, rules


def _with_row(name: str, **changes: Any) -> Catalogue:
    row = replace(SHIPPED.instances[name], **changes)
    return replace(SHIPPED, instances={**SHIPPED.instances, name: row})


def test_row_with_more_efa_cards_than_ec2_attaches_is_refused() -> None:
    """NW11: the count comes from EfaInfo.MaximumEfaInterfaces, not from the number of cards."""
    catalogue = _with_row("p5.4xlarge", cards=tuple(NetworkCard(index=i, efa=True, max_interfaces=4) for i in range(2)))
    (finding,) = planned(catalogue=catalogue).errors
    assert finding.rule == "efa-limit"
    assert "would get 2 EFA interfaces where EC2 allows 1" in finding.sentence


def test_row_with_a_crowded_card_is_refused() -> None:
    """NW11: a card that takes no interface takes no EFA one either."""
    cards = tuple(NetworkCard(index=index, efa=True, max_interfaces=4 * (index == 0)) for index in range(2))
    catalogue = _with_row("p5.4xlarge", cards=cards, efa_max=2)
    assert "too many on card 1" in planned(catalogue=catalogue).errors[0].sentence


def test_type_that_is_not_sold_that_way_is_refused() -> None:
    """PW18: a type sold in capacity blocks only cannot be had on demand."""
    catalogue = _with_row("p5.4xlarge", usage_classes=frozenset({UsageClass.CAPACITY_BLOCK}))
    assert rules(planned(catalogue=catalogue)) == ["capacity-not-offered"]


def test_gpus_on_the_system_pool_are_refused() -> None:
    """A08: operators on GPU nodes would pay for GPUs that nothing asks for."""
    assert rules(planned(changes={"pools.0.instanceType": "g6.xlarge"})) == ["pool-without-gpu"]


def test_node_without_room_for_a_pod_is_refused() -> None:
    """N04: a type whose daemons leave no whole core and GiB hosts no workload."""
    catalogue = _with_row("g6e.xlarge", vcpu=1, memory_gib=4)
    assert rules(planned(catalogue=catalogue)) == ["node-too-small"]


@pytest.mark.parametrize(
    ("capacity", "tier", "efa", "fits"),
    [
        (1200, None, False, True),
        (2400, None, False, True),
        (3600, None, False, False),
        (4800, None, False, True),
        (1200, 250, False, True),
        (4800, 1000, True, True),
        (9600, 1000, True, True),
        (7200, 1000, True, False),
        (9600, 500, True, True),
        (4800, 500, True, False),
        (19200, 250, True, True),
        (38400, 125, True, True),
        (19200, 125, True, False),
    ],
)
def test_file_system_sizes(capacity: int, tier: int | None, efa: bool, fits: bool) -> None:
    """G05, ST18: 1200 and multiples of 2400; with EFA, multiples of the tier's own step."""
    lustre = {
        "deploymentType": "PERSISTENT_2" if tier else "SCRATCH_2",
        "capacityGib": capacity,
        "throughputMbpsPerTib": tier,
        "efa": efa,
    }
    found = rules(planned(changes={"storage.lustre": lustre, **DEAR}))
    assert found == ([] if fits else ["fsx-size"])


def test_efa_file_system_needs_efa_clients() -> None:
    """G05: nobody pays for a file system's EFA that no node can use."""
    lustre = {"deploymentType": "PERSISTENT_2", "capacityGib": 4800, "throughputMbpsPerTib": 1000, "efa": True}
    changes = {"storage.lustre": lustre, "pools.1.instanceType": "g6e.4xlarge", "training.runs.0.nodes": 1}
    assert rules(planned(changes=changes)) == ["fsx-efa-clients"]


@pytest.mark.parametrize(("nodes", "fits"), [(128, True), (129, False)])
def test_a_file_system_has_so_many_efa_connections(nodes: int, fits: bool) -> None:
    """G05: a p5.48xlarge has eight of them, and a file system 1024."""
    lustre = {"deploymentType": "PERSISTENT_2", "capacityGib": 4800, "throughputMbpsPerTib": 1000, "efa": True}
    changes = {"storage.lustre": lustre, "pools.1.instanceType": "p5.48xlarge", "pools.1.count": nodes}
    assert ("fsx-efa-connections" in rules(planned(changes=changes))) is not fits


@pytest.mark.parametrize(("shm", "fits"), [(222, True), (223, False)])
def test_shared_memory_stays_below_the_memory_limit(shm: int, fits: bool) -> None:
    """N05, AA06: a p5.4xlarge leaves its pod 223 GiB, and shared memory is part of them."""
    assert rules(planned(changes={"training.runs.0.shmGib": shm})) == ([] if fits else ["shm-below-memory"])


@pytest.mark.parametrize(("limit", "said"), [(18.47, None), (18.46, "18.46"), (0.004, "0.004")])
def test_budget_is_compared_to_the_cent(limit: float, said: str | None) -> None:
    """Z15: the hourly price, its range and the dearest line are in the sentence, and the budget as it was written."""
    plan = planned(changes={"budget.maxHourlyUsd": limit})
    assert rules(plan) == (["budget"] if said else [])
    for finding in plan.errors:
        assert "range 18.47 to 23.84; most of it pool training" in finding.sentence
        assert finding.sentence.endswith(f"and the budget is {said}")


def test_stack_past_its_day_is_mentioned() -> None:
    """Z15: an expired lab is a warning on the day after."""
    assert rules(planned(changes={"keeper": {}, "lifecycle.expiry": TODAY.isoformat()})) == []
    assert rules(planned(changes={"keeper": {}, "lifecycle.expiry": "2026-11-20"})) == ["stack-expired"]


def test_minor_beyond_standard_support_is_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    """KJ30: a recorded minor may still be one that EKS supports at an extra price only."""
    known = replace(KUBERNETES["1.36"], minor="1.33")
    monkeypatch.setattr(version_rules, "KUBERNETES", {**KUBERNETES, "1.33": known})
    assert rules(planned(changes={"platform.kubernetesVersion": "1.33"})) == ["kubernetes-extended-support"]
    assert rules(planned(changes={"platform.kubernetesVersion": "1.36"})) == []


def test_unknown_types_leave_the_rest_of_the_plan_standing() -> None:
    """All findings come at once: an unknown type does not hide a gang that is too large for another pool."""
    changes = {"pools.2.instanceType": "g6e.xlrge", "training.runs.0.nodes": 3, "training.runs.0.sharding": "none"}
    assert rules(planned(changes=changes)) == ["instance-unknown", "gang-fits-pool"]


def test_subnet_is_full_to_the_last_address() -> None:
    """F02: 39 nodes of 52 addresses and 16 for FSx are one more than the 2043 of a /21."""
    changes = {
        "platform.vpcCidr": "10.1.0.0/20",
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.count": 39,
        "pools.2.count": 0,
        "serving.services": [],
        **DEAR,
    }
    for addresses, found in ((51, []), (52, ["subnet-size"])):
        catalogue = _with_row("p5.48xlarge", addresses_per_interface=addresses)
        assert rules(planned(changes=changes, catalogue=catalogue)) == found


@pytest.mark.parametrize(("kv_heads", "fits"), [(8, True), (4, True), (2, True), (1, True), (3, False)])
def test_tensor_parallel_divides_kv_heads_too(kv_heads: int, fits: bool) -> None:
    """C04, item 8: 4 GPUs take parts of 8 KV heads or copies of 2 and 1, as vLLM does; 3 are neither."""
    model = replace(SHIPPED.models["llama-3-70b"], kv_heads=kv_heads)
    catalogue = replace(SHIPPED, models={**SHIPPED.models, "llama-3-70b": model})
    assert rules(planned("prod", catalogue=catalogue)) == ([] if fits else ["tensor-parallel"])


@pytest.mark.parametrize(
    ("minor", "today", "ended"),
    [("1.28", TODAY, True), ("1.34", TODAY, True), ("1.34", date(2026, 10, 27), False), ("1.35", TODAY, False)],
)
def test_minor_without_patches_is_refused_on_racks(minor: str, today: date, ended: bool) -> None:
    """KJ30: to the day; 1.28 ended long before the oldest recorded one."""
    plan = planned_metal({"platform.kubernetesVersion": minor}, today=today)
    assert ("kubernetes-ended" in rules(plan)) is ended


def test_the_api_is_reached_by_those_who_deploy_and_not_by_everybody() -> None:
    """LF02: a private endpoint needs a way in, and one that is open to every address keeps nobody out."""
    assert rules(planned(changes={"platform.publicAccessCidrs": []})) == ["endpoint-private"]
    for access in ({"via": "inside"}, {"via": "vpn", "network": "office", "cidrs": ["10.8.0.0/16"]}):
        assert rules(planned(changes={"platform.publicAccessCidrs": [], "platform.access": access})) == []
    both = planned(changes={"platform.publicAccessCidrs": ["203.0.113.0/24", "0.0.0.0/0"]})
    (found,) = both.errors
    assert (found.rule, found.path) == ("endpoint-open", "gpucluster:platform.publicAccessCidrs[1]")
