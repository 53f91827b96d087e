"""The API server of Kubeflow Pipelines 2.17: what is uploaded to it stands in its database, what it starts are Argo's
Workflows.

It asks nobody who they are outside of its multi-user mode, which takes the word of a header of whoever asks
(backend/src/apiserver/auth); so network rules say who reaches it, and no way leads in from outside. Pipelines of
version 1, which its cache's webhook is for, are refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.kubeflow.mysql import KEY, SERVED
from components.kubeflow.pipelines_pods import Program, asked, found, own_namespace, running, variables
from components.kubeflow.pipelines_rbac import LAUNCHER, SERVER, PipelinesAccount, server_rules
from components.platform.copying import ClientValue, StoreAddress
from components.platform.rights import AccountArgs
from components.platform.servers import password_of

LABELS = {"app": "ml-pipeline"}
HTTP_PORT, GRPC_PORT = 8888, 8887
_HEALTH = "/apis/v1beta1/healthz"


@dataclass(frozen=True, kw_only=True)
class Store:
    """The store's `address` and `bucket`, the `prefix` there, and the variables that a client needs beside an identity
    of its pod's.
    """

    address: StoreAddress
    bucket: pulumi.Input[str]
    prefix: str
    client: Mapping[str, ClientValue]

    def key(self) -> dict[str, str] | None:
        """The Secret with a key of the store's and its entries, as a launcher's file names them; None where pods have
        an identity."""
        parts = [self.client.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
        known = [
            each.secret_key_ref
            for each in parts
            if isinstance(each, k8s.core.v1.EnvVarSourceArgs)
            and isinstance(each.secret_key_ref, k8s.core.v1.SecretKeySelectorArgs)
        ]
        if len(known) < len(parts):
            return None
        return {
            "secretName": str(known[0].name),
            "accessKeyKey": str(known[0].key),
            "secretKeyKey": str(known[1].key),
        }


@dataclass(frozen=True, kw_only=True)
class ServerArgs:
    """`images` go by the vendor's names (api-server, driver, launcher). `host` is where MySQL is asked, `password` the
    Secret with its root's. `granted` resolves when its pods may write in the store, `after` exists when database,
    metadata and Argo do.
    """

    namespace: pulumi.Input[str]
    images: Mapping[str, str]
    host: str
    port: int
    password: pulumi.Input[str]
    store: Store
    granted: pulumi.Input[str]
    after: list[pulumi.Resource]
    millicores: int
    memory_mib: int


def launcher_config(store: Store) -> pulumi.Output[dict[str, str]]:
    """Where steps keep files and logs, as driver and launcher read it (backend/src/v2/config/s3.go)."""
    key = store.key()

    def written(known: dict[str, str]) -> dict[str, str]:
        where = urlsplit(known["endpoint"])
        default = {
            "endpoint": where.netloc,
            "region": store.address.region,
            "disableSSL": where.scheme == "http",
            "credentials": {"fromEnv": True} if key is None else {"fromEnv": False, "secretRef": key},
        }
        root = f"s3://{known['bucket']}/{store.prefix}/artifacts"
        return {
            "defaultPipelineRoot": root,
            "providers": json.dumps({"s3": {"default": default}}, sort_keys=True),
        }

    return pulumi.Output.all(endpoint=store.address.endpoint, bucket=store.bucket).apply(written)


class Server(Component):
    """The server with its Service, and the file that its runs' steps read. `ready` is the resource after which
    pipelines are taken."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: ServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        account = PipelinesAccount(
            self.named("access"),
            AccountArgs(account=SERVER, namespace=args.namespace, within={"": (args.namespace, server_rules())}),
            self.child(),
        )
        k8s.core.v1.ConfigMap(
            self.named("launcher"),
            k8s.core.v1.ConfigMapInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name=LAUNCHER, namespace=args.namespace),
                data=launcher_config(args.store),
            ),
            self.child(),
        )
        program = Program(
            name=SERVER,
            container="ml-pipeline-api-server",
            image=args.images["api-server"],
            labels=LABELS,
            account=pulumi.Output.all(account.name, args.granted).apply(lambda known: str(known[0])),
            millicores=args.millicores,
            memory_mib=args.memory_mib,
            env=[*variables(_environment(args)), *_database(args)],
            ports={"http": HTTP_PORT, "grpc": GRPC_PORT},
            probes={
                "liveness": asked(_HEALTH, HTTP_PORT),
                "readiness": asked(_HEALTH, HTTP_PORT),
                # It waits for its database, and brings the tables to its version.
                "startup": asked(_HEALTH, HTTP_PORT, failures=72),
            },
        )
        started = running(self, "server", program, args.namespace, args.after)
        self.ready = found(self, "service", SERVER, args.namespace, program, started)
        self.register_outputs({"ports": [HTTP_PORT, GRPC_PORT]})


def _environment(args: ServerArgs) -> dict[str, ClientValue]:
    """Names are those of its configuration (backend/src/apiserver/config/config.json): dots and underscores are one.

    An empty key of the store is said, as its own default is a key of MinIO's; without one it takes that of the SDK's
    chain (client_manager.go, loadAWSConfig).
    """
    store = args.store
    where = pulumi.Output.from_input(store.address.endpoint).apply(urlsplit)
    return {
        **store.client,
        "POD_NAMESPACE": own_namespace(),
        "CLUSTER_DOMAIN": "cluster.local",
        "AUTO_UPDATE_PIPELINE_DEFAULT_VERSION": "true",
        "BLOCK_V1_PIPELINES": "true",
        "LOG_LEVEL": "info",
        "PIPELINE_LOG_LEVEL": "1",
        "PUBLISH_LOGS": "true",
        "OBJECTSTORECONFIG_ACCESSKEY": "",
        "OBJECTSTORECONFIG_SECRETACCESSKEY": "",
        "OBJECTSTORECONFIG_BUCKETNAME": store.bucket,
        "OBJECTSTORECONFIG_HOST": where.apply(lambda each: each.hostname or ""),
        "OBJECTSTORECONFIG_PORT": where.apply(lambda each: str(each.port or "")),
        "OBJECTSTORECONFIG_SECURE": where.apply(lambda each: str(each.scheme == "https").lower()),
        "OBJECTSTORECONFIG_REGION": store.address.region,
        "OBJECTSTORECONFIG_PIPELINEPATH": f"{store.prefix}/uploaded",
        "V2_DRIVER_IMAGE": args.images["driver"],
        "V2_LAUNCHER_IMAGE": args.images["launcher"],
    }


def _database(args: ServerArgs) -> list[k8s.core.v1.EnvVarArgs]:
    plain = {
        "DB_DRIVER_NAME": "mysql",
        "DBCONFIG_CONMAXLIFETIME": "120s",
        "DBCONFIG_MYSQLCONFIG_DBNAME": SERVED,
        "DBCONFIG_MYSQLCONFIG_HOST": args.host,
        "DBCONFIG_MYSQLCONFIG_PORT": str(args.port),
        "DBCONFIG_MYSQLCONFIG_USER": "root",
    }
    return [*variables(plain), password_of("DBCONFIG_MYSQLCONFIG_PASSWORD", args.password, KEY)]
