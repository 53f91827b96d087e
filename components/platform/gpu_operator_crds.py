"""The GPU Operator's definitions, brought to its version before its release (LF08).

Helm installs `crds/` once and never again; the chart's own remedy is a hook before an upgrade, which comes after its
objects have been checked against the old definitions. The operator's image holds the definitions of its version and the
program that applies them (NVIDIA/gpu-operator, docker/Dockerfile and cmd/manage-crds).
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.kubectl import KubectlJobArgs, kubectl_job, rights

PROGRAM, DIRECTORY = "/usr/bin/manage-crds", "/opt/gpu-operator"
"""The program looks for definitions in all YAML files below a directory, and passes over everything else there."""
VERBS = ("create", "get", "update")
"""To all definitions, as the chart's hook has them: which ones there are is a matter of the version."""
MINUTES = 10


@dataclass(frozen=True, kw_only=True)
class GpuOperatorCrdsArgs:
    """`image` is the operator's own, of the version to come. `after` is what lets pods run."""

    namespace: pulumi.Input[str]
    image: str
    after: pulumi.Resource


class GpuOperatorCrds(Component):
    """Applies the definitions. `established` is what exists when the API server serves them."""

    established: k8s.batch.v1.Job

    def __init__(self, name: str, args: GpuOperatorCrdsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        job = KubectlJobArgs(
            namespace=args.namespace,
            image=args.image,
            program=PROGRAM,
            rights=[rights("apiextensions.k8s.io", "customresourcedefinitions", VERBS)],
            commands={"definitions": ["apply", f"--filepath={DIRECTORY}"]},
            minutes=MINUTES,
            after=[args.after],
        )
        self.established = kubectl_job(self, "apply", job)
        self.register_outputs({})
