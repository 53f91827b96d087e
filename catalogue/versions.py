"""Every version the program deploys. A line after `# renovate:` is one an update bot may move, and nothing else is."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A Helm chart: its Helm repository, and the published version as `helm pull --version` wants it."""

    name: str
    version: str
    repository: str


@dataclass(frozen=True, kw_only=True)
class Kubernetes:
    """A Kubernetes minor on EKS and the AMI releases its node groups run (`releaseVersion` of CreateNodegroup)."""

    minor: str
    ami_release: str
    bottlerocket_release: str
    source: str


PROMETHEUS_OPERATOR_CRDS = Chart(
    name="prometheus-operator-crds",
    # renovate: datasource=docker depName=ghcr.io/prometheus-community/charts/prometheus-operator-crds
    version="31.0.1",
    repository="https://prometheus-community.github.io/helm-charts",
)
KUBE_PROMETHEUS_STACK = Chart(
    name="kube-prometheus-stack",
    # renovate: datasource=docker depName=ghcr.io/prometheus-community/charts/kube-prometheus-stack
    version="88.5.3",
    repository="https://prometheus-community.github.io/helm-charts",
)
FLUENT_BIT = Chart(
    name="fluent-bit",
    # renovate: datasource=helm registryUrl=https://fluent.github.io/helm-charts depName=fluent-bit
    version="0.58.1",
    repository="https://fluent.github.io/helm-charts",
)
METRICS_SERVER = Chart(
    name="metrics-server",
    # renovate: datasource=helm registryUrl=https://kubernetes-sigs.github.io/metrics-server depName=metrics-server
    version="3.13.1",
    repository="https://kubernetes-sigs.github.io/metrics-server",
)
PROMETHEUS_ADAPTER = Chart(
    name="prometheus-adapter",
    # renovate: datasource=docker depName=ghcr.io/prometheus-community/charts/prometheus-adapter
    version="5.3.0",
    repository="https://prometheus-community.github.io/helm-charts",
)
KEDA = Chart(
    name="keda",
    # renovate: datasource=helm registryUrl=https://kedacore.github.io/charts depName=keda
    version="2.20.2",
    repository="https://kedacore.github.io/charts",
)
GPU_OPERATOR = Chart(
    name="gpu-operator",
    # renovate: datasource=helm registryUrl=https://helm.ngc.nvidia.com/nvidia depName=gpu-operator
    version="v26.3.3",
    repository="https://helm.ngc.nvidia.com/nvidia",
)
GPU_OPERATOR_IMAGE = f"nvcr.io/nvidia/gpu-operator:{GPU_OPERATOR.version}"
"""The image of the chart's `operator` (deployments/gpu-operator/values.yaml: the tag is the chart's appVersion)."""

EFA_DEVICE_PLUGIN = Chart(
    name="aws-efa-k8s-device-plugin",
    # renovate: datasource=helm registryUrl=https://aws.github.io/eks-charts depName=aws-efa-k8s-device-plugin
    version="v0.5.30",
    repository="https://aws.github.io/eks-charts",
)
CERT_MANAGER = Chart(
    name="cert-manager",
    # renovate: datasource=docker depName=quay.io/jetstack/charts/cert-manager
    version="v1.21.1",
    repository="https://charts.jetstack.io",
)
TRAEFIK = Chart(
    name="traefik",
    # renovate: datasource=helm registryUrl=https://traefik.github.io/charts depName=traefik
    version="41.6.0",
    repository="https://traefik.github.io/charts",
)
EXTERNAL_SECRETS = Chart(
    name="external-secrets",
    # renovate: datasource=helm registryUrl=https://charts.external-secrets.io depName=external-secrets
    version="2.9.0",
    repository="https://charts.external-secrets.io",
)
KARPENTER = Chart(
    name="karpenter",
    # renovate: datasource=docker depName=public.ecr.aws/karpenter/karpenter
    version="1.14.1",
    repository="oci://public.ecr.aws/karpenter",
)
KYVERNO = Chart(
    name="kyverno",
    # renovate: datasource=helm registryUrl=https://kyverno.github.io/kyverno depName=kyverno
    version="3.9.1",
    repository="https://kyverno.github.io/kyverno",
)
KYVERNO_VERSION = "v1.19.1"
"""What the chart installs (its appVersion)."""

VOLCANO = Chart(
    name="volcano",
    # renovate: datasource=helm registryUrl=https://volcano-sh.github.io/helm-charts depName=volcano
    version="1.14.1",
    repository="https://volcano-sh.github.io/helm-charts",
)

CHARTS = {each.name: each for each in list(vars().values()) if isinstance(each, Chart)}
"""Every chart above, by its name."""

# renovate: datasource=github-releases depName=kubeflow/training-operator
TRAINING_OPERATOR = "v1.9.3"
TRAINING_OPERATOR_IMAGE = "ghcr.io/kubeflow/training-v1/training-operator:v1-d6eb98e"
"""What manifests/overlays/standalone/kustomization.yaml of that tag names."""

TRAINING_OPERATOR_CRD_SHA256 = "eb80e57a984cdc7ceefaaf3fc561e21b673c30cbb58589f2389528d2b2760d22"
"""Of manifests/base/crds/kubeflow.org_pytorchjobs.yaml at that tag, from the Go module of that name, whose content Go's
checksum database vouches for: `make quick` names another version's where the module is at hand."""

# renovate: datasource=github-releases depName=kubeflow/mpi-operator
MPI_OPERATOR = "v0.8.0"
MPI_OPERATOR_IMAGE = "mpioperator/mpi-operator:0.8.0"
"""What manifests/overlays/standalone/kustomization.yaml of that tag names."""

MPI_OPERATOR_CRD_SHA256 = "78b0131f931fcc8d99f6ce0407281f41b62527e443ec691d26d9634b390ad3bb"
"""Of manifests/base/kubeflow.org_mpijobs.yaml at that tag, from the Go module of that name, whose content Go's
checksum database vouches for."""

# renovate: datasource=github-tags depName=NVIDIA/nccl-tests
NCCL_TESTS = "v2.18.3"
"""What images of Slurm's measurements are built with."""

# renovate: datasource=github-releases depName=kubernetes-sigs/gateway-api
GATEWAY_API = "v1.6.1"
"""What Traefik's release is built with (its go.mod)."""

GATEWAY_API_CRDS = {
    "backendtlspolicies": "0d48c9e4b53dd9510cf615b9b1192d9d7afb07a1cc0498c9515627cb1c075419",
    "gatewayclasses": "53710048ba26f8620eed59d5e51b157ecf040daf5c6eef31a4b991e0808c4be5",
    "gateways": "25b885f5870b8fff1ae82efa2628b2761cef3745900c2aecf8fb76629a01255a",
    "grpcroutes": "53a8d029da8f07e55d3fa58a5cf6de5950dab19fbb8d6a8082fb5e51ca5ef6fc",
    "httproutes": "a424a0d6c953b162e71d1d97bb7e75012d8f1ac264e7274f2763d1b96ab39852",
    "referencegrants": "8c645e9333cfa67790cc2a53e0c00076f88b2bd4230d2b49688c78bc34f9b2c3",
    "tlsroutes": "bb8b67926e5d9652cbfd2e19063b7c1d9e78806c9dd671608f57baef2f2e3bbb",
}
"""The kinds that Traefik looks at, by their plural names, with the SHA-256 of config/crd/standard/ at that tag, from
the Go module sigs.k8s.io/gateway-api, whose content Go's checksum database vouches for."""

KARPENTER_CRDS = {
    "karpenter.k8s.aws_ec2nodeclasses": "62dec59f01c0972d4503ca3ed25f243ba9c2f561be0d964ce7a14c8df406132f",
    "karpenter.sh_nodeclaims": "96037dc241031fe0f7a09ddf78183d885ce6a1dfe115f7b3fbf8a12c564be694",
    "karpenter.sh_nodeoverlays": "6ff6199aff096cc87cd9508f8c5ae62c6d3452aa90c2828ee36380340f3ece62",
    "karpenter.sh_nodepools": "3bb64a20c80776b77aa19a699ebdaf34480a7b2e7ec4ef890b43225b3517f878",
}
"""Karpenter's kinds, by GROUP_PLURAL, with the SHA-256 of pkg/apis/crds/ at the chart's tag, from the Go module
github.com/aws/karpenter-provider-aws, whose content Go's checksum database vouches for."""

# renovate: datasource=github-releases depName=kubeflow/katib
KATIB = "v0.19.0"
KATIB_IMAGES = {
    name: f"ghcr.io/kubeflow/katib/{name}:{KATIB}"
    for name in (
        "katib-controller",
        "katib-db-manager",
        "file-metrics-collector",
        "earlystopping-medianstop",
        "suggestion-goptuna",
        "suggestion-hyperband",
        "suggestion-hyperopt",
        "suggestion-optuna",
        "suggestion-skopt",
    )
}
"""Of its manifests (manifests/v1beta1/installs/katib-standalone), without those for neural architecture search."""

# renovate: datasource=github-releases depName=kubeflow/pipelines
PIPELINES = "2.17.0"
PIPELINES_IMAGES = {
    name: f"ghcr.io/kubeflow/kfp-{name}:{PIPELINES}"
    for name in (
        "api-server",
        "persistence-agent",
        "scheduled-workflow-controller",
        "frontend",
        "metadata-envoy",
        "driver",
        "launcher",
    )
}
"""Of its manifests (manifests/kustomize/env/platform-agnostic), without those that serve pipelines of version 1."""

# renovate: datasource=docker depName=gcr.io/tfx-oss-public/ml_metadata_store_server
METADATA_IMAGE = "gcr.io/tfx-oss-public/ml_metadata_store_server:1.14.0"
"""What the manifests of Kubeflow Pipelines name (manifests/kustomize/base/metadata/base)."""

# renovate: datasource=github-releases depName=argoproj/argo-workflows
ARGO = "v4.0.5"
ARGO_IMAGES = {name: f"quay.io/argoproj/{name}:{ARGO}" for name in ("workflow-controller", "argoexec")}
"""The release that Kubeflow Pipelines is built with (manifests/kustomize/third-party/argo/base)."""

# renovate: datasource=docker depName=public.ecr.aws/docker/library/mysql
MYSQL_IMAGE = "public.ecr.aws/docker/library/mysql:8.4"
"""What the manifests of Kubeflow Pipelines name (manifests/kustomize/third-party/mysql/base)."""

# renovate: datasource=docker depName=ghcr.io/mlflow/mlflow
MLFLOW_IMAGE = "ghcr.io/mlflow/mlflow:v3.15.1-full"
"""MLflow's own image with the clients of PostgreSQL and S3, which the one without -full lacks (docker/README.md)."""

# renovate: datasource=docker depName=public.ecr.aws/docker/library/postgres
POSTGRES_IMAGE = "public.ecr.aws/docker/library/postgres:17.7"
"""MLflow takes any version that is still patched; 17 is until November 2029 (PostgreSQL, versioning policy)."""

# renovate: datasource=docker depName=registry.k8s.io/kubectl
KUBECTL_IMAGE = "registry.k8s.io/kubectl:v1.36.3"

# renovate: datasource=docker depName=public.ecr.aws/docker/library/alpine
WAIT_IMAGE = "public.ecr.aws/docker/library/alpine:3.22"
"""What workers of a gang wait in until their master answers; the operator's own default is years old."""

# renovate: datasource=docker depName=quay.io/curl/curl
CURL_IMAGE = "quay.io/curl/curl:8.21.0"
"""What asks a model server its first question; curl's own image."""

# renovate: datasource=docker depName=public.ecr.aws/docker/library/nginx
NGINX_IMAGE = "public.ecr.aws/docker/library/nginx:1.28.2"
"""What lets callers through to a model server (nginx/docker-nginx, unprivileged/stable/debian/Dockerfile)."""

# renovate: datasource=docker depName=quay.io/oauth2-proxy/oauth2-proxy
OAUTH2_PROXY_IMAGE = "quay.io/oauth2-proxy/oauth2-proxy:v7.15.6"
"""What asks people at pages who they are: its own project's image, without a shell (its Dockerfile)."""

# renovate: datasource=docker depName=public.ecr.aws/docker/library/python
PYTHON_IMAGE = "public.ecr.aws/docker/library/python:3.13-slim"
"""What watches training runs: a script that needs Python's own library alone."""

# renovate: datasource=docker depName=public.ecr.aws/aws-cli/aws-cli
AWS_CLI_IMAGE = "public.ecr.aws/aws-cli/aws-cli:2.37.1"

KUBERNETES = {
    kubernetes.minor: kubernetes
    for kubernetes in (
        Kubernetes(
            minor="1.36",
            # renovate: datasource=github-releases depName=awslabs/amazon-eks-ami versioning=loose
            ami_release="1.36.2-20260728",
            # Version and commit, as AWS' parameter image_version of aws-k8s-1.36 has them.
            bottlerocket_release="1.66.0-1ad6b4a4",
            source="https://github.com/awslabs/amazon-eks-ami/releases/tag/v20260728, "
            "https://github.com/bottlerocket-os/bottlerocket/releases/tag/v1.66.0",
        ),
    )
}
"""Minors with a recorded AMI release. Add one with its release version from the AMI's release notes."""

STANDARD_SUPPORT_ENDS = {
    "1.29": date(2025, 3, 23),
    "1.30": date(2025, 7, 23),
    "1.31": date(2025, 11, 26),
    "1.32": date(2026, 3, 23),
    "1.33": date(2026, 7, 29),
    "1.34": date(2026, 12, 2),
    "1.35": date(2027, 3, 27),
    "1.36": date(2027, 8, 2),
}
"""EKS user guide, Kubernetes release calendar (1.35: endoflife.date/amazon-eks)."""

END_OF_LIFE = {
    "1.32": date(2026, 2, 28),
    "1.33": date(2026, 6, 28),
    "1.34": date(2026, 10, 27),
    "1.35": date(2027, 2, 28),
}
"""kubernetes.io/releases: the day after which the project patches a minor no more. Older ones ended before these."""

ADDONS: dict[str, str | None] = {
    "vpc-cni": None,
    "coredns": None,
    "kube-proxy": None,
    "eks-pod-identity-agent": None,
    "aws-fsx-csi-driver": None,
    "aws-ebs-csi-driver": None,
    "aws-efs-csi-driver": None,
    "eks-node-monitoring-agent": None,
    "snapshot-controller": None,
}
"""EKS add-ons. None takes EKS's default for the cluster's version: the guide publishes no exact version for 1.36 yet.
`aws eks describe-addon-versions --kubernetes-version 1.36` lists what to put here."""
