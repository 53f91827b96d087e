"""The alert rules, evaluated by the real promtool: each failure fires its alert and only its own (V01 to V12, X02).

Series bear the vendors' names, so that recording rules and alerts are tested together.
"""

from pathlib import Path

import pytest

from monitoring.failure import Subject
from monitoring.failures import SUBJECTS
from rehearsal import toolchain
from tests.monitoring.cases import CASES
from tests.monitoring.promtool import near_misses, run, unit_test

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def promtool() -> Path:
    """The one of the Prometheus that the chart deploys."""
    return toolchain.ensure(["prometheus"])["promtool"]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: str(subject.name))
def test_a_failure_fires_its_alert_and_no_other(subject: Subject, promtool: Path, tmp_path: Path) -> None:
    tests = [
        unit_test(f"{failure.id} fires", case.firing, case.minute, {failure.id: case}, case.gone)
        for failure in subject.failures
        for case in (CASES[failure.id],)
    ]
    assert run(promtool, tmp_path, tests) == ""


def test_nothing_fires_while_all_is_well_or_nearly(promtool: Path, tmp_path: Path) -> None:
    """The healthy cluster, and every near miss in it: as many at once as touch no series twice."""
    tests = [unit_test("healthy", {}, 75, {})]
    tests += [unit_test(f"near misses {n}", series, minute, {}) for n, (minute, series) in enumerate(near_misses())]
    assert run(promtool, tmp_path, tests) == ""
