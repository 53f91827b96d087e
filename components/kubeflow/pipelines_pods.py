"""What the programs of Kubeflow Pipelines share: a Deployment of one pod, and the Service before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.copying import ClientValue

USER = 1000
"""Whom the vendor's manifests name (manifests/kustomize/base/pipeline)."""

TOKENS = "/var/run/secrets/kubeflow/tokens"
"""Where programs that ask the API server look for a token of theirs (backend/src/common/util/tokenrefresher.go)."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program `name` in a pod with these `labels`, as `account`; without one it has no token of the API server's.

    `path` is asked over HTTP at the first of the `ports` whether it is well; without one it is not asked. `reads` are
    ConfigMaps by the directory where they lie, with a hash of their text, `token` the name of the file below TOKENS.
    Unless it `writes`, its own files are read-only.
    """

    name: str
    container: str
    image: str
    labels: Mapping[str, str]
    millicores: int
    memory_mib: int
    account: pulumi.Input[str] | None = None
    command: Sequence[str] = ()
    args: Sequence[pulumi.Input[str]] = ()
    env: Sequence[k8s.core.v1.EnvVarArgs] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    probes: Mapping[str, k8s.core.v1.ProbeArgs] = field(default_factory=dict)
    reads: Mapping[str, tuple[k8s.core.v1.ConfigMap, str]] = field(default_factory=dict)
    token: str | None = None
    priority: str | None = None
    writes: bool = True


def variables(values: Mapping[str, ClientValue]) -> list[k8s.core.v1.EnvVarArgs]:
    """Variables of a container, plain or out of something."""
    core = k8s.core.v1
    return [
        core.EnvVarArgs(name=name, value_from=value)
        if isinstance(value, core.EnvVarSourceArgs)
        else core.EnvVarArgs(name=name, value=value)
        for name, value in values.items()
    ]


def own_namespace() -> k8s.core.v1.EnvVarSourceArgs:
    """The pod's namespace as a variable."""
    core = k8s.core.v1
    return core.EnvVarSourceArgs(field_ref=core.ObjectFieldSelectorArgs(field_path="metadata.namespace"))


def asked(path: str, port: int, *, period: int = 5, failures: int = 3) -> k8s.core.v1.ProbeArgs:
    """A question over HTTP."""
    core = k8s.core.v1
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path=path, port=port),
        period_seconds=period,
        timeout_seconds=2,
        failure_threshold=failures,
    )


def running(
    owner: Component, role: str, program: Program, namespace: pulumi.Input[str], after: Sequence[pulumi.Resource]
) -> k8s.apps.v1.Deployment:
    """Register the program as the child `role` of `owner`. It is replaced, not doubled: each of them is alone."""
    core, meta = k8s.core.v1, k8s.meta.v1
    hashes = {f"gpucluster/{made}": digest for made, (_, digest) in _named(program).items()}
    volumes = [
        core.VolumeArgs(name=made, config_map=core.ConfigMapVolumeSourceArgs(name=each.metadata.name.apply(str)))
        for made, (each, _) in _named(program).items()
    ]
    mounts = [core.VolumeMountArgs(name=_name(path), mount_path=path, read_only=True) for path in program.reads]
    if program.token:
        source = core.ServiceAccountTokenProjectionArgs(
            path=program.token, expiration_seconds=3600, audience="pipelines.kubeflow.org"
        )
        projected = core.ProjectedVolumeSourceArgs(sources=[core.VolumeProjectionArgs(service_account_token=source)])
        volumes.append(core.VolumeArgs(name="token", projected=projected))
        mounts.append(core.VolumeMountArgs(name="token", mount_path=TOKENS, read_only=True))
    container = core.ContainerArgs(
        name=program.container,
        image=program.image,
        command=list(program.command) or None,
        args=list(program.args) or None,
        env=list(program.env) or None,
        ports=[core.ContainerPortArgs(name=name, container_port=port) for name, port in program.ports.items()] or None,
        liveness_probe=program.probes.get("liveness"),
        readiness_probe=program.probes.get("readiness"),
        startup_probe=program.probes.get("startup"),
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(
            requests={"cpu": f"{program.millicores}m", "memory": f"{program.memory_mib}Mi"},
            limits={"memory": f"{2 * program.memory_mib}Mi"},
        ),
        security_context=confined(user=USER, writes=program.writes),
        volume_mounts=mounts or None,
    )
    return k8s.apps.v1.Deployment(
        owner.named(role),
        k8s.apps.v1.DeploymentInitArgs(
            metadata=meta.ObjectMetaArgs(name=program.name, namespace=namespace, labels=dict(program.labels)),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=1,
                strategy=k8s.apps.v1.DeploymentStrategyArgs(type="Recreate"),
                selector=meta.LabelSelectorArgs(match_labels=dict(program.labels)),
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=dict(program.labels), annotations=hashes or None),
                    spec=core.PodSpecArgs(
                        service_account_name=program.account,
                        automount_service_account_token=None if program.account is not None else False,
                        priority_class_name=program.priority,
                        containers=[container],
                        volumes=volumes or None,
                    ),
                ),
            ),
        ),
        owner.child(depends_on=list(after), custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m")),
    )


def found(
    owner: Component,
    role: str,
    name: str,
    namespace: pulumi.Input[str],
    program: Program,
    behind: pulumi.Resource,
    ports: Mapping[int, str] | None = None,
) -> k8s.core.v1.Service:
    """Register the Service `name` of the program; `ports` are those of its container by their own number, None where
    they are the same."""
    core = k8s.core.v1
    told = ports or {number: name for name, number in program.ports.items()}
    return core.Service(
        owner.named(role),
        core.ServiceInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace, labels=dict(program.labels)),
            spec=core.ServiceSpecArgs(
                type="ClusterIP",
                selector=dict(program.labels),
                ports=[
                    core.ServicePortArgs(name=called, port=number, target_port=program.ports[called])
                    for number, called in told.items()
                ],
            ),
        ),
        owner.child(depends_on=[behind]),
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _named(program: Program) -> dict[str, tuple[k8s.core.v1.ConfigMap, str]]:
    return {_name(path): known for path, known in program.reads.items()}
