"""`make lab`: three questions, and a lab that plans, ends by itself and stays within its money (Z15)."""

from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path

import pytest
import yaml

from planner.lab import QUESTIONS, main
from planner.new import owner, planned
from planner.plan import AwsPlan, plan
from settings.load import from_file
from tests.settings.editor import accepts
from tests.typed import handed

NOW = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory; the file is written where one stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "hours", "gpus", "usd"),
    [
        ([], 8, 1, 40),
        (["--hours", "8", "--gpus", "2", "--budget", "100"], 8, 2, 100),
        (["--hours", "72.5", "--gpus", "4", "--budget", "900"], 72.5, 4, 900),
    ],
)
def test_the_file_plans_and_ends_when_it_was_told_to(
    options: list[str],
    hours: float,
    gpus: int,
    usd: float,
    elsewhere: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--stack", "mine", *options], now=NOW) == 0
    file = elsewhere / "Pulumi.mine.yaml"
    found = plan(from_file(file), today=NOW)
    assert isinstance(found, AwsPlan)
    assert (found.errors, found.totals.gpus) == ((), gpus)
    assert found.keeper is not None
    assert (found.keeper.ends, found.keeper.max_usd) == (NOW + timedelta(hours=hours), usd)
    assert found.keeper.emails == (f"{owner()}@example.com",), "who is warned: a placeholder, and there"
    assert accepts(yaml.safe_load(file.read_text(encoding="utf-8")))
    hourly = found.prices.hourly
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == (
        f"Pulumi.mine.yaml: {gpus} GPUs, {hourly:.2f} USD an hour, {hourly * hours:.2f} USD in {hours:g} hours"
    )
    assert lines == [
        f"it destroys itself at {NOW + timedelta(hours=hours):%Y-%m-%d %H:%M} UTC, or once {usd} USD are spent",
        "next: replace the placeholders in it, then",
        "  make rehearse STACK=mine             rehearses it without an account",
        "  pulumi stack init mine               once",
        "  make deploy STACK=mine               deploys it",
        "  make extend STACK=mine HOURS=2       extends it, within its budget",
        "  make undeploy STACK=mine             destroys it early",
    ]


FILE = """\
# A lab that destroys itself: docs/how-to/labs.md. `make plan` shows size, price and mistakes in a second.
config:
  pulumi:disable-default-providers: ["*"]
  # The network, addresses and bucket names are placeholders: replace them, then remove the next line.
  gpucluster:example: true
  gpucluster:preset: lab-hybrid
  gpucluster:platform: {{publicAccessCidrs: [203.0.113.0/24]}}  # replace: who may reach the API
{pools}  gpucluster:budget: {{maxHourlyUsd: {limit}, maxGpus: {gpus}}}  # a lab of more is refused
  gpucluster:lifecycle: {{owner: {me}, costCentre: labs, expiry: "{end:%Y-%m-%d}"}}
  gpucluster:keeper:
    endsAt: "{end:%Y-%m-%dT%H:%M:%SZ}"
    maxUsd: 40
    warnHours: 1
    emails: [{me}@example.com]  # replace: who is warned; AWS sends a link to confirm
"""
POOLS = """\
  # g6.xlarge has no EFA: each run takes one node.
  gpucluster:pools:
    - {"name": "system", "role": "system", "instanceType": "m7i.large", "count": 2}
    - {"name": "training", "role": "training", "instanceType": "g6.xlarge", "count": 2, "capacity": "spot"}
"""


@pytest.mark.parametrize(("gpus", "pools"), [("1", ""), ("2", POOLS)])
def test_the_file_has_what_a_lab_needs_and_no_more(gpus: str, pools: str, elsewhere: Path) -> None:
    """Its limit of an hour leaves a tenth above the price."""
    assert main(["--stack", "mine", "--gpus", gpus], now=NOW + timedelta(microseconds=5)) == 0
    found = planned((elsewhere / "Pulumi.mine.yaml").read_text(encoding="utf-8"), NOW)
    known = {"limit": ceil(found.prices.hourly * 1.1), "gpus": gpus, "me": owner(), "end": NOW + timedelta(hours=8)}
    assert (elsewhere / "Pulumi.mine.yaml").read_text(encoding="utf-8") == FILE.format(pools=pools, **known)


def test_at_most_three_questions_and_a_wrong_answer_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(QUESTIONS) <= 3
    typed = iter(["for ever", "4", "1.5", "1", ""])
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return next(typed)

    assert main(["--stack", "mine"], ask, now=NOW) == 0
    hours, gpus, budget = "lifetime in hours [8]: ", "GPUs [1]: ", "total budget in USD [40]: "
    assert asked == [hours, hours, gpus, gpus, budget]
    said = capsys.readouterr().out
    assert "'for ever' is not a number of hours up to 744" in said
    assert "'1.5' is not a number of GPUs up to 64" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hours", "0"], "--hours: '0' is not a number of hours"),
        (["--hours", "744.5"], "--hours: '744.5' is not a number of hours up to 744"),
        (["--budget", "100001"], "--budget: '100001' is not a number of USD up to 100,000"),
        (["--hours", "nan"], "--hours: 'nan' is not"),
        (["--gpus", "65"], "--gpus: '65' is not"),
        (["--hours", "8", "--gpus", "2", "--budget", "5"], "; take --budget "),
        (["--hours", "200", "--budget", "5"], "keeper.maxUsd"),
    ],
)
def test_what_cannot_work_is_told_and_nothing_is_written(
    options: list[str], said: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--stack", "mine", *options], now=NOW) == 1
    assert said in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_a_file_that_is_there_is_left_alone(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (elsewhere / "Pulumi.mine.yaml").write_text("config: {}\n", encoding="utf-8")
    assert main(["--stack", "mine"]) == 2
    assert "make lab STACK=my-lab" in capsys.readouterr().err
    assert (elsewhere / "Pulumi.mine.yaml").read_text(encoding="utf-8") == "config: {}\n"


def test_make_hands_the_answers_on() -> None:
    (words,) = handed("make lab STACK=mine ARGS='--hours 8 --gpus 2 --budget 100'")
    assert words == ["-m", "planner.lab", "--stack", "mine", "--hours", "8", "--gpus", "2", "--budget", "100"]
