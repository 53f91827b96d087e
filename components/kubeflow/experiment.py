"""An experiment: Katib's Experiment, whose trials are runs as `components/training` makes them (R02, R05, R09).

Katib starts a trial's first rank by a shell and reads what it prints from a file (pkg/webhook/v1beta1/pod/utils.go,
wrapWorkerContainer: the words are joined by blanks), so each word of the Master is quoted; Workers get theirs as they
are. A value of a parameter replaces its placeholder in the template's text.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.kubeflow.katib_crds import GROUP, VERSION
from components.kubeflow.katib_hooks import EXPERIMENT_KEY
from components.platform.accounts import service_account
from components.training.job import TrainingJobArgs, config_maps, pytorch_job
from components.training.pod import CONTAINER, noted
from components.training.saving import CHECKPOINTS, saves

TRIAL = "${trialParameters.trial}"
"""The name of a trial, in its template: Katib fills it in (pkg/controller.v1beta1/experiment/manifest/generator.go)."""

REFERENCE_FORMAT = r"(loss) ([+-]?\d+\.?\d*(?:[Ee][+-]?\d+)?)"
"""How the reference trainer prints its metric (node/trainer/train.py): the name, then the value."""

_DONE = 'status.conditions.#(type=="{0}")#|#(status=="True")#'
_NAMED = {"MLFLOW_TRACKING_URI": "MLFLOW_RUN_NAME", "WANDB_BASE_URL": "WANDB_NAME"}
"""Where a tracker is, the variable by which its run gets its name (mlflow/environment_variables.py; docs.wandb.ai)."""
KEPT_SECONDS = 86_400
"""How long the job of a trial stays that is retained: Katib reads its metrics as soon as it has ended."""
_FIRST_RANK = {"training.kubeflow.org/job-role": "master"}


@dataclass(frozen=True, kw_only=True)
class Range:
    """Values of a flag in Katib's words. `low`, `high` and `step` are texts of numbers, `listed` what there is to take
    where it is no range.
    """

    name: str
    kind: str
    low: str | None = None
    high: str | None = None
    step: str | None = None
    listed: Sequence[str] = ()
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """A trial is ended against `after_trials` others, by its first `after_reports` values."""

    after_trials: int
    after_reports: int


@dataclass(frozen=True, kw_only=True)
class ExperimentArgs:
    """Trials like `trial`, of which `parallel` run at once and `most` in all; `failed` of them end the experiment.

    `metric` is to be lowest, or highest; one that reaches `until` is enough. `settings` are the `algorithm`'s.
    `printed` is a regular expression whose two groups are name and value; None for NAME=VALUE. `controller` is what
    accepts Experiments.
    """

    trial: TrainingJobArgs
    parallel: int
    most: int
    failed: int
    metric: str
    lowest: bool
    parameters: Sequence[Range]
    algorithm: str
    settings: Sequence[tuple[str, str]]
    controller: pulumi.Resource
    until: float | None = None
    stopping: Stopping | None = None
    printed: str | None = None

    def __post_init__(self) -> None:
        if self.trial.elastic is not None:
            raise ValueError(f"{self.trial.run}: a trial needs a master, whose log is read; elastic runs have none")


def experiment_spec(args: ExperimentArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """Spec of the Experiment, with all that Katib would fill in (experiments/v1beta1/experiment_defaults.go)."""
    goal = {} if args.until is None else {"goal": args.until}
    strategy = {"name": args.metric, "value": "min" if args.lowest else "max"}
    settings = [{"name": name, "value": value} for name, value in args.settings]
    printed = {"source": {"filter": {"metricsFormat": [args.printed]}}} if args.printed else {}
    return {
        "objective": {
            "type": "minimize" if args.lowest else "maximize",
            **goal,
            "objectiveMetricName": args.metric,
            "metricStrategies": [strategy],
        },
        "algorithm": {"algorithmName": args.algorithm, **({"algorithmSettings": settings} if settings else {})},
        **({"earlyStopping": _early_stopping(args.stopping)} if args.stopping else {}),
        "parameters": [_parameter(each) for each in args.parameters],
        "parallelTrialCount": args.parallel,
        "maxTrialCount": args.most,
        "maxFailedTrialCount": args.failed,
        "resumePolicy": "Never",
        "metricsCollectorSpec": {"collector": {"kind": "StdOut"}, **printed},
        "trialTemplate": {
            "primaryContainerName": CONTAINER,
            "primaryPodLabels": _FIRST_RANK,
            "successCondition": _DONE.format("Succeeded"),
            "failureCondition": _DONE.format("Failed"),
            # Katib 0.19 deletes the job of a stopped trial before it reads the metrics, and then starts no other one:
            # github.com/kubeflow/katib/issues/1377.
            **({"retain": True} if args.stopping else {}),
            "trialParameters": [
                {"name": "trial", "reference": "${trialSpec.Name}"},
                *({"name": each.name, "reference": each.name} for each in args.parameters),
            ],
            "trialSpec": trial_job(args, account),
        },
    }


def _early_stopping(stopping: Stopping) -> dict[str, Any]:
    values = {"min_trials_required": stopping.after_trials, "start_step": stopping.after_reports}
    return {
        "algorithmName": "medianstop",
        "algorithmSettings": [{"name": name, "value": str(value)} for name, value in values.items()],
    }


def _parameter(parameter: Range) -> dict[str, Any]:
    space: dict[str, Any]
    if parameter.listed:
        space = {"list": list(parameter.listed)}
    else:
        space = {"min": parameter.low, "max": parameter.high}
        space |= {"step": parameter.step} if parameter.step is not None else {}
    space["distribution"] = "logUniform" if parameter.log else "uniform"
    return {"name": parameter.name, "parameterType": parameter.kind, "feasibleSpace": space}


def trial_job(args: ExperimentArgs, account: pulumi.Input[str]) -> dict[str, Any]:
    """The PyTorchJob of a trial: its own directory of checkpoints, and its parameters as last words.

    Katib gives it name and namespace, and refuses a template that has them
    (pkg/webhook/v1beta1/experiment/validator/validator.go, validateTrialTemplate).
    """
    told = [f"--{each.name}=${{trialParameters.{each.name}}}" for each in args.parameters]
    spec = pytorch_job(_of_a_trial(args.trial), account)
    if args.stopping:
        # Katib leaves the job of a trial that is over alone, and makes it no second time when the operator has removed
        # it (pkg/controller.v1beta1/trial/trial_controller.go, reconcileJob).
        spec["runPolicy"]["ttlSecondsAfterFinished"] = KEPT_SECONDS
    # The operator adds up the restarts of all containers, and where the first rank fails its collector does too (KJ08).
    spec["runPolicy"]["backoffLimit"] = args.trial.restarts * (args.trial.nodes + 1) + 1
    for role, replica in spec["pytorchReplicaSpecs"].items():
        template = replica["template"]
        template["metadata"]["labels"][EXPERIMENT_KEY] = args.trial.run
        (container,) = template["spec"]["containers"]
        words = [shlex.quote(word) for word in container["args"]] if role == "Master" else container["args"]
        container["args"] = [*words, *told]
        for mount in container["volumeMounts"]:
            if mount["mountPath"] == CHECKPOINTS:
                mount["subPath"] = f"{saves(args.trial.run)}/{TRIAL}"
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "labels": {**args.trial.labels, EXPERIMENT_KEY: args.trial.run},
            "annotations": noted(args.trial.lineage),
        },
        "spec": spec,
    }


def _of_a_trial(trial: TrainingJobArgs) -> TrainingJobArgs:
    """Where a trial may write in the object store: a place of its own below the experiment's. A tracker knows it by the
    trial's name.
    """
    own: dict[str, pulumi.Input[str]] = {}
    if (kept := trial.env.get("CHECKPOINT_URI")) is not None:
        own["CHECKPOINT_URI"] = pulumi.Output.concat(kept, "/", TRIAL)
    own |= {name: TRIAL for asked, name in _NAMED.items() if asked in trial.env}
    env: Mapping[str, pulumi.Input[str]] = {**trial.env, **own}
    return replace(trial, env=env)


class Experiment(Component):
    """An Experiment. It is there when the API server has it, and ends when Katib says so in its status."""

    experiment: pulumi.Output[str]

    def __init__(self, name: str, args: ExperimentArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        trial = args.trial
        account = service_account(self, trial.run, trial.namespace, trial.granted)
        files = [
            k8s.core.v1.ConfigMap(
                self.named(each.rpartition("/")[2]),
                k8s.core.v1.ConfigMapInitArgs(
                    metadata=k8s.meta.v1.ObjectMetaArgs(name=config_map, namespace=trial.namespace),
                    data=trial.files[each],
                ),
                self.child(),
            )
            for each, config_map in config_maps(trial).items()
        ]
        made = k8s.apiextensions.CustomResource(
            self.named("experiment"),
            api_version=f"{GROUP}/{VERSION}",
            kind="Experiment",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=trial.run,
                namespace=trial.namespace,
                # Trials go before it: the controller clears their metrics, and must be there as long as they are.
                annotations={"pulumi.com/deletionPropagationPolicy": "foreground"},
            ),
            spec=experiment_spec(args, account),
            opts=self.child(
                depends_on=[
                    args.controller,
                    trial.operator,
                    *trial.nodes_ready,
                    *files,
                    *(trial.data.ready if trial.data else ()),
                ],
                # Katib lets the three counts alone be changed, and those of an experiment that has ended not at all.
                replace_on_changes=["spec"],
                delete_before_replace=True,
            ),
        )
        self.experiment = made.id.apply(lambda _: trial.run)
        self.register_outputs({"experiment": self.experiment})
