"""A Triton Inference Server for models that are no language models (Q12): Deployment, Service, budget, monitor.

It serves every model of its repository, is ready when all are (`--strict-readiness` is on by itself), ends when one
cannot be loaded (`--exit-on-error`), and after SIGTERM ends what it has begun. It knows no keys, so it listens on the
pod's loopback, behind a door (components/serving/door.py); gRPC is off. Source: Triton Inference Server 2.73,
docs/user_guide and src/command_line_parser.cc (`--http-address`, `--metrics-address`, `--allow-grpc`); health paths are
those of the KServe protocol v2, metrics are on a port of their own (docs/user_guide/metrics.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.pods import SHM, PodShape, toleration_args
from components.platform.taints import GPU_PRODUCT_KEY, POOL_KEY, Taint
from components.serving import door
from components.serving.arguments import ENGINE_PORT, LOOPBACK, PORT, TRITON_METRICS_PORT, Directory
from components.serving.entry import published
from components.serving.monitor import service_monitor
from components.serving.probes import probe, startup_probe

LIVE, READY = "/v2/health/live", "/v2/health/ready"
TEARDOWN_SECONDS = 15


@dataclass(frozen=True, kw_only=True)
class TritonServerArgs:
    """`models` is the directory of a claim, `claim`, with the model repository, which is there after `ready`.
    `startup_seconds` is how long reading it may take. `leave_seconds` is how long it serves as before when it is to
    stop, and `drain_seconds` how long it then goes on with what it has begun. `spare_replica` says that the pool has
    GPUs for one pod more. `nodes_ready` is the pool's node group, and what shows that GPUs work. `shape` is that of the
    pod, whose `door` takes a little of it.
    """

    server: str
    namespace: pulumi.Input[str]
    image: str
    shape: PodShape
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    priority: pulumi.Input[str]
    models: Directory
    claim: pulumi.Input[str]
    ready: pulumi.Resource
    nodes_ready: Sequence[pulumi.Resource]
    replicas: int
    spare_replica: bool
    startup_seconds: int
    leave_seconds: int
    drain_seconds: int
    door: door.Door
    monitors: pulumi.Resource


class TritonServer(Component):
    """The server inside the cluster. `url` resolves when a replica has all models ready."""

    url: pulumi.Output[str]
    service: k8s.core.v1.Service

    def __init__(self, name: str, args: TritonServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._labels = {"app.kubernetes.io/name": "triton", "app.kubernetes.io/instance": args.server}
        self._metadata = k8s.meta.v1.ObjectMetaArgs(name=args.server, namespace=args.namespace, labels=self._labels)
        self._selector = k8s.meta.v1.LabelSelectorArgs(match_labels=self._labels)
        deployment = self._create_deployment(args)
        k8s.policy.v1.PodDisruptionBudget(
            self.named("disruption-budget"),
            k8s.policy.v1.PodDisruptionBudgetInitArgs(
                metadata=self._metadata,
                spec=k8s.policy.v1.PodDisruptionBudgetSpecArgs(max_unavailable=1, selector=self._selector),
            ),
            self.child(),
        )
        self.service = published(
            self,
            name=args.server,
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
            "http://{0}.{1}.svc:{2}/v2", self.service.metadata.name, self.service.metadata.namespace, PORT
        )
        self.register_outputs({"url": self.url})

    def _create_deployment(self, args: TritonServerArgs) -> k8s.apps.v1.Deployment:
        apps, core = k8s.apps.v1, k8s.core.v1
        spare = args.spare_replica
        update = apps.RollingUpdateDeploymentArgs(max_surge=1 if spare else 0, max_unavailable=0 if spare else 1)
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
        shm = core.EmptyDirVolumeSourceArgs(medium="Memory", size_limit=f"{args.shape.shm_mib}Mi")
        grace = args.leave_seconds + args.drain_seconds + TEARDOWN_SECONDS
        pod = core.PodSpecArgs(
            priority_class_name=args.priority,
            node_selector={POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            tolerations=toleration_args(args.taints),
            automount_service_account_token=False,
            termination_grace_period_seconds=grace,
            containers=[self._server(args), door.container(args.door, args.leave_seconds, args.drain_seconds)],
            volumes=[
                core.VolumeArgs(name=args.models.volume, persistent_volume_claim=claim),
                *door.volumes(args.door, door.rules_for(self, args.server, args.namespace, args.door)),
                core.VolumeArgs(name="shm", empty_dir=shm),
            ],
        )
        patience = args.startup_seconds + grace + 600
        return apps.Deployment(
            self.named("deployment"),
            apps.DeploymentInitArgs(
                metadata=self._metadata,
                spec=apps.DeploymentSpecArgs(
                    replicas=args.replicas,
                    selector=self._selector,
                    strategy=apps.DeploymentStrategyArgs(type="RollingUpdate", rolling_update=update),
                    progress_deadline_seconds=patience,
                    template=core.PodTemplateSpecArgs(
                        metadata=k8s.meta.v1.ObjectMetaArgs(labels=self._labels), spec=pod
                    ),
                ),
            ),
            self.child(
                depends_on=[args.ready, *args.nodes_ready],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience * 2}s"),
            ),
        )

    def _server(self, args: TritonServerArgs) -> k8s.core.v1.ContainerArgs:
        core, shape = k8s.core.v1, door.beside(args.shape).resources()
        leave = core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=args.leave_seconds))
        return core.ContainerArgs(
            name="triton",
            image=args.image,
            command=[
                "tritonserver",
                f"--model-repository={args.models.at}",
                f"--exit-timeout-secs={args.drain_seconds}",
                f"--http-address={LOOPBACK}",
                f"--http-port={ENGINE_PORT}",
                "--allow-grpc=false",
                f"--metrics-address={LOOPBACK}",
                f"--metrics-port={TRITON_METRICS_PORT}",
            ],
            termination_message_policy="FallbackToLogsOnError",
            lifecycle=core.LifecycleArgs(pre_stop=leave),
            # A kubelet asks the pod's address, where the door is.
            startup_probe=startup_probe(READY, args.startup_seconds, port=PORT),
            readiness_probe=probe(READY, period=10, failures=3, port=PORT),
            liveness_probe=probe(LIVE, period=30, failures=3, port=PORT),
            resources=core.ResourceRequirementsArgs(limits=shape["limits"], requests=shape["requests"]),
            security_context=confined(),
            volume_mounts=[
                core.VolumeMountArgs(
                    name=args.models.volume, mount_path=args.models.at, sub_path=args.models.path, read_only=True
                ),
                core.VolumeMountArgs(name="shm", mount_path=SHM),
            ],
        )
