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
    """A Kubernetes minor on EKS and the AMI release its node groups run (`releaseVersion` of CreateNodegroup)."""

    minor: str
    ami_release: str
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

# renovate: datasource=docker depName=public.ecr.aws/aws-cli/aws-cli
AWS_CLI_IMAGE = "public.ecr.aws/aws-cli/aws-cli:2.37.1"

KUBERNETES = {
    kubernetes.minor: kubernetes
    for kubernetes in (
        Kubernetes(
            minor="1.36",
            # renovate: datasource=github-releases depName=awslabs/amazon-eks-ami versioning=loose
            ami_release="1.36.2-20260728",
            source="https://github.com/awslabs/amazon-eks-ami/releases/tag/v20260728",
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
    "eks-node-monitoring-agent": None,
}
"""EKS add-ons. None takes EKS's default for the cluster's version: the guide publishes no exact version for 1.36 yet.
`aws eks describe-addon-versions --kubernetes-version 1.36` lists what to put here."""
