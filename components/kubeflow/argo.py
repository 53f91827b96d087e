"""Argo's controller of Workflows 4.0.5 for Kubeflow Pipelines: it makes the pods of a pipeline's run, in one namespace.

What pods print is collected where that of all pods is, so Argo archives no logs and needs no object store.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.kubeflow.pipelines_crds import KINDS, definition
from components.kubeflow.pipelines_pods import Program, asked, running, variables
from components.kubeflow.pipelines_rbac import ARGO, PipelinesAccount, argo_rules
from components.platform.confinement import NOBODY, confined_values
from components.platform.rights import AccountArgs

CONTROLLER = {"app": "workflow-controller"}
CONFIG = "workflow-controller-configmap"
WORKFLOW_KEY = "workflows.argoproj.io/workflow"
"""Label of each pod of a Workflow (Argo 4.0.5, workflow/common/common.go): the Workflow's name."""

_HEALTH, _METRICS = 6060, 9090
_DAY_S = 86_400


@dataclass(frozen=True, kw_only=True)
class ArgoArgs:
    """`images` go by Argo's names, workflow-controller and argoexec; the former asks for the rest. Pods of Workflows
    are of the RuntimeClass `sandbox`, None for none. `kinds` are there already, as those of a cluster's first Argo are;
    None where they are to be made.
    """

    namespace: pulumi.Input[str]
    images: Mapping[str, str]
    millicores: int
    memory_mib: int
    sandbox: str | None = None
    kinds: Sequence[pulumi.Resource] | None = None


def argo_config(sandbox: str | None = None) -> dict[str, str]:
    """The controller's own file (docs/workflow-controller-configmap.yaml). A Workflow that is over stays for a week, as
    Jobs' pods are looked at; its runs stay in the database. A patch of the Workflow comes before that of a template
    (workflow/controller/workflowpod.go), which the compiler writes.
    """
    executor = {
        "securityContext": {**confined_values(user=NOBODY)},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
    }
    defaults = {
        "spec": {
            "ttlStrategy": {"secondsAfterCompletion": 7 * _DAY_S},
            # What was displaced is tried again; what failed has said why.
            "templateDefaults": {"retryStrategy": {"limit": "2", "retryPolicy": "OnError"}},
            **({"podSpecPatch": json.dumps({"runtimeClassName": sandbox})} if sandbox else {}),
        }
    }
    return {
        name: json.dumps(value, sort_keys=True)
        for name, value in {"executor": executor, "workflowDefaults": defaults}.items()
    }


class Argo(Component):
    """The kinds and the controller. `ready` is the resource after which Workflows of its namespace are acted on."""

    ready: pulumi.Resource
    kinds: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: ArgoArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self.kinds = args.kinds if args.kinds is not None else self._kinds()
        account = PipelinesAccount(
            self.named("access"),
            AccountArgs(account=ARGO, namespace=args.namespace, within={"": (args.namespace, argo_rules())}),
            self.child(),
        )
        config = k8s.core.v1.ConfigMap(
            self.named("config"),
            k8s.core.v1.ConfigMapInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=CONFIG, namespace=args.namespace),
                data=argo_config(args.sandbox),
            ),
            self.child(),
        )
        itself = k8s.core.v1.EnvVarSourceArgs(field_ref=k8s.core.v1.ObjectFieldSelectorArgs(field_path="metadata.name"))
        program = Program(
            name="workflow-controller",
            container="workflow-controller",
            image=args.images["workflow-controller"],
            labels=CONTROLLER,
            account=account.name,
            millicores=args.millicores,
            memory_mib=args.memory_mib,
            command=["workflow-controller"],
            args=["--configmap", CONFIG, "--executor-image", args.images["argoexec"], "--namespaced"],
            env=variables(
                {
                    # A pod that made room, or whose node went, has failed at nothing.
                    "TRANSIENT_ERROR_PATTERN": (
                        "(?i)(imminent node shutdown|node is shutting down|preempt|evict|spot|pod deleted)"
                    ),
                    "LEADER_ELECTION_IDENTITY": itself,
                }
            ),
            ports={"metrics": _METRICS, "health": _HEALTH},
            probes={"liveness": asked("/healthz", _HEALTH, period=60)},
            writes=False,
            priority="system-cluster-critical",
        )
        self.ready = running(self, "controller", program, args.namespace, [*self.kinds, config])
        self.register_outputs({"kinds": [each.kind for each in KINDS]})

    def _kinds(self) -> list[pulumi.Resource]:
        return [
            k8s.apiextensions.v1.CustomResourceDefinition(self.named(each.plural), definition(each), self.child())
            for each in KINDS
        ]
