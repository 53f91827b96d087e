"""Who did what can be read when the stack is gone (Y10, safety of the trail): retention, key, destroy, and on metal."""

from copy import deepcopy
from typing import Any

import pytest

from components.metal.kubeadm import AUDIT_LOGS
from components.monitoring.logs import INPUTS
from policy import RULES
from policy.rule import violations
from tests.graph.destroy import left
from tests.graph.harness import Recorded
from tests.graph.stackfiles import graph_of, refusal, registered, stack_config
from tests.planner.stacks import planned, rules

KEY = "arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
METAL_MONITORING = {"logs": {"retentionDays": 30}}


def audited(**audit: Any) -> dict[str, Any]:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:security"] = {**config.get("gpucluster:security", {}), "auditLog": {"keyArn": KEY, **audit}}
    return config


def group(graph: Recorded) -> Any:
    (found,) = (each for each in graph.of_type("LogGroup") if str(each.inputs["name"]).endswith("/cluster"))
    return found


def test_the_log_outlives_the_stack_sealed_with_a_key_that_does_too() -> None:
    graph = registered(audited(retentionDays=400), stack="dev")
    kept, before = group(graph), group(graph_of("dev"))
    assert (kept.retained, kept.inputs["kmsKeyId"], kept.inputs["retentionInDays"]) == (True, KEY, 400)
    assert (before.retained, before.inputs["retentionInDays"]) == (False, 30)
    assert before.inputs["kmsKeyId"] != KEY
    assert [each.name for each in graph.resources.values() if each.retained] == [kept.name]
    assert violations(graph, RULES) == []


def test_a_year_is_kept_where_nobody_says_other() -> None:
    assert group(registered(audited(), stack="dev")).inputs["retentionInDays"] == 365


def test_the_plan_of_a_destroy_tells_what_stays_why_and_for_what() -> None:
    rows = {each.what: each for each in left(registered(audited(), stack="dev"))}
    assert rows["LogGroup"].name.endswith("/cluster")
    assert "365 days" in rows["LogGroup"].why
    assert "USD per GB a month" in rows["LogGroup"].why
    assert "outlives" not in {each.what: each for each in left(graph_of("dev"))}["LogGroup"].why


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        ({"keyArn": "alias/mine"}, "auditLog.keyArn"),
        ({"retentionDays": 13}, "auditLog.retentionDays"),
        ({"keep": True}, "auditLog.keep"),
    ],
)
def test_what_is_no_such_key_or_time_is_refused(audit: dict[str, Any], said: str) -> None:
    assert said in refusal(audited(**audit), stack="dev")


def test_a_protected_stack_whose_log_goes_with_it_is_told() -> None:
    assert "audit-log-goes" in rules(planned("prod", {"waivers": []}))
    assert "audit-log-goes" not in rules(planned("prod", {"waivers": [], "security.auditLog": {"keyArn": KEY}}))
    assert "audit-log-goes" not in rules(planned())


def inputs(config: dict[str, Any], stack: str) -> str:
    return str(registered(config, stack=stack).one("log-collector-release").inputs["values"]["config"]["inputs"])


def test_on_metal_the_log_goes_where_the_others_go() -> None:
    """Its nodes are the site's: the collector of each control-plane node reads the file that the API server writes."""
    config = deepcopy(stack_config("metal"))
    config["gpucluster:inventory"]["logs"] = {"host": "10.20.0.5"}
    config["gpucluster:monitoring"] = METAL_MONITORING
    said = inputs(config, "metal")
    assert said.startswith(INPUTS)
    assert f"Path {AUDIT_LOGS}/*.log\n" in said
    assert inputs(stack_config("dev"), "dev") == INPUTS
