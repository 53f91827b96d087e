"""CustomResourceDefinitions generated from the vendors' Go API packages, at the version of the rehearsed binaries."""

import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rehearsal import places
from rehearsal.toolchain import versions
from rehearsal.toolchain.build import ensure, run_go, staged
from rehearsal.toolchain.family import MODULES, digest
from rehearsal.toolchain.go import Report, find, locked

# An unquoted equals sign is a string in YAML 1.2, which Go reads, and something else in YAML 1.1, which PyYAML reads.
BARE_EQUALS = re.compile(r"^(\s*- )=$", re.MULTILINE)

OPTIONS = "crd:generateEmbeddedObjectMeta=true,maxDescLen=0"
"""Without the fields' descriptions, two thirds of the text, which an API server parses, merges and keeps."""


@dataclass(frozen=True)
class ApiSet:
    """The API packages of one vendor; `family` names the module file that requires them.

    `wanted_by` is as in a family. `kept` are the plural names to keep; empty keeps all.
    """

    version: str
    module: str
    family: str
    packages: tuple[str, ...]
    wanted_by: tuple[str, ...]
    kept: Collection[str] = ()


_VOLCANO = "volcano.sh/apis/pkg/apis"
_MONITORING = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"

SETS: dict[str, ApiSet] = {
    "training-operator": ApiSet(
        versions.TRAINING_OPERATOR,
        module="github.com/kubeflow/training-operator",
        family="training",
        packages=("github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1",),
        wanted_by=("image:training-operator",),
        kept=("pytorchjobs",),
    ),
    "volcano": ApiSet(
        versions.VOLCANO_APIS,
        module="volcano.sh/apis",
        family="volcano",
        packages=(
            f"{_VOLCANO}/batch/v1alpha1",
            f"{_VOLCANO}/bus/v1alpha1",
            f"{_VOLCANO}/config/v1alpha1",
            f"{_VOLCANO}/flow/v1alpha1",
            f"{_VOLCANO}/nodeinfo/v1alpha1",
            f"{_VOLCANO}/scheduling/v1beta1",
            f"{_VOLCANO}/shard/v1alpha1",
            f"{_VOLCANO}/topology/v1alpha1",
        ),
        wanted_by=("chart:volcano",),
    ),
    "prometheus-operator": ApiSet(
        versions.MONITORING_TYPES,
        module=_MONITORING,
        family="monitoring-types",
        packages=(f"{_MONITORING}/v1", f"{_MONITORING}/v1alpha1"),
        wanted_by=("chart:prometheus-operator-crds",),
    ),
}


def crds(name: str, report: Report = print) -> list[Path]:
    """The files of one set of CRDs, `<group>_<plural>.yaml`, sorted; generated on first use.

    Raises KeyError for a set that does not exist and BuildError if it cannot be generated.
    """
    wanted, directory = SETS[name], _directory(name)
    if not directory.is_dir():
        generator = ensure(["crds"], report)["controller-gen"]
        with locked(directory.parent / ".lock", lambda: report("waiting for other CRDs to be generated ...")):
            if not directory.is_dir():
                _generate(name, wanted, generator, directory, report)
    return sorted(directory.glob("*.yaml"))


def generated(name: str) -> bool:
    """Whether a set is there already."""
    return _directory(name).is_dir()


def _directory(name: str) -> Path:
    wanted = SETS[name]
    recipe = [OPTIONS, wanted.packages, sorted(wanted.kept), versions.CONTROLLER_TOOLS, BARE_EQUALS.pattern]
    return places.cache() / "crds" / f"{name}-{wanted.version}-{digest(MODULES / wanted.family, recipe)}"


def _generate(name: str, wanted: ApiSet, generator: Path, directory: Path, report: Report) -> None:
    what = f"generating the CRDs of {name} {wanted.version}"
    report(f"{what} ...")
    with staged(directory) as stage:
        paths = [f"paths={package}" for package in wanted.packages]
        run_go(
            what,
            [generator, OPTIONS, *paths, f"output:crd:dir={stage}"],
            find(report),
            directory=MODULES / wanted.family,
            scratch=stage / "scratch",
        )
        shutil.rmtree(stage / "scratch")
        for path in stage.glob("*.yaml"):
            if wanted.kept and path.stem.partition("_")[2] not in wanted.kept:
                path.unlink()
            else:
                path.write_text(BARE_EQUALS.sub(r'\1"="', path.read_text()))
