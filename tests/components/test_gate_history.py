"""The script that keeps verdicts, with a client that writes down what it is given."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import gate
import pytest
from verdicts import Verdict

from components.training.gate_history import script
from tests.components.samples import CLI, SAMPLES, built

AWS = '#!/bin/sh\nshift 2\nmkdir -p "$STORE/${2%/*}"\ncp "$1" "$STORE/$2"\n'


def kept(state: str, at: datetime) -> str:
    """A verdict as the gate writes it down."""
    plan = {"digest": "ab12"}
    return json.dumps(gate.record(plan, [Verdict("clocks", state, 'it is "at": here')], "580.1", at), indent=1)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("verdicts", "tmp", "bin", "store"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "aws").write_text(AWS)
    (tmp_path / "bin" / "aws").chmod(0o755)
    return tmp_path


def run(place: Path) -> subprocess.CompletedProcess[str]:
    text = script(CLI).replace("/verdicts", str(place / "verdicts")).replace("cd /tmp", f"cd {place / 'tmp'}")
    env = {
        "PATH": f"{place / 'bin'}:/usr/bin:/bin",
        "HISTORY_URI": "gates/training",
        "STORE": str(place / "store"),
        "HOME": os.environ.get("HOME", "/"),
    }
    return subprocess.run(["sh", "-c", text], env=env, capture_output=True, text=True, timeout=30, check=False)


def stored(place: Path) -> list[str]:
    root = place / "store"
    return sorted(str(each.relative_to(root)) for each in root.rglob("*.json"))


def test_each_verdict_is_kept_by_its_node_and_its_time(place: Path) -> None:
    verdicts = place / "verdicts"
    first, later = datetime(2026, 11, 22, 3, 5, tzinfo=UTC), datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
    for node, at in (("ip-10-0-0-1.internal", first), ("ip-10-0-0-2.internal", first)):
        (verdicts / node).write_text(kept("pass", at))
    assert (run(place).returncode, run(place).returncode) == (0, 0)
    (verdicts / "ip-10-0-0-1.internal").write_text(kept("fail", later))
    assert run(place).returncode == 0
    assert stored(place) == [
        "gates/training/ip-10-0-0-1.internal/2026-11-22T03.05Z.json",
        "gates/training/ip-10-0-0-1.internal/2026-11-23T09.00Z.json",
        "gates/training/ip-10-0-0-2.internal/2026-11-22T03.05Z.json",
    ]
    text = (place / "store" / stored(place)[1]).read_text()
    assert json.loads(text)["state"] == "fail"


def test_nothing_to_keep_is_no_failure_and_a_cut_verdict_is_said(place: Path) -> None:
    assert (run(place).returncode, stored(place)) == (0, [])
    (place / "verdicts" / "n-1").write_text('{"state": "pa')
    done = run(place)
    assert (done.returncode, stored(place)) == (0, [])
    assert done.stdout == "the verdict of n-1 has no time, and is not kept\n"


def test_a_client_that_fails_fails_the_copy(place: Path) -> None:
    (place / "verdicts" / "n-1").write_text(kept("pass", datetime(2026, 11, 22, tzinfo=UTC)))
    (place / "bin" / "aws").write_text("#!/bin/sh\nexit 1\n")
    assert run(place).returncode == 1


def test_it_reads_the_verdicts_and_no_gpu_waits_for_it() -> None:
    spec = built(SAMPLES["history-of-gate"]).one("sample-schedule").inputs["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "verdicts", "configMap": {"name": "gate-training-verdicts"}}]
    assert "nodeSelector" not in pod
