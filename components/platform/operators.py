"""What an operator of one kind of jobs is made of: the definition of that kind, and a Deployment of one pod."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.crds import Crds, CrdsArgs
from components.platform.kubectl import Fetched


def definition(
    owner: Component,
    crd: str,
    file: Fetched,
    namespace: pulumi.Input[str],
    kubectl_image: str,
    scheduler: pulumi.Resource,
) -> pulumi.Resource:
    """Register the definition `crd` of a file as a child of `owner`, after what admits gangs; what shows it served."""
    args = CrdsArgs(files=[file], crds=[crd], namespace=namespace, image=kubectl_image, after=scheduler)
    return Crds(owner.named("crds"), args, owner.child()).established


def operator_deployment(
    owner: Component,
    name: str,
    namespace: pulumi.Input[str],
    labels: Mapping[str, str],
    account: pulumi.Input[str],
    container: k8s.core.v1.ContainerArgs,
    *,
    volumes: Sequence[k8s.core.v1.VolumeArgs] = (),
    after: Sequence[pulumi.Resource],
) -> k8s.apps.v1.Deployment:
    """Register the Deployment `name` as a child of `owner`. Nodes keep its pod before those of the jobs it serves."""
    core, meta = k8s.core.v1, k8s.meta.v1
    return k8s.apps.v1.Deployment(
        owner.named("deployment"),
        k8s.apps.v1.DeploymentInitArgs(
            metadata=meta.ObjectMetaArgs(name=name, namespace=namespace, labels=dict(labels)),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=1,
                selector=meta.LabelSelectorArgs(match_labels=dict(labels)),
                template=core.PodTemplateSpecArgs(
                    metadata=meta.ObjectMetaArgs(labels=dict(labels)),
                    spec=core.PodSpecArgs(
                        service_account_name=account,
                        priority_class_name="system-cluster-critical",
                        containers=[container],
                        volumes=list(volumes) or None,
                    ),
                ),
            ),
        ),
        owner.child(depends_on=list(after), custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m")),
    )
