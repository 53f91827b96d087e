"""A CronJob that copies the tracker's database to the object store, and looks first whether the copy can be read."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.accounts import service_account
from components.platform.confinement import confined
from components.platform.copying import Copier, copying_container
from components.platform.jobs import repeated_job
from components.platform.postgresql import KEY, PORT
from components.platform.servers import DATABASE_USER, password_of
from components.tracking.database import HOST, NAME, USER
from components.training.backup import schedule

ACCOUNT = "mlflow-backup"
DUMP = "/dump/mlflow.dump"

DUMPING = f"""\
set -eu
pg_dump --host={HOST} --port={PORT} --username={USER} --dbname={NAME} --format=custom --file={DUMP}
pg_restore --list {DUMP} > /dev/null
"""
"""A custom archive is one file and compressed; its list stands at its end (PostgreSQL documentation, pg_dump)."""


def copying(copier: Copier) -> str:
    """A week of copies, each named after its day and its hour, which the next week's takes the place of."""
    stored = copier.store_file(DUMP, '"$BACKUP_URI/$name.dump"')
    return f"set -eu\nname=$(date -u +%u-%H)\n{stored}\n"


@dataclass(frozen=True, kw_only=True)
class TrackingBackupArgs:
    """Copies to `uri` every `every_seconds`; `granted` resolves when pods of ACCOUNT may write there."""

    namespace: pulumi.Input[str]
    image: str
    copier: Copier
    granted: pulumi.Input[str]
    password: pulumi.Input[str]
    uri: pulumi.Input[str]
    every_seconds: int
    database: pulumi.Resource


class TrackingBackup(Component):
    """The schedule. One that is not done when the next is due is not doubled."""

    def __init__(self, name: str, args: TrackingBackupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        account = service_account(self, ACCOUNT, args.namespace, args.granted)
        mount = core.VolumeMountArgs(name="dump", mount_path="/dump")
        dump = core.ContainerArgs(
            name="dump",
            image=args.image,
            command=["sh", "-c", DUMPING],
            env=[password_of("PGPASSWORD", args.password, KEY)],
            termination_message_policy="FallbackToLogsOnError",
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "250m", "memory": "256Mi"}, limits={"memory": "1Gi"}
            ),
            security_context=confined(user=DATABASE_USER),
            volume_mounts=[mount],
        )
        copy = copying_container(
            args.copier,
            "copy",
            ["sh", "-c", copying(args.copier)],
            env=[core.EnvVarArgs(name="BACKUP_URI", value=args.uri)],
            volume_mounts=[mount],
        )
        pod = core.PodSpecArgs(
            service_account_name=account,
            restart_policy="Never",
            init_containers=[dump],
            containers=[copy],
            volumes=[core.VolumeArgs(name="dump", empty_dir=core.EmptyDirVolumeSourceArgs())],
        )
        k8s.batch.v1.CronJob(
            self.named("schedule"),
            repeated_job(
                name=ACCOUNT,
                namespace=args.namespace,
                schedule=schedule(args.every_seconds),
                pod=core.PodTemplateSpecArgs(spec=pod),
                backoff_limit=2,
                seconds=args.every_seconds,
            ),
            self.child(depends_on=[args.database]),
        )
        self.register_outputs({"everySeconds": args.every_seconds})
