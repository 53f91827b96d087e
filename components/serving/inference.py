"""A vLLM service: Deployment, autoscaler where it may scale, Service, budget for disruptions, monitor (Q01-Q06, Y11).

The Deployment has no `replicas` where they belong to an autoscaler (IN06). Where nothing is to change there is none: it
would ask for its metric without end, and warn as long as nobody serves it (LF06). The model is known by the name of the
service, not by its path (IN03). The startup probe waits for the weights to be read (IN04); NCCL's defaults stay (IN02).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.pods import SHM, PodShape, toleration_args
from components.platform.taints import GPU_PRODUCT_KEY, POOL_KEY, Taint
from components.serving import door
from components.serving.arguments import PORT, Directory, Engine, serve_command
from components.serving.autoscaler import Scaling, autoscaled
from components.serving.entry import published
from components.serving.monitor import service_monitor
from components.serving.placement import Placement
from components.serving.probes import probe, startup_probe
from components.serving.tokens import SecretKey

HEALTH = "/health"


@dataclass(frozen=True, kw_only=True)
class InferenceServiceArgs:
    """`startup_seconds` is how long reading the weights may take. `replicas` is their number, or what they scale by:
    something in the cluster has to serve those metrics.

    `spare_replica` says that the pool has GPUs for one pod more than there may be; without it an update stops one
    pod before it starts the next. The server sees the directories of `engine` of the claims in `claims`, by the names
    of their volumes, and nothing else of these; `ready` are the resources after which they hold the model and its
    adapters. `compiled` is the directory for compiled graphs, which replicas share: the second starts with what the
    first has made. `leave_seconds` is how long it serves as before when it is to stop, until all have heard of it, and
    `grace_seconds` what it has in all. `shape` is that of the pod, whose `door` takes a little of it. `nodes_ready` is
    the pool's node group, and what shows that GPUs work.
    """

    service: str
    namespace: pulumi.Input[str]
    image: str
    shape: PodShape
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    priority: pulumi.Input[str]
    engine: Engine
    compiled: Directory
    claims: Mapping[str, pulumi.Input[str]]
    ready: Sequence[pulumi.Resource]
    nodes_ready: Sequence[pulumi.Resource]
    replicas: int | Scaling
    placement: Placement
    startup_seconds: int
    leave_seconds: int
    grace_seconds: int
    spare_replica: bool
    door: door.Door
    hub_token: SecretKey
    monitors: pulumi.Resource

    def __post_init__(self) -> None:
        if self.engine.tensor_parallel > self.shape.gpus:
            raise ValueError(
                f"{self.service}: {self.engine.tensor_parallel}-way tensor parallelism on {self.shape.gpus} GPUs a "
                "pod; give the pod that many GPUs"
            )
        if self.grace_seconds <= self.leave_seconds + self.engine.drain_seconds:
            raise ValueError(
                f"{self.service}: killed after {self.grace_seconds} s, and it leaves in {self.leave_seconds} s and "
                f"ends its streams in {self.engine.drain_seconds} s; give it longer"
            )


def mounts(engine: Engine, compiled: Directory) -> list[k8s.core.v1.VolumeMountArgs]:
    """What the server sees of claims: model and adapters to read, and the graphs' directory to write to as well."""

    def mount(each: Directory, *, read_only: bool) -> k8s.core.v1.VolumeMountArgs:
        return k8s.core.v1.VolumeMountArgs(
            name=each.volume, mount_path=each.at, sub_path=each.path, read_only=read_only or None
        )

    return [*(mount(each, read_only=True) for each in engine.directories), mount(compiled, read_only=False)]


class InferenceService(Component):
    """A model behind an OpenAI-compatible API inside the cluster. `url` resolves when a replica answers."""

    url: pulumi.Output[str]
    service: k8s.core.v1.Service

    def __init__(self, name: str, args: InferenceServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": args.service}
        self._metadata = k8s.meta.v1.ObjectMetaArgs(name=args.service, namespace=args.namespace, labels=self._labels)
        self._selector = k8s.meta.v1.LabelSelectorArgs(match_labels=self._labels)
        deployment = self._create_deployment(args)
        if isinstance(args.replicas, Scaling):
            autoscaled(self, args.replicas, metadata=self._metadata, target=deployment)
        self._create_disruption_budget()
        self.service = published(
            self,
            name=args.service,
            namespace=args.namespace,
            labels=self._labels,
            port=PORT,
            after=deployment,
        )
        service_monitor(
            self,
            metadata=self._metadata,
            labels=self._labels,
            port="http",
            after=[args.monitors],
            key=args.door.keys.scraper,
        )
        self.url = pulumi.Output.format(
            "http://{0}.{1}.svc:{2}/v1", self.service.metadata.name, self.service.metadata.namespace, PORT
        )
        self.register_outputs({"url": self.url})

    def _create_deployment(self, args: InferenceServiceArgs) -> k8s.apps.v1.Deployment:
        apps, core = k8s.apps.v1, k8s.core.v1
        update = apps.RollingUpdateDeploymentArgs(
            max_surge=1 if args.spare_replica else 0, max_unavailable=0 if args.spare_replica else 1
        )
        shm = core.EmptyDirVolumeSourceArgs(medium="Memory", size_limit=f"{args.shape.shm_mib}Mi")
        rules = door.rules_for(self, args.service, args.namespace, args.door)
        pod = core.PodSpecArgs(
            priority_class_name=args.priority,
            node_selector={POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            tolerations=toleration_args(args.taints),
            affinity=args.placement.affinity,
            topology_spread_constraints=args.placement.constraints(self._labels),
            automount_service_account_token=False,
            termination_grace_period_seconds=args.grace_seconds,
            containers=[self._server(args), door.container(args.door, args.leave_seconds, args.engine.drain_seconds)],
            volumes=[*_volumes(args), *door.volumes(args.door, rules), core.VolumeArgs(name="shm", empty_dir=shm)],
        )
        # Where a pod stops before the next one starts, the next waits for the first one's streams.
        patience = args.startup_seconds + args.grace_seconds + 600
        return apps.Deployment(
            self.named("deployment"),
            apps.DeploymentInitArgs(
                metadata=self._metadata,
                spec=apps.DeploymentSpecArgs(
                    replicas=args.replicas if isinstance(args.replicas, int) else None,
                    selector=self._selector,
                    strategy=apps.DeploymentStrategyArgs(type="RollingUpdate", rolling_update=update),
                    progress_deadline_seconds=patience,
                    template=core.PodTemplateSpecArgs(
                        metadata=k8s.meta.v1.ObjectMetaArgs(labels={**self._labels, **args.placement.labels}), spec=pod
                    ),
                ),
            ),
            self.child(
                depends_on=[*args.ready, *args.nodes_ready],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience * 2}s"),
            ),
        )

    def _server(self, args: InferenceServiceArgs) -> k8s.core.v1.ContainerArgs:
        core = k8s.core.v1
        shape = door.beside(args.shape).resources()
        leave = core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=args.leave_seconds))
        return core.ContainerArgs(
            name="vllm",
            image=args.image,
            command=serve_command(args.engine),
            # A server that dies says why in its pod's status, where `pulumi up` reads it.
            termination_message_policy="FallbackToLogsOnError",
            env=[
                _from_secret("HF_TOKEN", args.hub_token),
                core.EnvVarArgs(name="VLLM_CACHE_ROOT", value=args.compiled.at),
            ],
            lifecycle=core.LifecycleArgs(pre_stop=leave),
            # A kubelet asks the pod's address, where the door is.
            startup_probe=startup_probe(HEALTH, args.startup_seconds, port=PORT),
            readiness_probe=probe(HEALTH, period=10, failures=3, port=PORT),
            liveness_probe=probe(HEALTH, period=30, failures=3, port=PORT),
            resources=core.ResourceRequirementsArgs(limits=shape["limits"], requests=shape["requests"]),
            security_context=confined(),
            volume_mounts=[*mounts(args.engine, args.compiled), core.VolumeMountArgs(name="shm", mount_path=SHM)],
        )

    def _create_disruption_budget(self) -> None:
        k8s.policy.v1.PodDisruptionBudget(
            self.named("disruption-budget"),
            k8s.policy.v1.PodDisruptionBudgetInitArgs(
                metadata=self._metadata,
                # A minimum of one would stop every node upgrade of a service with one replica.
                spec=k8s.policy.v1.PodDisruptionBudgetSpecArgs(max_unavailable=1, selector=self._selector),
            ),
            self.child(),
        )


def _volumes(args: InferenceServiceArgs) -> list[k8s.core.v1.VolumeArgs]:
    """One volume for each claim of which the server sees something."""
    used = dict.fromkeys(each.volume for each in (*args.engine.directories, args.compiled))
    return [
        k8s.core.v1.VolumeArgs(
            name=name,
            persistent_volume_claim=k8s.core.v1.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claims[name]),
        )
        for name in used
    ]


def _from_secret(name: str, secret: SecretKey) -> k8s.core.v1.EnvVarArgs:
    source = k8s.core.v1.SecretKeySelectorArgs(name=secret.name, key=secret.key)
    return k8s.core.v1.EnvVarArgs(name=name, value_from=k8s.core.v1.EnvVarSourceArgs(secret_key_ref=source))
