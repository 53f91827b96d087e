"""A Triton Inference Server for models that are no language models (Q12).

It serves every model of its repository, is ready when all are (`--strict-readiness` is on by itself), ends when one
cannot be loaded (`--exit-on-error`), and after SIGTERM ends what it has begun. It knows no keys, so it listens on the
pod's loopback, behind a door (components/serving/door.py); gRPC is off. Source: Triton Inference Server 2.73,
docs/user_guide and src/command_line_parser.cc (`--http-address`, `--metrics-address`, `--allow-grpc`); health paths are
those of the KServe protocol v2, metrics are on a port of their own (docs/user_guide/metrics.md).
"""

from dataclasses import dataclass

import pulumi

from components.serving.arguments import ENGINE_PORT, LOOPBACK, TRITON_METRICS_PORT, Directory
from components.serving.server import Program, Server, ServerArgs, mount

LIVE, READY = "/v2/health/live", "/v2/health/ready"
TEARDOWN_SECONDS = 15


@dataclass(frozen=True, kw_only=True)
class TritonServerArgs(ServerArgs):
    """`models` is the directory of a claim, `claim`, with the model repository, which is there after `ready`.
    `drain_seconds` is how long it goes on with what it has begun, after `leave_seconds` in which it serves as before.
    """

    models: Directory
    claim: pulumi.Input[str]
    replicas: int
    drain_seconds: int


class TritonServer(Server):
    """The server inside the cluster. `url` resolves when a replica has all models ready."""

    def __init__(self, name: str, args: TritonServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, args, _triton(args), opts)
        self._publish(self._create_deployment(args.replicas), "v2")


def _triton(args: TritonServerArgs) -> Program:
    return Program(
        name="triton",
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
        mounts=[mount(args.models)],
        claims={args.models.volume: args.claim},
        ready=READY,
        live=LIVE,
        drain_seconds=args.drain_seconds,
        grace_seconds=args.leave_seconds + args.drain_seconds + TEARDOWN_SECONDS,
    )
