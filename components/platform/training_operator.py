"""Kubeflow's training operator v1 as our own typed objects, for PyTorchJobs only (N01; KJ10, KJ12).

There is no chart of v1. The operator runs with the two flags that matter: without `--gang-scheduler-name` a job's
scheduling policy does nothing, and `--enable-scheme` keeps it from the kinds other operators own.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import NOBODY, confined
from components.platform.hooks import asked
from components.platform.operators import OperatorArgs, definition, operator_deployment
from components.platform.rights import AccountArgs
from components.platform.training_operator_rbac import (
    OperatorAccount,
    cluster_rules,
    jobs_rules,
    namespace_rules,
    watching_rules,
)

NAME = "training-operator"
LABELS = {"control-plane": "kubeflow-training-operator"}
CERTIFICATE = "training-operator-webhook-cert"
CERTIFICATE_MOUNT = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - controller-runtime's default
WEBHOOK = "validator.training-operator.kubeflow.org"
CRD = "pytorchjobs.kubeflow.org"
FLAGS = ("--gang-scheduler-name=volcano", "--enable-scheme=pytorchjob")
METRICS, HEALTH, HOOK = 8080, 8081, 9443
WAITING_MOUNT, WAITING_KEY = "/etc/gpucluster/waiting", "initContainer.yaml"

WAITING = """\
- name: init-pytorch
  image: '{{.InitContainerImage}}'
  resources:
    limits: {cpu: 100m, memory: 20Mi}
    requests: {cpu: 100m, memory: 20Mi}
  command: [sh, -c, 'for _ in $(seq {{.MaxTries}}); do nslookup {{.MasterAddr}} && exit; sleep 2; done; exit 1']
"""
"""What workers wait in for the master's name. The operator's own asks for half of its limits, so that a worker, and not
the master, would be without CPUs of its own: init containers count too (Kubernetes, pkg/apis/core/v1/helper/qos)."""


def crd_url(version: str) -> str:
    """Address of the PyTorchJob CRD of a tag."""
    return (
        f"https://raw.githubusercontent.com/kubeflow/training-operator/{version}"
        "/manifests/base/crds/kubeflow.org_pytorchjobs.yaml"
    )


@dataclass(frozen=True, kw_only=True)
class TrainingOperatorArgs(OperatorArgs):
    """`limited`: every container of a worker is limited to what it requests. It serves jobs of `more` namespaces, too,
    by their names.
    """

    limited: bool = False
    more: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)


class TrainingOperator(Component):
    """The operator and its webhook. `ready` is the resource after which PyTorchJobs are accepted.

    Workers wait in the arguments' `fetch_image`, too, until the master's name resolves.
    """

    ready: pulumi.Resource

    def __init__(self, name: str, args: TrainingOperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        served = definition(self, CRD, crd_url(args.version), args)
        account = OperatorAccount(
            self.named("access"),
            AccountArgs(
                account=NAME,
                namespace=args.namespace,
                everywhere=[*cluster_rules(WEBHOOK), *(watching_rules() if args.more else [])],
                within={
                    "local": (args.namespace, namespace_rules(CERTIFICATE)),
                    "jobs": (args.jobs, jobs_rules()),
                    **{f"jobs-{name}": (namespace, jobs_rules()) for name, namespace in args.more.items()},
                },
            ),
            self.child(),
        )
        certificate = self._create_certificate(args.namespace)
        webhook = self._create_webhook(args.namespace)
        secret = k8s.core.v1.SecretVolumeSourceArgs(secret_name=certificate.metadata.name.apply(str))
        volumes = [k8s.core.v1.VolumeArgs(name="certificate", secret=secret)]
        if args.limited:
            volumes.append(self._waiting(args.namespace))
        deployment = operator_deployment(
            self,
            NAME,
            args.namespace,
            LABELS,
            account.name,
            _manager(args),
            volumes=volumes,
            after=[served, webhook],
        )
        self.ready = self._create_service(args.namespace, deployment)
        self.register_outputs({"version": args.version})

    def _create_certificate(self, namespace: pulumi.Input[str]) -> k8s.core.v1.Secret:
        """An empty Secret: the operator makes the certificate itself, but only into a Secret that is there."""
        return k8s.core.v1.Secret(
            self.named("certificate"),
            k8s.core.v1.SecretInitArgs(metadata=k8s.meta.v1.ObjectMetaArgs(name=CERTIFICATE, namespace=namespace)),
            self.child(ignore_changes=["data"]),
        )

    def _waiting(self, namespace: pulumi.Input[str]) -> k8s.core.v1.VolumeArgs:
        """The operator reads the file once, when it starts: another text is another ConfigMap, and another pod."""
        digest = hashlib.sha256(WAITING.encode()).hexdigest()[:8]
        made = k8s.core.v1.ConfigMap(
            self.named("waiting"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=f"{NAME}-waiting-{digest}", namespace=namespace),
            data={WAITING_KEY: WAITING},
            opts=self.child(),
        )
        source = k8s.core.v1.ConfigMapVolumeSourceArgs(name=made.metadata.name.apply(str))
        return k8s.core.v1.VolumeArgs(name="waiting", config_map=source)

    def _create_webhook(self, namespace: pulumi.Input[str]) -> pulumi.Resource:
        hook = k8s.admissionregistration.v1
        return hook.ValidatingWebhookConfiguration(
            self.named("webhook"),
            hook.ValidatingWebhookConfigurationInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=WEBHOOK),
                webhooks=[
                    hook.ValidatingWebhookArgs(
                        name="validator.pytorchjob.training-operator.kubeflow.org",
                        **asked(NAME, namespace, "/validate-kubeflow-org-v1-pytorchjob"),
                        rules=[
                            hook.RuleWithOperationsArgs(
                                api_groups=["kubeflow.org"],
                                api_versions=["v1"],
                                operations=["CREATE", "UPDATE"],
                                resources=["pytorchjobs"],
                            )
                        ],
                    )
                ],
            ),
            self.child(ignore_changes=["webhooks[0].clientConfig.caBundle"]),
        )

    def _create_service(self, namespace: pulumi.Input[str], deployment: k8s.apps.v1.Deployment) -> pulumi.Resource:
        """The Service waits for endpoints, so it comes after the Deployment that gives it some."""
        return k8s.core.v1.Service(
            self.named("service"),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=NAME, namespace=namespace, labels=LABELS),
            spec=k8s.core.v1.ServiceSpecArgs(
                type="ClusterIP",
                selector=LABELS,
                ports=[
                    k8s.core.v1.ServicePortArgs(name="metrics", port=METRICS, target_port=METRICS),
                    k8s.core.v1.ServicePortArgs(name="webhook", port=443, target_port=HOOK),
                ],
            ),
            opts=self.child(depends_on=[deployment]),
        )


def _manager(args: TrainingOperatorArgs) -> k8s.core.v1.ContainerArgs:
    def probe(path: str, delay: int) -> k8s.core.v1.ProbeArgs:
        return k8s.core.v1.ProbeArgs(
            http_get=k8s.core.v1.HTTPGetActionArgs(path=path, port=HEALTH),
            initial_delay_seconds=delay,
            period_seconds=10,
            timeout_seconds=3,
        )

    def from_pod(name: str, path: str) -> k8s.core.v1.EnvVarArgs:
        source = k8s.core.v1.EnvVarSourceArgs(field_ref=k8s.core.v1.ObjectFieldSelectorArgs(field_path=path))
        return k8s.core.v1.EnvVarArgs(name=name, value_from=source)

    mounts = {"certificate": CERTIFICATE_MOUNT, **({"waiting": WAITING_MOUNT} if args.limited else {})}
    return k8s.core.v1.ContainerArgs(
        name=NAME,
        image=args.image,
        command=["/manager"],
        termination_message_policy="FallbackToLogsOnError",
        args=[
            *FLAGS,
            *([] if args.more else [pulumi.Output.concat("--namespace=", args.jobs)]),
            f"--pytorch-init-container-image={args.fetch_image}",
            *([f"--pytorch-init-container-template-file={WAITING_MOUNT}/{WAITING_KEY}"] if args.limited else []),
        ],
        env=[from_pod("MY_POD_NAME", "metadata.name"), from_pod("MY_POD_NAMESPACE", "metadata.namespace")],
        ports=[
            k8s.core.v1.ContainerPortArgs(name="metrics", container_port=METRICS),
            k8s.core.v1.ContainerPortArgs(name="webhook", container_port=HOOK),
        ],
        liveness_probe=probe("/healthz", 15),
        readiness_probe=probe("/readyz", 5),
        resources=k8s.core.v1.ResourceRequirementsArgs(
            requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "512Mi"}
        ),
        security_context=confined(user=NOBODY, writes=False),
        volume_mounts=[
            k8s.core.v1.VolumeMountArgs(name=name, mount_path=path, read_only=True) for name, path in mounts.items()
        ],
    )
