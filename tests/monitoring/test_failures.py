"""The table of failures is whole, and says where each of its numbers comes from."""

import re
from dataclasses import fields, replace

import pytest

from monitoring.failure import ACTIONS, Action, Failure
from monitoring.failures import ROWS, SUBJECTS, failures, xids
from monitoring.recording import recorded
from monitoring.rule import names
from monitoring.rules import adjustable, alert_groups
from monitoring.thresholds import Codes, Threshold
from rehearsal.kubelet.faults import KINDS
from tests.monitoring.cases import CASES, INJECTED, MEASURED
from tests.monitoring.healthy import LIMITS
from tests.monitoring.queries import metrics, numbers

ALL = {failure.id: failure for failure in failures()}
RECORDED = names(recorded(LIMITS))
SENTINEL = 123_456_789.0
NEUTRAL = {0.0, 1.0, 60.0, 3600.0}
"""None, one, and what makes a rate one of a minute or an hour."""


def test_every_symptom_of_the_taxonomy_has_one_alert_v01() -> None:
    """Twelve rows, in the taxonomy's own words."""
    assert sorted(each.row for each in ALL.values() if each.row) == sorted(ROWS)
    assert len(ROWS) == 12


def test_what_a_rehearsal_can_break_are_these_failures() -> None:
    assert set(INJECTED) == set(KINDS) - MEASURED


def test_every_kind_of_fault_that_is_injected_has_one_alert() -> None:
    """A fault of the rehearsal stands for a row of the taxonomy, and for no two."""
    assert sorted(ALL[each].row or "" for each in INJECTED.values()) == sorted(ROWS)


def test_every_failure_has_its_own_names_and_a_test() -> None:
    assert len({each.alert for each in ALL.values()}) == len(ALL) == sum(len(each.failures) for each in SUBJECTS)
    assert CASES.keys() == ALL.keys()
    for each in ALL.values():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", each.id)
        assert re.fullmatch(r"([A-Z][a-z]+)+", each.alert)


def test_a_threshold_without_a_source_cannot_be_made_st17_x02() -> None:
    """An alert names its limit, and the limit who says so."""
    with pytest.raises(ValueError, match="85 C needs a source"):
        Threshold(85, "C", " ")
    with pytest.raises(ValueError, match="need values and a source"):
        Codes(values=("79",), source="")
    with pytest.raises(ValueError, match="need values and a source"):
        Codes(values=(), source="NVIDIA")


@pytest.mark.parametrize("failure", ALL.values(), ids=ALL)
def test_no_number_stands_in_an_expression_without_its_source(failure: Failure) -> None:
    """With every threshold replaced, no number of the author's is left."""
    replaced = {
        name: replace(limit, value=SENTINEL) if isinstance(limit, Threshold) else limit
        for name, limit in failure.limits.items()
    }
    assert numbers(replace(failure, limits=replaced).query) <= {*NEUTRAL, SENTINEL}


@pytest.mark.parametrize("failure", ALL.values(), ids=ALL)
def test_alerts_read_recorded_names_only(failure: Failure) -> None:
    """So a renamed metric is repaired in one place."""
    assert metrics(failure.query) <= RECORDED.keys()


@pytest.mark.parametrize("failure", ALL.values(), ids=ALL)
def test_what_a_person_reads_is_whole(failure: Failure) -> None:
    """Sentences end, pages have causes, three actions and a command for each."""
    assert len(failure.actions) == ACTIONS
    assert len(failure.causes) >= 2
    assert failure.summary.endswith((".", "!"))
    for text in (failure.meaning, failure.over):
        assert text.endswith((".", ")"))
    for field in fields(failure):
        value = getattr(failure, field.name)
        if isinstance(value, str) and field.name not in ("more", "row"):
            assert value.strip() == value, field.name
            assert value, field.name
    assert failure.link.startswith("https://")
    assert all(action.say and not action.say.endswith((".", ":")) for action in failure.actions)


def test_an_action_is_a_command_or_a_query() -> None:
    for wrong in ({}, {"command": "kubectl get nodes", "query": "up"}):
        with pytest.raises(ValueError, match="needs a command or a query"):
            Action(say="Look", **wrong)


def test_a_description_says_the_cost_and_the_first_command_with_the_alerts_labels() -> None:
    fan = ALL["fan-failed"]
    cost, first = fan.document("runbooks")["annotations"]["description"].split("\n")
    assert cost == fan.meaning
    assert first == (
        "First, read the machine's present state from its BMC: "
        'make power STACK=NAME NODE={{ or $labels.node "NODE" }} WHAT=status'
    )


def test_expression_and_limits_name_each_other() -> None:
    hot = ALL["gpu-hot"]
    with pytest.raises(ValueError, match="gpu-hot: the expression uses the limits"):
        replace(hot, limits={"celsius": hot.limits["celsius"]})
    with pytest.raises(ValueError, match="gpu-hot: 2 first actions"):
        replace(hot, actions=hot.actions[:2])


def test_a_stack_may_set_its_own_threshold_with_its_own_source() -> None:
    own = Threshold(80, "C", "contract with the data centre")
    groups = alert_groups(replace(LIMITS, thresholds={("gpu-hot", "celsius"): own}), "docs/runbooks")
    rules = {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}
    assert "gpucluster:gpu:temperature_celsius >= 80" in rules["GpuHot"]
    assert ("gpu-hot", "celsius") in adjustable()
    for wrong in (("gpu-hot", "kelvin"), ("gpu-cold", "celsius"), ("gpu-memory", "xids")):
        with pytest.raises(KeyError, match="no failure has the threshold"):
            alert_groups(replace(LIMITS, thresholds={wrong: own}), "docs/runbooks")
    with pytest.raises(KeyError, match="gpu-memory has no threshold xids"):
        ALL["gpu-memory"].with_threshold("xids", own)


def test_each_xid_has_its_place_dc09() -> None:
    """79 and 54 lose a GPU, 48, 64, 95 and 140 are its memory; 63 and 92 inform, 13 and 31 are the application's: they
    alert nobody.
    """
    used = [each for name in ("LOST", "MEMORY", "CONTAINED", "DRIVER", "NVLINK") for each in getattr(xids, name).values]
    assert len(used) == len(set(used))
    assert {"79", "54"} == set(xids.LOST.values)
    assert {"48", "64", "95", "140"} == set(xids.MEMORY.values)
    assert {"109", "119", "120"} <= set(xids.DRIVER.values)
    assert {"63", "92", "121", "66", "67", "13", "31", "43", "45"}.isdisjoint(used)
    assert set(xids.HARDWARE.values) == set(used) - set(xids.LOST.values)


def test_heat_is_told_by_reasons_and_margin_hw17_h14() -> None:
    """A fixed 85 C is the default of a warning; what alerts of throttling are the clock event reasons."""
    throttled, hot = ALL["gpu-throttled"], ALL["gpu-hot"]
    assert metrics(throttled.query) == {"gpucluster:gpu:clock_event_samples"}
    assert {"gpucluster:gpu:temperature_margin_celsius", "gpucluster:gpu:temperature_celsius"} <= metrics(hot.query)
    assert hot.severity == "warning"
    limit = hot.limits["celsius"]
    assert isinstance(limit, Threshold)
    assert (limit.value, limit.unit) == (85, "C")


def test_the_latency_of_ceph_is_that_of_operations_st16() -> None:
    """No exporter has a gauge of client latency: sum over count, for minutes."""
    latency = [r for g in recorded(LIMITS) for r in g.rules if r.name == "gpucluster:ceph:operation_latency_seconds"]
    assert {each.constant["operation"] for each in latency} == {"read", "write"}
    assert all("_sum[5m]" in each.expression and "_count[5m]" in each.expression for each in latency)
    assert ALL["ceph-slow"].span == "10m"


def _page(failure: str) -> str:
    of = ALL[failure]
    return " ".join((of.meaning, of.over, of.more, *of.causes, *(f"{a.say} {a.command}{a.query}" for a in of.actions)))


@pytest.mark.parametrize(
    ("correction", "failure", "says"),
    [
        ("HW18", "gpu-throttled", r"facility water is 12 to 15 C, the node's own loop about 40 C"),
        ("HW19", "gpu-memory-held", r"with NVSwitch all GPUs are reset together, with fabric manager stopped"),
        ("HW20", "out-of-memory", r"fragmentation inside the process.*expandable_segments"),
        ("PF11", "fabric-flaps", r"mlxlink"),
        ("PF18", "fabric-link", r"mlx5_ib and mlx5_core.*loses storage and network"),
        ("PF19", "fabric-drops", r"on the cards with `mlnx_qos`"),
        ("SL18", "queue-waits", r"priority classes and by the queues' shares, not by who used most"),
        ("DC02", "run-hangs", r"`--host` would go after the subcommand, and the engine listens on loopback"),
        ("DC07", "run-failed", r"no script of DCGM takes nodes away by itself"),
        ("ST11", "shared-files-full", r"obdfilter.*only its server knows"),
        ("NC20", "run-slow", r"64 H100 at 52 % are 78,000 a second on a 70B model, not 380,000"),
    ],
)
def test_pages_say_what_is_right(correction: str, failure: str, says: str) -> None:
    """HW18, HW19, HW20, PF11, PF18, PF19, SL18, DC02, DC07, ST11, NC20: a remedy that works."""
    assert re.search(says, _page(failure)), correction
