"""PostgreSQL on a volume of the cluster: what the tracker and Katib keep, each in a server of its own."""

from dataclasses import dataclass
from functools import partial

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.servers import DATABASE_USER, DUMPS, Database, Dump, ServerArgs, password_of, served

PORT, KEY = 5432, "password"
_DIRECTORY = "/var/lib/postgresql/data"
"""Volume of the image (docker-library/postgres, 17/bookworm/Dockerfile)."""


@dataclass(frozen=True, kw_only=True)
class PostgresArgs(ServerArgs):
    """`user` has the password and the database of the same name. `millicores` and `memory_mib` are what the server asks
    for; its volume stays when it goes if it is `kept`.
    """

    user: str
    millicores: int
    memory_mib: int
    kept: bool


def dump(host: str, user: str) -> Dump:
    """Of the user's own database. A custom archive is one file and compressed; its list stands at its end (PostgreSQL
    documentation, pg_dump).
    """
    file = f"{DUMPS}/{user}.dump"
    script = f"""\
set -eu
pg_dump --host={host} --port={PORT} --username={user} --dbname={user} --format=custom --file={file}
pg_restore --list {file} > /dev/null
"""
    return Dump(file=file, script=script, variable="PGPASSWORD", key=KEY)


def postgres(owner: Component, args: PostgresArgs) -> Database:
    """Register the server as children of `owner`."""
    copied = dump(args.name, args.user)
    return served(owner, "server", args, PORT, copied, partial(_container, args), kept=args.kept)


def _container(args: PostgresArgs, secret: pulumi.Output[str]) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1

    def answers(period_seconds: int, failure_threshold: int) -> k8s.core.v1.ProbeArgs:
        # On TCP: while it makes its files PostgreSQL answers on its socket alone.
        command = ["pg_isready", "--host=127.0.0.1", f"--username={args.user}", f"--dbname={args.user}"]
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
            core.EnvVarArgs(name="POSTGRES_DB", value=args.user),
            password_of("POSTGRES_PASSWORD", secret, KEY),
            core.EnvVarArgs(name="POSTGRES_USER", value=args.user),
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
