"""What is built: one family per Go module file, because their dependencies do not mix."""

from rehearsal.toolchain import versions
from rehearsal.toolchain.family import STRIP, Edit, Family

MONITORING, GATEWAY = "monitoring", "gateway"


def _kubernetes_ldflags() -> str:
    """kube-apiserver reports, and kubectl compares, what the linker wrote into these two packages."""
    major, minor, _ = versions.KUBERNETES.split(".")
    values = {"gitVersion": f"v{versions.KUBERNETES}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "archive"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        [STRIP, *(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())]
    )


def _prometheus_ldflags(version: str, major: int = 0) -> str:
    """What the linker writes into `prometheus_build_info`; Go modules of Prometheus 3.x.y are called v0.3xx.y."""
    shown = f"{major}.{int(version.split('.')[1]) % 100}.{version.split('.')[2]}" if major else version
    return f"{STRIP} -X github.com/prometheus/common/version.Version={shown}"


_STACK = ("chart:kube-prometheus-stack", "image:prometheus-operator")
"""The operator makes pods whose images no resource of a program names."""
_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")

_HOOK_SERVER = "pkg/webhook/server/server.go"
_PROVIDER, _DYNAMIC = "pkg/provider/acme/provider.go", "pkg/config/dynamic"
_TRAEFIK_EDITS = (
    # Providers of DNS challenges, 150 vendors' libraries: cert-manager gets the certificates here.
    Edit(_PROVIDER, '\t"github.com/go-acme/lego/v5/providers/dns"\n', ""),
    Edit(
        _PROVIDER,
        "dns.NewDNSChallengeProviderByName(p.DNSChallenge.Provider)",
        'nil, errors.New("built without providers of DNS challenges")',
    ),
    # A module in the repository that no module proxy serves: empty structures, for another product to fill.
    Edit(f"{_DYNAMIC}/http_config.go", '\t"github.com/traefik/traefik/dynamic/ext"\n', ""),
    Edit(f"{_DYNAMIC}/http_config.go", '\text.HTTP `yaml:",inline"`\n', ""),
    Edit(f"{_DYNAMIC}/http_config.go", '\text.Router `yaml:",inline"`\n', ""),
    Edit(f"{_DYNAMIC}/zz_generated.deepcopy.go", "\tout.HTTP = in.HTTP\n", ""),
    Edit(f"{_DYNAMIC}/zz_generated.deepcopy.go", "\tout.Router = in.Router\n", ""),
    # A fork that is served no more, by what it was forked from; nobody here is let in by a password.
    Edit("pkg/middlewares/auth/basic_auth.go", "goauth.CheckSecret", "func(string, string) bool { return false }"),
    Edit("pkg/middlewares/auth/digest_auth.go", "d.auth.RequireAuthStale(", "d.auth.RequireAuth("),
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "etcd",
            versions.ETCD,
            module="go.etcd.io/etcd/server/v3",
            packages={"etcd": "go.etcd.io/etcd/server/v3"},
            disk=0.9,
            seconds={"etcd": 28},
        ),
        Family(
            "etcd-tools",
            versions.ETCD_TOOLS,
            module="go.etcd.io/etcd/etcdctl/v3",
            packages={"etcdctl": "go.etcd.io/etcd/etcdctl/v3", "etcdutl": "go.etcd.io/etcd/etcdutl/v3"},
            disk=0.9,
            seconds={"etcdctl": 30, "etcdutl": 5},
            serves="snapshots",
            wanted_by=("image:etcd",),
        ),
        Family(
            "pulumi",
            versions.PULUMI,
            module="github.com/pulumi/pulumi/pkg/v3",
            packages={"pulumi": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"},
            disk=2.4,
            seconds={"pulumi": 113},
            serves="engine",
            tags=("osusergo", "grpcnotrace"),
            ldflags=f"{STRIP} -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{versions.PULUMI}",
        ),
        Family(
            "kubernetes",
            versions.KUBERNETES,
            module="k8s.io/kubernetes",
            packages={name: f"k8s.io/kubernetes/cmd/{name}" for name in _KUBERNETES},
            disk=3.8,
            seconds={"kube-apiserver": 130, "kube-controller-manager": 29, "kube-scheduler": 3, "kubectl": 11},
            ldflags=_kubernetes_ldflags(),
        ),
        Family(
            "kwok",
            versions.KWOK,
            module="sigs.k8s.io/kwok",
            packages={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
            disk=0.9,
            seconds={"kwok": 43},
        ),
        Family(
            "crds",
            versions.CONTROLLER_TOOLS,
            module="sigs.k8s.io/controller-tools",
            packages={"controller-gen": "sigs.k8s.io/controller-tools/cmd/controller-gen"},
            disk=0.4,
            seconds={"controller-gen": 15},
            serves="definitions",
            wanted_by=("definitions",),
        ),
        Family(
            "training",
            versions.TRAINING_OPERATOR,
            module="github.com/kubeflow/training-operator",
            packages={"training-operator.v1": "github.com/kubeflow/training-operator/cmd/training-operator.v1"},
            disk=1.0,
            seconds={"training-operator.v1": 52},
            serves="training jobs",
            wanted_by=("image:training-operator",),
            # Its webhook has no flag for the address, and its certificates one directory for the whole machine.
            edits=(
                Edit(
                    "cmd/training-operator.v1/main.go",
                    "\t\t\tPort: webhookServerPort,",
                    '\t\t\tHost: "127.0.0.1", Port: webhookServerPort,',
                ),
                Edit(
                    "pkg/cert/cert.go",
                    "\t\tCertDir:        certDir,",
                    '\t\tCertDir:        os.TempDir() + "/k8s-webhook-server/serving-certs",',
                ),
            ),
        ),
        Family(
            "volcano",
            versions.VOLCANO,
            module="volcano.sh/volcano",
            packages={
                "vc-scheduler": "volcano.sh/volcano/cmd/scheduler",
                "vc-controller-manager": "volcano.sh/volcano/cmd/controller-manager",
                "vc-webhook-manager": "volcano.sh/volcano/cmd/webhook-manager",
            },
            disk=1.9,
            seconds={"vc-scheduler": 112, "vc-controller-manager": 9, "vc-webhook-manager": 10},
            serves="gangs",
            wanted_by=("chart:volcano", "image:vc-*"),
        ),
        Family(
            "helm",
            versions.HELM,
            module="helm.sh/helm/v3",
            packages={"helm": "helm.sh/helm/v3/cmd/helm"},
            disk=1.2,
            seconds={"helm": 120},
            serves="charts",
            # Those that are rendered from their own templates in a Go module; others ask for it when they are found.
            wanted_by=("chart:volcano",),
        ),
        Family(
            "prometheus-operator",
            versions.PROMETHEUS_OPERATOR,
            module="github.com/prometheus-operator/prometheus-operator",
            packages={
                "prometheus-operator": "github.com/prometheus-operator/prometheus-operator/cmd/operator",
                "prometheus-config-reloader": (
                    "github.com/prometheus-operator/prometheus-operator/cmd/prometheus-config-reloader"
                ),
            },
            disk=1.2,
            seconds={"prometheus-operator": 85, "prometheus-config-reloader": 4},
            serves=MONITORING,
            wanted_by=_STACK,
            ldflags=_prometheus_ldflags(versions.PROMETHEUS_OPERATOR),
        ),
        Family(
            "prometheus",
            versions.PROMETHEUS,
            module="github.com/prometheus/prometheus",
            packages={
                "prometheus": "github.com/prometheus/prometheus/cmd/prometheus",
                "promtool": "github.com/prometheus/prometheus/cmd/promtool",
            },
            disk=1.5,
            seconds={"prometheus": 98, "promtool": 7},
            serves=MONITORING,
            wanted_by=_STACK,
            # Of the ways to find targets, those of clouds make two thirds of the binary (source: plugins/).
            tags=("remove_all_sd", "enable_kubernetes_sd", "enable_dns_sd"),
            ldflags=_prometheus_ldflags(versions.PROMETHEUS, major=3),
        ),
        Family(
            "alertmanager",
            versions.ALERTMANAGER,
            module="github.com/prometheus/alertmanager",
            packages={
                "alertmanager": "github.com/prometheus/alertmanager/cmd/alertmanager",
                "amtool": "github.com/prometheus/alertmanager/cmd/amtool",
            },
            disk=1.0,
            seconds={"alertmanager": 30, "amtool": 5},
            serves=MONITORING,
            wanted_by=_STACK,
            ldflags=_prometheus_ldflags(versions.ALERTMANAGER),
            # The module does not hold the web pages that a release embeds.
            edits=(
                Edit("ui/web.go", "//go:embed app/dist", "//go:embed app/index.html"),
                Edit("ui/web.go", 'fs.Sub(asset, "app/dist")', 'fs.Sub(asset, "app")'),
            ),
        ),
        Family(
            "kube-state-metrics",
            versions.KUBE_STATE_METRICS,
            module="k8s.io/kube-state-metrics/v2",
            packages={"kube-state-metrics": "k8s.io/kube-state-metrics/v2"},
            disk=0.9,
            seconds={"kube-state-metrics": 85},
            serves=MONITORING,
            wanted_by=("chart:kube-prometheus-stack", "chart:kube-state-metrics", "image:kube-state-metrics"),
        ),
        Family(
            "prometheus-adapter",
            versions.PROMETHEUS_ADAPTER,
            module="sigs.k8s.io/prometheus-adapter",
            packages={"prometheus-adapter": "sigs.k8s.io/prometheus-adapter/cmd/adapter"},
            disk=0.9,
            seconds={"prometheus-adapter": 92},
            serves="autoscaling",
            wanted_by=("chart:prometheus-adapter", "image:prometheus-adapter"),
        ),
        Family(
            "karpenter",
            versions.KARPENTER,
            module="github.com/aws/karpenter-provider-aws",
            packages={"karpenter": "github.com/aws/karpenter-provider-aws/cmd/controller"},
            disk=1.8,
            seconds={"karpenter": 110},
            serves="nodes as pods need them",
            wanted_by=("chart:karpenter",),
            # It has settings for ports, and none for addresses.
            edits=tuple(
                Edit(
                    "pkg/operator/operator.go",
                    f'fmt.Sprintf(":%d", options.FromContext(ctx).{port})',
                    f'fmt.Sprintf("127.0.0.1:%d", options.FromContext(ctx).{port})',
                    module="sigs.k8s.io/karpenter",
                )
                for port in ("MetricsPort", "HealthProbePort")
            ),
        ),
        Family(
            "traefik",
            versions.TRAEFIK,
            module="github.com/traefik/traefik/v3",
            packages={"traefik": "github.com/traefik/traefik/v3/cmd/traefik"},
            disk=2.0,
            seconds={"traefik": 150},
            serves=GATEWAY,
            wanted_by=("chart:traefik",),
            edits=_TRAEFIK_EDITS,
        ),
        Family(
            "oauth2-proxy",
            versions.OAUTH2_PROXY,
            module="github.com/oauth2-proxy/oauth2-proxy/v7",
            packages={"oauth2-proxy": "github.com/oauth2-proxy/oauth2-proxy/v7"},
            disk=0.9,
            seconds={"oauth2-proxy": 60},
            serves=GATEWAY,
            wanted_by=("image:oauth2-proxy",),
            ldflags=f"{STRIP} -X github.com/oauth2-proxy/oauth2-proxy/v7/pkg/version.VERSION=v{versions.OAUTH2_PROXY}",
        ),
        Family(
            "cert-manager",
            versions.CERT_MANAGER,
            module="github.com/cert-manager/cert-manager",
            # Its three programs lie in modules of their own, which no module proxy serves: ours starts its packages.
            packages={"cert-manager": "github.com/cert-manager/cert-manager/rehearsed"},
            disk=1.2,
            seconds={"cert-manager": 95},
            serves=GATEWAY,
            wanted_by=("chart:cert-manager",),
            # Its webhook has flags for ports, and none for addresses.
            edits=(
                Edit(_HOOK_SERVER, "\t\tPort: s.ListenAddr,", '\t\tHost: "127.0.0.1", Port: s.ListenAddr,'),
                Edit(_HOOK_SERVER, 'fmt.Sprintf(":%d", *s.HealthzAddr)', 'fmt.Sprintf("127.0.0.1:%d", *s.HealthzAddr)'),
            ),
        ),
    )
}

SOURCES: dict[str, Family] = {
    "kyverno": Family("kyverno", versions.KYVERNO, module="github.com/kyverno/kyverno", packages={}, disk=0.1),
}
"""Modules of which nothing is built: charts lie in them. Kyverno's admission controller has 2,700 packages, more than
any tool here, and is played (rehearsal/images/kyverno)."""

BASE = tuple(family.name for family in FAMILIES.values() if not family.wanted_by)
"""The families that every rehearsal needs."""
