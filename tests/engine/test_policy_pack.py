"""The policy pack, started by the engine in its own environment, over the applied stack and over a wrong program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from policy import RULES
from rehearsal.engine.run import Outcome

from .rehearsed import Rehearsed, operations
from .trees import ROOT

pytestmark = pytest.mark.engine

PACK = ROOT / "policy" / "pack"
EGRESS = "SecurityGroupEgressRuleArgs(**what)"
NARROW = """SecurityGroupEgressRuleArgs(**what | ({} if what["from_port"] else {"ip_protocol": "icmp"}))"""


@pytest.fixture(scope="module")
def pack(dev: Rehearsed) -> Path:
    """The pack in the copied tree, with its environment made as its README says."""
    there = dev.tree.root / "policy" / "pack"
    subprocess.run([sys.executable, "-m", "venv", there / ".venv"], check=True)
    words = ["pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"]
    subprocess.run([there / ".venv/bin/python", "-m", *words, PACK / "requirements.txt"], check=True)
    return there


def asked(outcome: Outcome) -> set[str]:
    """The policies that a preview asked about the whole stack."""
    events = [json.loads(line) for line in outcome.events.read_text().splitlines()]
    found = [event["policyAnalyzeStackSummaryEvent"] for event in events if "policyAnalyzeStackSummaryEvent" in event]
    return {name for each in found for key in ("passed", "failed") for name in each.get(key) or ()}


def said(outcome: Outcome) -> dict[str, str]:
    """What policies had to say, by their names."""
    events = [json.loads(line) for line in outcome.events.read_text().splitlines()]
    found = [event["policyEvent"] for event in events if "policyEvent" in event]
    return {each["policyName"]: each["message"] for each in found}


@pytest.mark.scale
def test_the_applied_stack_keeps_every_policy(dev: Rehearsed, pack: Path) -> None:
    """With ids that are known; a pack does not see what is a secret, nor which changes replace a resource, so that the
    rules about these are not asked."""
    outcome = dev.preview("--policy-pack", str(pack))
    assert operations(outcome) == []
    assert said(outcome) == {}
    blind = {"secret-inputs-marked", "no-secret-in-clear", "changed-runs-start-anew"}
    assert asked(outcome) == {rule.id.replace("_", "-") for rule in RULES} - blind


def test_a_wrong_program_fails_its_preview_with_the_remedy(dev: Rehearsed, pack: Path) -> None:
    with dev.tree.changed() as tree:
        tree.edit("components/aws/security_groups.py", EGRESS, NARROW)
        outcome = dev.preview("--policy-pack", str(pack))
    assert outcome.status != 0
    (message,) = said(outcome).values()
    assert "none of which allows all traffic out to itself" in message
    assert "\nremedy: one group on every EFA interface" in message
    assert "\nsource: EC2 guide" in message
