"""ML Metadata for Kubeflow Pipelines: drivers and launchers keep there what a run's steps made, and the UI shows it.

The UI speaks gRPC-Web, which Envoy makes gRPC of.
"""

import hashlib
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.kubeflow.mysql import KEY, KNOWN
from components.kubeflow.pipelines_pods import Program, found, running, variables
from components.platform.servers import password_of

METADATA = {"component": "metadata-grpc-server"}
ENVOY = {"component": "metadata-envoy"}
METADATA_NAME, ENVOY_NAME = "metadata-grpc-service", "metadata-envoy-service"
METADATA_PORT, ENVOY_PORT = 8080, 9090
_FILE = "envoy-config.yaml"
_MESSAGES = "grpc.max_metadata_size=16384,grpc.max_receive_message_length=104857600"


@dataclass(frozen=True, kw_only=True)
class MetadataArgs:
    """`host` is where MySQL is asked, `password` the Secret with its root's, `database` what exists when it answers."""

    namespace: pulumi.Input[str]
    image: str
    envoy_image: str
    host: str
    port: int
    password: pulumi.Input[str]
    database: pulumi.Resource
    millicores: int
    memory_mib: int


def envoy_config() -> str:
    """Envoy as the vendor has it (manifests/kustomize/base/metadata/base/metadata-envoy-configmap.yaml), without its
    own page and without the rule that lets every site's scripts ask: the UI hands on what its pages ask."""
    known = "type.googleapis.com/envoy.extensions"
    return f"""static_resources:
  listeners:
    - name: listener_0
      address:
        socket_address: {{address: 0.0.0.0, port_value: {ENVOY_PORT}}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": {known}.filters.network.http_connection_manager.v3.HttpConnectionManager
                codec_type: auto
                stat_prefix: ingress_http
                route_config:
                  name: local_route
                  virtual_hosts:
                    - name: local_service
                      domains: ["*"]
                      routes:
                        - match: {{prefix: "/"}}
                          route:
                            cluster: metadata-cluster
                            max_stream_duration: {{grpc_timeout_header_max: 0s}}
                http_filters:
                  - name: envoy.filters.http.grpc_web
                    typed_config:
                      "@type": {known}.filters.http.grpc_web.v3.GrpcWeb
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": {known}.filters.http.router.v3.Router
  clusters:
    - name: metadata-cluster
      connect_timeout: 30s
      type: logical_dns
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": {known}.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config:
            http2_protocol_options: {{}}
      lb_policy: round_robin
      load_assignment:
        cluster_name: metadata-grpc
        endpoints:
          - lb_endpoints:
              - endpoint:
                  address:
                    socket_address: {{address: {METADATA_NAME}, port_value: {METADATA_PORT}}}
"""


class Metadata(Component):
    """The server and Envoy, each with its Service. `ready` is there when steps can keep what they made."""

    ready: pulumi.Resource

    def __init__(self, name: str, args: MetadataArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        core = k8s.core.v1
        listens = core.ProbeArgs(tcp_socket=core.TCPSocketActionArgs(port=METADATA_PORT), period_seconds=5)
        server = Program(
            name="metadata-grpc-deployment",
            container="container",
            image=args.image,
            labels=METADATA,
            millicores=args.millicores,
            memory_mib=args.memory_mib,
            command=["/bin/metadata_store_server"],
            args=[
                f"--grpc_port={METADATA_PORT}",
                "--mysql_config_database=$(MYSQL_DATABASE)",
                "--mysql_config_host=$(MYSQL_HOST)",
                "--mysql_config_port=$(MYSQL_PORT)",
                "--mysql_config_user=$(DBCONFIG_USER)",
                "--mysql_config_password=$(DBCONFIG_PASSWORD)",
                "--enable_database_upgrade=true",
                f"--grpc_channel_arguments={_MESSAGES},grpc.max_send_message_length=104857600",
            ],
            env=[
                *variables(
                    {
                        "DBCONFIG_USER": "root",
                        "MYSQL_DATABASE": KNOWN,
                        "MYSQL_HOST": args.host,
                        "MYSQL_PORT": str(args.port),
                    }
                ),
                password_of("DBCONFIG_PASSWORD", args.password, KEY),
            ],
            ports={"grpc-api": METADATA_PORT},
            probes={"liveness": listens, "readiness": listens},
        )
        running_server = running(self, "server", server, args.namespace, [args.database])
        self.ready = found(self, "service", METADATA_NAME, args.namespace, server, running_server)
        config = envoy_config()
        kept = core.ConfigMap(
            self.named("envoy-config"),
            core.ConfigMapInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(name="metadata-envoy-configmap", namespace=args.namespace),
                data={_FILE: config},
            ),
            self.child(),
        )
        envoy = Program(
            name="metadata-envoy-deployment",
            container="container",
            image=args.envoy_image,
            labels=ENVOY,
            millicores=50,
            memory_mib=128,
            args=[f"/etc/envoy/{_FILE}"],
            ports={"md-envoy": ENVOY_PORT},
            reads={"/etc/envoy": (kept, hashlib.sha256(config.encode()).hexdigest()[:16])},
        )
        started = running(self, "envoy", envoy, args.namespace, [self.ready])
        found(self, "envoy-service", ENVOY_NAME, args.namespace, envoy, started)
        self.register_outputs({"port": METADATA_PORT})
