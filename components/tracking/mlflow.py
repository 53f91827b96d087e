"""MLflow as objects of our own: a server that keeps runs in its database and files in the platform's object store.

It asks nobody who they are, so network rules say who reaches it; people do through a gateway that asks them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.platform.confinement import confined
from components.platform.copying import ClientValue
from components.platform.postgresql import KEY
from components.platform.postgresql import PORT as DATABASE_PORT
from components.platform.servers import password_of, service_of
from components.tracking.database import HOST, NAME, ROLE_KEY, USER

SERVER = {ROLE_KEY: "server"}
SERVICE, PORT, NAMESPACE = "mlflow", 5000, "tracking"
ADDRESS = f"http://{SERVICE}.{NAMESPACE}.svc:{PORT}"
"""What runs are told (MLFLOW_TRACKING_URI)."""
BACKEND = f"postgresql+psycopg2://{USER}@{HOST}:{DATABASE_PORT}/{NAME}"
"""Without a password: libpq reads it from PGPASSWORD (PostgreSQL documentation, libpq, Environment Variables). The
driver is named, as SQLAlchemy 2.1 takes another by itself than 2.0, and MLflow's `db` extra always had this one."""
HOSTS = (f"{SERVICE}.{NAMESPACE}.svc:{PORT}", f"localhost:{PORT}", f"127.0.0.1:{PORT}")
"""Host headers that MLflow 3.5 and later answer to, with and without a person's port-forward; /health is not asked."""
_USER, _WORKERS = 1001, 2


@dataclass(frozen=True, kw_only=True)
class MlflowArgs:
    """`artifacts` is an address of the object store, `client` the variables that its client needs there, `granted`
    resolves when pods of the account `mlflow` may write there. `password` is the Secret with the database's, which
    exists when `database` does. `pages` are the hostnames where people find it, who come through a gateway.
    """

    namespace: pulumi.Input[str]
    image: str
    artifacts: pulumi.Input[str]
    client: Mapping[str, ClientValue]
    granted: pulumi.Input[str]
    password: pulumi.Input[str]
    database: pulumi.Resource
    millicores: int
    memory_mib: int
    pages: Sequence[str] = ()


class Mlflow(Component):
    """The server and its Service. `ready` is the resource after which runs are taken."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: MlflowArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core, meta = k8s.core.v1, k8s.meta.v1
        account = service_account(self, SERVICE, args.namespace, args.granted)
        environment = _environment(args)
        security = confined(user=_USER, writes=False)
        scratch = core.VolumeMountArgs(name="tmp", mount_path="/tmp")  # noqa: S108 - a volume of the pod's own
        upgrade = core.ContainerArgs(
            name="upgrade",
            image=args.image,
            # The server refuses tables of another version; this makes those of an empty database too.
            command=["mlflow", "db", "upgrade", BACKEND],
            env=environment,
            termination_message_policy="FallbackToLogsOnError",
            resources=_resources(args),
            security_context=security,
            volume_mounts=[scratch],
        )
        server = core.ContainerArgs(
            name="mlflow",
            image=args.image,
            command=["mlflow"],
            args=[
                "server",
                "--host=0.0.0.0",
                f"--port={PORT}",
                f"--workers={_WORKERS}",
                f"--backend-store-uri={BACKEND}",
                pulumi.Output.concat("--artifacts-destination=", args.artifacts),
                "--serve-artifacts",
                f"--allowed-hosts={','.join([*HOSTS, *args.pages])}",
                *_own_origins(args.pages),
            ],
            env=environment,
            ports=[core.ContainerPortArgs(name="http", container_port=PORT)],
            termination_message_policy="FallbackToLogsOnError",
            startup_probe=_healthy(period_seconds=10, failure_threshold=60),
            readiness_probe=_healthy(period_seconds=10, failure_threshold=3),
            liveness_probe=_healthy(period_seconds=30, failure_threshold=5),
            resources=_resources(args),
            security_context=security,
            volume_mounts=[scratch],
        )
        deployment = k8s.apps.v1.Deployment(
            self.named("server"),
            metadata=meta.ObjectMetaArgs(name=SERVICE, namespace=args.namespace, labels=SERVER),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=1,
                # Two versions must not look at one database while its tables change.
                strategy=k8s.apps.v1.DeploymentStrategyArgs(type="Recreate"),
                selector=meta.LabelSelectorArgs(match_labels=SERVER),
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=SERVER),
                    spec=core.PodSpecArgs(
                        service_account_name=account,
                        automount_service_account_token=False,
                        init_containers=[upgrade],
                        containers=[server],
                        volumes=[core.VolumeArgs(name="tmp", empty_dir=core.EmptyDirVolumeSourceArgs())],
                    ),
                ),
            ),
            opts=self.child(
                depends_on=[args.database], custom_timeouts=pulumi.CustomTimeouts(create="15m", update="15m")
            ),
        )
        self.ready = service_of(self, "service", SERVICE, args.namespace, SERVER, ("http", PORT), deployment)
        self.register_outputs({"address": ADDRESS})


def _own_origins(pages: Sequence[str]) -> list[str]:
    """A browser says where a page is from whenever it changes something, and MLflow lets no other origin do so
    (mlflow/server/security_utils.py, should_block_cors_request).
    """
    return [f"--cors-allowed-origins={','.join(f'https://{page}' for page in pages)}"] if pages else []


def _environment(args: MlflowArgs) -> list[k8s.core.v1.EnvVarArgs]:
    """What the store's client needs, and the database's password. It tells its vendor nothing."""
    core = k8s.core.v1
    found = [
        core.EnvVarArgs(name=name, value_from=value)
        if isinstance(value, core.EnvVarSourceArgs)
        else core.EnvVarArgs(name=name, value=value)
        for name, value in sorted(args.client.items())
    ]
    own = {
        "HOME": "/tmp",  # noqa: S108 - a volume of the pod's own
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # Jobs are of its features for applications of LLMs, and take processes of their own.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return [
        *found,
        *(core.EnvVarArgs(name=name, value=value) for name, value in own.items()),
        password_of("PGPASSWORD", args.password, KEY),
    ]


def _resources(args: MlflowArgs) -> k8s.core.v1.ResourceRequirementsArgs:
    return k8s.core.v1.ResourceRequirementsArgs(
        requests={"cpu": f"{args.millicores}m", "memory": f"{args.memory_mib}Mi"},
        limits={"memory": f"{2 * args.memory_mib}Mi"},
    )


def _healthy(period_seconds: int, failure_threshold: int) -> k8s.core.v1.ProbeArgs:
    core = k8s.core.v1
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path="/health", port="http"),
        timeout_seconds=5,
        period_seconds=period_seconds,
        failure_threshold=failure_threshold,
    )
