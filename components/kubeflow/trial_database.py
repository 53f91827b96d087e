"""PostgreSQL with the metrics of trials, and the service of Katib's that alone speaks with it.

What an experiment came to stands in its own status; the database has the single values behind it, which early stopping
and the trials that still run need.
"""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.confinement import confined
from components.platform.postgresql import KEY, PORT, PostgresArgs, postgres
from components.platform.servers import Database, password_of, service_of

COMPONENT = "katib.kubeflow.org/component"
DATABASE, MANAGER = {COMPONENT: "postgres"}, {COMPONENT: "db-manager"}
DATABASE_NAME, MANAGER_NAME, SECRET = "katib-postgres", "katib-db-manager", "katib-postgres-secrets"
USER = "katib"
"""Names of the vendor's set with PostgreSQL (manifests/v1beta1/components/postgres)."""
DATABASE_PORT, MANAGER_PORT = PORT, 6789
_KATIB_USER = 1000
"""The image's own user (cmd/db-manager/v1beta1)."""


@dataclass(frozen=True, kw_only=True)
class TrialDatabaseArgs:
    """A volume of `gib` of the class `storage_class`; `password` is that of the database's user."""

    namespace: pulumi.Input[str]
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    image: str
    manager_image: str


class TrialDatabase(Component):
    """The database and its service. `ready` is the resource after which metrics are taken."""

    ready: pulumi.Resource
    database: Database

    def __init__(self, name: str, args: TrialDatabaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        server = PostgresArgs(
            name=DATABASE_NAME,
            namespace=args.namespace,
            labels=DATABASE,
            port="dbapi",
            secret=SECRET,
            password=args.password,
            storage_class=args.storage_class,
            gib=args.gib,
            image=args.image,
            user=USER,
            millicores=250,
            memory_mib=512,
            kept=False,
        )
        self.database = postgres(self, server)
        manager = self._create_manager(self.database)
        self.ready = service_of(
            self, "manager-service", MANAGER_NAME, args.namespace, MANAGER, ("api", MANAGER_PORT), manager
        )
        self.register_outputs({"gib": args.gib})

    def _create_manager(self, database: Database) -> k8s.apps.v1.Deployment:
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
            env=[core.EnvVarArgs(name="DB_NAME", value="postgres"), password_of("DB_PASSWORD", database.secret, KEY)],
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
            self.child(
                depends_on=[database.service], custom_timeouts=pulumi.CustomTimeouts(create="10m", update="10m")
            ),
        )
