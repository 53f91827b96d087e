"""Intervals between checkpoints, and what is lost at them (T01, T10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.reliability.checkpoints import (
    Tier,
    daly_seconds,
    effective_part,
    least_overhead,
    overhead,
    plan_tiers,
    young_seconds,
)
from planner.reliability.mttf import modelled_mttf_hours


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
    either = [hours] if gpus is None else [hours, modelled_mttf_hours(gpus)]
    for pause, wanted in zip((10, 60, 300), minutes, strict=True):
        places = len(wanted.partition(".")[2])
        assert wanted in {f"{young_seconds(pause, mttf) / 60:.{places}f}" for mttf in either}
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
    """T3.7: 1 - 60/(540 + 60) - (120 + 270)/36000 = 0.889; a queue of 360 s takes another hundredth; never below 0."""
    assert effective_part(60, 540, 10, 120) == pytest.approx(1 - 0.1 - 390 / 36_000)
    assert effective_part(60, 540, 10, 120, queue_s=360) == pytest.approx(1 - 0.1 - 750 / 36_000)
    assert effective_part(60, 540, 0.01, 120) == 0


def test_tiers_of_one_run() -> None:
    """T01: 115 h between failures: 10 s to local disks every 48 min, 60 s to Lustre every 117, 300 s to a store 263."""
    hours = 115
    tiers = (
        Tier(name="nvme", pause_s=10),
        Tier(name="lustre", pause_s=60, restore_s=100),
        Tier(name="s3", pause_s=300),
    )
    nvme, lustre, store = plan_tiers(tiers, hours, restart_s=200)
    assert [round(each.young_s / 60) for each in (nvme, lustre, store)] == [48, 117, 263]
    assert [each.name for each in (nvme, lustre, store)] == ["nvme", "lustre", "s3"]
    assert lustre.overhead == pytest.approx(0.0170, abs=0.0001)
    assert lustre.daly_s == daly_seconds(60, hours)
    assert lustre.effective_part == pytest.approx(1 - 60 / (lustre.young_s + 60) - (300 + lustre.young_s / 2) / 414_000)
    assert nvme.effective_part > lustre.effective_part > store.effective_part


def test_quarter_of_an_hour_to_local_disks_costs_little() -> None:
    """T01: 15 min at pauses of 10 s is more often than 256 GPUs need, and loses half a hundredth more."""
    hours = modelled_mttf_hours(256)
    assert overhead(10, 900, hours) - least_overhead(10, hours) == pytest.approx(0.005, abs=0.0005)
