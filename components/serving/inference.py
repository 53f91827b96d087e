"""A vLLM service: a server with an autoscaler where it may scale (Q01-Q06, Y11).

The Deployment has no `replicas` where they belong to an autoscaler (IN06). Where nothing is to change there is none: it
would ask for its metric without end, and warn as long as nobody serves it (LF06). The model is known by the name of the
service, not by its path (IN03). The startup probe waits for the weights to be read (IN04); NCCL's defaults stay (IN02).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.serving.arguments import Directory, Engine, serve_command
from components.serving.autoscaler import Scaling, autoscaled
from components.serving.placement import Placement
from components.serving.server import Program, Server, ServerArgs, mount
from components.serving.zero import Zero, scaled_to_zero

HEALTH = "/health"


@dataclass(frozen=True, kw_only=True)
class InferenceServiceArgs(ServerArgs):
    """`replicas` is their number, or what they scale by: something in the cluster has to serve those metrics.

    The server sees the directories of `engine` of the claims in `claims`, by the names of their volumes, and nothing
    else of these; `ready` are the resources after which they hold the model and its adapters. `compiled` is the
    directory for compiled graphs, which replicas share: the second starts with what the first has made. A server that
    is to stop is killed after `grace_seconds`.
    """

    engine: Engine
    compiled: Directory
    claims: Mapping[str, pulumi.Input[str]]
    replicas: int | Scaling | Zero
    placement: Placement
    grace_seconds: int

    def __post_init__(self) -> None:
        if self.engine.tensor_parallel > self.shape.gpus:
            raise ValueError(
                f"{self.name}: {self.engine.tensor_parallel}-way tensor parallelism on {self.shape.gpus} GPUs a "
                "pod; give the pod that many GPUs"
            )
        if self.grace_seconds <= self.leave_seconds + self.engine.drain_seconds:
            raise ValueError(
                f"{self.name}: killed after {self.grace_seconds} s, but it leaves its endpoints in"
                f" {self.leave_seconds} s and "
                f"ends its streams in {self.engine.drain_seconds} s; give it longer"
            )


class InferenceService(Server):
    """A model behind an OpenAI-compatible API inside the cluster."""

    def __init__(self, name: str, args: InferenceServiceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, args, _vllm(args), opts)
        fixed = args.replicas if isinstance(args.replicas, int) else None
        deployment = self._create_deployment(fixed, args.placement)
        if isinstance(args.replicas, Scaling):
            autoscaled(self, args.replicas, metadata=self._metadata, target=deployment)
        self._publish(deployment, "v1", awaited=not isinstance(args.replicas, Zero))
        if isinstance(args.replicas, Zero):
            scaled_to_zero(
                self,
                args.replicas,
                namespace=args.namespace,
                metadata=self._metadata,
                service=args.name,
                target=deployment,
            )


def _vllm(args: InferenceServiceArgs) -> Program:
    """The program, which reads model and adapters, and writes to the directory of graphs as well."""
    used = dict.fromkeys(each.volume for each in (*args.engine.directories, args.compiled))
    return Program(
        name="vllm",
        command=serve_command(args.engine),
        mounts=[*map(mount, args.engine.directories), mount(args.compiled, read_only=False)],
        claims={name: args.claims[name] for name in used},
        ready=HEALTH,
        live=HEALTH,
        drain_seconds=args.engine.drain_seconds,
        grace_seconds=args.grace_seconds,
        env=[
            # Models are local directories: the hub is asked for nothing, and told of nothing.
            k8s.core.v1.EnvVarArgs(name="HF_HUB_OFFLINE", value="1"),
            k8s.core.v1.EnvVarArgs(name="VLLM_CACHE_ROOT", value=args.compiled.at),
        ],
    )
