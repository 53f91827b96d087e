"""The stack file's training runs and model services."""

from dataclasses import dataclass

import pulumi

from catalogue import versions
from catalogue.images import pinned
from components.layers import Workloads
from components.platform.pods import PodShape
from components.serving.inference import InferenceService, InferenceServiceArgs
from components.serving.tokens import Tokens, TokensArgs
from components.serving.weights import Weights, WeightsArgs
from components.training.backup import Backup, BackupArgs
from components.training.job import Saving, TrainingJob, TrainingJobArgs
from planner.types import Plan, PodResources, ServicePlan
from settings.load import Loaded
from settings.model import Settings
from settings.workloads import Checkpoint, Service, TrainingRun
from stacks.platform import GpuPool, Platform
from stacks.services import CHECKPOINTS, DATA, WEIGHTS, Services

API_TOKEN, HUB_TOKEN = "api-token", "hf-token"


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """Names of gangs and addresses of services, each resolving when the thing exists."""

    gangs: dict[str, pulumi.Output[str]]
    endpoints: dict[str, pulumi.Output[str]]


def shape(pod: PodResources) -> PodShape:
    """The planner's numbers as a component takes them."""
    return PodShape(
        gpus=pod.gpus,
        efa=pod.efa,
        cpu_millicores=pod.cpu_millicores,
        memory_mib=pod.memory_mib,
        shm_mib=pod.shm_mib,
    )


def deploy_workloads(loaded: Loaded, plan: Plan, platform: Platform, services: Services) -> Deployed:
    """Register runs and services. A stack with services needs both secrets; Pulumi says which one is missing."""
    settings = loaded.settings
    layer = Workloads("workloads", pulumi.ResourceOptions(providers=list(platform.providers)))
    inside = pulumi.ResourceOptions(parent=layer)
    return Deployed(
        gangs=_train(settings, plan, platform, services, inside) if settings.training.runs else {},
        endpoints=_serve(loaded, plan, platform, services, inside) if settings.serving.services else {},
    )


def _train(
    settings: Settings, plan: Plan, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> dict[str, pulumi.Output[str]]:
    """The runs. A run's pods may keep its checkpoints in the bucket, and nothing else in AWS (R07)."""
    namespace = services.namespaces["training"]
    bucket = platform.object_store.bucket_name

    def start(run: TrainingRun, pool: GpuPool) -> pulumi.Output[str]:
        planned, prefix = plan.runs[run.name], f"checkpoints/{run.name}"
        uri = pulumi.Output.format("s3://{0}/{1}", bucket, prefix)
        granted = platform.object_store.writer(
            f"run-{run.name}-identity", prefix=prefix, namespace=namespace, account=run.name, opts=inside
        )
        args = TrainingJobArgs(
            run=run.name,
            namespace=namespace,
            nodes=planned.pods,
            restarts=run.restarts,
            image=pinned(run.image),
            script=run.script,
            shape=shape(planned.pod),
            pool=pool.name,
            gpu_product=pool.gpu_product,
            taints=pool.taints,
            queue=services.queues[run.queue],
            priority=services.priorities["training"],
            granted=granted,
            data_claim=services.claims[DATA],
            checkpoint_claim=services.claims[CHECKPOINTS],
            operator=services.training_operator,
            nodes_ready=[pool.nodes_ready, *services.gpus],
            env={"CHECKPOINT_URI": uri},
            saving=_saving(run.checkpoint),
        )
        job = TrainingJob(f"run-{run.name}", args, inside)
        if run.checkpoint and run.checkpoint.object_store_hours:
            backup = BackupArgs(
                run=run.name,
                namespace=namespace,
                image=pinned(versions.AWS_CLI_IMAGE),
                account=job.account,
                checkpoint_claim=services.claims[CHECKPOINTS],
                uri=uri,
                hours=run.checkpoint.object_store_hours,
            )
            Backup(f"backup-{run.name}", backup, inside)
        return job.run

    return {run.name: start(run, platform.pools[run.pool]) for run in settings.training.runs}


def _saving(checkpoint: Checkpoint | None) -> Saving | None:
    """What the script is told of the stack file's words about checkpoints."""
    if checkpoint is None:
        return None
    every, on = (round(minutes * 60) for minutes in (checkpoint.every_minutes, checkpoint.on_file_system_minutes))
    return Saving(every_seconds=every, keep=checkpoint.keep, file_system_seconds=on if checkpoint.local else None)


def _serve(
    loaded: Loaded, plan: Plan, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> dict[str, pulumi.Output[str]]:
    namespace = services.namespaces["inference"]
    values = {
        name: loaded.config.require_secret(key) for name, key in ((API_TOKEN, "apiToken"), (HUB_TOKEN, "hfToken"))
    }
    tokens = Tokens("tokens", TokensArgs(namespace=namespace, values=values), inside).keys

    def start(service: Service, pool: GpuPool, planned: ServicePlan) -> pulumi.Output[str]:
        weights = _load(service, planned, platform, services, inside)
        args = InferenceServiceArgs(
            service=service.name,
            namespace=namespace,
            image=pinned(service.image),
            shape=shape(planned.pod),
            pool=pool.name,
            gpu_product=pool.gpu_product,
            taints=pool.taints,
            priority=services.priorities["inference"],
            claim=services.claims[WEIGHTS],
            weights=weights.loaded,
            model_path=weights.path,
            nodes_ready=[pool.nodes_ready, *services.gpus],
            tensor_parallel=service.tensor_parallel,
            max_model_len=service.max_model_len,
            gpu_memory_utilization=service.gpu_memory_utilization,
            quantization="fp8" if service.quantization == "fp8" else None,
            kv_cache_dtype="fp8" if service.kv_cache_dtype == "fp8" else None,
            min_replicas=service.min_replicas,
            max_replicas=service.max_replicas,
            waiting_per_replica=service.waiting_per_replica,
            startup_seconds=planned.startup_seconds,
            spare_replica=_has_room(plan, pool, planned.pod.gpus),
            api_key=tokens[API_TOKEN],
            hub_token=tokens[HUB_TOKEN],
            monitors=services.monitors,
        )
        return InferenceService(f"service-{service.name}", args, inside).url

    return {
        service.name: start(service, platform.pools[service.pool], plan.services[service.name])
        for service in loaded.settings.serving.services
    }


def _has_room(plan: Plan, pool: GpuPool, gpus: int) -> bool:
    """Whether one more replica of so many GPUs finds a node while every service has all of its own, wherever they are.

    If no node had so many GPUs free, all nodes together would have at most one fewer each.
    """
    taken = sum(each.max_replicas * each.pod.gpus for each in plan.services.values() if each.pool == pool.name)
    return pool.count * pool.gpus - taken > pool.count * (gpus - 1)


def _load(
    service: Service, planned: ServicePlan, platform: Platform, services: Services, inside: pulumi.ResourceOptions
) -> Weights:
    """Copy the weights; the copy has the time that reading them back may take, and half an hour to be scheduled."""
    namespace = services.namespaces["inference"]
    name = f"weights-{service.name}"
    granted = platform.object_store.reader(
        f"{name}-identity", source=service.weights, namespace=namespace, account=name, opts=inside
    )
    args = WeightsArgs(
        service=service.name,
        source=service.weights,
        image=pinned(versions.AWS_CLI_IMAGE),
        namespace=namespace,
        service_account=name,
        granted=granted,
        claim=services.claims[WEIGHTS],
        ready=platform.cluster.ready,
        timeout_seconds=planned.startup_seconds + 1800,
    )
    return Weights(name, args, inside)
