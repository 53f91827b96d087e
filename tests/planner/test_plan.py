"""The plan as a whole: outputs, table, command, speed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.__main__ import main
from planner.report import numbers, table
from settings.load import from_file
from tests.planner.stacks import ROOT, TODAY, planned

PROGRAM = ("settings", "catalogue", "planner")


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_numbers_are_json_and_complete(stack: str) -> None:
    """A reviewer reads the numbers in a preview: small, plain, and the same in every run."""
    shown = numbers(planned(stack))
    assert json.loads(json.dumps(shown)) == shown
    assert len(json.dumps(shown)) < 6000
    assert shown == numbers(planned(stack))
    assert {"totals", "pools", "gangs", "services", "subnets", "priceUsd", "findings"} == set(shown)


def test_table_shows_errors_first_and_every_word() -> None:
    """All findings in one table, nothing cut off."""
    plan = planned("prod", {"budget.maxHourlyUsd": 1})
    text = table(plan.findings)
    assert text.index("budget") < text.index("waived error")
    assert all(finding.path in text for finding in plan.findings)
    assert "raise the budget to 488.15" in " ".join(text.split())
    assert text.count("accepted: no") == len(plan.warnings)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 118
    assert table(()) == ""


def test_command_prints_plan_and_findings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m planner --stack dev` needs no Pulumi; a missing stack is a sentence."""
    monkeypatch.chdir(ROOT)
    assert main(["--stack", "dev"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["gpus"] == 3
    assert main(["--stack", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("Pulumi.nowhere.yaml: No such file")


def test_command_fails_on_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the plan or in the settings is exit status 1."""
    corpus = ROOT / "tests" / "settings" / "corpus" / "bad"
    monkeypatch.chdir(tmp_path)
    for name, said in (("over-budget", "budget"), ("count-negative", "must be at least 0")):
        (tmp_path / "Pulumi.x.yaml").write_bytes((corpus / f"{name}.yaml").read_bytes())
        assert main(["--stack", "x"]) == 1
        captured = capsys.readouterr()
        assert said in captured.out + captured.err


def test_planning_is_quick() -> None:
    """A plan is milliseconds, so that it can stand before every preview."""
    settings = from_file(ROOT / "Pulumi.prod.yaml")
    from planner.plan import plan

    plan(settings, today=TODAY)
    started = time.process_time()
    plan(settings, today=TODAY)
    assert time.process_time() - started < 0.05


def test_planner_and_settings_import_no_pulumi() -> None:
    """Settings, catalogue and planner run where Pulumi is not installed."""
    code = (
        "import sys; sys.modules['pulumi'] = None\n"
        "import settings.load, settings.schema, planner.plan, planner.report, catalogue.pins\n"
        "assert not [name for name in sys.modules if name.startswith(('rich', 'yaml', 'boto'))]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_plan_has_no_outcome_written_into_it() -> None:
    """The planner computes: no figure of a committed stack's plan stands in its code."""
    plan = planned("prod")
    (service,) = plan.services.values()
    figures = {
        str(plan.prices.hourly),
        str(service.kv_cache_tokens),
        *(str(pool.allocatable_memory_mib) for pool in plan.pools.values()),
        *(subnet.cidr for subnet in plan.subnets),
    }
    code = "".join(path.read_text(encoding="utf-8") for part in PROGRAM for path in (ROOT / part).rglob("*.py"))
    assert not [figure for figure in figures if figure in code.replace("_", "")]
