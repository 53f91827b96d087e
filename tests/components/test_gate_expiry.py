"""Verdicts of nodes end: who takes them away, and what it may do besides."""

from typing import Any

from components.training.gates import Gate
from tests.components.samples import built, done, gate_args
from tests.graph.harness import Recorded


def graph(**changes: Any) -> Recorded:
    return built(lambda opts: Gate("sample", gate_args(after=[done()], **changes), opts))


def test_verdicts_hold_for_ever_unless_it_is_said() -> None:
    assert [each.name for each in graph().of_type("CronJob")] == ["sample-weekly"]


def test_what_ends_verdicts_is_asked_for_every_hour_after_the_first_measurement() -> None:
    found = graph(expiry_days=30, asker="python:3")
    made = found.one("sample-expiry")
    assert found.one("sample-job").urn in made.depends_on
    pod = made.inputs["spec"]["jobTemplate"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["args"][1:] == ["--pool=training", "--days=30"]
    assert container["image"] == "python:3"
    newcomers = found.one("sample-newcomers").inputs["spec"]["selector"]["matchLabels"]
    (key,) = pod["metadata"]["labels"]
    assert key in newcomers, "network rules let it speak with the API server by it"
    assert pod["metadata"]["labels"] != newcomers


def test_it_changes_any_node_of_its_pool_and_nothing_but_the_verdict() -> None:
    found = graph(expiry_days=30)
    own, ours = found.one("sample-policy").inputs["spec"], found.one("sample-expiry-policy").inputs["spec"]
    said = [each["message"] for each in ours["validations"]]
    assert said == [each["message"] for each in own["validations"]][1:]
    assert ours["matchConditions"][0]["expression"].endswith("'system:serviceaccount:training:gate-training-expiry'")
    (rule,) = found.one("sample-expiry-node-rights").inputs["rules"]
    assert (rule["resources"], rule["verbs"]) == (["nodes"], ["get", "list", "patch"])
    (before,) = found.one("sample-node-rights").inputs["rules"]
    assert before["verbs"] == ["get", "patch"]
    assert "sample-expiry-rights" not in {each.name for each in found.resources.values()}
