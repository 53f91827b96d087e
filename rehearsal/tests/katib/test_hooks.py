"""Katib's webhooks and collector: what they refuse, what they put into pods, and what a log says (R02)."""

from copy import deepcopy
from typing import Any

import pytest

from rehearsal.images.katib import hooks, observed
from rehearsal.images.katib.algorithms import grid, suggestions, turned, wrong_with
from rehearsal.images.katib.suggestions import wanted
from rehearsal.tests.katib.test_reconciling import CONFIG, experiment

KNOWN: dict[str, Any] = {
    "runtime": {**CONFIG["runtime"], "metricsCollectors": [{"kind": "StdOut", "image": "collector:1"}]}
}


def refused(**changes: Any) -> list[str]:
    return hooks.wrong_with(experiment(**changes), KNOWN)


def test_a_sound_experiment_is_taken() -> None:
    assert refused() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parallelTrialCount": 9}, "spec.parallelTrialCount: Invalid value: 9"),
        ({"maxFailedTrialCount": 9}, "spec.maxFailedTrialCount: Invalid value: 9"),
        ({"algorithm": {"algorithmName": "oracle"}}, "failed to find it in ConfigMap: katib-config"),
        ({"earlyStopping": {"algorithmName": "hope"}}, "spec.earlyStopping: Invalid value: hope"),
        ({"parameters": []}, "spec.parameters or spec.nasConfig must be specified"),
        (
            {"parameters": [{"name": "rate", "parameterType": "double", "feasibleSpace": {"list": ["1"]}}]},
            "max and min, and no list",
        ),
        (
            {"parameters": [{"name": "rate", "parameterType": "discrete", "feasibleSpace": {"min": "1"}}]},
            "a list, and no range",
        ),
        ({"objective": {"type": "minimize"}}, "objectiveMetricName: Required value"),
        (
            {
                "metricsCollectorSpec": {
                    "collector": {"kind": "StdOut"},
                    "source": {"filter": {"metricsFormat": ["(a)"]}},
                }
            },
            "must have two sub expressions",
        ),
    ],
)
def test_what_the_webhook_refuses(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in " ".join(refused(**changes))


def test_each_placeholder_has_a_parameter_and_each_parameter_a_placeholder() -> None:
    template = deepcopy(experiment()["spec"]["trialTemplate"])
    template["trialSpec"]["spec"]["args"].append("${trialParameters.other}")
    assert "not found in spec.trialParameters" in refused(trialTemplate=template)[0]
    template = deepcopy(experiment()["spec"]["trialTemplate"])
    template["trialSpec"]["spec"]["args"].pop(0)
    assert "parameter name: rate not found" in refused(trialTemplate=template)[0]


POD: dict[str, Any] = {
    "metadata": {"name": "t-master-0", "labels": {"training.kubeflow.org/job-role": "master"}},
    "spec": {
        "containers": [
            {
                "name": "pytorch",
                "command": ["torchrun"],
                "args": ["train.py", "--rate=1"],
                "securityContext": {"allowPrivilegeEscalation": False},
            }
        ]
    },
}


def trial(**changes: Any) -> dict[str, Any]:
    spec = experiment()["spec"]
    made = {
        "objective": spec["objective"],
        "metricsCollector": spec["metricsCollectorSpec"],
        "primaryContainerName": "pytorch",
        "primaryPodLabels": {"training.kubeflow.org/job-role": "master"},
        **changes,
    }
    return {"metadata": {"name": "t", "labels": {"katib.kubeflow.org/experiment": "rates"}}, "spec": made}


CONTROLLER: dict[str, Any] = {**KNOWN, "init": {"controller": {"injectSecurityContext": True}}}


def mutated(pod: dict[str, Any] = POD, **changes: Any) -> dict[str, Any]:
    return hooks.with_collector(pod, trial(**changes), CONTROLLER, "db:6789", "stop:6788")


def test_the_first_rank_is_wrapped_and_has_the_collector_beside_it() -> None:
    main, beside = mutated()["spec"]["containers"]
    assert main["command"] == ["sh", "-c"]
    assert main["args"] == [
        "torchrun train.py --rate=1 1>/var/log/katib/metrics.log 2>&1 && echo completed > /var/log/katib/$$$$.pid"
    ]
    assert beside["name"] == "metrics-logger-and-collector"
    assert beside["args"][:6] == ["-t", "t", "-m", "loss", "-o-type", "minimize"]
    assert beside["securityContext"] == main["securityContext"]
    assert mutated()["spec"]["shareProcessNamespace"] is True
    assert main["volumeMounts"] == beside["volumeMounts"]


def test_another_rank_gets_labels_alone() -> None:
    pod = deepcopy(POD)
    pod["metadata"]["labels"] = {"training.kubeflow.org/job-role": "worker"}
    found = mutated(pod)
    assert found["metadata"]["labels"]["katib.kubeflow.org/trial"] == "t"
    assert found["spec"]["containers"][0]["args"] == POD["spec"]["containers"][0]["args"]
    assert len(found["spec"]["containers"]) == 1


def test_rules_of_early_stopping_reach_collector_and_shell() -> None:
    rule = {"name": "loss", "value": "2.5", "comparison": "greater", "startStep": 3}
    main, beside = mutated(earlyStoppingRules=[rule])["spec"]["containers"]
    assert beside["args"][-4:] == ["-stop-rule", "loss;2.5;greater;3", "-s-earlystop", "stop:6788"]
    assert "= early-stopped ]" in main["args"][0]


def test_what_a_log_says_by_katibs_own_format_and_by_ones_own() -> None:
    log = ["epoch 1", "loss=0.5 other=3", "loss = 2.5e-1", "step 3 loss 0.125 8000 tokens/s"]
    assert observed.values(log, ["loss"], []) == [("loss", "0.5"), ("loss", "2.5e-1")]
    assert observed.values(log, ["loss"], [r"(loss) ([\d.]+)"]) == [("loss", "0.125")]
    assert observed.reported([], "loss") == [("loss", "unavailable")]


@pytest.mark.parametrize(
    ("values", "ends"),
    [(["9", "8"], False), (["9", "8", "7"], True), (["9", "1", "9"], False), (["2.5", "2.5", "2.5"], False)],
)
def test_a_trial_is_ended_by_its_best_value_after_so_many(values: list[str], ends: bool) -> None:
    rule = observed.StopRule.parse("loss;2.5;greater;3")
    assert observed.stops(rule, [("loss", each) for each in values], lowest=True) is ends


def test_values_are_spread_and_a_grid_takes_its_points_in_turn() -> None:
    assert [turned(each, 2) for each in (1, 2, 3, 4)] == [0.5, 0.25, 0.75, 0.125]
    parameters = [
        {
            "name": "rate",
            "parameterType": "double",
            "feasibleSpace": {"min": "1", "max": "100", "distribution": "logUniform"},
        },
        {"name": "kind", "parameterType": "categorical", "feasibleSpace": {"list": ["a", "b", "c"]}},
    ]
    spec = {"algorithm": {"algorithmName": "tpe"}, "parameters": parameters}
    ((rate, kind),) = suggestions({"spec": spec, "made": 0, "wanted": 1})
    assert float(rate["value"]) == pytest.approx(10)
    assert kind["value"] == "b"
    assert grid({"name": "n", "parameterType": "int", "feasibleSpace": {"min": "1", "max": "5", "step": "2"}}) == [
        "1",
        "3",
        "5",
    ]


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("cmaes", {}, "two or more dimensional"),
        ("grid", {}, "Max Trial Count: 9 > all possible search combinations: 3"),
        ("hyperband", {}, "r_l and resource_name must be set."),
        ("hyperband", {"r_l": "9", "resource_name": "n"}, "parallelTrialCount must be not less than 9."),
        ("random", {}, None),
    ],
)
def test_what_algorithms_refuse(name: str, settings: dict[str, str], sentence: str | None) -> None:
    parameters = [{"name": "n", "parameterType": "int", "feasibleSpace": {"min": "1", "max": "3"}}]
    found = wrong_with(name, settings, {"parameters": parameters, "maxTrialCount": 9, "parallelTrialCount": 2})
    assert (sentence in found) if sentence and found else found is sentence


def test_early_stopping_brings_an_account_that_may_write_trials() -> None:
    meta = {"name": "rates", "namespace": "training", "uid": "u"}
    spec = {"algorithm": {"algorithmName": "random"}, "earlyStopping": {"algorithmName": "medianstop"}}
    made = wanted({"apiVersion": "a", "kind": "Suggestion", "metadata": meta, "spec": spec}, KNOWN)
    kinds = {each["kind"]: each for each in made}
    assert set(kinds) == {"Service", "ServiceAccount", "Role", "RoleBinding", "Deployment"}
    assert kinds["Role"]["rules"][0]["resources"] == ["trials", "trials/status"]
    assert kinds["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"] == "rates-random"
    assert [each["name"] for each in kinds["Service"]["spec"]["ports"]] == ["suggestion-api", "earlystop-api"]
