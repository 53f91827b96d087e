"""A CronJob that saves the cluster's etcd to the object store, after a look whether the file can be read.

Source: etcd documentation, "Disaster recovery"; kubeadm, app/phases/certs (the client certificate for health checks).
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.copying import Copier, copying_container
from components.platform.jobs import repeated_job, schedule

NAME, NAMESPACE = "etcd-snapshots", "kube-system"
CERTIFICATES = "/etc/kubernetes/pki/etcd"
FILE = "/snapshot/etcd.db"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"

SAVE = [
    "etcdctl",
    "--endpoints=https://127.0.0.1:2379",
    f"--cacert={CERTIFICATES}/ca.crt",
    f"--cert={CERTIFICATES}/healthcheck-client.crt",
    f"--key={CERTIFICATES}/healthcheck-client.key",
    "snapshot",
    "save",
    FILE,
]
"""Of the member on the pod's own machine: a snapshot is one member's, and whole."""

LOOK = ["etcdutl", "snapshot", "status", FILE]
"""Ends with an error where the file's hash is not the one at its end."""


@dataclass(frozen=True, kw_only=True)
class EtcdSnapshotsArgs:
    """Snapshots to `uri` every `every_seconds`, by `image`, which is etcd's own and has its tools. `granted` resolves
    when pods of kube-system may write to the store.
    """

    image: str
    copier: Copier
    granted: pulumi.Input[str]
    uri: str
    every_seconds: int


def copying(copier: Copier, uri: str) -> str:
    """A week of snapshots, each named after its day and its hour, which the next week's takes the place of."""
    stored = copier.store_file(FILE, f'"{uri}/$name.db"')
    return f"set -eu\nname=$(date -u +%u-%H)\n{stored}\n"


class EtcdSnapshots(Component):
    """The schedule. Its pods are on the network of a control plane machine: etcd answers there alone."""

    def __init__(self, name: str, args: EtcdSnapshotsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        snapshot = core.VolumeMountArgs(name="snapshot", mount_path="/snapshot")
        certificates = core.VolumeMountArgs(name="certificates", mount_path=CERTIFICATES, read_only=True)
        pod = core.PodSpecArgs(
            host_network=True,
            # The store is a name of the site's; the cluster's own names may be what has to be restored.
            dns_policy="Default",
            priority_class_name="system-cluster-critical",
            automount_service_account_token=False,
            restart_policy="Never",
            node_selector={CONTROL_PLANE: ""},
            tolerations=[core.TolerationArgs(key=CONTROL_PLANE, operator="Exists", effect="NoSchedule")],
            init_containers=[
                _step("save", args.image, SAVE, [snapshot, certificates]),
                _step("look", args.image, LOOK, [snapshot]),
            ],
            containers=[
                copying_container(
                    args.copier, "copy", ["sh", "-c", copying(args.copier, args.uri)], volume_mounts=[snapshot]
                )
            ],
            volumes=[
                core.VolumeArgs(name="snapshot", empty_dir=core.EmptyDirVolumeSourceArgs()),
                core.VolumeArgs(
                    name="certificates",
                    host_path=core.HostPathVolumeSourceArgs(path=CERTIFICATES, type="Directory"),
                ),
            ],
        )
        job = repeated_job(
            name=NAME,
            # The key of the store is there before the first pod is due.
            namespace=pulumi.Output.from_input(args.granted).apply(lambda _: NAMESPACE),
            schedule=schedule(args.every_seconds),
            pod=core.PodTemplateSpecArgs(spec=pod),
            backoff_limit=2,
            seconds=args.every_seconds,
        )
        k8s.batch.v1.CronJob(self.named("schedule"), job, self.child())
        self.register_outputs({"everySeconds": args.every_seconds})


def _step(
    name: str, image: str, command: list[str], mounts: list[k8s.core.v1.VolumeMountArgs]
) -> k8s.core.v1.ContainerArgs:
    """Root's: the key of the certificate is for root alone."""
    core = k8s.core.v1
    return core.ContainerArgs(
        name=name,
        image=image,
        command=command,
        termination_message_policy="FallbackToLogsOnError",
        resources=core.ResourceRequirementsArgs(requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "1Gi"}),
        security_context=confined(writes=False),
        volume_mounts=mounts,
    )
