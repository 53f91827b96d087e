"""MySQL with the metrics of trials, and the service of Katib's that alone speaks with it.

What an experiment came to stands in its own status; the database has the single values behind it, which early stopping
and the trials that still run need.
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.servers import data_claim, service_of

COMPONENT = "katib.kubeflow.org/component"
DATABASE, MANAGER = {COMPONENT: "mysql"}, {COMPONENT: "db-manager"}
DATABASE_NAME, MANAGER_NAME, SECRET, KEY = (
    "katib-mysql",
    "katib-db-manager",
    "katib-mysql-secrets",
    "MYSQL_ROOT_PASSWORD",
)
DATABASE_PORT, MANAGER_PORT = 3306, 6789
_DIRECTORY = "/var/lib/mysql"
_MYSQL_USER, _KATIB_USER = 999, 1000
"""The images' own users (mysql: docker-library/mysql, 8.0/Dockerfile.debian; Katib: cmd/db-manager/v1beta1)."""


@dataclass(frozen=True, kw_only=True)
class TrialDatabaseArgs:
    """A volume of `gib` of the class `storage_class`; `password` is that of MySQL's root, who is Katib's user."""

    namespace: pulumi.Input[str]
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    image: str
    manager_image: str


class TrialDatabase(Component):
    """The database and its service. `ready` is the resource after which metrics are taken."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: TrialDatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        secret = k8s.core.v1.Secret(
            self.named("password"),
            k8s.core.v1.SecretInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=SECRET, namespace=args.namespace),
                string_data={KEY: args.password},
            ),
            self.child(),
        )
        database = self._create_database(secret)
        service = service_of(
            self, "service", DATABASE_NAME, args.namespace, DATABASE, ("dbapi", DATABASE_PORT), database
        )
        manager = self._create_manager(secret, service)
        self.ready = service_of(
            self, "manager-service", MANAGER_NAME, args.namespace, MANAGER, ("api", MANAGER_PORT), manager
        )
        self.register_outputs({"gib": args.gib})

    def _create_database(self, secret: k8s.core.v1.Secret) -> k8s.apps.v1.StatefulSet:
        """Its volume goes with it: a stack that ends leaves none, and what was won stands in the experiments."""
        core, meta = k8s.core.v1, k8s.meta.v1
        ping = core.ProbeArgs(
            # On TCP: while it makes its files MySQL answers on its socket alone. A refused user is an answer, too.
            exec_=core.ExecActionArgs(command=["mysqladmin", "ping", "--host=127.0.0.1"]),
            period_seconds=5,
            timeout_seconds=5,
            failure_threshold=10,
        )
        container = core.ContainerArgs(
            name=DATABASE_NAME,
            image=self._args.image,
            args=["--datadir", f"{_DIRECTORY}/datadir"],
            env=[self._password(KEY, secret), core.EnvVarArgs(name="MYSQL_DATABASE", value="katib")],
            ports=[core.ContainerPortArgs(name="dbapi", container_port=DATABASE_PORT)],
            termination_message_policy="FallbackToLogsOnError",
            readiness_probe=ping,
            liveness_probe=ping,
            startup_probe=core.ProbeArgs(
                exec_=core.ExecActionArgs(command=["mysqladmin", "ping", "--host=127.0.0.1"]),
                period_seconds=15,
                timeout_seconds=5,
                failure_threshold=60,
            ),
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "250m", "memory": "1Gi"}, limits={"memory": "2Gi"}
            ),
            security_context=confined(user=_MYSQL_USER),
            volume_mounts=[core.VolumeMountArgs(name="data", mount_path=_DIRECTORY)],
        )
        return k8s.apps.v1.StatefulSet(
            self.named("mysql"),
            k8s.apps.v1.StatefulSetInitArgs(
                metadata=meta.ObjectMetaArgs(name=DATABASE_NAME, namespace=self._args.namespace, labels=DATABASE),
                spec=k8s.apps.v1.StatefulSetSpecArgs(
                    replicas=1,
                    service_name=DATABASE_NAME,
                    selector=meta.LabelSelectorArgs(match_labels=DATABASE),
                    persistent_volume_claim_retention_policy=(
                        k8s.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicyArgs(
                            when_deleted="Delete", when_scaled="Retain"
                        )
                    ),
                    volume_claim_templates=[data_claim(self._args.storage_class, self._args.gib)],
                    template=core.PodTemplateSpecArgs(
                        metadata=meta.ObjectMetaArgs(labels=DATABASE),
                        spec=core.PodSpecArgs(
                            automount_service_account_token=False,
                            security_context=core.PodSecurityContextArgs(
                                fs_group=_MYSQL_USER, fs_group_change_policy="OnRootMismatch"
                            ),
                            containers=[container],
                        ),
                    ),
                ),
            ),
            self.child(custom_timeouts=pulumi.CustomTimeouts(create="15m", update="15m")),
        )

    def _create_manager(self, secret: k8s.core.v1.Secret, database: pulumi.Resource) -> k8s.apps.v1.Deployment:
        """It asks the database for a row when it is asked how it is (cmd/db-manager/v1beta1/main.go, Check)."""
        core, meta = k8s.core.v1, k8s.meta.v1

        def healthy(period: int) -> k8s.core.v1.ProbeArgs:
            return core.ProbeArgs(
                grpc=core.GRPCActionArgs(port=MANAGER_PORT),
                initial_delay_seconds=10,
                period_seconds=period,
                failure_threshold=5,
            )

        container = core.ContainerArgs(
            name=MANAGER_NAME,
            image=self._args.manager_image,
            command=["./katib-db-manager"],
            env=[core.EnvVarArgs(name="DB_NAME", value="mysql"), self._password("DB_PASSWORD", secret)],
            ports=[core.ContainerPortArgs(name="api", container_port=MANAGER_PORT)],
            termination_message_policy="FallbackToLogsOnError",
            readiness_probe=healthy(10),
            liveness_probe=healthy(60),
            resources=core.ResourceRequirementsArgs(
                requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "512Mi"}
            ),
            security_context=confined(user=_KATIB_USER, writes=False),
        )
        return k8s.apps.v1.Deployment(
            self.named("manager"),
            k8s.apps.v1.DeploymentInitArgs(
                metadata=meta.ObjectMetaArgs(name=MANAGER_NAME, namespace=self._args.namespace, labels=MANAGER),
                spec=k8s.apps.v1.DeploymentSpecArgs(
                    replicas=1,
                    selector=meta.LabelSelectorArgs(match_labels=MANAGER),
                    template=core.PodTemplateSpecArgs(
                        metadata=meta.ObjectMetaArgs(labels=MANAGER),
                        spec=core.PodSpecArgs(automount_service_account_token=False, containers=[container]),
                    ),
                ),
            ),
            self.child(depends_on=[database], custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m")),
        )

    def _password(self, variable: str, secret: k8s.core.v1.Secret) -> k8s.core.v1.EnvVarArgs:
        core = k8s.core.v1
        reference = core.SecretKeySelectorArgs(name=secret.metadata.name.apply(str), key=KEY)
        return core.EnvVarArgs(name=variable, value_from=core.EnvVarSourceArgs(secret_key_ref=reference))
