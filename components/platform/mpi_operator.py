"""Kubeflow's MPI operator as our own typed objects, for MPIJobs of one namespace.

It brings version v2beta1 of mpijobs.kubeflow.org. The training operator has another MPIJob, v1, of the same name: one
cluster has one of them (kubeflow/mpi-operator and kubeflow/training-operator, manifests/base). Ours runs with
`--enable-scheme=pytorchjob` and without that definition, so that the name is free.

Rights are those of manifests/base/cluster-role.yaml (v0.8.0) that a namespace can hold. Without `--namespace` it would
read every Secret of the cluster.
"""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import NOBODY, confined
from components.platform.operators import OperatorArgs, definition, operator_deployment
from components.platform.rights import WATCH, Rules, Within, granted

NAME = "mpi-operator"
LABELS = {"app": NAME}
CRD = "mpijobs.kubeflow.org"
HEALTH = 8080


def crd_url(version: str) -> str:
    """Address of the MPIJob CRD of a tag."""
    return f"https://raw.githubusercontent.com/kubeflow/mpi-operator/{version}/manifests/base/kubeflow.org_mpijobs.yaml"


def jobs_rules() -> Rules:
    """Rights in the namespace of the jobs: it makes an SSH key, a list of hosts, pods and a launcher for each."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=[""], resources=["configmaps", "secrets", "services"], verbs=["create", *WATCH, "update"]),
        rule(api_groups=[""], resources=["pods"], verbs=["create", "delete", *WATCH, "patch", "update"]),
        rule(api_groups=[""], resources=["events"], verbs=["create", "patch"]),
        rule(api_groups=["batch"], resources=["jobs"], verbs=["create", *WATCH, "update"]),
        rule(
            api_groups=["kubeflow.org"],
            resources=["mpijobs", "mpijobs/finalizers", "mpijobs/status"],
            verbs=[*WATCH, "patch", "update"],
        ),
        rule(
            api_groups=["scheduling.volcano.sh"],
            resources=["podgroups"],
            verbs=["create", "delete", *WATCH, "update"],
        ),
    ]


def namespace_rules() -> Rules:
    """Rights in its own namespace: it elects a leader."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [
        rule(api_groups=["coordination.k8s.io"], resources=["leases"], verbs=["create", "get", "update"]),
        rule(api_groups=[""], resources=["events"], verbs=["create", "patch"]),
    ]


def cluster_rules() -> Rules:
    """With gangs it reads priorities, which no namespace has."""
    rule = k8s.rbac.v1.PolicyRuleArgs
    return [rule(api_groups=["scheduling.k8s.io"], resources=["priorityclasses"], verbs=WATCH)]


class MpiOperator(Component):
    """The operator. `ready` is the resource after which it acts on MPIJobs."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: OperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        served = definition(self, CRD, crd_url(args.version), args)
        within: dict[str, Within] = {
            "local": (args.namespace, namespace_rules()),
            "jobs": (args.jobs, jobs_rules()),
        }
        account = granted(self, NAME, args.namespace, cluster_rules(), within)
        self.ready = operator_deployment(self, NAME, args.namespace, LABELS, account, _container(args), after=[served])
        self.register_outputs({"version": args.version})


def _container(args: OperatorArgs) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1
    probe = core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path="/healthz", port=HEALTH), initial_delay_seconds=5, period_seconds=10
    )
    return core.ContainerArgs(
        name=NAME,
        image=args.image,
        args=[
            "-alsologtostderr",
            "--gang-scheduling=volcano",
            pulumi.Output.concat("--namespace=", args.jobs),
            pulumi.Output.concat("--lock-namespace=", args.namespace),
        ],
        termination_message_policy="FallbackToLogsOnError",
        liveness_probe=probe,
        readiness_probe=probe,
        resources=core.ResourceRequirementsArgs(
            requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "512Mi"}
        ),
        security_context=confined(user=NOBODY, writes=False),
    )
