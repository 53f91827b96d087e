"""Large CRDs, applied in one step inside the cluster.

A CRD of 0.6 MB as a Pulumi resource costs seconds at every preview and as much state (docs/adr). A Job applies the
vendor's pinned file on the server side instead, and is done when the API server serves the kinds.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component, physical_name


@dataclass(frozen=True, kw_only=True)
class CrdsArgs:
    """`url` is a pinned file with the CRDs `crds` (plural.group). `after` is what lets pods run."""

    url: str
    crds: Sequence[str]
    namespace: pulumi.Input[str]
    image: str
    after: pulumi.Resource | None = None


class Crds(Component):
    """CRDs from a file. `established` is the resource that exists when they are served; deleting it leaves them."""

    established: k8s.batch.v1.Job

    def __init__(self, name: str, args: CrdsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        account, binding = self._create_account(args)
        self.established = self._create_job(args, account, binding)
        self.register_outputs({"crds": list(args.crds)})

    def _create_account(self, args: CrdsArgs) -> tuple[pulumi.Output[str], pulumi.Resource]:
        account = k8s.core.v1.ServiceAccount(
            self.named("account"),
            k8s.core.v1.ServiceAccountInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=self.pulumi_resource_name, namespace=args.namespace)
            ),
            self.child(),
        )
        rule = k8s.rbac.v1.PolicyRuleArgs
        groups, resources = ["apiextensions.k8s.io"], ["customresourcedefinitions"]
        role = k8s.rbac.v1.ClusterRole(
            self.named("rights"),
            k8s.rbac.v1.ClusterRoleInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=self.pulumi_resource_name),
                rules=[
                    # RBAC cannot limit `create` by name, nor the list and watch that `kubectl wait` opens.
                    rule(api_groups=groups, resources=resources, verbs=["create", "list", "watch"]),
                    rule(
                        api_groups=groups, resources=resources, verbs=["get", "patch"], resource_names=list(args.crds)
                    ),
                ],
            ),
            self.child(),
        )
        binding = k8s.rbac.v1.ClusterRoleBinding(
            self.named("binding"),
            k8s.rbac.v1.ClusterRoleBindingInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=self.pulumi_resource_name),
                role_ref=k8s.rbac.v1.RoleRefArgs(
                    api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role.metadata.name.apply(str)
                ),
                subjects=[
                    k8s.rbac.v1.SubjectArgs(
                        kind="ServiceAccount", name=self.pulumi_resource_name, namespace=args.namespace
                    )
                ],
            ),
            self.child(),
        )
        return account.metadata.name.apply(str), binding

    def _create_job(self, args: CrdsArgs, account: pulumi.Output[str], binding: pulumi.Resource) -> k8s.batch.v1.Job:
        names = [f"crd/{crd}" for crd in args.crds]
        # A Job's template cannot change, so another file or image is another Job.
        version = hashlib.sha256(f"{args.url} {args.image}".encode()).hexdigest()[:8]
        return k8s.batch.v1.Job(
            self.named("apply"),
            k8s.batch.v1.JobInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name=physical_name(self.pulumi_resource_name, version, limit=63), namespace=args.namespace
                ),
                spec=k8s.batch.v1.JobSpecArgs(
                    backoff_limit=6,
                    template=k8s.core.v1.PodTemplateSpecArgs(
                        spec=k8s.core.v1.PodSpecArgs(
                            service_account_name=account,
                            restart_policy="OnFailure",
                            init_containers=[_kubectl("apply", args.image, "apply", "--server-side", "-f", args.url)],
                            containers=[
                                _kubectl(
                                    "wait", args.image, "wait", "--for=condition=Established", "--timeout=120s", *names
                                )
                            ],
                        )
                    ),
                ),
            ),
            self.child(
                depends_on=[binding, *([args.after] if args.after else [])],
                custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m"),
            ),
        )


def _kubectl(name: str, image: str, *arguments: str) -> k8s.core.v1.ContainerArgs:
    return k8s.core.v1.ContainerArgs(
        name=name,
        image=image,
        command=["kubectl"],
        args=list(arguments),
        termination_message_policy="FallbackToLogsOnError",
        security_context=k8s.core.v1.SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            run_as_non_root=True,
            run_as_user=65532,
            capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"]),
            seccomp_profile=k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault"),
        ),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "256Mi"}
        ),
    )
