"""A node's own disks."""

from dataclasses import replace

import pytest

from catalogue.instances import INSTANCES
from catalogue.types import Nvme
from planner.storage import tiers
from planner.storage.need import RunIo, Staging
from tests.planner.stacks import saving

ONE_TB = Nvme(count=1, size_gb=1000)


def test_p5_has_thirty_terabytes() -> None:
    """T3.8: 8 drives; EC2 shows them as 3,800 GB each."""
    assert tiers.raw_gb(INSTANCES["p5.48xlarge"].nvme) == 30_400
    assert tiers.raw_gb(Nvme(count=8, size_gb=3840)) == pytest.approx(30_700, rel=0.001)
    assert tiers.raw_gb(None) == 0


@pytest.mark.parametrize(("staging", "fits"), [(Staging.FULL, False), (Staging.SHARD, True), (Staging.NONE, True)])
def test_two_terabytes_do_not_fit_on_one(staging: Staging, fits: bool) -> None:
    """ST12: a full copy of 2 TB does not fit on 1 TB of NVMe; the 62.5 GB shard of one of 32 nodes does."""
    run = RunIo(name="r", nodes=32, dataset_gb=2000, staging=staging)
    assert tiers.fits(run, ONE_TB) is fits


@pytest.mark.parametrize(("dataset", "fits"), [(800, True), (800.1, False)])
def test_a_fifth_stays_free(dataset: float, fits: bool) -> None:
    """ST12: 80 % of 1 TB are 800 GB."""
    run = RunIo(name="r", nodes=1, dataset_gb=dataset, staging=Staging.FULL)
    assert tiers.fits(run, ONE_TB) is fits


def test_checkpoints_count_where_they_are_local() -> None:
    """ST12: a dataset shard and three checkpoints: 1000/4 + 3 x 400/4 = 550 GB; the dataset alone otherwise."""
    kept = saving(keep=3, local=True)
    run = RunIo(name="r", nodes=4, checkpoint_gb=400, saving=kept, dataset_gb=1000, staging=Staging.SHARD)
    assert tiers.local_gb(run) == 550
    assert tiers.local_gb(replace(run, saving=saving(keep=3))) == 250


def test_no_disks_hold_nothing() -> None:
    """B09: a node without NVMe stages nothing."""
    assert tiers.fits(RunIo(name="r", nodes=1), None)
    assert not tiers.fits(RunIo(name="r", nodes=1, dataset_gb=1, staging=Staging.FULL), None)
    assert tiers.write_gb_per_s(None) == 0


def test_drives_add_up() -> None:
    """G17: one data-centre drive writes about 4 GB/s; eight do eight times that."""
    assert tiers.write_gb_per_s(ONE_TB) == pytest.approx(4, abs=0.2)
    assert tiers.write_gb_per_s(Nvme(count=8, size_gb=3840)) == pytest.approx(32, abs=1)
