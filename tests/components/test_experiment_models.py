"""Experiments beside those that Katib's own SDK builds of the same wishes (R02).

Its models are a package of their own, `kubeflow-katib-api`, which needs pydantic and nothing else.
"""

from typing import Any

from kubeflow_katib_api import models

from components.kubeflow.experiment import REFERENCE_FORMAT, Experiment, Stopping
from tests.components.samples import built
from tests.components.samples.kubeflow import experiment_args
from tests.stacks.platforms import deployed

GJSON = 'status.conditions.#(type=="{0}")#|#(status=="True")#'


def space(**given: Any) -> Any:
    return models.V1beta1FeasibleSpace(**given)


def settings(kind: str, **given: str) -> list[Any]:
    made = getattr(models, f"V1beta1{kind}Setting")
    return [made(name=name, value=value) for name, value in given.items()]


def theirs(trial: dict[str, Any]) -> Any:
    """The sample's experiment with an early stop, a goal and settings, as a person would write it with the SDK."""
    parameter, told = models.V1beta1ParameterSpec, models.V1beta1TrialParameterSpec
    names = ("learning-rate", "warmup-steps", "schedule")
    return models.V1beta1ExperimentSpec(
        objective=models.V1beta1ObjectiveSpec(
            type="minimize",
            goal=0.5,
            objective_metric_name="loss",
            metric_strategies=[models.V1beta1MetricStrategy(name="loss", value="min")],
        ),
        algorithm=models.V1beta1AlgorithmSpec(
            algorithm_name="tpe", algorithm_settings=settings("Algorithm", random_state="7")
        ),
        early_stopping=models.V1beta1EarlyStoppingSpec(
            algorithm_name="medianstop",
            algorithm_settings=settings("EarlyStopping", min_trials_required="3", start_step="4"),
        ),
        parameters=[
            parameter(
                name="learning-rate",
                parameter_type="double",
                feasible_space=space(min="1e-05", max="0.001", distribution="logUniform"),
            ),
            parameter(
                name="warmup-steps",
                parameter_type="int",
                feasible_space=space(min="10", max="100", step="10", distribution="uniform"),
            ),
            parameter(
                name="schedule",
                parameter_type="categorical",
                feasible_space=space(list=["cosine", "linear"], distribution="uniform"),
            ),
        ],
        parallel_trial_count=2,
        max_trial_count=6,
        max_failed_trial_count=3,
        resume_policy="Never",
        metrics_collector_spec=models.V1beta1MetricsCollectorSpec(
            collector=models.V1beta1CollectorSpec(kind="StdOut"),
            source=models.V1beta1SourceSpec(filter=models.V1beta1FilterSpec(metrics_format=[REFERENCE_FORMAT])),
        ),
        trial_template=models.V1beta1TrialTemplate(
            primary_container_name="pytorch",
            primary_pod_labels={"training.kubeflow.org/job-role": "master"},
            success_condition=GJSON.format("Succeeded"),
            failure_condition=GJSON.format("Failed"),
            retain=True,
            trial_parameters=[
                told(name="trial", reference="${trialSpec.Name}"),
                *(told(name=name, reference=name) for name in names),
            ],
            trial_spec=trial,
        ),
    )


def test_an_experiment_is_what_katibs_sdk_builds_of_the_same_wishes_r02() -> None:
    wishes: dict[str, Any] = {"settings": (("random_state", "7"),), "until": 0.5}
    stopping = Stopping(after_trials=3, after_reports=4)
    made = built(lambda opts: Experiment("sample", experiment_args(**wishes, stopping=stopping), opts))
    spec = made.one("sample-experiment").inputs["spec"]
    assert spec == theirs(spec["trialTemplate"]["trialSpec"]).to_dict()


def test_a_stacks_experiment_has_no_field_that_the_sdk_does_not_know_r02() -> None:
    """Fields that its models do not have would be gone; types are strict there, as at the API server."""
    spec = deployed("fake").spec("experiment-rates-experiment")
    assert models.V1beta1ExperimentSpec.from_dict(spec).to_dict() == spec
