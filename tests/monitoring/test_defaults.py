"""What stays of the chart's own alerts."""

import json
import os
from functools import cache
from pathlib import Path

import pytest

from monitoring.defaults import ALWAYS_SO, OURS, default_rules
from monitoring.failures import failures

ROOT = Path(__file__).parents[2]
UPSTREAM = Path(os.environ.get("GPUCLUSTER_UPSTREAM", ROOT.parent / "shared" / "upstream"))


@cache
def of_the_chart() -> set[str]:
    """The alerts that the chart brings, or a skip that says that the look is off."""
    file = UPSTREAM / "rendered" / "kube-prometheus-stack.json"
    if not file.exists():
        pytest.skip("off: what the chart renders is not at hand; set GPUCLUSTER_UPSTREAM")
    objects = json.loads(file.read_text(encoding="utf-8"))["objects"]
    return {alert for each in objects if each["kind"] == "PrometheusRule" for alert in each["alerts"]}


def test_what_is_off_is_told_by_a_failure_of_the_table() -> None:
    assert set(OURS.values()) <= {each.id for each in failures()}
    assert OURS.keys().isdisjoint(ALWAYS_SO)
    assert default_rules()["disabled"] == dict.fromkeys((*OURS, *ALWAYS_SO), True)


def test_nothing_is_switched_off_that_the_chart_does_not_have() -> None:
    assert {*OURS, *ALWAYS_SO} - of_the_chart() == set()


def test_nothing_alerts_twice() -> None:
    """An alert of ours with a name of the chart's is one that is off there."""
    both = {each.alert for each in failures()} & of_the_chart()
    assert both <= OURS.keys()


def test_alerts_about_workloads_leave_out_what_the_table_covers() -> None:
    values = default_rules()
    assert values["appNamespacesOperator"] == "!~"
    assert {"training", "gpu-operator", "volcano-system"} <= set(str(values["appNamespacesTarget"]).split("|"))
