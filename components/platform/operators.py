"""What an operator of one kind of jobs is made of: the definition of that kind, and a Deployment of one pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.crds import Crds, CrdsArgs
from components.platform.kubectl import Fetched


@dataclass(frozen=True, kw_only=True)
class OperatorArgs:
    """It runs in `namespace` and serves jobs of the namespace `jobs` alone.

    `scheduler` shows that Volcano serves and admits gangs: operators end where PodGroups are not served. `crd_sha256`
    is the hash of the version's definition, which `fetch_image` brings.
    """

    version: str
    crd_sha256: str
    image: str
    kubectl_image: str
    fetch_image: str
    namespace: pulumi.Input[str]
    jobs: pulumi.Input[str]
    scheduler: pulumi.Resource


def definition(owner: Component, crd: str, url: str, args: OperatorArgs) -> pulumi.Resource:
    """Register the definition `crd` of the file at `url` as a child of `owner`; what shows that it is served."""
    file = Fetched(url=url, sha256=args.crd_sha256, image=args.fetch_image)
    crds = CrdsArgs(files=[file], crds=[crd], namespace=args.namespace, image=args.kubectl_image, after=args.scheduler)
    return Crds(owner.named("crds"), crds, owner.child()).established


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
        opts=owner.child(depends_on=list(after), custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m")),
    )
