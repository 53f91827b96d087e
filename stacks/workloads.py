"""The plan's training runs and model services, on whichever platform."""

import re
from dataclasses import dataclass, replace
from functools import partial

import pulumi

from catalogue import versions
from catalogue.supply import Supply
from components.layers import Workloads
from components.platform.mpi_operator import MpiOperator
from components.platform.network_rules import NetworkRules, NetworkRulesArgs, gang
from components.platform.operators import OperatorArgs
from components.training import run_watch
from components.training.backup import Backup, BackupArgs
from components.training.job import RunData, TrainingJob, TrainingJobArgs
from components.training.pod import RUN_KEY
from components.training.run_monitor import RunMonitor, RunMonitorArgs
from components.training.run_watch import RunWatch, RunWatchArgs, watch_files
from planner.fabric.near import TIERS
from planner.nodes import threads_together
from planner.teams import RUNS
from planner.types import Plan
from planner.workload_types import RunPlan
from stacks.datasets import place, run_data
from stacks.experiments import deploy_experiments
from stacks.follow_ups import deploy_follow_up
from stacks.gates import deploy_gates
from stacks.gateway import WayIn
from stacks.pipelines import deploy_pipelines
from stacks.platform import Platform
from stacks.purposes import address
from stacks.recipes import started
from stacks.services import CHECKPOINTS, DATA, Services
from stacks.serving import Served, serve
from stacks.shapes import shape
from stacks.tracking import Tracker, deploy_tracking

_LABEL = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
"""Kubernetes documentation, Labels and Selectors: syntax of values."""


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """Names of gangs, addresses of services in the cluster, and those from outside, each resolving when it exists; and
    lines about the tracker and pipelines."""

    gangs: dict[str, pulumi.Output[str]]
    experiments: dict[str, pulumi.Output[str]]
    tracking: dict[str, str]
    pipelines: dict[str, pulumi.Input[str]]
    endpoints: dict[str, pulumi.Output[str]]
    public: dict[str, pulumi.Output[str]]


def deploy_workloads(
    plan: Plan,
    platform: Platform,
    services: Services,
    way_in: WayIn | None,
    keda: pulumi.Resource | None,
    config: pulumi.Config,
) -> Deployed:
    """Register runs and services; `keda` is what looks after replicas that go to zero. A stack with services needs both
    secrets; Pulumi says which one is missing.
    """
    layer = Workloads("workloads", pulumi.ResourceOptions(providers=list(platform.providers)))
    inside = pulumi.ResourceOptions(parent=layer)
    tracker = deploy_tracking(plan, platform, services, config, inside)
    gangs, experiments, pipelines = _train(plan, platform, services, config, tracker, inside)
    served = Served({}, {})
    if plan.services or plan.triton:
        served = serve(plan, platform, services, way_in, keda, config, inside)
    return Deployed(
        gangs=gangs,
        experiments=experiments,
        tracking=dict(tracker.lines),
        pipelines=pipelines,
        endpoints=served.urls,
        public=served.public,
    )


def _train(
    plan: Plan,
    platform: Platform,
    services: Services,
    config: pulumi.Config,
    tracker: Tracker,
    inside: pulumi.ResourceOptions,
) -> tuple[dict[str, pulumi.Output[str]], dict[str, pulumi.Output[str]], dict[str, pulumi.Input[str]]]:
    """Runs, experiments and pipelines, by which some of the runs are started and not by `up`. A run's pods may keep its
    checkpoints in the object store, and nothing else there (R07).
    """
    objects = platform.objects
    operators = {"torchrun": services.training_operator}
    if any(run.launcher == "mpi" for run in plan.runs.values()):
        operators["mpi"] = _mpi_operator(plan.supply, services, inside)
    gates = deploy_gates(plan, platform, services, inside)
    data = {name: run_data(each, platform, services, inside) for name, each in plan.datasets.items()}

    def asked(run: RunPlan, space: str = RUNS) -> TrainingJobArgs:
        pool, namespace = platform.pools[run.pool], services.namespaces[space]
        prefix = f"checkpoints/{run.name}"
        uri = address(objects, prefix)
        granted = objects.writer(
            f"run-{run.name}-identity", prefix=prefix, namespace=namespace, account=run.name, opts=inside
        )
        among = NetworkRulesArgs(
            rules={space: [gang({RUN_KEY: run.name}, f"gang-{run.name}")]}, names=services.namespaces
        )
        NetworkRules(f"network-{run.name}", among, inside)
        begun, made_of = started(run), lineage(plan, run)
        return TrainingJobArgs(
            run=run.name,
            namespace=namespace,
            nodes=run.pods,
            restarts=run.restarts,
            image=plan.supply.image(run.image),
            script=begun.launch.words,
            shape=shape(run.pod, pool.network, threads_together(exclusive=plan.pools[run.pool].exclusive_cpus)),
            pool=pool.name,
            gpu_product=pool.gpu_product,
            taints=pool.taints,
            queue=services.queues[run.queue],
            priority=services.priorities[run.priority],
            granted=granted,
            checkpoint_claim=services.claims[space, CHECKPOINTS[1]],
            operator=operators[run.launcher],
            launcher=run.launcher,
            api=run.api,
            tier=TIERS.index(run.within) + 1 if run.within and platform.hyper_nodes else None,
            nodes_ready=[
                pool.nodes_ready,
                *services.gpus[pool.name],
                *([gates[pool.name]] if pool.name in gates else []),
            ],
            measured=pool.name in gates,
            env={"CHECKPOINT_URI": uri, **tracker.environment(run, made_of), **begun.environment},
            secrets=tracker.secrets,
            data=_seen(data[run.dataset], space, services) if run.dataset else None,
            staging=run.staging,
            deadline_seconds=run.deadline_s,
            lineage=made_of,
            labels=lineage_labels(plan, run, run.image),
            saving=run.saving,
            metrics_port=run.metrics_port,
            local=platform.local.volume(pool.local_gb),
            elastic=run.launch.least_pods if run.launch.elastic else None,
            files=begun.files,
        )

    namespace = services.namespaces[RUNS]

    def start(run: RunPlan) -> pulumi.Output[str]:
        args = asked(run)
        job = TrainingJob(f"run-{run.name}", args, inside)
        if run.saving and run.saving.object_store_s:
            backup = BackupArgs(
                run=run.name,
                namespace=namespace,
                copier=objects.copier,
                account=job.account,
                checkpoint_claim=services.claims[CHECKPOINTS],
                uri=args.env["CHECKPOINT_URI"],
                every_seconds=run.saving.object_store_s,
            )
            Backup(f"backup-{run.name}", backup, inside)
        labels, made_of = partial(lineage_labels, plan, run), lineage(plan, run)
        for each in run.follow_ups:
            deploy_follow_up(run, each, plan.supply, platform, services, gates, labels, made_of, inside)
        return job.run

    by_pipelines = plan.pipelines.runs if plan.pipelines else ()
    if plan.runs:
        watch = RunWatchArgs(
            namespace=namespace,
            image=plan.supply.image(versions.PYTHON_IMAGE),
            files=watch_files(),
            table=run_watch.table(),
            after=[platform.cluster.ready],
        )
        RunWatch("run-watch", watch, inside)
    if any(run.metrics_port for run in plan.runs.values()):
        RunMonitor("run-monitor", RunMonitorArgs(namespace=namespace, monitors=services.monitors), inside)
    return (
        {name: start(run) for name, run in plan.runs.items() if name not in by_pipelines},
        deploy_experiments(plan, platform, services, config, asked, inside),
        dict(deploy_pipelines(plan, platform, services, config, asked, inside)),
    )


def _seen(data: RunData, space: str, services: Services) -> RunData:
    """A run's data as pods of a namespace find it."""
    return data if space == RUNS else replace(data, claim=services.claims[space, DATA[1]])


def _mpi_operator(supply: Supply, services: Services, inside: pulumi.ResourceOptions) -> pulumi.Resource:
    """What acts on MPIJobs; it comes after the training operator, which comes when Volcano admits gangs."""
    args = OperatorArgs(
        version=versions.MPI_OPERATOR,
        crd_sha256=versions.MPI_OPERATOR_CRD_SHA256,
        image=supply.image(versions.MPI_OPERATOR_IMAGE),
        kubectl_image=supply.image(versions.KUBECTL_IMAGE),
        fetch_image=supply.image(versions.WAIT_IMAGE),
        namespace=services.namespaces["kubeflow"],
        jobs=services.namespaces["training"],
        scheduler=services.training_operator,
    )
    return MpiOperator("mpi-operator", args, inside).ready


def lineage(plan: Plan, run: RunPlan) -> dict[str, str]:
    """What a run is made of, for whoever finds its results: nothing that changes with each deployment."""
    dataset = plan.datasets[run.dataset] if run.dataset else None
    return {
        "stack": pulumi.get_stack(),
        "owner": plan.ownership.owner,
        "image": plan.supply.image(run.image),
        **({"model": run.launch.architecture.name} if run.launch.architecture else {}),
        **({"dataset": dataset.source or place(dataset)} if dataset else {}),
        **({"dataset-sha256": dataset.sha256} if dataset and dataset.sha256 else {}),
    }


def lineage_labels(plan: Plan, run: RunPlan, image: str) -> dict[str, str]:
    """What a job of the run is made of, as labels by which jobs are found: those words that a label can hold."""
    dataset = plan.datasets[run.dataset] if run.dataset else None
    _, _, digest = plan.supply.image(image).partition("@sha256:")
    found = {
        "stack": pulumi.get_stack(),
        "owner": plan.ownership.owner,
        "dataset": dataset.name if dataset else None,
        "dataset-snapshot": dataset.snapshot if dataset else None,
        "commit": run.commit,
        # A label holds 63 characters, and a digest has one more.
        "dataset-sha256": (dataset.sha256 or "")[:32] if dataset else None,
        "image-digest": digest[:32],
    }
    return {f"gpucluster/{key}": value for key, value in found.items() if value and _LABEL.fullmatch(value)}
