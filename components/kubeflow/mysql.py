"""MySQL on a volume of the cluster: what Kubeflow Pipelines keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.servers import (
    DATABASE_USER,
    DUMPS,
    Database,
    Dump,
    data_claim,
    database,
    password_of,
    password_secret,
    service_of,
)

PORT, KEY = 3306, "MYSQL_ROOT_PASSWORD"
_DIRECTORY = "/var/lib/mysql"
"""Of the image (docker-library/mysql, 8.4/Dockerfile.oracle)."""


@dataclass(frozen=True, kw_only=True)
class MysqlArgs:
    """The server `name` with a volume of `gib` of the class `storage_class`; `password` is that of its root, who is the
    client's user. `port` is the port's name, `options` are mysqld's, `databases` what is copied.
    """

    name: str
    namespace: pulumi.Input[str]
    labels: Mapping[str, str]
    port: str
    secret: str
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    image: str
    databases: Sequence[str]
    options: Sequence[str] = ()


def dump(host: str, databases: Sequence[str]) -> Dump:
    """As of one moment, without locks; a whole one alone has its last line (MySQL 8.4 reference manual, mysqldump,
    `--single-transaction`, `--dump-date`).
    """
    file = f"{DUMPS}/{host}.sql"
    asked = f"--host={host} --port={PORT} --user=root --single-transaction --routines --result-file={file}"
    script = f"""\
set -eu
mysqldump {asked} --databases {" ".join(databases)}
tail -n 1 {file} | grep -q '^-- Dump completed'
"""
    return Dump(file=file, script=script, variable="MYSQL_PWD", key=KEY)


def mysql(owner: Component, args: MysqlArgs) -> Database:
    """Register the server as children of `owner`. Its volume goes with it."""
    secret = password_secret(owner, args.secret, args.namespace, KEY, args.password)
    volume = data_claim(args.storage_class, args.gib)
    server = database(
        owner, "mysql", args.name, args.namespace, args.labels, _container(args, secret), volume, kept=False
    )
    service = service_of(owner, "service", args.name, args.namespace, args.labels, (args.port, PORT), server)
    return Database(image=args.image, secret=secret, service=service, dump=dump(args.name, args.databases))


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
