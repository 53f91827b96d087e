"""What model servers have in common: a Deployment behind a door, its Service, its budget for disruptions, its monitor.

The server listens on the pod's loopback; kubelets, Prometheus and callers ask the door (components/serving/door.py).
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
from components.serving.arguments import PORT, Directory
from components.serving.entry import published
from components.serving.monitor import service_monitor
from components.serving.placement import Placement
from components.serving.probes import probe, startup_probe


@dataclass(frozen=True, kw_only=True)
class ServerArgs:
    """`startup_seconds` is how long reading the models may take, which are on their claims after `ready`.

    `spare_replica` says that the pool has GPUs for one pod more than there may be; without it an update stops one
    pod before it starts the next. `leave_seconds` is how long a server that is to stop serves as before, until all have
    heard of it. `shape` is that of the pod, whose `door` takes a little of it. `nodes_ready` is the pool's node group,
    and what shows that GPUs work.
    """

    name: str
    namespace: pulumi.Input[str]
    image: str
    shape: PodShape
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    priority: pulumi.Input[str]
    ready: Sequence[pulumi.Resource]
    nodes_ready: Sequence[pulumi.Resource]
    spare_replica: bool
    startup_seconds: int
    leave_seconds: int
    door: door.Door
    monitors: pulumi.Resource


@dataclass(frozen=True, kw_only=True)
class Program:
    """What runs in the server's container. `claims` are those whose volumes `mounts` name; kubelets ask `ready` and
    `live`. It ends what it has begun within `drain_seconds`, and is killed after `grace_seconds`.
    """

    name: str
    command: Sequence[str]
    mounts: Sequence[k8s.core.v1.VolumeMountArgs]
    claims: Mapping[str, pulumi.Input[str]]
    ready: str
    live: str
    drain_seconds: int
    grace_seconds: int
    env: Sequence[k8s.core.v1.EnvVarArgs] | None = None


def mount(each: Directory, *, read_only: bool = True) -> k8s.core.v1.VolumeMountArgs:
    """A directory of a claim in a server's container."""
    return k8s.core.v1.VolumeMountArgs(
        name=each.volume, mount_path=each.at, sub_path=each.path, read_only=read_only or None
    )


class Server(Component):
    """`url` resolves when a replica is ready."""

    url: pulumi.Output[str]
    service: k8s.core.v1.Service

    def __init__(self, name: str, args: ServerArgs, program: Program, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__(name, opts)
        self._args, self._program = args, program
        self._labels = {"app.kubernetes.io/name": program.name, "app.kubernetes.io/instance": args.name}
        self._metadata = k8s.meta.v1.ObjectMetaArgs(name=args.name, namespace=args.namespace, labels=self._labels)
        self._selector = k8s.meta.v1.LabelSelectorArgs(match_labels=self._labels)

    def _create_deployment(self, replicas: int | None, placement: Placement | None = None) -> k8s.apps.v1.Deployment:
        args, apps, core = self._args, k8s.apps.v1, k8s.core.v1
        spare = 1 if args.spare_replica else 0
        update = apps.RollingUpdateDeploymentArgs(max_surge=spare, max_unavailable=1 - spare)
        # Where a pod stops before the next one starts, the next waits for the first one's streams.
        patience = args.startup_seconds + self._program.grace_seconds + 600
        labels = {**self._labels, **(placement.labels if placement else {})}
        return apps.Deployment(
            self.named("deployment"),
            apps.DeploymentInitArgs(
                metadata=self._metadata,
                spec=apps.DeploymentSpecArgs(
                    replicas=replicas,
                    selector=self._selector,
                    strategy=apps.DeploymentStrategyArgs(type="RollingUpdate", rolling_update=update),
                    progress_deadline_seconds=patience,
                    template=core.PodTemplateSpecArgs(
                        metadata=k8s.meta.v1.ObjectMetaArgs(labels=labels), spec=self._pod(placement)
                    ),
                ),
            ),
            self.child(
                depends_on=[*args.ready, *args.nodes_ready],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience * 2}s"),
            ),
        )

    def _pod(self, placement: Placement | None) -> k8s.core.v1.PodSpecArgs:
        args, program, core = self._args, self._program, k8s.core.v1
        shm = core.EmptyDirVolumeSourceArgs(medium="Memory", size_limit=f"{args.shape.shm_mib}Mi")
        rules = door.rules_for(self, args.name, args.namespace, args.door)
        claims = [
            core.VolumeArgs(
                name=name, persistent_volume_claim=core.PersistentVolumeClaimVolumeSourceArgs(claim_name=claim)
            )
            for name, claim in program.claims.items()
        ]
        return core.PodSpecArgs(
            priority_class_name=args.priority,
            node_selector={POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            tolerations=toleration_args(args.taints),
            affinity=placement.affinity if placement else None,
            topology_spread_constraints=placement.constraints(self._labels) if placement else None,
            automount_service_account_token=False,
            termination_grace_period_seconds=program.grace_seconds,
            containers=[self._container(), door.container(args.door, args.leave_seconds, program.drain_seconds)],
            volumes=[*claims, *door.volumes(args.door, rules), core.VolumeArgs(name="shm", empty_dir=shm)],
        )

    def _container(self) -> k8s.core.v1.ContainerArgs:
        args, program, core = self._args, self._program, k8s.core.v1
        shape = door.beside(args.shape).resources()
        leave = core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=args.leave_seconds))
        return core.ContainerArgs(
            name=program.name,
            image=args.image,
            command=list(program.command),
            # A server that dies says why in its pod's status, where `pulumi up` reads it.
            termination_message_policy="FallbackToLogsOnError",
            env=program.env,
            lifecycle=core.LifecycleArgs(pre_stop=leave),
            # A kubelet asks the pod's address, where the door is.
            startup_probe=startup_probe(program.ready, args.startup_seconds, port=PORT),
            readiness_probe=probe(program.ready, period=10, failures=3, port=PORT),
            liveness_probe=probe(program.live, period=30, failures=3, port=PORT),
            resources=core.ResourceRequirementsArgs(limits=shape["limits"], requests=shape["requests"]),
            security_context=confined(),
            volume_mounts=[*program.mounts, core.VolumeMountArgs(name="shm", mount_path=SHM)],
        )

    def _publish(self, deployment: k8s.apps.v1.Deployment, version: str, *, awaited: bool = True) -> None:
        """Register what stands around the Deployment; `version` is that of the API, at the end of `url`. Whether the
        Service is `awaited`, see `published`.
        """
        args = self._args
        k8s.policy.v1.PodDisruptionBudget(
            self.named("disruption-budget"),
            metadata=self._metadata,
            # A minimum of one would stop every node upgrade of a service with one replica.
            spec=k8s.policy.v1.PodDisruptionBudgetSpecArgs(max_unavailable=1, selector=self._selector),
            opts=self.child(),
        )
        self.service = published(
            self,
            name=args.name,
            namespace=args.namespace,
            labels=self._labels,
            port=PORT,
            after=deployment,
            awaited=awaited,
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
            "http://{0}.{1}.svc:{2}/" + version, self.service.metadata.name, self.service.metadata.namespace, PORT
        )
        self.register_outputs({"url": self.url})
