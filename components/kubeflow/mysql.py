"""MySQL on a volume of the cluster: what Katib and Kubeflow Pipelines keep, each in a server of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.servers import data_claim, service_of

PORT, KEY = 3306, "MYSQL_ROOT_PASSWORD"
_DIRECTORY, _USER = "/var/lib/mysql", 999
"""Directory and user of the image (docker-library/mysql, 8.0/Dockerfile.debian, 8.4/Dockerfile.oracle)."""


@dataclass(frozen=True, kw_only=True)
class MysqlArgs:
    """The server `name` with a volume of `gib` of the class `storage_class`; `password` is that of its root, who is the
    client's user. `port` is the port's name, `made` the database that it makes by itself, `options` are mysqld's.
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
    made: str | None = None
    options: Sequence[str] = ()


def password_of(variable: str, secret: k8s.core.v1.Secret) -> k8s.core.v1.EnvVarArgs:
    """The password as a variable of a container."""
    core = k8s.core.v1
    reference = core.SecretKeySelectorArgs(name=secret.metadata.name.apply(str), key=KEY)
    return core.EnvVarArgs(name=variable, value_from=core.EnvVarSourceArgs(secret_key_ref=reference))


def mysql(owner: Component, args: MysqlArgs) -> tuple[k8s.core.v1.Secret, k8s.core.v1.Service]:
    """Register the server as children of `owner`: the Secret with its password, and its Service, which comes after it.

    Its volume goes with it.
    """
    core, meta = k8s.core.v1, k8s.meta.v1
    secret = core.Secret(
        owner.named("password"),
        core.SecretInitArgs(
            metadata=meta.ObjectMetaArgs(name=args.secret, namespace=args.namespace), string_data={KEY: args.password}
        ),
        owner.child(),
    )
    server = k8s.apps.v1.StatefulSet(
        owner.named("mysql"),
        k8s.apps.v1.StatefulSetInitArgs(
            metadata=meta.ObjectMetaArgs(name=args.name, namespace=args.namespace, labels=dict(args.labels)),
            spec=k8s.apps.v1.StatefulSetSpecArgs(
                replicas=1,
                service_name=args.name,
                selector=meta.LabelSelectorArgs(match_labels=dict(args.labels)),
                persistent_volume_claim_retention_policy=(
                    k8s.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicyArgs(
                        when_deleted="Delete", when_scaled="Retain"
                    )
                ),
                volume_claim_templates=[data_claim(args.storage_class, args.gib)],
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=dict(args.labels)),
                    spec=core.PodSpecArgs(
                        automount_service_account_token=False,
                        security_context=core.PodSecurityContextArgs(
                            fs_group=_USER, fs_group_change_policy="OnRootMismatch"
                        ),
                        containers=[_container(args, secret)],
                    ),
                ),
            ),
        ),
        owner.child(custom_timeouts=pulumi.CustomTimeouts(create="15m", update="15m")),
    )
    return secret, service_of(owner, "service", args.name, args.namespace, args.labels, (args.port, PORT), server)


def _container(args: MysqlArgs, secret: k8s.core.v1.Secret) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1
    # On TCP: while it makes its files MySQL answers on its socket alone. A refused user is an answer, too.
    asked = core.ExecActionArgs(command=["mysqladmin", "ping", "--host=127.0.0.1"])
    ping = core.ProbeArgs(exec_=asked, period_seconds=5, timeout_seconds=5, failure_threshold=10)
    made = [core.EnvVarArgs(name="MYSQL_DATABASE", value=args.made)] if args.made else []
    return core.ContainerArgs(
        name=args.name,
        image=args.image,
        args=["--datadir", f"{_DIRECTORY}/datadir", *args.options],
        env=[password_of(KEY, secret), *made],
        ports=[core.ContainerPortArgs(name=args.port, container_port=PORT)],
        termination_message_policy="FallbackToLogsOnError",
        readiness_probe=ping,
        liveness_probe=ping,
        startup_probe=core.ProbeArgs(exec_=asked, period_seconds=15, timeout_seconds=5, failure_threshold=60),
        resources=core.ResourceRequirementsArgs(requests={"cpu": "250m", "memory": "1Gi"}, limits={"memory": "2Gi"}),
        security_context=confined(user=_USER),
        volume_mounts=[core.VolumeMountArgs(name="data", mount_path=_DIRECTORY)],
    )
