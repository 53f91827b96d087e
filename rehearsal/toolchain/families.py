"""What is built: one family per Go module file, because their dependencies do not mix."""

from collections.abc import Mapping
from typing import Any, NamedTuple

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
_KUBERNETES = {"kube-apiserver": 130.0, "kube-controller-manager": 29.0, "kube-scheduler": 3.0, "kubectl": 11.0}

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

# Its webhook has no flag for the address, and its certificates one directory for the whole machine.
_TRAINING_EDITS = (
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
)
# Its webhook and its algorithms have no flag for the address, and its certificates one directory for the whole machine.
_SEARCH = "cmd/suggestion/goptuna/v1beta1/main.go"
_KATIB_EDITS = (
    Edit(
        "cmd/katib-controller/v1beta1/main.go",
        "\t\tPort:    *initConfig.ControllerConfig.WebhookPort,",
        '\t\tHost: "127.0.0.1", Port: *initConfig.ControllerConfig.WebhookPort,',
    ),
    Edit("pkg/controller.v1beta1/consts/const.go", 'CertDir = "/tmp/cert"', 'CertDir = "fs/tmp/cert"'),
    Edit(_SEARCH, '\t"net"\n', '\t"net"\n\t"os"\n'),
    Edit(_SEARCH, 'net.Listen("tcp", address)', 'net.Listen("tcp", os.Getenv("LISTEN_ADDRESS"))'),
)
# The module does not hold the web pages that a release embeds.
_ALERTMANAGER_EDITS = (
    Edit("ui/web.go", "//go:embed app/dist", "//go:embed app/index.html"),
    Edit("ui/web.go", 'fs.Sub(asset, "app/dist")', 'fs.Sub(asset, "app")'),
)
# It has settings for ports, and none for addresses.
_KARPENTER_EDITS = tuple(
    Edit(
        "pkg/operator/operator.go",
        f'fmt.Sprintf(":%d", options.FromContext(ctx).{port})',
        f'fmt.Sprintf("127.0.0.1:%d", options.FromContext(ctx).{port})',
        module="sigs.k8s.io/karpenter",
    )
    for port in ("MetricsPort", "HealthProbePort")
)
# Its webhook has flags for ports, and none for addresses.
_HOOK_SERVER = "pkg/webhook/server/server.go"
_CERT_MANAGER_EDITS = (
    Edit(_HOOK_SERVER, "\t\tPort: s.ListenAddr,", '\t\tHost: "127.0.0.1", Port: s.ListenAddr,'),
    Edit(_HOOK_SERVER, 'fmt.Sprintf(":%d", *s.HealthzAddr)', 'fmt.Sprintf("127.0.0.1:%d", *s.HealthzAddr)'),
)
# Of 38 providers of secrets and 15 generators of them a stack has AWS' alone: each other one has its vendor's library.
_REGISTERED, _ESO = "register/register.go", "github.com/external-secrets/external-secrets/pkg"
_EXTERNAL_SECRETS_EDITS = (
    Edit(f"pkg/provider/{_REGISTERED}", "import (\n", f'import _ "{_ESO}/provider/aws"\n\n/*\n'),
    Edit(f"pkg/provider/{_REGISTERED}", '/yandex/lockbox"\n)', '/yandex/lockbox"\n*/'),
    Edit(f"pkg/generator/{_REGISTERED}", "import (\n", "/*\n"),
    Edit(f"pkg/generator/{_REGISTERED}", '/generator/webhook"\n)', '/generator/webhook"\n*/'),
)


class _Module(NamedTuple):
    """A Go module, and the GiB of disk that building from it takes."""

    name: str
    version: str
    module: str
    disk: float

    def builds(self, binaries: Mapping[str, tuple[str, float]], **more: Any) -> Family:
        """The family. `binaries` by name: where below the module each one's package is, and the seconds it takes."""
        packages = {binary: f"{self.module}/{below}".rstrip("/") for binary, (below, _) in binaries.items()}
        seconds = {binary: took for binary, (_, took) in binaries.items()}
        return Family(*self[:2], module=self.module, packages=packages, disk=self.disk, seconds=seconds, **more)


_ROWS = (
    _Module("etcd", versions.ETCD, "go.etcd.io/etcd/server/v3", 0.9).builds({"etcd": ("", 28)}),
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
    _Module("pulumi", versions.PULUMI, "github.com/pulumi/pulumi/pkg/v3", 2.4).builds(
        {"pulumi": ("cmd/pulumi", 113)},
        serves="engine",
        tags=("osusergo", "grpcnotrace"),
        ldflags=f"{STRIP} -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{versions.PULUMI}",
    ),
    _Module("kubernetes", versions.KUBERNETES, "k8s.io/kubernetes", 3.8).builds(
        {name: (f"cmd/{name}", seconds) for name, seconds in _KUBERNETES.items()},
        ldflags=_kubernetes_ldflags(),
    ),
    # Of the same release. In the others' file, what it requires beside them would have everybody build them again.
    _Module("kubeadm", versions.KUBERNETES, "k8s.io/kubernetes", 2.0).builds(
        {"kubeadm": ("cmd/kubeadm", 60)},
        serves="files of kubeadm",
        # No pod of a stack has it: it is built where tests ask for it.
        wanted_by=("image:kubeadm",),
        ldflags=_kubernetes_ldflags(),
    ),
    # It runs nothing here: it says how it reads the configuration that machines are given.
    _Module("containerd", versions.CONTAINERD, "github.com/containerd/containerd/v2", 1.0).builds(
        {"containerd": ("cmd/containerd", 60)},
        serves="files of containerd",
        wanted_by=("image:containerd",),
    ),
    _Module("kwok", versions.KWOK, "sigs.k8s.io/kwok", 0.9).builds({"kwok": ("cmd/kwok", 43)}),
    _Module("crds", versions.CONTROLLER_TOOLS, "sigs.k8s.io/controller-tools", 0.4).builds(
        {"controller-gen": ("cmd/controller-gen", 15)},
        serves="definitions",
        wanted_by=("definitions",),
    ),
    _Module("training", versions.TRAINING_OPERATOR, "github.com/kubeflow/training-operator", 1.0).builds(
        {"training-operator.v1": ("cmd/training-operator.v1", 52)},
        serves="training jobs",
        wanted_by=("image:training-operator",),
        edits=_TRAINING_EDITS,
    ),
    _Module("katib", versions.KATIB, "github.com/kubeflow/katib", 1.4).builds(
        {
            "katib-controller": ("cmd/katib-controller/v1beta1", 90),
            "katib-db-manager": ("cmd/db-manager/v1beta1", 10),
            "suggestion-goptuna": ("cmd/suggestion/goptuna/v1beta1", 10),
        },
        serves="experiments",
        wanted_by=("image:katib-controller",),
        edits=_KATIB_EDITS,
    ),
    _Module("volcano", versions.VOLCANO, "volcano.sh/volcano", 1.9).builds(
        {
            "vc-scheduler": ("cmd/scheduler", 112),
            "vc-controller-manager": ("cmd/controller-manager", 9),
            "vc-webhook-manager": ("cmd/webhook-manager", 10),
        },
        serves="gangs",
        wanted_by=("chart:volcano", "image:vc-*"),
    ),
    _Module("helm", versions.HELM, "helm.sh/helm/v3", 1.2).builds(
        {"helm": ("cmd/helm", 120)},
        serves="charts",
        # Those that are rendered from their own templates in a Go module; others ask for it when they are found.
        wanted_by=("chart:volcano",),
    ),
    _Module(
        "prometheus-operator", versions.PROMETHEUS_OPERATOR, "github.com/prometheus-operator/prometheus-operator", 1.2
    ).builds(
        {
            "prometheus-operator": ("cmd/operator", 85),
            "prometheus-config-reloader": ("cmd/prometheus-config-reloader", 4),
        },
        serves=MONITORING,
        wanted_by=_STACK,
        ldflags=_prometheus_ldflags(versions.PROMETHEUS_OPERATOR),
    ),
    _Module("prometheus", versions.PROMETHEUS, "github.com/prometheus/prometheus", 1.5).builds(
        {"prometheus": ("cmd/prometheus", 98), "promtool": ("cmd/promtool", 7)},
        serves=MONITORING,
        wanted_by=_STACK,
        # Of the ways to find targets, those of clouds make two thirds of the binary (source: plugins/).
        tags=("remove_all_sd", "enable_kubernetes_sd", "enable_dns_sd"),
        ldflags=_prometheus_ldflags(versions.PROMETHEUS, major=3),
    ),
    _Module("alertmanager", versions.ALERTMANAGER, "github.com/prometheus/alertmanager", 1.0).builds(
        {"alertmanager": ("cmd/alertmanager", 30), "amtool": ("cmd/amtool", 5)},
        serves=MONITORING,
        wanted_by=_STACK,
        ldflags=_prometheus_ldflags(versions.ALERTMANAGER),
        edits=_ALERTMANAGER_EDITS,
    ),
    _Module("kube-state-metrics", versions.KUBE_STATE_METRICS, "k8s.io/kube-state-metrics/v2", 0.9).builds(
        {"kube-state-metrics": ("", 85)},
        serves=MONITORING,
        wanted_by=("chart:kube-prometheus-stack", "chart:kube-state-metrics", "image:kube-state-metrics"),
    ),
    _Module("prometheus-adapter", versions.PROMETHEUS_ADAPTER, "sigs.k8s.io/prometheus-adapter", 0.9).builds(
        {"prometheus-adapter": ("cmd/adapter", 92)},
        serves="autoscaling",
        wanted_by=("chart:prometheus-adapter", "image:prometheus-adapter"),
    ),
    _Module("karpenter", versions.KARPENTER, "github.com/aws/karpenter-provider-aws", 1.8).builds(
        {"karpenter": ("cmd/controller", 110)},
        serves="nodes as pods need them",
        wanted_by=("chart:karpenter",),
        edits=_KARPENTER_EDITS,
    ),
    _Module("traefik", versions.TRAEFIK, "github.com/traefik/traefik/v3", 2.0).builds(
        {"traefik": ("cmd/traefik", 150)},
        serves=GATEWAY,
        wanted_by=("chart:traefik",),
        edits=_TRAEFIK_EDITS,
    ),
    _Module("oauth2-proxy", versions.OAUTH2_PROXY, "github.com/oauth2-proxy/oauth2-proxy/v7", 0.9).builds(
        {"oauth2-proxy": ("", 60)},
        serves=GATEWAY,
        wanted_by=("image:oauth2-proxy",),
        ldflags=f"{STRIP} -X github.com/oauth2-proxy/oauth2-proxy/v7/pkg/version.VERSION=v{versions.OAUTH2_PROXY}",
    ),
    _Module("cert-manager", versions.CERT_MANAGER, "github.com/cert-manager/cert-manager", 1.2).builds(
        # Its three programs lie in modules of their own, which no module proxy serves: ours starts its packages.
        {"cert-manager": ("rehearsed", 95)},
        serves=GATEWAY,
        wanted_by=("chart:cert-manager",),
        edits=_CERT_MANAGER_EDITS,
    ),
    _Module("external-secrets", versions.EXTERNAL_SECRETS, "github.com/external-secrets/external-secrets", 1.5).builds(
        {"external-secrets": ("", 90)},
        serves="secrets from outside",
        wanted_by=("chart:external-secrets",),
        edits=_EXTERNAL_SECRETS_EDITS,
    ),
    _Module("kyverno", versions.KYVERNO, "github.com/kyverno/kyverno", 4.5).builds(
        {"kyverno": ("cmd/kyverno", 220)},
        serves="signed images",
        wanted_by=("chart:kyverno",),
    ),
)

FAMILIES: dict[str, Family] = {family.name: family for family in _ROWS}

SOURCES: dict[str, Family] = {
    "snapshotter": Family(
        "snapshotter",
        versions.SNAPSHOTTER,
        module="github.com/kubernetes-csi/external-snapshotter/client/v8",
        packages={},
        disk=0.1,
    ),
}
"""Modules of which nothing is built: charts and definitions lie in them."""

BASE = tuple(family.name for family in FAMILIES.values() if not family.wanted_by)
"""The families that every rehearsal needs."""
