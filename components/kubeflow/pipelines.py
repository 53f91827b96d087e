"""Kubeflow Pipelines 2.17 as our own typed objects, in a namespace of their own where the steps' pods are too (R01).

Left out are what serves pipelines of version 1 alone - the cache's webhook and what signs its certificate, the server
of visualisations, the viewer - and SeaweedFS, in whose place the platform's own store is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.kubeflow.argo import Argo, ArgoArgs
from components.kubeflow.mysql import PORT, MysqlArgs, mysql
from components.kubeflow.pipelines_metadata import Metadata, MetadataArgs
from components.kubeflow.pipelines_pods import Program, asked, found, own_namespace, running, variables
from components.kubeflow.pipelines_rbac import (
    AGENT,
    RUNNER,
    SCHEDULED,
    STARTER,
    UI,
    PipelinesAccount,
    agent_rules,
    runner_rules,
    scheduled_rules,
    starter_rules,
    ui_rules,
)
from components.kubeflow.pipelines_server import Server, ServerArgs, Store
from components.platform.copying import ClientValue
from components.platform.rights import AccountArgs, Rules
from components.platform.servers import Database

NAMESPACE = "pipelines"
DATABASE = {"app": "mysql"}
AGENT_LABELS, SCHEDULED_LABELS, UI_LABELS = {"app": AGENT}, {"app": SCHEDULED}, {"app": UI}
UI_PORT = 3000
SCRIPTS = "pipeline-scripts"
"""ConfigMap with the scripts of steps (node/pipelines/pretraining.py)."""
STARTER_TOKEN = "pipeline-starter-token"  # noqa: S105 - a name
"""Secret with the token of the account that makes runs' jobs; a task that does so mounts it."""

METADATA_REQUEST, SERVER_REQUEST, ARGO_REQUEST, OTHERS_REQUEST = (50, 128), (250, 512), (100, 512), (50, 256)
"""Millicores and MiB, about the vendor's (manifests/kustomize/base)."""


@dataclass(frozen=True, kw_only=True)
class PipelinesArgs:
    """`images` go by the vendors' names, `database_image` is MySQL, which keeps its files on a volume of `gib` of the
    class `storage_class`. `jobs` is the namespace of runs that steps may start, None for none. `granted` resolve when
    pods of these accounts may write in the store, by the account. `scripts` are those of steps, by name, whose pods are
    of the RuntimeClass `sandbox`. `kinds` are those of Argo and Pipelines where there are some of them already.
    """

    images: Mapping[str, str]
    metadata_image: str
    database_image: str
    namespace: pulumi.Input[str]
    jobs: pulumi.Input[str] | None
    password: pulumi.Input[str]
    storage_class: pulumi.Input[str]
    gib: int
    store: Store
    granted: Mapping[str, pulumi.Input[str]]
    scripts: Mapping[str, str]
    sandbox: str | None = None
    kinds: Sequence[pulumi.Resource] | None = None


class Pipelines(Component):
    """All of it. `ready` is the resource after which pipelines are taken and their runs are started, `database` has
    what they and ML Metadata know, `kinds` are the cluster's.
    """

    ready: pulumi.Resource
    kinds: Sequence[pulumi.Resource]
    database: Database

    def __init__(self, name: str, args: PipelinesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        self._args = args
        self.database = mysql(
            self,
            MysqlArgs(
                name="mysql",
                namespace=args.namespace,
                labels=DATABASE,
                port="mysql",
                secret="mysql-secret",  # noqa: S106 - a name
                password=args.password,
                storage_class=args.storage_class,
                gib=args.gib,
                image=args.database_image,
                # ML Metadata's client knows no other way to sign in (third-party/mysql/base/mysql-deployment.yaml).
                options=[
                    "--authentication-policy=mysql_native_password",
                    "--mysql-native-password=ON",
                    "--disable-log-bin",
                ],
            ),
        )
        argo = Argo(
            self.named("argo"),
            ArgoArgs(
                namespace=args.namespace,
                images=args.images,
                millicores=ARGO_REQUEST[0],
                memory_mib=ARGO_REQUEST[1],
                sandbox=args.sandbox,
                kinds=args.kinds,
            ),
            self.child(),
        )
        self.kinds = argo.kinds
        metadata = Metadata(
            self.named("metadata"),
            MetadataArgs(
                namespace=args.namespace,
                image=args.metadata_image,
                envoy_image=args.images["metadata-envoy"],
                host="mysql",
                port=PORT,
                password=self.database.secret,
                database=self.database.service,
                millicores=METADATA_REQUEST[0],
                memory_mib=METADATA_REQUEST[1],
            ),
            self.child(),
        )
        steps = self._steps()
        self._server = Server(
            self.named("server"),
            ServerArgs(
                namespace=args.namespace,
                images=args.images,
                host="mysql",
                port=PORT,
                password=self.database.secret,
                store=args.store,
                granted=args.granted["ml-pipeline"],
                after=[self.database.service, argo.ready, metadata.ready, *steps],
                millicores=SERVER_REQUEST[0],
                memory_mib=SERVER_REQUEST[1],
            ),
            self.child(),
        ).ready
        agent = self._agents()
        self.ready = agent
        self._show()
        self.register_outputs({"gib": args.gib})

    def _account(
        self, role: str, account: str, rules: Rules, at: pulumi.Input[str] | None = None
    ) -> pulumi.Output[str]:
        own = self._args.namespace
        args = AccountArgs(account=account, namespace=own, within={"": (own if at is None else at, rules)})
        return PipelinesAccount(self.named(role), args, self.child()).name

    def _steps(self) -> list[pulumi.Resource]:
        """The steps' account and scripts, and where there are runs the token of the account that makes their jobs."""
        key = self._args.store.key()
        self._account("runner", RUNNER, runner_rules([key["secretName"]] if key else []))
        scripts = k8s.core.v1.ConfigMap(
            self.named("scripts"),
            k8s.core.v1.ConfigMapInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=SCRIPTS, namespace=self._args.namespace),
                data=self._args.scripts,
            ),
            self.child(),
        )
        return [scripts] if self._args.jobs is None else [self._starter(self._args.jobs), scripts]

    def _starter(self, jobs: pulumi.Input[str]) -> pulumi.Resource:
        starter = self._account("starter", STARTER, starter_rules(), jobs)
        return k8s.core.v1.Secret(
            self.named("starter-token"),
            k8s.core.v1.SecretInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name=STARTER_TOKEN,
                    namespace=self._args.namespace,
                    annotations={"kubernetes.io/service-account.name": starter},
                ),
                type="kubernetes.io/service-account-token",
            ),
            # Kubernetes fills it in (Kubernetes documentation, Manually create an API token for a ServiceAccount).
            self.child(ignore_changes=["data"]),
        )

    def _agents(self) -> pulumi.Resource:
        """What tells the server how runs get on, and what starts them by the clock."""
        cpu, memory = OTHERS_REQUEST
        common: dict[str, ClientValue] = {"LOG_LEVEL": "info", "NAMESPACE": own_namespace()}
        agent = Program(
            name=AGENT,
            container=AGENT,
            image=self._args.images["persistence-agent"],
            labels=AGENT_LABELS,
            account=self._account("agent-access", AGENT, agent_rules()),
            millicores=cpu,
            memory_mib=memory,
            # A Workflow goes by its own time to live, which is Argo's.
            env=variables({**common, "NUM_WORKERS": "2", "TTL_SECONDS_AFTER_WORKFLOW_FINISH": "86400"}),
            token="persistenceagent-sa-token",  # noqa: S106 - a file's name
        )
        scheduled = Program(
            name=SCHEDULED,
            container=SCHEDULED,
            image=self._args.images["scheduled-workflow-controller"],
            labels=SCHEDULED_LABELS,
            account=self._account("scheduled-access", SCHEDULED, scheduled_rules()),
            millicores=cpu,
            memory_mib=memory,
            env=variables(
                {
                    **common,
                    "CLIENT_BURST": "20",
                    "CLIENT_QPS": "10",
                    "CRON_SCHEDULE_TIMEZONE": "UTC",
                    "METRICS_PORT": "9090",
                    "RESYNC_INTERVAL_SECONDS": "30",
                }
            ),
            ports={"http": 9090},
            token="scheduledworkflow-sa-token",  # noqa: S106 - a file's name
        )
        running(self, "scheduled", scheduled, self._args.namespace, [self._server])
        return running(self, "agent", agent, self._args.namespace, [self._server])

    def _show(self) -> None:
        """The UI. It runs no TensorBoards and no scripts of visualisations, and finds files as its pod's identity."""
        store, cpu_memory = self._args.store, OTHERS_REQUEST
        account = self._account("ui-access", UI, ui_rules())
        program = Program(
            name=UI,
            container=UI,
            image=self._args.images["frontend"],
            labels=UI_LABELS,
            account=pulumi.Output.all(account, self._args.granted[UI]).apply(lambda known: str(known[0])),
            millicores=cpu_memory[0],
            memory_mib=cpu_memory[1],
            env=variables(
                {
                    **store.client,
                    "ALLOW_CUSTOM_VISUALIZATIONS": "false",
                    "ARGO_ARCHIVE_LOGS": "false",
                    "AWS_REGION": store.address.region,
                    "DISABLE_GKE_METADATA": "true",
                    "FRONTEND_SERVER_NAMESPACE": own_namespace(),
                }
            ),
            ports={"http": UI_PORT},
            probes={probe: asked("/apis/v1beta1/healthz", UI_PORT) for probe in ("liveness", "readiness")},
        )
        started = running(self, "ui", program, self._args.namespace, [self._server])
        found(self, "ui-service", UI, self._args.namespace, program, started, {80: "http"})
