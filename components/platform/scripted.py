"""One small program of ours that runs all the time: a script of files, in a vendor's image as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import NOBODY, confined

SECRETS = "/var/run/secrets/gpucluster"
IDENTITY = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where a pod finds its account's token and whom to believe."""


CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
"""Label and taint of machines of the control plane (Kubernetes, Well-Known Labels, Annotations and Taints)."""

METRICS = "metrics"


@dataclass(frozen=True, kw_only=True)
class Script:
    """`files` by name below `directory` of a container of `image`, which runs `command`. It is found by `labels`.

    A pod that is to end gets `grace_seconds`, Kubernetes' default where they are None; Pulumi waits for `patience`.
    It is told `secret`, files below SECRETS, and answers at `port`, called METRICS. With `on_control_plane` it is in
    the network of a machine of the control plane, which reaches what pods do not.
    """

    image: str
    directory: str
    files: Mapping[str, str]
    command: Sequence[pulumi.Input[str]]
    labels: Mapping[str, str]
    memory: str
    grace_seconds: int | None = None
    patience: str | None = None
    secret: pulumi.Input[str] | None = None
    port: int | None = None
    on_control_plane: bool = False


def scripted(
    owner: Component,
    name: str,
    namespace: pulumi.Input[str],
    account: pulumi.Input[str],
    script: Script,
    after: Sequence[pulumi.Resource] = (),
) -> k8s.apps.v1.Deployment:
    """Register the ConfigMap and the Deployment `name` of one pod as children of `owner`, which runs as `account`, and
    a Service of its labels where it answers at a port.

    There is never a second one beside it, not even for a moment.
    """
    core, meta = k8s.core.v1, k8s.meta.v1.ObjectMetaArgs
    files = core.ConfigMap(
        owner.named("script"),
        core.ConfigMapInitArgs(metadata=meta(name=name, namespace=namespace), data=dict(script.files)),
        owner.child(),
    )
    amounts = {"cpu": "100m", "memory": script.memory}
    container = core.ContainerArgs(
        name=name,
        image=script.image,
        command=list(script.command),
        env=[core.EnvVarArgs(name="PYTHONDONTWRITEBYTECODE", value="1")],
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(limits=amounts, requests=amounts),
        security_context=confined(user=NOBODY, writes=False),
        ports=[core.ContainerPortArgs(name=METRICS, container_port=script.port)] if script.port else None,
        volume_mounts=[
            core.VolumeMountArgs(name=name, mount_path=path, read_only=True)
            for name, path in (("script", script.directory), *((("secret", SECRETS),) if script.secret else ()))
        ],
    )
    volumes = [
        core.VolumeArgs(name="script", config_map=core.ConfigMapVolumeSourceArgs(name=files.metadata.name.apply(str)))
    ]
    if script.secret:
        volumes.append(core.VolumeArgs(name="secret", secret=core.SecretVolumeSourceArgs(secret_name=script.secret)))
    if script.port:
        core.Service(
            owner.named("service"),
            core.ServiceInitArgs(
                metadata=meta(name=name, namespace=namespace, labels=script.labels),
                spec=core.ServiceSpecArgs(
                    cluster_ip="None",
                    selector=script.labels,
                    ports=[core.ServicePortArgs(name=METRICS, port=script.port, target_port=METRICS)],
                ),
            ),
            owner.child(),
        )
    placed = script.on_control_plane
    pod = core.PodSpecArgs(
        service_account_name=account,
        termination_grace_period_seconds=script.grace_seconds,
        host_network=True if placed else None,
        node_selector={CONTROL_PLANE: ""} if placed else None,
        tolerations=[core.TolerationArgs(key=CONTROL_PLANE, operator="Exists")] if placed else None,
        containers=[container],
        volumes=volumes,
    )
    return k8s.apps.v1.Deployment(
        owner.named("deployment"),
        metadata=meta(name=name, namespace=namespace),
        spec=k8s.apps.v1.DeploymentSpecArgs(
            replicas=1,
            strategy=k8s.apps.v1.DeploymentStrategyArgs(type="Recreate"),
            selector=k8s.meta.v1.LabelSelectorArgs(match_labels=dict(script.labels)),
            template=core.PodTemplateSpecArgs(metadata=meta(labels=dict(script.labels)), spec=pod),
        ),
        opts=owner.child(
            depends_on=list(after),
            custom_timeouts=pulumi.CustomTimeouts(delete=script.patience) if script.patience else None,
        ),
    )
