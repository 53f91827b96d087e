"""The alert rules, evaluated by the real promtool: each failure fires its alert and only its own (V01 to V12, X02).

Series bear the vendors' names, so that recording rules and alerts are tested together. Whom an alert reaches is judged
by the real Alertmanager and amtool.
"""

import json
import subprocess
from pathlib import Path

import pytest

from components.monitoring.alerting import Receiver, alertmanager_config
from monitoring.failure import Subject
from monitoring.failures import SUBJECTS
from rehearsal import places, toolchain
from rehearsal.processes import Process
from rehearsal.tests.inside.account import until
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
        unit_test(f"{failure.id} fires", shown, case.minute, {failure.id: case}, case.gone)
        for failure in subject.failures
        for case in (CASES[failure.id],)
        for shown in (case.firing, case.also)
        if shown
    ]
    assert run(promtool, tmp_path, tests) == ""


def test_nothing_fires_while_all_is_well_or_nearly(promtool: Path, tmp_path: Path) -> None:
    """The healthy cluster, and every near miss in it: as many at once as touch no series twice."""
    tests = [unit_test("healthy", {}, 75, {})]
    tests += [unit_test(f"near misses {n}", series, minute, {}) for n, (minute, series) in enumerate(near_misses())]
    assert run(promtool, tmp_path, tests) == ""


RECEIVERS = [
    Receiver(name="on-call", kind="pagerduty", at_least="critical"),
    Receiver(name="team", kind="slack", at_least="warning", channel="#gpus"),
]
CAUSE = "alertname=GpuMemory severity=critical symptom=no pool=training"
EFFECT = "alertname=RunSlow severity=warning symptom=yes"


def test_an_alert_reaches_whom_it_concerns_and_what_a_cause_does_is_kept_quiet_x02(tmp_path: Path) -> None:
    built = toolchain.ensure(["alertmanager"])
    file = tmp_path / "alertmanager.yaml"
    file.write_text(json.dumps(alertmanager_config(RECEIVERS, {"on-call": "keys", "team": "keys"})))
    url = f"{places.LOOPBACK}:{places.free_port()}"

    def amtool(*words: str) -> str:
        argv: list[str | Path] = [built["amtool"], f"--alertmanager.url=http://{url}", *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout

    assert "SUCCESS" in amtool("check-config", str(file))
    reached = {
        severity: amtool("config", "routes", "test", f"--config.file={file}", f"severity={severity}").strip()
        for severity in ("critical", "warning", "info", "none")
    }
    assert reached == {"critical": "on-call,team", "warning": "team", "info": "nobody", "none": "nobody"}
    flags = [f"--config.file={file}", f"--storage.path={tmp_path}", f"--web.listen-address={url}"]
    started: list[str | Path] = [built["alertmanager"], *flags, "--cluster.listen-address="]
    process = Process("alertmanager", started, {}, log=tmp_path / "log", cwd=tmp_path)
    process.start()
    try:
        until(lambda: "listening" in (tmp_path / "log").read_text().lower(), 30, "Alertmanager listens")
        for alert in (CAUSE, f"{EFFECT} pool=training", f"{EFFECT} pool=inference"):
            amtool("alert", "add", *alert.split())
        told = json.loads(amtool("alert", "query", "--output=json"))
    finally:
        process.stop()
    assert sorted(each["labels"]["pool"] + each["labels"]["alertname"] for each in told) == [
        "inferenceRunSlow",
        "trainingGpuMemory",
    ]
