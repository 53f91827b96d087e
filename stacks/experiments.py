"""The plan's experiments, and Katib where there are any."""

from collections.abc import Callable
from dataclasses import asdict

import pulumi

from catalogue import versions
from components.kubeflow.experiment import REFERENCE_FORMAT, Experiment, ExperimentArgs, Range, Stopping
from components.kubeflow.katib import Katib, KatibArgs
from components.kubeflow.katib_config import CollectorRoom
from components.training.job import TrainingJobArgs
from planner.experiments import COLLECTOR_MIB, COLLECTOR_MILLICORES, ExperimentPlan
from planner.teams import RUNS
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.backups import back_up
from stacks.namespaces import spaces
from stacks.platform import Platform
from stacks.services import Services

ACCOUNT, BACKUPS = "katib-backup", "backups/trials"
"""Of the copies of Katib's database, and their place in the stack's own bucket."""


def deploy_experiments(
    plan: Plan,
    platform: Platform,
    services: Services,
    config: pulumi.Config,
    asked: Callable[[RunPlan, str], TrainingJobArgs],
    inside: pulumi.ResourceOptions,
) -> dict[str, pulumi.Output[str]]:
    """Names of the experiments, each resolving when it is there. `asked` is what a run asks for in a namespace, as a
    job takes it.
    """
    database = plan.trial_database
    if database is None or services.certificates is None:
        return {}
    katib = KatibArgs(
        images={name: plan.supply.image(image) for name, image in versions.KATIB_IMAGES.items()},
        database_image=plan.supply.image(versions.POSTGRES_IMAGE),
        namespace=services.namespaces["kubeflow"],
        trials={"trials" if each == RUNS else each: services.namespaces[each] for each in spaces(plan)},
        password=config.require_secret(database.secret),
        storage_class=platform.block,
        gib=database.gib,
        room=CollectorRoom(millicores=COLLECTOR_MILLICORES, memory_mib=COLLECTOR_MIB),
        operator=services.training_operator,
        certificates=services.certificates,
    )
    made = Katib("katib", katib, inside)
    namespace = services.namespaces["kubeflow"]
    back_up("trials-backup", ACCOUNT, namespace, made.database, BACKUPS, database.backup_hours, platform, inside)
    return {
        name: Experiment(
            f"experiment-{name}", _args(each, asked(each.trial, each.namespace), made.ready), inside
        ).experiment
        for name, each in plan.experiments.items()
    }


def _args(plan: ExperimentPlan, trial: TrainingJobArgs, controller: pulumi.Resource) -> ExperimentArgs:
    stopping = None
    if plan.after_trials is not None and plan.after_reports is not None:
        stopping = Stopping(after_trials=plan.after_trials, after_reports=plan.after_reports)
    return ExperimentArgs(
        trial=trial,
        parallel=plan.parallel,
        most=plan.most,
        failed=plan.failed,
        metric=plan.metric,
        lowest=plan.lowest,
        until=plan.until,
        parameters=[Range(**asdict(each)) for each in plan.parameters],
        algorithm=plan.algorithm,
        settings=plan.settings,
        stopping=stopping,
        printed=REFERENCE_FORMAT if plan.trial.launch.framework == "reference" else None,
        controller=controller,
    )
