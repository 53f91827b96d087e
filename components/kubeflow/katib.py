"""Katib 0.19 as our own typed objects: controller, webhooks, definitions and database (R02, R05).

There is no chart. The definitions have no schema (manifests/v1beta1/components/crd), so they are small, and objects
like the others. Its UI is left out: it may change every experiment and asks nobody who they are.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.gateway.issuer import API as CERTIFICATES
from components.gateway.issuer import NAME as ISSUER
from components.gateway.issuer import Issuer, IssuerArgs
from components.kubeflow.katib_config import CERTIFICATE, SERVICE, WEBHOOK_PORT, CollectorRoom, katib_config
from components.kubeflow.katib_crds import definition
from components.kubeflow.katib_hooks import mutating, validating
from components.kubeflow.katib_rbac import KINDS, KatibAccount, cluster_rules, trials_rules
from components.kubeflow.trial_database import COMPONENT, TrialDatabase, TrialDatabaseArgs
from components.platform.awaited import awaited
from components.platform.confinement import confined
from components.platform.rights import AccountArgs
from components.platform.servers import Database

LABELS = {COMPONENT: "controller"}
METRICS, HEALTH = 8080, 18080
CONFIG, FILE = "katib-config", "katib-config.yaml"
CONFIG_KEY = "gpucluster/katib-config"
"""Annotation of the controller's pod: a hash of what it reads once, when it starts."""
_PLACE, _USER = "/tmp/cert", 1000  # noqa: S108 - the controller's own (pkg/controller.v1beta1/consts/const.go)


@dataclass(frozen=True, kw_only=True)
class KatibArgs:
    """`images` go by the vendor's names (katib-controller), `database_image` is PostgreSQL. Trials are of the
    namespaces `trials`, by what these are to Katib. `room` is what the collector of metrics may take in a trial's pod.
    `operator` accepts PyTorchJobs: the controller looks for that kind once, when it starts. `certificates` is what
    shows that cert-manager takes orders.
    """

    images: Mapping[str, str]
    database_image: str
    namespace: pulumi.Input[str]
    trials: Mapping[str, pulumi.Input[str]]
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    room: CollectorRoom
    operator: pulumi.Resource
    certificates: pulumi.Resource


class Katib(Component):
    """The controller with what it needs. `ready` is the resource after which Experiments are accepted, `database` has
    the metrics of trials.
    """

    ready: pulumi.Resource
    database: Database

    def __init__(self, name: str, args: KatibArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        crds = [
            k8s.apiextensions.v1.CustomResourceDefinition(self.named(kind), definition(kind), self.child())
            for kind in KINDS
        ]
        account = KatibAccount(
            self.named("access"),
            AccountArgs(
                account=SERVICE,
                namespace=args.namespace,
                everywhere=cluster_rules(),
                within={role: (namespace, trials_rules()) for role, namespace in args.trials.items()},
            ),
            self.child(),
        )
        database = TrialDatabase(
            self.named("database"),
            TrialDatabaseArgs(
                namespace=args.namespace,
                password=args.password,
                storage_class=args.storage_class,
                gib=args.gib,
                image=args.database_image,
                manager_image=args.images["katib-db-manager"],
            ),
            self.child(),
        )
        config = katib_config(args.images, args.room)
        before = [*crds, database.ready, args.operator, *self._create_hooks()]
        deployment = self._create_deployment(account.name, config, before)
        self.ready, self.database = self._create_service(deployment), database.database
        self.register_outputs({"kinds": list(KINDS)})

    def _create_hooks(self) -> list[pulumi.Resource]:
        """cert-manager writes its authority into them, and `up` waits for that."""
        hook, certificate = k8s.admissionregistration.v1, self._create_certificate()
        given = self.child(ignore_changes=["webhooks[*].clientConfig.caBundle"], depends_on=[certificate])
        return [
            hook.ValidatingWebhookConfiguration(self.named("validating"), validating(self._args.namespace), given),
            hook.MutatingWebhookConfiguration(
                self.named("mutating"),
                mutating(self._args.namespace),
                given,
            ),
        ]

    def _create_certificate(self) -> pulumi.Resource:
        """That of the webhooks, in the Secret of its name. One that signs itself, as the vendor has it, is its own
        authority, and the pod has a new one up to a minute after the API server: a root that stays has no such gap.
        """
        namespace = self._args.namespace
        host = pulumi.Output.concat(SERVICE, ".", namespace, ".svc")
        name = f"{SERVICE} private CA"
        root = IssuerArgs(namespace=namespace, acme=None, common_name=name, after=[self._args.certificates])
        issuer = Issuer(self.named("issuer"), root, self.child())
        return k8s.apiextensions.CustomResource(
            self.named("certificate"),
            api_version=CERTIFICATES,
            kind="Certificate",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=CERTIFICATE, namespace=namespace, annotations=awaited("Certificate")
            ),
            spec={
                "dnsNames": [host, pulumi.Output.concat(host, ".cluster.local")],
                "secretName": CERTIFICATE,
                "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
                "issuerRef": {"kind": "Issuer", "name": ISSUER},
            },
            opts=self.child(depends_on=[issuer.issuer]),
        )

    def _create_deployment(
        self, account: pulumi.Output[str], config: str, before: list[pulumi.Resource]
    ) -> k8s.apps.v1.Deployment:
        core, meta, namespace = k8s.core.v1, k8s.meta.v1, self._args.namespace
        settings = core.ConfigMap(
            self.named("config"),
            core.ConfigMapInitArgs(metadata=meta.ObjectMetaArgs(name=CONFIG, namespace=namespace), data={FILE: config}),
            self.child(),
        )
        volumes = [
            core.VolumeArgs(name="cert", secret=core.SecretVolumeSourceArgs(secret_name=CERTIFICATE)),
            core.VolumeArgs(
                name="katib-config", config_map=core.ConfigMapVolumeSourceArgs(name=settings.metadata.name.apply(str))
            ),
        ]
        digest = hashlib.sha256(config.encode()).hexdigest()[:16]
        return k8s.apps.v1.Deployment(
            self.named("controller"),
            k8s.apps.v1.DeploymentInitArgs(
                metadata=meta.ObjectMetaArgs(name=SERVICE, namespace=namespace, labels=LABELS),
                spec=k8s.apps.v1.DeploymentSpecArgs(
                    replicas=1,
                    selector=meta.LabelSelectorArgs(match_labels=LABELS),
                    template=core.PodTemplateSpecArgs(
                        metadata=meta.ObjectMetaArgs(labels=LABELS, annotations={CONFIG_KEY: digest}),
                        spec=core.PodSpecArgs(
                            service_account_name=account,
                            priority_class_name="system-cluster-critical",
                            containers=[_controller(self._args.images[SERVICE])],
                            volumes=volumes,
                        ),
                    ),
                ),
            ),
            self.child(depends_on=before, custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m")),
        )

    def _create_service(self, deployment: k8s.apps.v1.Deployment) -> k8s.core.v1.Service:
        core = k8s.core.v1
        return core.Service(
            self.named("service"),
            core.ServiceInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=SERVICE, namespace=self._args.namespace, labels=LABELS),
                spec=core.ServiceSpecArgs(
                    type="ClusterIP",
                    selector=LABELS,
                    ports=[
                        core.ServicePortArgs(name="webhook", port=443, target_port=WEBHOOK_PORT),
                        core.ServicePortArgs(name="metrics", port=METRICS, target_port=METRICS),
                        core.ServicePortArgs(name="healthz", port=HEALTH, target_port=HEALTH),
                    ],
                ),
            ),
            self.child(depends_on=[deployment]),
        )


def _controller(image: str) -> k8s.core.v1.ContainerArgs:
    core = k8s.core.v1

    def probe(path: str) -> k8s.core.v1.ProbeArgs:
        return core.ProbeArgs(http_get=core.HTTPGetActionArgs(path=path, port=HEALTH))

    namespace = core.EnvVarSourceArgs(field_ref=core.ObjectFieldSelectorArgs(field_path="metadata.namespace"))
    ports = {"webhook": WEBHOOK_PORT, "metrics": METRICS, "healthz": HEALTH}
    return core.ContainerArgs(
        name=SERVICE,
        image=image,
        command=["./katib-controller"],
        args=[f"--katib-config=/{FILE}"],
        termination_message_policy="FallbackToLogsOnError",
        env=[core.EnvVarArgs(name="KATIB_CORE_NAMESPACE", value_from=namespace)],
        ports=[core.ContainerPortArgs(name=name, container_port=port) for name, port in ports.items()],
        liveness_probe=probe("/healthz"),
        readiness_probe=probe("/readyz"),
        resources=core.ResourceRequirementsArgs(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"}),
        security_context=confined(user=_USER, writes=False),
        volume_mounts=[
            core.VolumeMountArgs(name="cert", mount_path=_PLACE, read_only=True),
            core.VolumeMountArgs(name="katib-config", mount_path=f"/{FILE}", sub_path=FILE, read_only=True),
        ],
    )
