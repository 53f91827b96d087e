"""Experiments: what their trials come to, and what is refused before Katib would (R02, R05)."""

import re
from io import StringIO
from typing import Any

import pytest
import yaml
from rich.console import Console

from planner.experiments import COLLECTOR_MIB, COLLECTOR_MILLICORES
from planner.faces.forecast import experiment_facts
from planner.faces.outputs import numbers
from planner.faces.text import plan_text
from planner.plan import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import ROOT, planned, planned_metal, rules

RATE = {"name": "learning-rate", "floatRange": {"min": 1e-5, "max": 1e-3, "scale": "log"}}
EVEN = {"name": "learning-rate", "floatRange": {"min": 1e-5, "max": 1e-3}}
STEPS = {"name": "steps", "intRange": {"min": 1, "max": 9}}
HALVING = {"name": "hyperband", "resource": "steps", "reduction": 2}
QUEUES = [{"name": "training", "weight": 4}, {"name": "experiments"}]
RUN = "llama-3-8b-sft"


def stack(changes: dict[str, Any] | None = None, **said: Any) -> AwsPlan:
    """The dev stack, whose pool has two nodes of a GPU, with an experiment of which some is said differently."""
    experiment = {
        "name": "rates",
        "run": RUN,
        "nodes": 1,
        "trialHours": 2,
        "objective": {"metric": "loss"},
        "parameters": [RATE],
        "trials": {"parallel": 2, "most": 5},
        "budgetGpuHours": 20,
        **said,
    }
    told = {key: value for key, value in experiment.items() if value is not None}
    return planned(changes={"scheduling.queues": QUEUES, "training.experiments": [told], **(changes or {})})


def errors(found: AwsPlan) -> list[tuple[str, str]]:
    """Rule and path of each error."""
    return [(each.rule, each.path.removeprefix("gpucluster:training.experiments[0].")) for each in found.errors]


def test_trials_take_the_time_of_their_rounds_and_the_money_of_their_gpus() -> None:
    found = stack().experiments["rates"]
    assert (found.trial_hours, found.hours, found.gpu_hours) == (2, 6, 10)
    run = planned().runs[RUN]
    assert run.forecast
    assert run.forecast.price
    assert found.usd == pytest.approx(10 * run.forecast.price.usd)


def test_a_trial_is_the_run_on_its_own_nodes_with_room_for_the_collector() -> None:
    found, run = stack().experiments["rates"].trial, planned().runs[RUN]
    assert (found.name, found.queue, found.priority) == ("rates", "experiments", "experiments")
    assert (found.pods, found.gpus, found.image) == (1, 1, run.image)
    assert run.pod.cpu_millicores - found.pod.cpu_millicores == COLLECTOR_MILLICORES
    assert run.pod.memory_mib - found.pod.memory_mib == COLLECTOR_MIB
    assert found.metrics_port is None


def test_a_trial_in_a_pool_of_exclusive_cpus_asks_for_whole_cores_o07() -> None:
    """The collector's tenth comes from what all share: a rank with a part of a CPU would get none to itself."""
    alone = {"pools.1.exclusiveCpus": True}
    found, run = stack(changes=alone).experiments["rates"].trial, planned(changes=alone).runs[RUN]
    assert run.pod.cpu_millicores % 2000 == 0
    assert run.pod.cpu_millicores - found.pod.cpu_millicores == 2000
    assert run.pod.memory_mib - found.pod.memory_mib == COLLECTOR_MIB


def test_the_forecast_of_a_trial_is_of_its_own_tokens_and_nodes() -> None:
    found = stack(trialHours=None, tokensBillion=0.05, budgetGpuHours=1000).experiments["rates"]
    assert found.trial.forecast
    assert found.trial_hours == pytest.approx(0.05e9 / found.trial.forecast.tokens_per_s / 3600, rel=0.05)
    assert found.trial_hours is not None
    twice = stack(trialHours=None, tokensBillion=0.1, budgetGpuHours=1000).experiments["rates"]
    assert twice.trial_hours == pytest.approx(2 * found.trial_hours, rel=0.01)


def of_a_team(gpus: int = 2, changes: dict[str, Any] | None = None, **queue: Any) -> AwsPlan:
    team = {"name": "vision", "queue": "vision", "gpus": gpus, "members": [{"role": "viewer", "group": "people"}]}
    queues = [{"name": "training", "weight": 4}, {"name": "vision", **queue}]
    return stack({"scheduling.queues": queues, "teams": [team], **(changes or {})}, team="vision")


def test_trials_of_a_team_are_in_its_queue_and_its_quota_y02() -> None:
    found = of_a_team()
    assert errors(found) == []
    assert (found.experiments["rates"].namespace, found.experiments["rates"].trial.queue) == ("trials-vision", "vision")
    told = dict(experiment_facts(found.experiments["rates"]))["trials"]
    assert told is not None
    assert told.endswith("in queue vision, for team vision to see in trials-vision")
    assert stack().experiments["rates"].namespace == "training"
    assert errors(of_a_team(gpus=1)) == [("team-trials-beyond-quota", "gpucluster:teams[0].gpus")]
    assert errors(of_a_team(reclaimable=False)) == [("trials-queue", "team")]


def test_trials_of_a_team_read_no_snapshot_of_the_runs_y02() -> None:
    """It is a volume of their namespace; that no platform of this test makes snapshots is another finding."""
    data = {"name": "chats", "gb": 20, "source": "s3://acme-datasets/chats"}

    def rules_of(**more: Any) -> set[str]:
        changes = {"training.datasets": [{**data, **more}], "training.runs.0.dataset": {"name": "chats"}}
        return {rule for rule, _ in errors(of_a_team(changes=changes))}

    assert rules_of(snapshot="2026-11") - rules_of() == {"dataset-snapshot", "team-trials-snapshot"}


def test_an_elastic_run_has_trials_of_fixed_size() -> None:
    """Katib reads the log of a master, which an elastic run has not."""
    changes = {"training.runs.0.elastic": {"minNodes": 1}}
    assert not stack(changes).experiments["rates"].trial.launch.elastic


def test_values_are_katibs_texts() -> None:
    found = stack(
        parameters=[
            RATE,
            {"name": "warmup-steps", "intRange": {"min": 10, "max": 2000, "step": 10}},
            {"name": "dropout", "numbers": [0, 0.1]},
            {"name": "schedule", "words": ["cosine", "linear"]},
        ]
    ).experiments["rates"]
    shown = [(each.kind, each.low, each.high, each.step, each.listed, each.log) for each in found.parameters]
    assert shown == [
        ("double", "1e-05", "0.001", None, (), True),
        ("int", "10", "2000", "10", (), False),
        ("discrete", None, None, None, ("0", "0.1"), False),
        ("categorical", None, None, None, ("cosine", "linear"), False),
    ]


def test_a_sound_experiment_is_no_finding_but_that_trials_wait_for_runs() -> None:
    before = rules(planned(changes={"scheduling.queues": QUEUES}))
    assert rules(stack()) == before
    found = stack({"training.runs.0.priority": "training", "training.runs.0.nodes": 1})
    (waits,) = [each for each in found.warnings if each.rule == "trials-beside-gangs"]
    assert "beside them run 1 of 2 trials" in waits.sentence


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a trial larger than the pool": ({"nodes": 3, "trials": {"most": 1}}, "trials-fit-pool", "nodes"),
    "budget below all trials": ({"budgetGpuHours": 9}, "trials-budget", "budgetGpuHours"),
    "nobody knows how long": ({"trialHours": None}, "trials-budget", "trialHours"),
    "cmaes with one range": (
        {"algorithm": {"name": "cmaes"}, "parameters": [EVEN]},
        "trial-algorithm",
        "algorithm.name",
    ),
    "a grid without steps": (
        {"algorithm": {"name": "grid"}, "parameters": [EVEN]},
        "trial-algorithm",
        "parameters[0].floatRange.step",
    ),
    "more trials than points": (
        {"algorithm": {"name": "grid"}, "parameters": [{"name": "seed", "numbers": [1, 2]}]},
        "trial-algorithm",
        "trials.most",
    ),
    "hyperband without its resource": (
        {"algorithm": {"name": "hyperband", "resource": "steps"}, "parameters": [EVEN]},
        "trial-algorithm",
        "algorithm.resource",
    ),
    "hyperband with too few at once": (
        {"algorithm": {"name": "hyperband", "resource": "steps"}, "parameters": [EVEN, STEPS]},
        "trial-algorithm",
        "trials.parallel",
    ),
    "hyperband from more than its first trials get": (
        {"algorithm": HALVING, "parameters": [EVEN, {"name": "steps", "intRange": {"min": 2, "max": 3}}]},
        "trial-algorithm",
        "parameters[1].intRange.min",
    ),
    "hyperband with decimal numbers": (
        {
            "algorithm": HALVING,
            "parameters": [
                {"name": "learning-rate", "numbers": [1e-4, 3e-4]},
                {"name": "steps", "intRange": {"min": 1, "max": 3}},
            ],
        },
        "trial-algorithm",
        "parameters[0].numbers",
    ),
    "a scale that sobol does not read": (
        {"algorithm": {"name": "sobol"}},
        "trial-algorithm",
        "parameters[0].floatRange.scale",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_r01_r05(case: str) -> None:
    said, rule, path = REFUSED[case]
    assert errors(stack(**said)) == [(rule, path)]


def test_hyperband_with_enough_at_once_is_no_finding() -> None:
    """Three to the floor of log 9 / log 3 is nine."""
    said = {
        "algorithm": {"name": "hyperband", "resource": "steps"},
        "parameters": [EVEN, STEPS],
        "trials": {"parallel": 9, "most": 9},
        "budgetGpuHours": 100,
    }
    found = stack({"pools.1.count": 9, "budget.maxHourlyUsd": 500}, **said)
    assert errors(found) == []
    assert found.experiments["rates"].settings == (("r_l", "9"), ("resource_name", "steps"), ("eta", "3"))


def test_a_queue_that_keeps_gpus_is_refused_and_one_too_small() -> None:
    kept = {"scheduling.queues": [{"name": "training"}, {"name": "experiments", "reclaimable": False}]}
    assert errors(stack(kept)) == [("trials-queue", "queue")]
    small = {"scheduling.queues": [{"name": "training"}, {"name": "experiments", "gpus": 1}]}
    assert errors(stack(small)) == [("trials-queue", "trials.parallel")]


REFERENCE = {
    "training.runs.0.framework": "reference",
    "training.runs.0.script": [],
    "training.runs.0.method": "full",
    "training.runs.0.image": "nvcr.io/nvidia/pytorch:26.03-py3",
    "pools.1.instanceType": "p5.48xlarge",
    "budget.maxHourlyUsd": 500,
}


def test_the_reference_trainer_tells_of_its_loss_and_takes_its_own_flags() -> None:
    sound = stack(REFERENCE, budgetGpuHours=1000)
    assert [each for each in errors(sound) if each[0] in ("trial-metric", "trial-parameter")] == []
    wrong = stack(
        REFERENCE,
        budgetGpuHours=1000,
        objective={"metric": "accuracy"},
        parameters=[{"name": "micro-batch-size", "intRange": {"min": 1, "max": 4}}],
    )
    assert ("trial-metric", "objective.metric") in errors(wrong)
    assert ("trial-parameter", "parameters[0].name") in errors(wrong)


def test_a_trial_on_fewer_nodes_must_hold_the_model() -> None:
    found = stack(
        {
            "training.runs.0.model": "llama-3-70b",
            "training.runs.0.method": "full",
            "pools.1.count": 16,
            "pools.1.instanceType": "p5.48xlarge",
            "training.runs.0.nodes": 16,
            "budget.maxHourlyUsd": 5000,
        },
        budgetGpuHours=10_000,
    )
    assert ("trial-fits-gpus", "nodes") in errors(found)


def test_racks_plan_experiments_too() -> None:
    """The price of a GPU's hour is that of the purchase."""
    (queue,) = [{"name": "training"}]
    run = planned_metal().runs
    found = planned_metal(
        {
            "scheduling.queues": [queue, {"name": "experiments"}],
            "training.experiments": [
                {
                    "name": "rates",
                    "run": next(iter(run)),
                    "trialHours": 1,
                    "objective": {"metric": "loss"},
                    "parameters": [RATE],
                    "trials": {"most": 2},
                    "budgetGpuHours": 10_000,
                }
            ],
        }
    ).experiments["rates"]
    assert found.gpu_hours == 2 * found.trial.gpus
    assert found.usd is not None


UNREAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown run": ({"run": "llama"}, "run: there is no run 'llama'"),
    "named like a run": ({"name": RUN}, f"name: {RUN!r} is the name of a run"),
    "unknown queue": ({"queue": "experimnts"}, "queue: there is no queue 'experimnts'; did you mean 'experiments'?"),
    "range upside down": (
        {"parameters": [{"name": "x", "floatRange": {"min": 2, "max": 1}}]},
        "parameters[0].floatRange.max: is 1, not above min 2; swap them, or raise it",
    ),
    "log of nothing": (
        {"parameters": [{"name": "x", "intRange": {"min": 0, "max": 9, "scale": "log"}}]},
        "parameters[0].intRange.min: is 0, and a log scale starts above 0",
    ),
    "two kinds of values": (
        {"parameters": [{"name": "x", "numbers": [1, 2], "words": ["a", "b"]}]},
        "parameters[0].words: is set as well as numbers",
    ),
    "no values": ({"parameters": [{"name": "x"}]}, "parameters[0]: has no values"),
    "a word for a shell": (
        {"parameters": [{"name": "x", "words": ["a", "b;c"]}]},
        "parameters[0].words[1]: 'b;c' is not",
    ),
    "a parameter twice": ({"parameters": [RATE, RATE]}, "parameters[1].name: learning-rate is listed twice"),
    "more at once than at all": ({"trials": {"parallel": 3, "most": 2}}, "trials.parallel: is 3, above most 2"),
    "no budget": ({"budgetGpuHours": None}, "budgetGpuHours"),
    "resource of another algorithm": (
        {"algorithm": {"resource": "steps"}},
        "algorithm.resource: applies to hyperband only",
    ),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_says_nothing_is_refused_with_its_path(case: str) -> None:
    said, sentence = UNREAD[case]
    with pytest.raises(SettingsError) as refused:
        stack(**said)
    assert f"training.experiments[0].{sentence}" in str(refused.value)


def test_the_system_pool_holds_katib_an_algorithm_for_each_experiment_and_what_signs_for_its_webhooks() -> None:
    before, found = planned().monitoring, stack().monitoring
    assert before
    assert found
    assert found.room.asked_cpu_millicores - before.room.asked_cpu_millicores == 200 + 250 + 200 + 30
    assert found.room.asked_memory_mib - before.room.asked_memory_mib == 384 + 1024 + 512 + 192


def test_the_plan_is_told_in_sentences() -> None:
    found = stack(
        parameters=[RATE, {"name": "schedule", "words": ["cosine", "linear"]}],
        earlyStopping={"afterTrials": 2, "afterReports": 6},
        objective={"metric": "loss", "until": 2.1},
    )
    told = dict(experiment_facts(found.experiments["rates"]))
    assert told["trials"] == f"5 of run {RUN}, 2 at once, in queue experiments"
    assert told["a trial"] == "1 node, 1 GPU, 2.0 h"
    assert told["parameters"] == "learning-rate 1e-05 to 0.001, log, schedule of cosine linear"
    assert told["chosen by"] == "tpe; the lowest loss wins, 2.1 is enough"
    assert told["ended early"] == "after 6 values, against 2 trials or more"
    assert told["takes"] == "6.0 h at the most, without what gangs make it wait"
    assert (told["costs"] or "").startswith("10.0 of 20.0 GPU hours, ")
    assert numbers(found)["experiments"]["rates"] == {
        "trials": 5,
        "parallel": 2,
        "gpusPerTrial": 1,
        "trialHours": 2.0,
        "hours": 6.0,
        "gpuHours": 10.0,
        "usd": round(found.experiments["rates"].usd or 0),
    }
    console = Console(record=True, width=140, file=StringIO())
    console.print(plan_text("dev", found))
    assert "experiment rates" in console.export_text()


def test_the_guides_fragment_plans_on_the_dev_stack() -> None:
    """docs/how-to/experiments.md, section 2."""
    guide = (ROOT / "docs" / "how-to" / "experiments.md").read_text(encoding="utf-8")
    fragment = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)[0])
    changes = {
        "scheduling": fragment["gpucluster:scheduling"],
        "training.experiments": fragment["gpucluster:training"]["experiments"],
    }
    found = planned(changes=changes)
    assert found.errors == ()
    assert [(each.most, each.gpu_hours) for each in found.experiments.values()] == [(8, 16)]
