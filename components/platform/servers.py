"""What servers of one pod share: the Service by which they are found, and a database with its volume's claim and
its password."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

DATABASE_USER = 999
"""User of the images of MySQL and PostgreSQL (docker-library/mysql, 8.4/Dockerfile.oracle;
docker-library/postgres, 17/bookworm/Dockerfile)."""

DUMPS = "/dump"
"""Where a copy of a database lies before it goes to the object store."""


@dataclass(frozen=True, kw_only=True)
class Dump:
    """How a server is copied: `script`, a shell's, writes `file`, and fails where that is not whole. Its program takes
    the password, `key` of a Secret, from `variable`.
    """

    file: str
    script: str
    variable: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Database:
    """A server of `image` that is registered: `service` comes after it, `secret` names the Secret of its password."""

    image: str
    secret: pulumi.Output[str]
    service: pulumi.Resource
    dump: Dump


def service_of(
    owner: Component,
    role: str,
    name: str,
    namespace: pulumi.Input[str],
    labels: Mapping[str, str],
    port: tuple[str, int],
    behind: pulumi.Resource,
) -> k8s.core.v1.Service:
    """Register the Service `name` of pods with these labels as the child `role` of `owner`, after what is `behind` it.

    `port` is the name and the number of the one port, there and at the pods.
    """
    called, number = port
    return k8s.core.v1.Service(
        owner.named(role),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace, labels=dict(labels)),
        spec=k8s.core.v1.ServiceSpecArgs(
            type="ClusterIP",
            selector=dict(labels),
            ports=[k8s.core.v1.ServicePortArgs(name=called, port=number, target_port=number)],
        ),
        opts=owner.child(depends_on=[behind]),
    )


@dataclass(frozen=True, kw_only=True)
class ServerArgs:
    """The server `name` of `image` with a volume of `gib` of the class `storage_class`. `password` is in the Secret
    `secret`; `port` is the port's name at the Service.
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


def served(
    owner: Component,
    role: str,
    args: ServerArgs,
    number: int,
    dump: Dump,
    container: Callable[[pulumi.Output[str]], k8s.core.v1.ContainerArgs],
    *,
    kept: bool,
) -> Database:
    """Register the server as children of `owner`, its StatefulSet as the child `role`, and a Service with the port
    `number`. The `container` is told the name of the Secret with its password. With `kept` its claim stays when the
    server is taken away.
    """
    core, meta, apps = k8s.core.v1, k8s.meta.v1, k8s.apps.v1
    secret = _password_secret(owner, args, dump.key)
    retention = apps.StatefulSetPersistentVolumeClaimRetentionPolicyArgs(when_deleted="Delete", when_scaled="Retain")
    server = apps.StatefulSet(
        owner.named(role),
        apps.StatefulSetInitArgs(
            metadata=meta.ObjectMetaArgs(name=args.name, namespace=args.namespace, labels=dict(args.labels)),
            spec=apps.StatefulSetSpecArgs(
                replicas=1,
                service_name=args.name,
                selector=meta.LabelSelectorArgs(match_labels=dict(args.labels)),
                persistent_volume_claim_retention_policy=None if kept else retention,
                volume_claim_templates=[_data_claim(args.storage_class, args.gib)],
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=dict(args.labels)),
                    spec=core.PodSpecArgs(
                        automount_service_account_token=False,
                        security_context=core.PodSecurityContextArgs(
                            fs_group=DATABASE_USER, fs_group_change_policy="OnRootMismatch"
                        ),
                        containers=[container(secret)],
                    ),
                ),
            ),
        ),
        owner.child(custom_timeouts=pulumi.CustomTimeouts(create="15m", update="15m")),
    )
    service = service_of(owner, "service", args.name, args.namespace, args.labels, (args.port, number), server)
    return Database(image=args.image, secret=secret, service=service, dump=dump)


def _data_claim(storage_class: pulumi.Input[str], gib: int) -> k8s.core.v1.PersistentVolumeClaimArgs:
    """The template of the claim `data` of a StatefulSet: a volume of `gib` GiB for one node at a time."""
    core = k8s.core.v1
    return core.PersistentVolumeClaimArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(name="data"),
        spec=core.PersistentVolumeClaimSpecArgs(
            access_modes=["ReadWriteOnce"],
            storage_class_name=storage_class,
            resources=core.VolumeResourceRequirementsArgs(requests={"storage": f"{gib}Gi"}),
        ),
    )


def _password_secret(owner: Component, args: ServerArgs, key: str) -> pulumi.Output[str]:
    """The Secret's name, once it exists."""
    secret = k8s.core.v1.Secret(
        owner.named("password"),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=args.secret, namespace=args.namespace),
        string_data={key: args.password},
        opts=owner.child(),
    )
    return secret.metadata.name.apply(str)


def password_of(variable: str, secret: pulumi.Input[str], key: str) -> k8s.core.v1.EnvVarArgs:
    """The password below `key` of a Secret as a variable of a container."""
    core = k8s.core.v1
    reference = core.SecretKeySelectorArgs(name=secret, key=key)
    return core.EnvVarArgs(name=variable, value_from=core.EnvVarSourceArgs(secret_key_ref=reference))
