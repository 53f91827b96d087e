"""What is built: one family per Go module file, because their dependencies do not mix."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.toolchain import versions

MODULES = Path(__file__).resolve().parent / "modules"
FLAGS = ("-trimpath",)
STRIP = "-s -w"


@dataclass(frozen=True)
class Edit:
    """One line of a module's `file` that is built differently: `old`, which must stand there once, becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Family:
    """Binaries built from one module file.

    `packages` maps a binary's name to its Go package; `module` is the required module that carries `version`; `tags`
    and `ldflags` are the linker's; `edits` change the module's source for the build. `disk` is what a build with empty
    Go caches leaves on the disk, in GiB.
    """

    name: str
    version: str
    module: str
    packages: Mapping[str, str]
    disk: float
    tags: tuple[str, ...] = ()
    ldflags: str = STRIP
    edits: tuple[Edit, ...] = ()
    directory: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", MODULES / self.name)

    def command(self, go: Path, binary: str, output: Path, modfile: Path | None = None) -> list[str | Path]:
        """The command line that builds one binary, perhaps by another module file; to be run in `directory`."""
        tags = ["-tags", ",".join(self.tags)] if self.tags else []
        edited: list[str | Path] = ["-modfile", modfile] if modfile else []
        return [go, "build", *FLAGS, *tags, *edited, "-ldflags", self.ldflags, "-o", output, self.packages[binary]]

    def key(self, go_minor: str) -> str:
        """The name of its directory in the cache: changes with anything that changes the binaries."""
        edits = [[edit.file, edit.old, edit.new] for edit in self.edits]
        recipe = [dict(self.packages), self.tags, self.ldflags, FLAGS, go_minor, *edits]
        return f"{self.name}-{self.version}-{digest(self.directory, recipe)}"


def digest(module: Path, recipe: object) -> str:
    """Twelve hex digits of a module's go.mod and go.sum and of how it is used."""
    content = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode())
    for name in ("go.mod", "go.sum"):
        content.update((module / name).read_bytes())
    return content.hexdigest()[:12]


def _kubernetes_ldflags() -> str:
    """kube-apiserver reports, and kubectl compares, what the linker wrote into these two packages."""
    major, minor, _ = versions.KUBERNETES.split(".")
    values = {"gitVersion": f"v{versions.KUBERNETES}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "archive"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        [STRIP, *(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())]
    )


_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "etcd",
            versions.ETCD,
            module="go.etcd.io/etcd/server/v3",
            packages={"etcd": "go.etcd.io/etcd/server/v3"},
            disk=0.9,
        ),
        Family(
            "pulumi",
            versions.PULUMI,
            module="github.com/pulumi/pulumi/pkg/v3",
            packages={"pulumi": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"},
            disk=2.4,
            tags=("osusergo", "grpcnotrace"),
            ldflags=f"{STRIP} -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{versions.PULUMI}",
        ),
        Family(
            "kubernetes",
            versions.KUBERNETES,
            module="k8s.io/kubernetes",
            packages={name: f"k8s.io/kubernetes/cmd/{name}" for name in _KUBERNETES},
            disk=3.8,
            ldflags=_kubernetes_ldflags(),
        ),
        Family(
            "kwok",
            versions.KWOK,
            module="sigs.k8s.io/kwok",
            packages={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
            disk=0.9,
        ),
        Family(
            "crds",
            versions.CONTROLLER_TOOLS,
            module="sigs.k8s.io/controller-tools",
            packages={"controller-gen": "sigs.k8s.io/controller-tools/cmd/controller-gen"},
            disk=0.4,
        ),
        Family(
            "training",
            versions.TRAINING_OPERATOR,
            module="github.com/kubeflow/training-operator",
            packages={"training-operator.v1": "github.com/kubeflow/training-operator/cmd/training-operator.v1"},
            disk=1.0,
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
            },
            disk=1.9,
        ),
    )
}
