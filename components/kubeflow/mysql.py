"""MySQL on a volume of the cluster: what Kubeflow Pipelines keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.servers import DATABASE_USER, DUMPS, Database, Dump, ServerArgs, password_of, served

PORT, KEY = 3306, "MYSQL_ROOT_PASSWORD"
SERVED, KNOWN = "mlpipeline", "metadb"
"""Databases of Pipelines' API server and of ML Metadata, by the vendor's names (manifests/kustomize/base)."""
_DIRECTORY = "/var/lib/mysql"
"""Of the image (docker-library/mysql, 8.4/Dockerfile.oracle)."""


@dataclass(frozen=True, kw_only=True)
class MysqlArgs(ServerArgs):
    """`password` is that of root, who is the client's user. `options` are mysqld's."""

    options: Sequence[str] = ()


def dump(host: str) -> Dump:
    """As of one moment, without locks; a whole one alone has its last line (MySQL 8.4 reference manual, mysqldump,
    `--single-transaction`, `--dump-date`).
    """
    file = f"{DUMPS}/{host}.sql"
    asked = f"--host={host} --port={PORT} --user=root --single-transaction --routines --result-file={file}"
    script = f"""\
set -eu
mysqldump {asked} --databases {SERVED} {KNOWN}
tail -n 1 {file} | grep -q '^-- Dump completed'
"""
    return Dump(file=file, script=script, variable="MYSQL_PWD", key=KEY)


def mysql(owner: Component, args: MysqlArgs) -> Database:
    """Register the server as children of `owner`. Its volume goes with it."""
    return served(owner, "mysql", args, PORT, dump(args.name), partial(_container, args), kept=False)


def _container(args: MysqlArgs, secret: pulumi.Output[str]) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1
    # On TCP: while it makes its files MySQL answers on its socket alone. A refused user is an answer, too.
    asked = core.ExecActionArgs(command=["mysqladmin", "ping", "--host=127.0.0.1"])
    ping = core.ProbeArgs(exec_=asked, period_seconds=5, timeout_seconds=5, failure_threshold=10)
    return core.ContainerArgs(
        name=args.name,
        image=args.image,
        args=["--datadir", f"{_DIRECTORY}/datadir", *args.options],
        env=[password_of(KEY, secret, KEY)],
        ports=[core.ContainerPortArgs(name=args.port, container_port=PORT)],
        termination_message_policy="FallbackToLogsOnError",
        readiness_probe=ping,
        liveness_probe=ping,
        startup_probe=core.ProbeArgs(exec_=asked, period_seconds=15, timeout_seconds=5, failure_threshold=60),
        resources=core.ResourceRequirementsArgs(requests={"cpu": "250m", "memory": "1Gi"}, limits={"memory": "2Gi"}),
        security_context=confined(user=DATABASE_USER),
        volume_mounts=[core.VolumeMountArgs(name="data", mount_path=_DIRECTORY)],
    )
