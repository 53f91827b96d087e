"""Two owners of one thing, images outside of containers, secrets in words."""

from typing import Any

from policy.graph import Resource
from tests.policy.programs.form import Program, deployment, pod, release, resource, template, thing, variables

DAEMON, DEFINED, UNIQUE = "one_owner_per_daemon", "one_owner_per_definition", "objects_are_one"
IMAGES, SECRETS = "images_elsewhere_pinned", "no_secret_in_words"
OFF: dict[str, Any] = {"enabled": False}
GPU_OPERATOR = release("gpu-operator")
DIGEST = f"@sha256:{'5eed' * 16}"


def daemon(image: str, name: str = "daemon") -> Resource:
    return thing("apps/v1", "DaemonSet", name, spec={"template": template({"image": image})})


def addon(name: str) -> Resource:
    """An add-on of EKS."""
    return resource("aws:eks/addon:Addon", f"addon-{name}", addonName=name)


def definition(name: str) -> Resource:
    return thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, namespace="")


def words(*given: str) -> Resource:
    """A Deployment whose container is given these words."""
    return deployment({"args": list(given)})


def namesake(namespace: str) -> Resource:
    """A second Deployment called one."""
    metadata = {"name": "one", "namespace": namespace}
    return resource("kubernetes:apps/v1:Deployment", "two", metadata=metadata)


def training_operator(*given: str) -> Resource:
    """The training operator with these words."""
    container = {"image": "kubeflow/training-operator:v1.9.3", "args": ["--zap-log-level=2", *given]}
    return thing("apps/v1", "Deployment", "jobs", spec={"template": template(container)})


MPI = "mpi_jobs_have_one_operator"
MPI_OPERATOR = thing(
    "apps/v1", "Deployment", "mpi", spec={"template": template({"image": "mpioperator/mpi-operator:0.8.0"})}
)
FILE = thing("core/v1", "ConfigMap", data={"key.pem": "-----BEGIN RSA PRIVATE KEY-----"})
BEARER = "Bearer abcdefghijklmnopqrst"
AGAIN = resource("kubernetes:helm.sh/v3:Release", "y", name="x", namespace="elsewhere")
OWNED = [
    Program(DAEMON, (GPU_OPERATOR, release("nvidia-device-plugin")), "the NVIDIA device plugin"),
    Program(DAEMON, (GPU_OPERATOR, daemon("nvcr.io/nvidia/k8s-device-plugin:v0.20.0")), "the NVIDIA device plugin"),
    Program(DAEMON, (GPU_OPERATOR, release("network-operator")), "brings node feature discovery"),
    Program(DAEMON, (GPU_OPERATOR, daemon("nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0")), "brings the DCGM exporter"),
    Program(
        DAEMON,
        (release("aws-efa-k8s-device-plugin"), daemon("1.dkr.ecr/eks/aws-efa-k8s-device-plugin:v0.5.20")),
        "brings the EFA device plugin",
    ),
    Program(
        DAEMON,
        (release("aws-efa-k8s-device-plugin"), release("aws-efa-k8s-device-plugin", "again")),
        "which aws-efa-k8s-device-plugin brings already",
    ),
    Program(DAEMON, (release("kube-prometheus-stack"), addon("prometheus-node-exporter")), "brings the node exporter"),
    Program(DAEMON, (release("metrics-server"), addon("metrics-server")), "brings the metrics server"),
    Program(DAEMON, (release("aws-fsx-csi-driver"), addon("aws-fsx-csi-driver")), "the driver aws-fsx-csi-driver"),
    Program(DAEMON, (release("oci://example/charts/volcano", "a"), release("volcano", "b")), "brings Volcano"),
    Program(DAEMON, (GPU_OPERATOR, release("network-operator", nfd=OFF))),
    Program(DAEMON, (release("gpu-operator", devicePlugin=OFF), release("nvidia-device-plugin"))),
    Program(DAEMON, (release("kube-prometheus-stack", nodeExporter=OFF), addon("prometheus-node-exporter"))),
    Program(DAEMON, (GPU_OPERATOR, release("dcgm-exporter-dashboards"))),
    Program(DEFINED, (release("prometheus-operator-crds"), release("kube-prometheus-stack")), "monitoring.coreos.com"),
    Program(DEFINED, (release("jobset"), release("kubeflow-trainer")), "definitions of jobset.x-k8s.io"),
    Program(DEFINED, (release("volcano"), definition("queues.scheduling.volcano.sh")), "of scheduling.volcano.sh"),
    Program(DEFINED, (release("prometheus-operator-crds"), release("kube-prometheus-stack", crds=OFF))),
    Program(DEFINED, (release("jobset"), release("kubeflow-trainer", jobset={"install": False}))),
    Program(DEFINED, (release("volcano"), definition("pytorchjobs.kubeflow.org"))),
    Program(MPI, (MPI_OPERATOR, training_operator()), "serves MPIJob v1 beside the MPI operator"),
    Program(MPI, (MPI_OPERATOR, training_operator("--enable-scheme=MPIJob")), "serves MPIJob v1"),
    Program(MPI, (MPI_OPERATOR, training_operator("--enable-scheme", "mpijob")), "serves MPIJob v1"),
    Program(MPI, (MPI_OPERATOR, training_operator("--enable-scheme=pytorchjob"))),
    Program(MPI, (training_operator(),)),
    Program(MPI, (MPI_OPERATOR,)),
    Program(UNIQUE, (deployment(), namesake("here")), "is the Deployment one that one makes already"),
    Program(UNIQUE, (release("a", "x"), AGAIN), "is the Release x"),
    Program(UNIQUE, (deployment(), namesake("there"))),
    Program(UNIQUE, (deployment(), thing("apps/v1", "StatefulSet", "one"))),
    Program(UNIQUE, (resource("kubernetes:core/v1:Pod", "a"), resource("kubernetes:core/v1:Pod", "b"))),
    Program(DAEMON, (GPU_OPERATOR, daemon("nvcr.io/nvidia/cuda:13.0"))),
    Program(
        DAEMON, (GPU_OPERATOR, thing("batch/v1", "Job", spec={"template": template({"image": "k8s-device-plugin:1"})}))
    ),
]
PINNED = [
    Program(IMAGES, (release("x", image={"repository": "a/b", "tag": "latest"}),), "names the image a/b:latest"),
    Program(IMAGES, (release("x", sidecar={"image": "a/b"}),), "names the image a/b, whose"),
    Program(IMAGES, (release("x", image={"repository": "a/b", "tag": "v1"}),), "without a digest", protected=True),
    Program(
        IMAGES,
        (thing("trainer.kubeflow.org/v1alpha1", "TrainJob", spec={"trainer": {"image": "a/b"}}),),
        "names the image a/b, whose",
    ),
    Program(
        IMAGES,
        (
            thing(
                "mellanox.com/v1alpha1",
                "NicClusterPolicy",
                spec={"ofedDriver": {"image": "doca", "repository": "nvcr.io", "version": "latest"}},
            ),
        ),
        "doca:latest",
    ),
    Program(IMAGES, (words("--init-container-image=a/b:latest"),), "names the image a/b:latest"),
    Program(IMAGES, (words("--init-container-image=alpine:latest"),), "names the image alpine:latest"),
    Program(IMAGES, (words("--init-container-image", "a/b:1"),), "without a digest", protected=True),
    Program(IMAGES, (release("x", image={"repository": "a/b", "tag": "v1"}),)),
    Program(IMAGES, (release("x", image={"repository": "a/b", "digest": f"sha256:{'5eed' * 16}"}),), protected=True),
    Program(IMAGES, (release("x", image={"pullPolicy": "Always"}),), protected=True),
    Program(IMAGES, (words(f"--init-container-image=a/b:1{DIGEST}"),), protected=True),
    Program(IMAGES, (words("--image-size=a/b", "--image=small", "--side-image=$IMAGE/x"),)),
    Program(IMAGES, (release("x", source={"repository": "https://example.com/charts"}),)),
    Program(IMAGES, (resource("aws:ecs/service:Service", "x", spec={"image": "a/b"}), deployment())),
    Program(IMAGES, (thing("core/v1", "ConfigMap", data={"image": "a/b:latest"}), deployment())),
]
WORDS = [
    Program(SECRETS, (deployment(variables(HF_TOKEN="abcdef")),), "the secret HF_TOKEN in clear text in its env"),
    Program(SECRETS, (deployment(variables(DB_PASSWORD="hunter2")),), "the secret DB_PASSWORD"),
    Program(SECRETS, (deployment(variables(CLIENT_SECRET="abc")),), "the secret CLIENT_SECRET"),
    Program(SECRETS, (deployment(variables(AWS_SECRET_ACCESS_KEY="abc/def")),), "the secret AWS_SECRET_ACCESS_KEY"),
    Program(SECRETS, (deployment(variables(SETTINGS="hf_abcdefghijklmnopqrst")),), "the secret hf_abcde…"),
    Program(SECRETS, (deployment(variables(DATABASE="postgres://me:pass@db/x")),), "the secret ://me:pa…"),
    Program(SECRETS, (words("--api-key=abcdef"),), "the secret api-key in clear text in its words"),
    Program(SECRETS, (words("--api-key", "abcdef"),), "the secret api-key"),
    Program(SECRETS, (words("sh", "-c", "login --password hunter2 && run"),), "the secret password"),
    Program(SECRETS, (words("sh", "-c", "export HF_TOKEN=abc; run"),), "the secret HF_TOKEN"),
    Program(SECRETS, (words("curl", "-H", "Authorization: Bearer abcdefghijklmnopqrst"),), "the secret Bearer a…"),
    Program(SECRETS, (words("aws configure set x AKIAABCDEFGHIJKLMNOP"),), "the secret AKIAABCD…"),
    Program(SECRETS, (thing("core/v1", "ConfigMap", data={"api_key": "abc123"}),), "the secret api_key"),
    Program(SECRETS, (release("grafana", adminPassword="admin"),), "adminPassword in clear text in its values"),
    Program(SECRETS, (release("x", env=[{"name": "HF_TOKEN", "value": "abc1"}]),), "the secret HF_TOKEN"),
    Program(
        SECRETS,
        (
            thing(
                "batch/v1",
                "CronJob",
                spec={"jobTemplate": {"spec": {"template": {"spec": pod({"args": ["--token=abcdef"]})}}}},
            ),
        ),
        "the secret token",
    ),
    Program(SECRETS, (words("--api-key=$(API_KEY)", "--token", "$TOKEN", "--tls-key=/etc/tls/key.pem"),)),
    Program(SECRETS, (deployment(variables(PASSWORD="/run/secrets/password", DB_PASSWORD="file:/run/x")),)),
    Program(SECRETS, (deployment(variables(DB_PASSWORD="1234")),), "the secret DB_PASSWORD"),
    Program(
        SECRETS, (deployment({"lifecycle": {"preStop": {"exec": {"command": ["x", "--token=abc"]}}}}),), "secret token"
    ),
    Program(SECRETS, (deployment({"livenessProbe": {"exec": {"command": ["x", "--token=$TOKEN"]}}}),)),
    Program(SECRETS, (deployment({"livenessProbe": {"httpGet": {"httpHeaders": [{"value": BEARER}]}}}),), "Bearer"),
    Program(SECRETS, (words("--eos-token=stop", "--token=12"),)),
    Program(SECRETS, (thing("core/v1", "ConfigMap", data={"script": "--token-file=/x", "password": "a\nb"}),)),
    Program(
        SECRETS,
        (FILE,),
        "secret -----BEG",
    ),
    Program(SECRETS, (thing("example.com/v1", "Thing", spec={"values": {"password": "hunter2"}}),)),
    Program(SECRETS, (release("x", retries=3, password=None, secretKey="aB3xyz"),), "the secret secretKey"),
    Program(SECRETS, (words("--webhook-secret-name=certificate", "--max-token=4096", "--sort-key=name"),)),
    Program(SECRETS, (deployment(variables(OPENAI_API_KEY="EMPTY", TOKENIZERS_PARALLELISM="false")),)),
    Program(SECRETS, (deployment(variables(EOS_TOKEN="</s>", HF_TOKEN_PATH="/run/token", TOKEN="$(OTHER)")),)),
    Program(
        SECRETS,
        (deployment({"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]}),),
    ),
    Program(SECRETS, (release("x", existingSecret="admin", tolerations=[{"key": "gpu"}], topologyKey="zone"),)),
    Program(SECRETS, (release("grafana", admin={"existingSecret": "grafana", "passwordKey": "admin-password"}),)),
]
PROGRAMS = [*OWNED, *PINNED, *WORDS]
