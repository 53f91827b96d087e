"""Rows of the catalogue, offerings and zones beside the account's."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from catalogue.gpus import A100_40, H200
from catalogue.instances import INSTANCES
from catalogue.tables import SHIPPED
from catalogue.types import Architecture, NetworkCard, Nvme, UsageClass
from catalogue.whole import Catalogue
from doctor.account import Account
from doctor.case import Case
from doctor.hardware import facts, zones
from doctor.results import Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import Run, case, client

UNDESCRIBED = {"p6e-gb200.36xlarge"}
"""Types that the stand-in's copy of EC2's data lacks."""


def wrong_row(type_: str, **changes: Any) -> Catalogue:
    """The shipped catalogue with one row that is not what EC2 says."""
    rows = {**SHIPPED.instances, type_: replace(SHIPPED.instances[type_], **changes)}
    return replace(SHIPPED, instances=rows)


def prod(catalogue: Catalogue = SHIPPED) -> Case:
    return case(stack="prod", catalogue=catalogue)


def about(type_: str, told: list[Any]) -> Any:
    return next(result for result in told if result.subject == type_)


def test_the_rows_of_a_stack_are_right(examined: Run) -> None:
    """One result for each type, with the numbers that were compared."""
    told = examined("instance", prod())
    assert {result.subject for result in told} == {"m7i.2xlarge", "p5.48xlarge", "g6e.48xlarge"}
    assert {result.status for result in told} == {Status.OK}
    for part in ("192 vCPU", "2048 GiB", "8 H100", "32 network cards", "32 EFA interfaces", "8 x 3800 GB"):
        assert part in about("p5.48xlarge", told).sentence


def test_every_row_is_right(cloud: Cloud) -> None:
    """NW11, B02-B09: all facts of all types, as the account describes them."""
    ec2 = client(cloud, "ec2")
    pages = ec2.get_paginator("describe_instance_types").paginate(
        Filters=[{"Name": "instance-type", "Values": sorted(INSTANCES)}]
    )
    described = {row["InstanceType"]: row for page in pages for row in page["InstanceTypes"]}
    assert set(INSTANCES) - set(described) == UNDESCRIBED
    wrong = {
        (name, fact.name): (fact.row, fact.told)
        for name, row in described.items()
        for fact in facts(INSTANCES[name], row)
        if fact.row != fact.told
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"vcpu": 96}, ("vCPU: 192", "96 the catalogue")),
        ({"memory_gib": 1024}, ("memory in GiB: 2048", "1024")),
        ({"architecture": Architecture.ARM64}, ("architecture: x86_64", "arm64")),
        ({"gpu_count": 4}, ("GPUs: 8", "4")),
        ({"gpu": A100_40}, ("GPU: H100", "A100")),
        ({"gpu": replace(INSTANCES["p5.48xlarge"].gpu, memory_gb=40)}, ("GPU memory: 80 GiB", "40 GB")),  # type: ignore[type-var]
        ({"gpu": H200}, ("GPU: H100", "H200")),
        ({"efa_max": 16}, ("EFA interfaces: 32", "16")),
        (
            {"cards": tuple(NetworkCard(index=n, efa=n > 0, max_interfaces=2) for n in range(33))},
            ("network cards: 32", "33", "cards with EFA: 0-31 says EC2, 1-32 the catalogue"),
        ),
        (
            {"cards": tuple(NetworkCard(index=n, efa=True, max_interfaces=4) for n in range(32))},
            ("interfaces per card: 2", "4"),
        ),
        ({"addresses_per_interface": 30}, ("addresses per interface: 50", "30")),
        ({"nvme": Nvme(count=4, size_gb=3800)}, ("NVMe: 8 x 3800 GB", "4 x 3800 GB")),
        ({"nvme": None}, ("NVMe: 8 x 3800 GB", "none")),
        ({"usage_classes": frozenset({UsageClass.ON_DEMAND})}, ("ways to buy: capacity-block, on-demand, spot",)),
    ],
)
def test_a_wrong_row_fails(examined: Run, changes: Mapping[str, Any], parts: tuple[str, ...]) -> None:
    """With both values, and where the row is."""
    told = examined("instance", prod(wrong_row("p5.48xlarge", **changes)))
    wrong = about("p5.48xlarge", told)
    assert wrong.status is Status.FAIL
    for part in parts:
        assert part in wrong.sentence
    assert "catalogue/instances" in wrong.remedy
    assert {result.status for result in told if result is not wrong} == {Status.OK}


def test_a_gpu_that_the_catalogue_has_and_ec2_has_not(examined: Run) -> None:
    """And the other way round."""
    told = examined("instance", prod(wrong_row("m7i.2xlarge", gpu=H200, gpu_count=1)))
    assert "GPUs: 0 says EC2, 1 the catalogue" in about("m7i.2xlarge", told).sentence
    told = examined("instance", prod(wrong_row("p5.48xlarge", gpu=None, gpu_count=0)))
    assert "GPU: H100 says EC2, none the catalogue" in about("p5.48xlarge", told).sentence


def test_a_row_of_the_site_is_what_counts(examined: Run) -> None:
    """A stack file's own row takes the place of the shipped one."""
    rows = [{"name": "p5.4xlarge", "like": "p5.4xlarge", "vcpu": 20}]
    told = examined("instance", case({"catalogue.instances": rows}))
    assert "vCPU: 16 says EC2, 20 the catalogue" in about("p5.4xlarge", told).sentence


def test_a_type_that_ec2_does_not_know(examined: Run) -> None:
    """The others are compared all the same."""
    rows = [{"name": "p9.48xlarge", "like": "p5.48xlarge"}]
    told = examined("instance", case({"catalogue.instances": rows, "pools.1.instanceType": "p9.48xlarge"}))
    assert about("p9.48xlarge", told).status is Status.FAIL
    assert "us-east-2" in about("p9.48xlarge", told).sentence
    assert about("g6e.xlarge", told).status is Status.OK


def test_a_type_that_the_catalogue_does_not_know(examined: Run) -> None:
    """There is nothing to compare with."""
    told = examined("instance", case({"pools.1.instanceType": "p5.4xlarger"}))
    assert about("p5.4xlarger", told).status is Status.FAIL
    assert "training" in about("p5.4xlarger", told).sentence


def test_a_type_that_cannot_stand_together(examined: Run) -> None:
    """A pool with EFA stands in a cluster placement group, which not every type may join."""
    row = replace(SHIPPED.instances["g6e.8xlarge"], type="t3.medium")
    catalogue = replace(SHIPPED, instances={**SHIPPED.instances, "t3.medium": row})
    told = examined("instance", case({"pools.1.instanceType": "t3.medium"}, catalogue=catalogue))
    assert "cluster placement group" in about("t3.medium", told).sentence


def test_offered_where_the_stack_needs_it(examined: Run) -> None:
    """GPU pools in the GPU zone, the system pool in every zone."""
    told = {result.subject: result for result in examined("offering", case())}
    assert {result.status for result in told.values()} == {Status.OK}
    assert told["system"].sentence == "m7i.xlarge is offered in use2-az1, use2-az2"
    assert told["training"].sentence == "p5.4xlarge is offered in use2-az1"


ELSEWHERE = {"platform.region": "us-east-1", "platform.zones": ["use1-az3", "use1-az6"], "platform.gpuZone": "use1-az3"}


def test_not_offered_in_the_gpu_zone(examined: Run, cloud: Cloud) -> None:
    """g6e.xlarge is in some zones of us-east-1 only: they are named."""
    request = [{"Name": "instance-type", "Values": ["g6e.xlarge"]}]
    rows = cloud.client("ec2", "us-east-1").describe_instance_type_offerings(
        LocationType="availability-zone-id", Filters=request
    )["InstanceTypeOfferings"]
    offered = {row["Location"] for row in rows}
    missing = next(zone for zone in ("use1-az3", "use1-az6") if zone not in offered)
    told = about("inference", examined("offering", case({**ELSEWHERE, "platform.gpuZone": missing})))
    assert told.status is Status.FAIL
    assert f"not offered in {missing}" in told.sentence
    assert ", ".join(sorted(offered)) in told.sentence


def test_not_offered_in_the_region(examined: Run) -> None:
    """Then no zone helps."""
    changes = {
        "platform.region": "ca-west-1",
        "platform.zones": ["caw1-az1", "caw1-az2"],
        "platform.gpuZone": "caw1-az1",
        "pools.1.instanceType": "p6-b300.48xlarge",
    }
    told = about("training", examined("offering", case(changes)))
    assert told.status is Status.FAIL
    assert "no zone of ca-west-1" in told.sentence
    assert told.remedy == "take another type"


def test_the_system_pool_may_miss_a_zone(examined: Run) -> None:
    """Its nodes then stand in the others: no more than a warning."""
    zones = ["use1-az1", "use1-az3"]
    told = about("system", examined("offering", case({**ELSEWHERE, "platform.zones": zones})))
    assert told.status is Status.WARN
    assert "not offered in use1-az3" in told.sentence


def test_zones_of_the_account(examined: Run) -> None:
    """Named as the account names them, and as all accounts do."""
    told = examined("zone", case())
    assert [(result.subject, result.status) for result in told] == [("use2-az1", Status.OK), ("use2-az2", Status.OK)]
    assert told[0].sentence == "available as us-east-2a"


def test_a_zone_that_the_account_has_not(examined: Run) -> None:
    """The ones it has are named."""
    told = examined("zone", case({"platform.zones": ["use2-az1", "use2-az9"]}))
    assert [result.status for result in told] == [Status.OK, Status.FAIL]
    assert "use2-az1, use2-az2, use2-az3" in told[1].sentence


def test_a_zone_that_is_impaired(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS says so in the zone's state."""
    account = Account(case().settings.platform, attempts=1)
    rows = [
        {"ZoneId": "use2-az1", "ZoneName": "us-east-2a", "State": "impaired"},
        {"ZoneId": "use2-az2", "ZoneName": "us-east-2b", "State": "available"},
    ]
    monkeypatch.setattr(account, "every", lambda *_: rows)
    told = list(zones(case(), account))
    assert [result.status for result in told] == [Status.FAIL, Status.OK]
    assert told[0].sentence == "its state is impaired"
