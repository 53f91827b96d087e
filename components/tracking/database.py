"""PostgreSQL on a volume of the cluster, for the tracker alone: what runs were made of, and every value they told."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.servers import DATABASE_USER, data_claim, database, service_of

ROLE_KEY = "gpucluster/tracking"
DATABASE = {ROLE_KEY: "database"}
HOST, PORT = "mlflow-database", 5432
USER, NAME = "mlflow", "mlflow"
SECRET, KEY = "mlflow-database", "password"
_DIRECTORY = "/var/lib/postgresql/data"
"""Volume of the image (docker-library/postgres, 17/bookworm/Dockerfile)."""


@dataclass(frozen=True, kw_only=True)
class TrackingDatabaseArgs:
    """A volume of `gib` of the class `storage_class`; `millicores` and `memory_mib` are what it asks for."""

    namespace: pulumi.Input[str]
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    image: str
    millicores: int
    memory_mib: int


def password_of(variable: str, secret: pulumi.Input[str]) -> k8s.core.v1.EnvVarArgs:
    """The database's password as a variable of a container."""
    core = k8s.core.v1
    return core.EnvVarArgs(
        name=variable,
        value_from=core.EnvVarSourceArgs(secret_key_ref=core.SecretKeySelectorArgs(name=secret, key=KEY)),
    )


class TrackingDatabase(Component):
    """The server. `secret` is the name of the Secret with its password, `ready` what exists when it answers.

    Its volume stays when the server is taken away, and goes with its namespace.
    """

    secret: pulumi.Output[str]
    ready: pulumi.Resource

    def __init__(self, name: str, args: TrackingDatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core, meta = k8s.core.v1, k8s.meta.v1
        kept = core.Secret(
            self.named("password"),
            core.SecretInitArgs(
                metadata=meta.ObjectMetaArgs(name=SECRET, namespace=args.namespace), string_data={KEY: args.password}
            ),
            self.child(),
        )
        self.secret = kept.metadata.name.apply(str)
        volume = data_claim(args.storage_class, args.gib)
        server = database(
            self, "server", HOST, args.namespace, DATABASE, _container(args, self.secret), volume, kept=True
        )
        self.ready = service_of(self, "service", HOST, args.namespace, DATABASE, ("postgres", PORT), server)
        self.register_outputs({"secret": self.secret})


def _container(args: TrackingDatabaseArgs, secret: pulumi.Output[str]) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1

    def answers(period_seconds: int, failure_threshold: int) -> k8s.core.v1.ProbeArgs:
        # On TCP: while it makes its files PostgreSQL answers on its socket alone.
        command = ["pg_isready", "--host=127.0.0.1", f"--username={USER}", f"--dbname={NAME}"]
        return core.ProbeArgs(
            exec_=core.ExecActionArgs(command=command),
            timeout_seconds=5,
            period_seconds=period_seconds,
            failure_threshold=failure_threshold,
        )

    return core.ContainerArgs(
        name="postgres",
        image=args.image,
        env=[
            # The image makes its files in an empty directory alone, and a new volume has lost+found.
            core.EnvVarArgs(name="PGDATA", value=f"{_DIRECTORY}/pgdata"),
            core.EnvVarArgs(name="POSTGRES_DB", value=NAME),
            password_of("POSTGRES_PASSWORD", secret),
            core.EnvVarArgs(name="POSTGRES_USER", value=USER),
        ],
        ports=[core.ContainerPortArgs(name="postgres", container_port=PORT)],
        termination_message_policy="FallbackToLogsOnError",
        startup_probe=answers(period_seconds=10, failure_threshold=60),
        readiness_probe=answers(period_seconds=5, failure_threshold=3),
        liveness_probe=answers(period_seconds=10, failure_threshold=6),
        resources=core.ResourceRequirementsArgs(
            requests={"cpu": f"{args.millicores}m", "memory": f"{args.memory_mib}Mi"},
            limits={"memory": f"{2 * args.memory_mib}Mi"},
        ),
        security_context=confined(user=DATABASE_USER),
        volume_mounts=[core.VolumeMountArgs(name="data", mount_path=_DIRECTORY)],
    )
