"""Intervals between checkpoints, and what is lost at them (T01, T10)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.tables import SHIPPED
from catalogue.types import Nvme
from planner.faces.forecast import tier_facts
from planner.faces.page.whole import page
from planner.reliability.checkpoints import (
    Tier,
    daly_seconds,
    effective_part,
    least_overhead,
    overhead,
    plan_tiers,
    young_seconds,
)
from planner.reliability.mttf import failure_rate, mttf
from planner.storage.need import RunIo, object_copy_seconds
from planner.storage.tiers import LOCAL, OBJECTS, SHARED, checkpoint_tiers, copier_gb_per_s
from planner.storage.types import RunStorage
from tests.planner.faces.page.reading import read
from tests.planner.stacks import planned, planned_metal, saving


@pytest.mark.parametrize(
    ("gpus", "hours", "minutes", "percent"),
    [
        (64, 461, ("96", "235", "526"), "0.9"),
        (256, 115, ("48", "117", "263"), "1.7"),
        (512, 57.7, ("34", "83", "186"), "2.4"),
        (1024, 28.8, ("24", "59", "132"), "3.4"),
        (None, 7.9, ("12.6", "31", "69"), "6.5"),
        (16_384, 1.8, ("6.0", "14.7", "33"), "13.6"),
    ],
)
def test_young(gpus: int | None, hours: float, minutes: tuple[str, ...], percent: str) -> None:
    """T3.7: the best intervals for pauses of 10, 60 and 300 s, and what is lost at the second one.

    Printed from the hours as printed, or from those of the rate model before they were rounded (28.846 h: 132 min).
    """
    either = [hours] if gpus is None else [hours, mttf(gpus, failure_rate(None, 6.5)).hours]
    for pause, wanted in zip((10, 60, 300), minutes, strict=True):
        places = len(wanted.partition(".")[2])
        assert wanted in {f"{young_seconds(pause, each) / 60:.{places}f}" for each in either}
    assert f"{least_overhead(60, hours) * 100:.1f}" == percent


@pytest.mark.parametrize(("hours", "minutes"), [(24, "117"), (6, "57"), (0.25, "9.1")])
def test_daly(hours: float, minutes: str) -> None:
    """T3.7: the paper's own examples: pauses of 5 min at an MTTF of 24 h, 6 h and 15 min."""
    assert f"{daly_seconds(300, hours) / 60:.{len(minutes.partition('.')[2])}f}" == minutes


def test_daly_by_hand() -> None:
    """T3.7: pause 60 s, MTTF 1.8 h = 6480 s: 881.8 x (1 + sqrt(0.00463)/3 + 0.00463/9) - 60 = 842.3 s; a pause of
    half the MTTF or more leaves one checkpoint a failure."""
    assert daly_seconds(60, 1.8) == pytest.approx(842.3, abs=0.1)
    assert daly_seconds(4000, 2) == 7200
    assert daly_seconds(3600, 2) == 7200


@given(pause=st.floats(0.001, 3600), hours=st.floats(0.1, 10_000))
def test_daly_stays_below_young_and_the_mttf(pause: float, hours: float) -> None:
    """T3.7: the later terms shorten the interval, by less than the pause and a little more than 2/3 of it if short."""
    young, daly = young_seconds(pause, hours), daly_seconds(pause, hours)
    assert daly <= hours * 3600
    if pause < hours * 1800:
        assert young - pause < daly < young


@given(pause=st.floats(0.001, 100), many=st.floats(1e4, 1e9))
def test_daly_becomes_young_for_short_pauses(pause: float, many: float) -> None:
    """T3.7: they differ by 2/3 of the pause, which is sqrt(pause / MTTF) of the interval at most."""
    hours = many * pause / 3600
    assert daly_seconds(pause, hours) == pytest.approx(young_seconds(pause, hours), rel=(1 / many) ** 0.5)


@given(
    pause=st.floats(1, 600),
    hours=st.floats(1, 2000),
    factor=st.floats(0.2, 5).filter(lambda each: abs(each - 1) > 0.01),
)
def test_no_other_interval_loses_less_than_youngs(pause: float, hours: float, factor: float) -> None:
    """T01: the optimum is one, and it loses sqrt(2 x pause / MTTF)."""
    best = young_seconds(pause, hours)
    assert overhead(pause, best, hours) < overhead(pause, best * factor, hours)
    assert overhead(pause, best, hours) == pytest.approx(least_overhead(pause, hours))


def test_effective_part() -> None:
    """T3.7: 1 - 60/(540 + 60) - (120 + 270)/36000 = 0.889; a wait of 360 s takes another hundredth; never below 0."""
    assert effective_part(60, 540, 10, 120) == pytest.approx(1 - 0.1 - 390 / 36_000)
    assert effective_part(60, 540, 10, 120 + 360) == pytest.approx(1 - 0.1 - 750 / 36_000)
    assert effective_part(60, 540, 0.01, 120) == 0


def test_tiers_of_one_run() -> None:
    """T01: 115 h between failures: 10 s to local disks every 48 min, 60 s to Lustre every 117, 300 s to a store 263."""
    hours = 115
    tiers = [
        Tier(name=name, pause_s=pause, every_s=3600) for name, pause in (("nvme", 10), ("lustre", 60), ("s3", 300))
    ]
    planned_tiers = plan_tiers(tiers, hours, 300)
    assert [each.name for each in planned_tiers] == ["nvme", "lustre", "s3"]
    nvme, lustre, store = (each.best for each in planned_tiers if each.best)
    assert [round(each.young_s / 60) for each in (nvme, lustre, store)] == [48, 117, 263]
    assert lustre.overhead == pytest.approx(0.0170, abs=0.0001)
    assert lustre.daly_s == daly_seconds(60, hours)
    assert lustre.effective_part == pytest.approx(1 - 60 / (lustre.young_s + 60) - (300 + lustre.young_s / 2) / 414_000)
    assert planned_tiers[1].own_effective_part == pytest.approx(1 - 60 / 3660 - 2100 / 414_000)
    assert nvme.effective_part > lustre.effective_part > store.effective_part


STORED = RunIo(name="x", nodes=3, checkpoint_gb=600, saving=saving(every_s=3600))


def test_places_for_checkpoints_of_nodes_that_no_reference_has() -> None:
    """T01: 200 GB of each of three nodes to four drives of 4 GB/s are 12.5 s; 600 GB at 40 GB/s 15 s, and 20 s where
    the nodes send 10 each. What has no drives, saves nothing or reaches nothing has no place."""
    drives = Nvme(count=4, size_gb=3840)
    run = RunStorage(io=STORED, node_gb_per_s=25, nvme=drives, restore_s=None, staging_s=None)
    assert [(each.name, each.pause_s) for each in checkpoint_tiers(run, 40)] == [(LOCAL, 12.5), (SHARED, 15)]
    slow = replace(run, node_gb_per_s=10, nvme=None)
    assert [(each.name, each.pause_s) for each in checkpoint_tiers(slow, 40)] == [(SHARED, 20)]
    assert [*checkpoint_tiers(replace(slow, node_gb_per_s=0), 40)] == []
    assert [*checkpoint_tiers(replace(run, io=replace(STORED, checkpoint_gb=0)), 40)] == []


def test_three_places_of_one_run() -> None:
    """T01: saved every 15 min, on the file system every 30, in the object store every 2 h, by a copier of 0.39 GB/s.

    Training stands for the disks only, and does so wherever it goes back to. A copy of 600 GB is whole after
    2 x 600/0.390625 = 3,072 s, in which the one before it is the newest: 51 min and half of two hours are lost on
    average.
    """
    io = replace(STORED, saving=saving(local=True, every_s=900, file_system_s=1800, object_store_s=7200))
    drives = Nvme(count=4, size_gb=3840)
    copier = copier_gb_per_s(SHIPPED.instances["m7i.2xlarge"])
    assert object_copy_seconds(600, copier) == 3072
    run = RunStorage(
        io=io,
        node_gb_per_s=25,
        nvme=drives,
        restore_s=None,
        staging_s=None,
        object_copy_s=object_copy_seconds(600, copier),
    )
    places = [*checkpoint_tiers(run, 40)]
    assert [(each.name, each.every_s, each.waits) for each in places] == [
        (LOCAL, 900, True),
        (SHARED, 1800, False),
        (OBJECTS, 7200, False),
    ]
    disks, system, store = plan_tiers(places, 100, 600)
    assert disks.own_effective_part == pytest.approx(1 - 12.5 / 912.5 - (600 + 450) / 360_000)
    assert system.own_effective_part == pytest.approx(1 - 12.5 / 912.5 - (600 + 15 + 900) / 360_000)
    assert store.own_effective_part == pytest.approx(1 - 12.5 / 912.5 - (600 + 3072 + 3600) / 360_000)


@pytest.mark.parametrize(
    ("size", "rate"),
    [("m7i.xlarge", 0.1953125), ("m7i.2xlarge", 0.390625), ("m7i.8xlarge", 1.0)],
)
def test_a_copier_has_what_its_node_keeps_after_the_burst(size: str, rate: float) -> None:
    """T01: 12.5 Gb/s for each 32 processors of a node, and one core's hashing above."""
    assert copier_gb_per_s(SHIPPED.instances[size]) == rate


def test_every_face_shows_the_places() -> None:
    """T01: their intervals and what is left for training, in a plan, in text, and as curves that are lowest there."""
    plan = planned_metal()
    run = plan.runs["llama-3-70b-pretrain"]
    assert [tier.name for tier in run.tiers] == [LOCAL, SHARED]
    assert run.training is not None
    assert run.forecast is not None
    assert run.saving is not None
    tier = Tier(name="x", pause_s=run.saving.within_s, every_s=run.saving.every_s)
    allowed = plan_tiers([tier], run.training.mttf.hours, 600)
    assert allowed[0].own_effective_part == run.forecast.effective_part
    shown = dict(tier_facts(run.tiers))
    document = read(page("metal", plan))
    for place in run.tiers:
        best = place.best
        assert best is not None
        assert f"best every {best.young_s / 60:.0f} min: {best.effective_part:.1%}" in str(shown[f"to {place.name}"])
        (curve,) = document.all("path", data_curve=f"to {place.name}")
        points = [tuple(map(float, point.split(","))) for point in curve.attributes["data-points"].split()]
        assert min(points, key=lambda point: point[1])[0] == pytest.approx(best.young_s / 60, rel=1e-4)
        (dot,) = document.all("circle", data_dot=f"to {place.name}")
        assert dot.number("x") == pytest.approx(best.young_s / 60, rel=1e-4)
    unsaved = planned("prod", {"training.runs.0.checkpoint": None, "waivers": []})
    assert unsaved.runs[run.name].tiers == ()


def test_a_copier_is_no_pause_in_any_face() -> None:
    """T01: what is copied beside the training has no best interval, no curve, and its age at a failure in its ratio."""
    plan = planned("prod")
    run = plan.runs["llama-3-70b-pretrain"]
    (store,) = (tier for tier in run.tiers if tier.name == OBJECTS)
    assert (store.best, store.waits, store.every_s) == (None, False, 6 * 3600)
    told = dict(tier_facts(run.tiers))[f"to {OBJECTS}"]
    assert told == "a copy takes 84 min, every 360 min, in the background: 98.5% effective from there"
    document = read(page("prod", plan))
    assert document.all("path", data_curve=f"to {SHARED}")
    assert not document.all("path", data_curve=f"to {OBJECTS}")
    assert "360 min, in the background" in page("prod", plan)


def test_quarter_of_an_hour_to_local_disks_costs_little() -> None:
    """T01: 15 min at pauses of 10 s is more often than 256 GPUs need, and loses half a hundredth more."""
    hours = mttf(256, failure_rate(None, 6.5)).hours
    assert overhead(10, 900, hours) - least_overhead(10, hours) == pytest.approx(0.005, abs=0.0005)
