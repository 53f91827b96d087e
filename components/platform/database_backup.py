"""A CronJob that copies a database of the cluster to the object store, and looks first whether the copy is whole."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from catalogue.units import SECONDS_PER_HOUR
from components._base import Component
from components.platform.accounts import service_account
from components.platform.confinement import confined
from components.platform.copying import Copier, copying_container
from components.platform.jobs import repeated_job, schedule
from components.platform.servers import DATABASE_USER, DUMPS, Database, password_of

BACKUP_KEY = "gpucluster/backup"
"""Label of the pods that copy a database: their account's name."""
_KNOWN_AS = pulumi.ResourceOptions(aliases=[pulumi.Alias(type_="gpucluster:index:TrackingBackup")])
"""By 0.1.0, which copied the tracker's database alone."""


def copying(copier: Copier, file: str) -> str:
    """A week of copies, each named after its day and its hour, which the next week's takes the place of."""
    stored = copier.store_file(file, f'"$BACKUP_URI/$name.{file.rpartition(".")[2]}"')
    return f"set -eu\nname=$(date -u +%u-%H)\n{stored}\n"


@dataclass(frozen=True, kw_only=True)
class DatabaseBackupArgs:
    """Copies of `database` to `uri` every `every_hours`, by pods of `account`; `granted` resolves when they may write
    there.
    """

    account: str
    namespace: pulumi.Input[str]
    database: Database
    copier: Copier
    granted: pulumi.Input[str]
    uri: pulumi.Input[str]
    every_hours: int


class DatabaseBackup(Component):
    """The schedule. One that is not done when the next is due is not doubled."""

    def __init__(self, name: str, args: DatabaseBackupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, pulumi.ResourceOptions.merge(opts, _KNOWN_AS))
        core, copied = k8s.core.v1, args.database.dump
        account = service_account(self, args.account, args.namespace, args.granted)
        mount = core.VolumeMountArgs(name="dump", mount_path=DUMPS)
        dump = core.ContainerArgs(
            name="dump",
            image=args.database.image,
            command=["sh", "-c", copied.script],
            env=[password_of(copied.variable, args.database.secret, copied.key)],
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
            ["sh", "-c", copying(args.copier, copied.file)],
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
        labels = k8s.meta.v1.ObjectMetaArgs(labels={BACKUP_KEY: args.account})
        every_seconds = args.every_hours * SECONDS_PER_HOUR
        k8s.batch.v1.CronJob(
            self.named("schedule"),
            repeated_job(
                name=args.account,
                namespace=args.namespace,
                schedule=schedule(every_seconds),
                pod=core.PodTemplateSpecArgs(metadata=labels, spec=pod),
                backoff_limit=2,
                seconds=every_seconds,
            ),
            self.child(depends_on=[args.database.service]),
        )
        self.register_outputs({"everyHours": args.every_hours})
