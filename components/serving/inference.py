"""A vLLM service: Deployment under an autoscaler, Service, budget for disruptions, monitor (Q01-Q06, Y11).

The Deployment has no `replicas`, which belongs to the autoscaler (IN06). The model is known by the service's name, not
by its path (IN03). The startup probe waits for the weights to be read (IN04); the NCCL defaults stay (IN02).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.pods import SHM, PodShape, toleration_args
from components.platform.taints import GPU_PRODUCT_KEY, POOL_KEY, Taint
from components.serving.tokens import SecretKey
from components.serving.weights import MODELS, SUB_PATH

PORT = 8000
HEALTH = "/health"
STARTUP_PERIOD_SECONDS = 10
WAITING = "vllm_num_requests_waiting"
"""Name of vLLM's `vllm:num_requests_waiting` in the custom metrics API, which has no colon."""


@dataclass(frozen=True, kw_only=True)
class InferenceServiceArgs:
    """`startup_seconds` is how long reading the weights may take. `waiting_per_replica` is the autoscaler's target.

    `spare_replica` says that the pool has GPUs for one pod more than `max_replicas`; without it an update stops one
    pod before it starts the next. `quantization` and `kv_cache_dtype` are vLLM's words for what it makes of the
    weights as it loads them, and of the cache; None leaves both to the weights' own configuration. `weights` is the
    resource after which the weights are there, below `model_path`; `nodes_ready` is the pool's node group, and what
    shows that GPUs work.
    """

    service: str
    namespace: pulumi.Input[str]
    image: str
    shape: PodShape
    pool: str
    gpu_product: str
    taints: Sequence[Taint]
    priority: pulumi.Input[str]
    claim: pulumi.Input[str]
    weights: pulumi.Resource
    model_path: str
    nodes_ready: Sequence[pulumi.Resource]
    tensor_parallel: int
    max_model_len: int
    gpu_memory_utilization: float
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    min_replicas: int
    max_replicas: int
    waiting_per_replica: int
    startup_seconds: int
    spare_replica: bool
    api_key: SecretKey
    hub_token: SecretKey
    monitors: pulumi.Resource

    def __post_init__(self) -> None:
        if self.tensor_parallel > self.shape.gpus:
            raise ValueError(
                f"{self.service}: {self.tensor_parallel}-way tensor parallelism on {self.shape.gpus} GPUs a pod; "
                "give the pod that many GPUs"
            )


def serve_command(args: InferenceServiceArgs) -> list[str]:
    """Command line of the server (Q02), independent of the image's entry point."""
    return [
        "vllm",
        "serve",
        args.model_path,
        f"--served-model-name={args.service}",
        f"--tensor-parallel-size={args.tensor_parallel}",
        f"--max-model-len={args.max_model_len}",
        f"--gpu-memory-utilization={args.gpu_memory_utilization}",
        *([f"--quantization={args.quantization}"] if args.quantization else []),
        *([f"--kv-cache-dtype={args.kv_cache_dtype}"] if args.kv_cache_dtype else []),
        f"--port={PORT}",
    ]


def probe(*, period: int, failures: int) -> k8s.core.v1.ProbeArgs:
    """A probe of the server's health path; it answers without a key."""
    return k8s.core.v1.ProbeArgs(
        http_get=k8s.core.v1.HTTPGetActionArgs(path=HEALTH, port="http"),
        period_seconds=period,
        failure_threshold=failures,
        timeout_seconds=5,
    )


class InferenceService(Component):
    """A model behind an OpenAI-compatible API inside the cluster. `url` resolves when a replica answers."""

    url: pulumi.Output[str]

    def __init__(self, name: str, args: InferenceServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": args.service}
        self._metadata = k8s.meta.v1.ObjectMetaArgs(name=args.service, namespace=args.namespace, labels=self._labels)
        self._selector = k8s.meta.v1.LabelSelectorArgs(match_labels=self._labels)
        deployment = self._create_deployment(args)
        self._create_autoscaler(args, deployment)
        self._create_disruption_budget()
        service = self._create_service(deployment)
        self._create_monitor(args)
        self.url = pulumi.Output.format(
            "http://{0}.{1}.svc:{2}/v1", service.metadata.name, service.metadata.namespace, PORT
        )
        self.register_outputs({"url": self.url})

    def _create_deployment(self, args: InferenceServiceArgs) -> k8s.apps.v1.Deployment:
        apps, core = k8s.apps.v1, k8s.core.v1
        update = apps.RollingUpdateDeploymentArgs(
            max_surge=1 if args.spare_replica else 0, max_unavailable=0 if args.spare_replica else 1
        )
        claim = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
        shm = core.EmptyDirVolumeSourceArgs(medium="Memory", size_limit=f"{args.shape.shm_mib}Mi")
        pod = core.PodSpecArgs(
            priority_class_name=args.priority,
            node_selector={POOL_KEY: args.pool, GPU_PRODUCT_KEY: args.gpu_product},
            tolerations=toleration_args(args.taints),
            automount_service_account_token=False,
            termination_grace_period_seconds=60,
            containers=[self._server(args)],
            volumes=[
                core.VolumeArgs(name="models", persistent_volume_claim=claim),
                core.VolumeArgs(name="shm", empty_dir=shm),
            ],
        )
        patience = args.startup_seconds + 600
        return apps.Deployment(
            self.named("deployment"),
            apps.DeploymentInitArgs(
                metadata=self._metadata,
                spec=apps.DeploymentSpecArgs(
                    selector=self._selector,
                    strategy=apps.DeploymentStrategyArgs(type="RollingUpdate", rolling_update=update),
                    progress_deadline_seconds=patience,
                    template=core.PodTemplateSpecArgs(
                        metadata=k8s.meta.v1.ObjectMetaArgs(labels=self._labels), spec=pod
                    ),
                ),
            ),
            self.child(
                depends_on=[args.weights, *args.nodes_ready],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{patience}s", update=f"{patience * 2}s"),
            ),
        )

    def _server(self, args: InferenceServiceArgs) -> k8s.core.v1.ContainerArgs:
        core = k8s.core.v1
        shape = args.shape.resources()
        return core.ContainerArgs(
            name="vllm",
            image=args.image,
            command=serve_command(args),
            # A server that dies says why in its pod's status, where `pulumi up` reads it.
            termination_message_policy="FallbackToLogsOnError",
            env=[_from_secret("HF_TOKEN", args.hub_token), _from_secret("VLLM_API_KEY", args.api_key)],
            ports=[core.ContainerPortArgs(name="http", container_port=PORT)],
            startup_probe=probe(
                period=STARTUP_PERIOD_SECONDS, failures=math.ceil(args.startup_seconds / STARTUP_PERIOD_SECONDS)
            ),
            readiness_probe=probe(period=10, failures=3),
            liveness_probe=probe(period=30, failures=3),
            resources=core.ResourceRequirementsArgs(limits=shape["limits"], requests=shape["requests"]),
            security_context=core.SecurityContextArgs(allow_privilege_escalation=False),
            volume_mounts=[
                core.VolumeMountArgs(name="models", mount_path=MODELS, sub_path=SUB_PATH, read_only=True),
                core.VolumeMountArgs(name="shm", mount_path=SHM),
            ],
        )

    def _create_autoscaler(self, args: InferenceServiceArgs, deployment: k8s.apps.v1.Deployment) -> None:
        scale = k8s.autoscaling.v2
        waiting = scale.PodsMetricSourceArgs(
            metric=scale.MetricIdentifierArgs(name=WAITING),
            target=scale.MetricTargetArgs(type="AverageValue", average_value=str(args.waiting_per_replica)),
        )
        scale.HorizontalPodAutoscaler(
            self.named("autoscaler"),
            scale.HorizontalPodAutoscalerInitArgs(
                metadata=self._metadata,
                spec=scale.HorizontalPodAutoscalerSpecArgs(
                    scale_target_ref=scale.CrossVersionObjectReferenceArgs(
                        api_version="apps/v1", kind="Deployment", name=deployment.metadata.name.apply(str)
                    ),
                    min_replicas=args.min_replicas,
                    max_replicas=args.max_replicas,
                    metrics=[scale.MetricSpecArgs(type="Pods", pods=waiting)],
                    # A replica takes minutes to load, so it is added on a short look and given up on a long one.
                    behavior=scale.HorizontalPodAutoscalerBehaviorArgs(
                        scale_up=_rules(window=30, period=60), scale_down=_rules(window=300, period=120)
                    ),
                ),
            ),
            self.child(),
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

    def _create_service(self, deployment: k8s.apps.v1.Deployment) -> k8s.core.v1.Service:
        """The Service waits for endpoints; before its Deployment it would hold a slot of the engine and starve it."""
        return k8s.core.v1.Service(
            self.named("service"),
            k8s.core.v1.ServiceInitArgs(
                metadata=self._metadata,
                spec=k8s.core.v1.ServiceSpecArgs(
                    type="ClusterIP",
                    selector=self._labels,
                    ports=[k8s.core.v1.ServicePortArgs(name="http", port=PORT, target_port="http")],
                ),
            ),
            self.child(depends_on=[deployment]),
        )

    def _create_monitor(self, args: InferenceServiceArgs) -> None:
        k8s.apiextensions.CustomResource(
            self.named("monitor"),
            api_version="monitoring.coreos.com/v1",
            kind="ServiceMonitor",
            metadata=self._metadata,
            spec={
                "selector": {"matchLabels": self._labels},
                "endpoints": [{"port": "http", "path": "/metrics", "interval": "15s"}],
            },
            opts=self.child(depends_on=[args.monitors]),
        )


def _from_secret(name: str, secret: SecretKey) -> k8s.core.v1.EnvVarArgs:
    source = k8s.core.v1.SecretKeySelectorArgs(name=secret.name, key=secret.key)
    return k8s.core.v1.EnvVarArgs(name=name, value_from=k8s.core.v1.EnvVarSourceArgs(secret_key_ref=source))


def _rules(*, window: int, period: int) -> k8s.autoscaling.v2.HPAScalingRulesArgs:
    one = k8s.autoscaling.v2.HPAScalingPolicyArgs(type="Pods", value=1, period_seconds=period)
    return k8s.autoscaling.v2.HPAScalingRulesArgs(stabilization_window_seconds=window, policies=[one])
