"""The plan's tracker: MLflow with its database and copies, or the key of a service outside."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from catalogue import versions
from catalogue.supply import Supply
from components.tracking.database import TrackingDatabase, TrackingDatabaseArgs
from components.tracking.key import KEY, SECRET, TrackingKey, TrackingKeyArgs
from components.tracking.mlflow import ADDRESS, NAMESPACE, PORT, SERVICE, Mlflow, MlflowArgs
from components.training.job import SecretValue
from planner.mlops import DATABASE_REQUEST, MLFLOW_REQUEST, MlflowPlan, TrackingPlan, WandbPlan
from planner.teams import RUNS
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.backups import back_up
from stacks.namespaces import spaces
from stacks.outside import outside_of
from stacks.platform import Platform
from stacks.purposes import address
from stacks.services import Services

ACCOUNT = "mlflow-backup"
ARTIFACTS, BACKUPS = "tracking/artifacts", "tracking/backups"
"""Places in the stack's own bucket: of what runs hand over, and of the database's copies."""


@dataclass(frozen=True, kw_only=True)
class Tracker:
    """What a run is told, by its plan and what it is made of; `lines` are the tracker's own of the outputs."""

    environment: Callable[[RunPlan, Mapping[str, str]], Mapping[str, pulumi.Input[str]]] = lambda *_: {}
    secrets: Mapping[str, SecretValue] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)


def deploy_tracking(
    plan: Plan, platform: Platform, services: Services, config: pulumi.Config, inside: pulumi.ResourceOptions
) -> Tracker:
    """Register the tracker; what runs need of it."""
    tracking = plan.tracking
    if tracking is None:
        return Tracker()
    if tracking.mlflow is not None:
        pages = plan.gateway.people.hostnames("mlflow") if plan.gateway and plan.gateway.people else ()
        return _mlflow(plan.supply, tracking, tracking.mlflow, platform, services, config, pages, inside)
    if tracking.wandb is not None:
        more = [each for each in spaces(plan) if each != RUNS]
        return _wandb(tracking, tracking.wandb, more, services, config, inside)
    raise pulumi.RunError(f"training.tracking.kind: {tracking.kind} is not a tracker that can be deployed")


def _mlflow(
    supply: Supply,
    tracking: TrackingPlan,
    wanted: MlflowPlan,
    platform: Platform,
    services: Services,
    config: pulumi.Config,
    pages: Sequence[str],
    inside: pulumi.ResourceOptions,
) -> Tracker:
    namespace, objects = services.namespaces[NAMESPACE], platform.objects
    server = TrackingDatabase(
        "tracking-database",
        TrackingDatabaseArgs(
            namespace=namespace,
            password=config.require_secret(tracking.secret),
            storage_class=platform.block,
            gib=wanted.gib,
            image=supply.image(versions.POSTGRES_IMAGE),
            millicores=DATABASE_REQUEST[0],
            memory_mib=DATABASE_REQUEST[1],
        ),
        inside,
    ).database
    mlflow = MlflowArgs(
        namespace=namespace,
        image=supply.image(versions.MLFLOW_IMAGE),
        artifacts=address(objects, ARTIFACTS),
        client=objects.copier.env,
        granted=objects.writer(
            f"{SERVICE}-identity", prefix=ARTIFACTS, namespace=namespace, account=SERVICE, opts=inside
        ),
        password=server.secret,
        database=server.service,
        millicores=MLFLOW_REQUEST[0],
        memory_mib=MLFLOW_REQUEST[1],
        pages=pages,
    )
    Mlflow("tracking", mlflow, inside)
    back_up("tracking-backup", ACCOUNT, namespace, server, BACKUPS, wanted.backup_hours, platform, inside)

    def environment(run: RunPlan, lineage: Mapping[str, str]) -> dict[str, pulumi.Input[str]]:
        """Variables that MLflow's library and the reference trainer read (mlflow/environment_variables.py)."""
        tags = {f"gpucluster.{key}": _said(value) for key, value in lineage.items()}
        return {
            "MLFLOW_TRACKING_URI": ADDRESS,
            "MLFLOW_EXPERIMENT_NAME": run.name,
            "MLFLOW_RUN_CONTEXT": json.dumps(tags, sort_keys=True),
        }

    opened = f"kubectl -n {NAMESPACE} port-forward service/{SERVICE} {PORT}"
    return Tracker(environment=environment, lines={"tracker": ADDRESS, "open": opened})


def _said(value: str) -> str:
    """An address without its scheme: what stands in a pod's variables with one is what the pod asks for."""
    return value.partition("://")[2] or value


def _wandb(
    tracking: TrackingPlan,
    wanted: WandbPlan,
    more: Sequence[str],
    services: Services,
    config: pulumi.Config,
    inside: pulumi.ResourceOptions,
) -> Tracker:
    def keyed(space: str, name: str) -> pulumi.Output[str]:
        """The name of the Secret that has the key, in one of the namespaces of runs."""
        if outside := outside_of(services.outside, tracking.secret):
            return outside.secret(name, namespace=space, secret=SECRET, values={KEY: tracking.secret})
        args = TrackingKeyArgs(namespace=services.namespaces[space], key=config.require_secret(tracking.secret))
        return TrackingKey(name, args, inside).secret

    others = [keyed(each, f"tracking-key-{each}") for each in more]
    secret = pulumi.Output.all(keyed(RUNS, "tracking-key"), *others).apply(lambda names: str(names[0]))

    def environment(run: RunPlan, lineage: Mapping[str, str]) -> dict[str, pulumi.Input[str]]:
        """W&B's own variables (docs.wandb.ai, Environment variables)."""
        return {
            "WANDB_BASE_URL": f"https://{wanted.host}",
            "WANDB_PROJECT": wanted.project or pulumi.get_stack(),
            **({"WANDB_ENTITY": wanted.entity} if wanted.entity else {}),
            "WANDB_RUN_GROUP": run.name,
            "WANDB_TAGS": ",".join(f"{key}={_said(value)}"[:64] for key, value in sorted(lineage.items())),
        }

    key = SecretValue(name=secret, key=KEY)
    return Tracker(environment=environment, secrets={"WANDB_API_KEY": key}, lines={"tracker": f"https://{wanted.host}"})
