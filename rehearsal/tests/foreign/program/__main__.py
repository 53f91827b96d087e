import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s
from cluster import kubeconfig, make
from network import Network

config = pulumi.Config()
network = Network("shop")
cluster, nodes = make(network)
assets = aws.s3.Bucket("assets", force_destroy=True)

there = k8s.Provider("eks", kubeconfig=kubeconfig(cluster), opts=pulumi.ResourceOptions(depends_on=[nodes]))
on = pulumi.ResourceOptions(provider=there)

namespace = k8s.core.v1.Namespace("web", metadata={"name": "web"}, opts=on)
inside = pulumi.ResourceOptions(provider=there, depends_on=[namespace])
settings = k8s.core.v1.ConfigMap(
    "settings", metadata={"name": "settings", "namespace": "web"}, data={"ASSETS": assets.bucket}, opts=inside
)
secret = k8s.core.v1.Secret(
    "greeting",
    metadata={"namespace": "web"},
    string_data={"GREETING": config.get_secret("greeting") or "hello"},
    opts=inside,
)
labels = {"app": "pages"}
pages = k8s.apps.v1.Deployment(
    "pages",
    metadata={"name": "pages", "namespace": "web"},
    spec={
        "replicas": config.require_int("pages"),
        "selector": {"match_labels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "containers": [
                    {
                        "name": "nginx",
                        "image": "nginx:1.29",
                        "ports": [{"container_port": 80}],
                        "env_from": [
                            {"config_map_ref": {"name": settings.metadata.name}},
                            {"secret_ref": {"name": secret.metadata.name}},
                        ],
                        "readiness_probe": {"http_get": {"path": "/", "port": 80}},
                        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                    }
                ]
            },
        },
    },
    opts=inside,
)
service = k8s.core.v1.Service(
    "pages",
    metadata={"name": "pages", "namespace": "web"},
    spec={"selector": labels, "ports": [{"port": 80}]},
    opts=pulumi.ResourceOptions(provider=there, depends_on=[pages]),
)
k8s.yaml.ConfigFile("edge", file="manifests/edge.yaml", opts=inside)

if config.get_bool("sessions"):
    k8s.helm.v3.Release(
        "sessions", chart="./charts/sessions", namespace="web", values={"replicas": 2, "maxmemory": "64mb"}, opts=inside
    )

pulumi.export("bucket", assets.bucket)
pulumi.export("address", service.metadata.apply(lambda metadata: f"{metadata.name}.{metadata.namespace}"))
