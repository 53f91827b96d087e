"""Kinds of Argo Workflows and Kubeflow Pipelines that their controllers look at, without a schema.

The vendors' own sets have none for most (manifests/base/crds/minimal of Argo 4.0.5). For three kinds that controllers
alone write they have one, of 26 to 595 kB; here those are as the others. WorkflowEventBindings and
ClusterWorkflowTemplates are those of Argo's own server and of a controller of the whole cluster, Viewers those of
TensorBoards: none of them is deployed.
"""

from dataclasses import dataclass
from typing import Literal

import pulumi_kubernetes as k8s


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind; with `status` the API server keeps its status apart from the rest."""

    kind: str
    group: Literal["argoproj.io", "kubeflow.org"] = "argoproj.io"
    version: str = "v1alpha1"
    short: tuple[str, ...] = ()
    status: bool = False

    @property
    def plural(self) -> str:
        return f"{self.kind.lower()}s"


KINDS = (
    Kind(kind="Workflow", short=("wf",)),
    Kind(kind="WorkflowTemplate", short=("wftmpl",)),
    Kind(kind="CronWorkflow", short=("cwf", "cronwf")),
    Kind(kind="WorkflowTaskResult"),
    Kind(kind="WorkflowTaskSet", short=("wfts",), status=True),
    Kind(kind="WorkflowArtifactGCTask", short=("wfat",), status=True),
    Kind(kind="ScheduledWorkflow", group="kubeflow.org", version="v1beta1", short=("swf",)),
)


def definition(kind: Kind) -> k8s.apiextensions.v1.CustomResourceDefinitionInitArgs:
    """The definition of a kind."""
    api = k8s.apiextensions.v1
    anything = api.JSONSchemaPropsArgs(type="object", x_kubernetes_preserve_unknown_fields=True)
    return api.CustomResourceDefinitionInitArgs(
        metadata=k8s.meta.v1.ObjectMetaArgs(name=f"{kind.plural}.{kind.group}"),
        spec=api.CustomResourceDefinitionSpecArgs(
            group=kind.group,
            scope="Namespaced",
            names=api.CustomResourceDefinitionNamesArgs(
                kind=kind.kind,
                list_kind=f"{kind.kind}List",
                plural=kind.plural,
                singular=kind.kind.lower(),
                short_names=list(kind.short) or None,
            ),
            versions=[
                api.CustomResourceDefinitionVersionArgs(
                    name=kind.version,
                    served=True,
                    storage=True,
                    subresources=api.CustomResourceSubresourcesArgs(status={}) if kind.status else None,
                    schema=api.CustomResourceValidationArgs(open_apiv3_schema=anything),
                )
            ],
        ),
    )
