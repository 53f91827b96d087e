"""What servers of one pod share: the Service by which they are found, and the claim of their volume."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


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
        k8s.core.v1.ServiceInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace, labels=dict(labels)),
            spec=k8s.core.v1.ServiceSpecArgs(
                type="ClusterIP",
                selector=dict(labels),
                ports=[k8s.core.v1.ServicePortArgs(name=called, port=number, target_port=number)],
            ),
        ),
        owner.child(depends_on=[behind]),
    )


def data_claim(storage_class: pulumi.Input[str], gib: int) -> k8s.core.v1.PersistentVolumeClaimArgs:
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
