"""Service quotas of a stack."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.instances import INSTANCES
from catalogue.types import UsageClass
from planner.pool_types import AwsPoolPlan
from planner.procurement import QuotaNeed, instance_quota, quota_needs, requests
from tests.planner.pools import bought

OD, SPOT, BLOCK = UsageClass.ON_DEMAND, UsageClass.SPOT, UsageClass.CAPACITY_BLOCK


def needs(*pools: AwsPoolPlan, **changes: Any) -> dict[str, QuotaNeed]:
    known: dict[str, Any] = {
        "zones": 2,
        "nat_gateways": 1,
        "fsx_type": "SCRATCH_2",
        "fsx_gib": 1200,
        "fsx_interfaces": 2,
    }
    return {need.quota.name: need for need in quota_needs(pools, **{**known, **changes})}


@pytest.mark.parametrize(
    ("type_", "usage", "code"),
    [
        ("p5.48xlarge", OD, "L-417A185B"),
        ("p6-b200.48xlarge", OD, "L-417A185B"),
        ("g6e.xlarge", OD, "L-DB2E81BA"),
        ("m7i.large", OD, "L-1216C47A"),
        ("c5n.18xlarge", OD, "L-1216C47A"),
        ("hpc6id.32xlarge", OD, "L-F7808C92"),
        ("inf2.xlarge", OD, "L-1945791B"),
        ("p4d.24xlarge", SPOT, "L-7212CCBC"),
        ("p5en.48xlarge", SPOT, "L-C4BD4855"),
        ("p6-b300.48xlarge", SPOT, None),
        ("g5.xlarge", SPOT, "L-3819A6DF"),
        ("m7i.large", SPOT, "L-34B43A08"),
        ("p5.48xlarge", BLOCK, "L-DA6814F2"),
        ("p5e.48xlarge", BLOCK, "L-C45F30BC"),
        ("p5en.48xlarge", BLOCK, "L-4F9BB70B"),
        ("p4d.24xlarge", BLOCK, "L-2C8F52B3"),
        ("p6e-gb200.36xlarge", BLOCK, None),
    ],
)
def test_quota_of_an_instance_type(type_: str, usage: UsageClass, code: str | None) -> None:
    """Z04: the code that Service Quotas wants; a family whose code no page names has none, rather than a wrong one."""
    assert instance_quota(INSTANCES[type_], usage).code == code


def test_eight_p5_need_1536_vcpu_of_a_quota_that_starts_at_zero() -> None:
    """Z04: P instances of all on-demand pools count together; a block's do not."""
    found = needs(bought("p5.48xlarge", 8), bought("p4d.24xlarge", 1), bought("p5.48xlarge", 4, BLOCK))
    on_demand = found["Running On-Demand P instances"]
    assert (on_demand.need, on_demand.quota.default) == (8 * 192 + 96, 0)
    assert on_demand.basis == "8 x 192 of p5.48xlarge, 1 x 96 of p4d.24xlarge"
    assert found["Concurrent P5 Capacity Blocks per account"].need == 768


def test_what_an_update_runs_beside_a_pool_counts_lf07() -> None:
    """LF07: two more nodes of a group in one zone while EKS updates it: vCPU, interfaces and disks."""
    plain, updated = (needs(bought("g6e.48xlarge", 1, root_volume_gib=512, surge=surge)) for surge in (0, 2))
    vcpu = updated["Running On-Demand G and VT instances"]
    assert (vcpu.need, vcpu.basis) == (3 * 192, "1 x 192 of g6e.48xlarge and 2 more in an update")
    assert updated["Network interfaces per Region"].need - plain["Network interfaces per Region"].need == 4
    assert updated["Storage for General Purpose SSD (gp3) volumes, in TiB"].need == 1.5
    assert updated["Nodes per managed node group"].need == 1


def test_interfaces_run_out_long_before_the_instances_do() -> None:
    """E21, F02: 160 p5 nodes of 33 interfaces exceed the 5,000 of a region."""
    assert not needs(bought("p5.48xlarge", 150, interfaces=33))["Network interfaces per Region"].beyond_default
    crowded = needs(bought("p5.48xlarge", 160, interfaces=33))["Network interfaces per Region"]
    assert crowded.need == 160 * 33 + 1 + 2 + 2 * 2
    assert crowded.beyond_default


def test_a_small_lab_asks_for_gpu_quotas_only() -> None:
    """Z04, Z12: what a new account has not."""
    lab = quota_needs(
        [bought("m7i.large", 2), bought("g5.xlarge", 1)],
        zones=2,
        nat_gateways=1,
        fsx_type="SCRATCH_2",
        fsx_gib=1200,
        fsx_interfaces=2,
    )
    assert requests(lab) == {"Running On-Demand G and VT instances": 4}


def test_storage_quotas_follow_type_and_size() -> None:
    """ST18: scratch and persistent capacity are counted apart, root volumes in TiB."""
    found = needs(bought("p5.48xlarge", 64, root_volume_gib=1024), fsx_type="PERSISTENT_2", fsx_gib=102_400)
    assert found["Lustre Persistent_2 storage capacity"].beyond_default
    assert "Lustre Scratch storage capacity" not in found
    volumes = found["Storage for General Purpose SSD (gp3) volumes, in TiB"]
    assert (volumes.need, volumes.beyond_default) == (64, True)


@given(count=st.integers(0, 200), more=st.integers(0, 50), type_=st.sampled_from(sorted(INSTANCES)))
def test_more_nodes_never_need_less(count: int, more: int, type_: str) -> None:
    """A07: growing a pool lowers no need."""
    before, after = needs(bought(type_, count)), needs(bought(type_, count + more))
    assert all(after[name].need >= need.need for name, need in before.items())
