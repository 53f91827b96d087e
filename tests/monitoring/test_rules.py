"""What Prometheus loads: recording rules that the plan shapes, and alerts with the labels that automation uses."""

from dataclasses import replace

import promql_parser
import pytest

from monitoring.failures import failures
from monitoring.limits import Limits
from monitoring.recording import recorded
from monitoring.rule import NODE_POOL
from monitoring.rules import alert_groups, recording_groups
from tests.monitoring.healthy import LIMITS

GROUPS = [*recording_groups(LIMITS), *alert_groups(LIMITS, "https://example.com/pages/")]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: str(group["name"]))
def test_every_expression_parses(group: dict[str, list[dict[str, str]]]) -> None:
    for rule in group["rules"]:
        promql_parser.parse(rule["expr"])


def test_groups_have_names_of_their_own() -> None:
    names = [group["name"] for group in GROUPS]
    assert len(names) == len(set(names))
    assert all(str(name).startswith("gpucluster.") for name in names)


def test_alerts_say_who_acts_and_where_the_page_is() -> None:
    """What later automation selects by, and what a person opens."""
    rules = {
        rule["alert"]: rule for group in alert_groups(LIMITS, "https://example.com/pages/") for rule in group["rules"]
    }
    lost = rules["GpuUnavailable"]
    assert lost["labels"] == {
        "severity": "critical",
        "domain": "system-hardware",
        "owner": "hardware",
        "failure": "gpu-unavailable",
        "symptom": "no",
        "isolates": "yes",
    }
    assert lost["for"] == "1m"
    assert lost["annotations"]["runbook_url"] == "https://example.com/pages/gpu-unavailable.md"
    assert "for" not in rules["GpuMemoryError"]
    assert rules["RunHangs"]["labels"]["symptom"] == "yes"


def test_the_twelve_are_told_within_two_evaluations() -> None:
    """A gang stands still from the first second: who waits for it is told at once."""
    assert {each.span for each in failures() if each.row} <= {"0s", "1m"}


def test_what_the_plan_expects_is_recorded_c10_x14() -> None:
    """Lines to draw and to compare with; what the plan does not know has none."""
    stated = next(group for group in recording_groups(LIMITS) if group["name"] == "gpucluster.plan")
    found = {(rule["record"], tuple(sorted(rule["labels"].items()))): rule["expr"] for rule in stated["rules"]}
    run = (("pool", "train"), ("run", "pretrain"))
    assert found["gpucluster:run:expected_tokens_per_second", run] == "vector(20000)"
    assert found["gpucluster:run:expected_mfu_ratio", run] == "vector(0.4)"
    assert found["gpucluster:run:expected_checkpoint_seconds", run] == "vector(900)"
    assert found["gpucluster:run:expected_nodes", run] == "vector(2)"
    assert found["gpucluster:pool:expected_gpus_per_node", (("pool", "serve"),)] == "vector(1)"
    llama = (("namespace", "inference"), ("service", "llama"))
    assert found["gpucluster:serving:replicas_most", llama] == "vector(2)"
    bare = replace(LIMITS.runs[0], tokens_per_s=None, mfu=None, checkpoint_s=None)
    fewer = recording_groups(replace(LIMITS, runs=(bare,)))[0]["rules"]
    assert [r["record"] for r in fewer if r["record"].startswith("gpucluster:run")] == ["gpucluster:run:expected_nodes"]


def test_a_stack_without_gpus_and_services_expects_nothing() -> None:
    assert "gpucluster.plan" not in {group["name"] for group in recording_groups(Limits())}


def test_pools_are_known_before_what_is_joined_with_them() -> None:
    """Rules of a group are evaluated in order; the pool of a node is the first of the first group."""
    order = [rule.name for group in recorded(Limits()) for rule in group.rules]
    assert order[0] == NODE_POOL


def test_numbers_are_written_whole() -> None:
    """512 MiB are 536870912 bytes: six digits would be another number."""
    held = next(each for each in failures() if each.id == "gpu-memory-held")
    assert held.query.endswith("> 536870912")
