"""Large CRDs, applied in one step inside the cluster.

A CRD of 0.6 MB as a Pulumi resource costs seconds at every preview and as much state (docs/adr). A Job applies the
vendor's file on the server side instead, and is done when the API server serves the kinds. What is applied is known by
its hash: a container that has no rights fetches and checks it (LF15).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.kubectl import Fetched, KubectlJobArgs, kubectl_job, rights


@dataclass(frozen=True, kw_only=True)
class CrdsArgs:
    """`files` hold the CRDs `crds` (plural.group), `image` kubectl. `after` is what lets pods run."""

    files: Sequence[Fetched]
    crds: Sequence[str]
    namespace: pulumi.Input[str]
    image: str
    after: pulumi.Resource | None = None


class Crds(Component):
    """CRDs from files. `established` is the resource that exists when they are served; deleting it leaves them."""

    established: k8s.batch.v1.Job

    def __init__(self, name: str, args: CrdsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        job = KubectlJobArgs(
            namespace=args.namespace,
            image=args.image,
            rights=_rights(args.crds),
            files=args.files,
            first={"apply": ["apply", "--server-side", *(word for each in args.files for word in ("-f", each.path))]},
            commands={
                "wait": ["wait", "--for=condition=Established", "--timeout=120s", *(f"crd/{crd}" for crd in args.crds)],
            },
            minutes=10,
            after=[args.after] if args.after else [],
        )
        self.established = kubectl_job(self, "apply", job)
        self.register_outputs({"crds": list(args.crds)})


def _rights(crds: Sequence[str]) -> list[k8s.rbac.v1.PolicyRuleArgs]:
    """To these alone: what is applied on the server side is created by a patch, whose name RBAC knows."""
    verbs = ["create", "get", "list", "patch", "watch"]
    return [rights("apiextensions.k8s.io", "customresourcedefinitions", verbs, crds)]
