"""Where a chart comes from: a directory, a package, a Go module that is built, the vendors' files, or a played one."""

import hashlib
import io
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from rehearsal import places, toolchain
from rehearsal.charts import played
from rehearsal.charts.chart import Chart, ChartError
from rehearsal.charts.rendered import HelmChart
from rehearsal.charts.upstream import directory
from rehearsal.toolchain import go, versions
from rehearsal.toolchain.build import copied, source
from rehearsal.toolchain.families import FAMILIES, SOURCES
from rehearsal.toolchain.family import Family

SUMS = "SHA256SUMS"
PACKAGE = ".tgz"


@dataclass(frozen=True)
class ModuleChart:
    """A chart that lies in the Go module of a family, at `path`, or in `module`, which the family requires beside it.

    `tag` names the line of values.yaml that the vendor's release writes the version into, as it does into Chart.yaml
    (of Volcano: hack/generate-charts.sh and hack/bump-version.sh); in the module all three are those of an older one.
    `written` is what it writes for version and appVersion, None where the module has both as they were released. Below
    `free` are values that it hands on as they are. `parts` are sub-charts that a release packs and the module has not,
    each with the module and path that it lies at; those `without` are off by default, and left out.
    `own` is the chart's version where it is not its module's.
    """

    family: str
    path: str
    tag: str | None = None
    written: str | None = None
    free: tuple[str, ...] = ()
    module: str | None = None
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    own: str | None = None

    @property
    def version(self) -> str:
        """The version of the module that the chart lies in."""
        family = _family(self.family)
        return (
            versions.required(self.family, self.module).removesuffix("+incompatible") if self.module else family.version
        )


def _family(name: str) -> Family:
    return {**FAMILIES, **SOURCES}[name]


IN_MODULES: Mapping[str, ModuleChart] = {
    "volcano": ModuleChart("volcano", "installer/helm/chart/volcano", "image_tag_version", versions.VOLCANO),
    "karpenter": ModuleChart("karpenter", "charts/karpenter", written=versions.KARPENTER),
    "cert-manager": ModuleChart("cert-manager", "deploy/charts/cert-manager", written=f"v{versions.CERT_MANAGER}"),
    "traefik": ModuleChart(
        "traefik", "traefik", module="github.com/traefik/traefik-helm-chart", free=("service.spec.",)
    ),
    "kyverno": ModuleChart(
        "kyverno",
        "charts/kyverno",
        parts={"kyverno-api": ("github.com/kyverno/api", "charts/kyverno-api")},
        without=("openreports", "reports-server"),
        own="3.9.1",
    ),
}


def find(name: str, version: str) -> Chart:
    """The chart that a Release names: a directory, or the last part of a repository's or registry's address.

    Raises ChartError naming the chart and what to do if there is nothing to render or play it with.
    """
    if Path(name).is_dir():
        return HelmChart(Path(name), f"the directory {name}", named=False)
    if name.endswith(PACKAGE):
        return packaged(Path(name))
    last = name.rstrip("/").rpartition("/")[2]
    sources: tuple[Callable[[str, str], Chart | None], ...] = (in_module, upstream, played.find)
    for each in sources:
        if (chart := each(last, version)) is not None:
            return chart
    raise ChartError(
        "chart",
        f"chart {last!r} {version} is not rehearsed: fetch it with `make upstream` on a machine that reaches its "
        "repository, or play it from an inventory (CONTRIBUTING, to add a chart)",
    )


# -- packages


def packaged(package: Path) -> Chart:
    """The chart in an archive, as `helm package` makes it. Raises ChartError."""
    try:
        content = package.read_bytes()
    except OSError as error:
        raise ChartError("chart", f"{package} cannot be read ({error.strerror})") from None
    target = places.cache() / "charts" / f"package-{hashlib.sha256(content).hexdigest()[:16]}"
    if not target.is_dir():
        with go.locked(target.parent / ".lock"):
            if not target.is_dir():
                _unpack(content, package, target)
    inside = [each for each in target.iterdir() if each.is_dir()]
    if len(inside) != 1:
        raise ChartError("chart", f"{package} holds {len(inside)} directories, and a chart's package holds one")
    return HelmChart(inside[0], f"the package {package}")


def _unpack(content: bytes, package: Path, target: Path) -> None:
    stage = target.with_name(f".{target.name}")
    shutil.rmtree(stage, ignore_errors=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(stage, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise ChartError("chart", f"{package} is no chart's package ({error})") from None
    stage.rename(target)


# -- charts in Go modules


def in_module(name: str, version: str) -> Chart | None:
    """The chart from the module of the binaries that are built; None for another chart or version."""
    row = IN_MODULES.get(name)
    if row is None or version.removeprefix("v") not in (row.version, row.own):
        return None
    family = _family(row.family)
    digest = hashlib.sha256((family.directory / "go.sum").read_bytes() + repr(row).encode()).hexdigest()[:12]
    target = places.cache() / "charts" / f"{name}-{row.version}-{digest}"
    if not target.is_dir():
        with go.locked(target.parent / ".lock"):
            if not target.is_dir():
                _copy(row, target)
    return HelmChart(target, f"the chart in {row.module or family.module} {row.version}", free=row.free)


def _copy(row: ModuleChart, target: Path) -> None:
    family = _family(row.family)
    stage = target.with_name(f".{target.name}")
    shutil.rmtree(stage, ignore_errors=True)
    try:
        copied(source(family, go.find(lambda _: None), row.module) / row.path, stage)
        for part, (module, path) in row.parts.items():
            copied(source(family, go.find(lambda _: None), module) / path, stage / "charts" / part)
    except toolchain.BuildError as error:
        raise ChartError("chart", f"the chart in {family.module} cannot be had: {error}") from None
    for ignored in _ignored(stage):
        if ignored.is_dir():
            shutil.rmtree(ignored)
        else:
            ignored.unlink()
    if row.written:
        about = yaml.safe_load((stage / "Chart.yaml").read_text())
        (stage / "Chart.yaml").write_text(yaml.safe_dump({**about, "version": row.written, "appVersion": row.written}))
    if row.parts or row.without:
        _packed(stage, row)
    if row.tag:
        values = (stage / "values.yaml").read_text()
        (stage / "values.yaml").write_text(re.sub(rf"({row.tag}:) .*", rf'\1 "v{family.version}"', values))
    stage.rename(target)


def _packed(stage: Path, row: ModuleChart) -> None:
    """Dependencies as they lie there: helm wants each at the version that Chart.yaml names."""
    about = yaml.safe_load((stage / "Chart.yaml").read_text())
    kept = [each for each in about["dependencies"] if each["name"] not in row.without]
    for each in kept:
        each["version"] = yaml.safe_load((stage / "charts" / each["name"] / "Chart.yaml").read_text())["version"]
    (stage / "Chart.yaml").write_text(yaml.safe_dump({**about, "dependencies": kept}))
    (stage / "Chart.lock").unlink(missing_ok=True)


def _ignored(chart: Path) -> list[Path]:
    """What Helm leaves out of an archive: plain names and paths in .helmignore (pkg/ignore/rules.go)."""
    file = chart / ".helmignore"
    lines = [line.strip() for line in file.read_text().splitlines()] if file.is_file() else []
    paths = [chart / line.strip("/") for line in lines if line and not line.startswith(("#", "!")) and "*" not in line]
    return [path for path in paths if path.exists()]


# -- the vendors' files


def upstream(name: str, version: str) -> Chart | None:
    """The whole chart that `make upstream` fetched; None without one. Raises ChartError if it was changed since."""
    root = directory()
    place = root / "charts" / f"{name}-{version.removeprefix('v')}" if root else None
    if place is None or not (place / "templates").is_dir() or not (place / SUMS).is_file():
        return None
    sums = [line.split("  ", 1) for line in (place / SUMS).read_text().splitlines()]
    there = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()} - {SUMS}
    changed = sorted(there.symmetric_difference(path for _, path in sums))
    changed += [path for digest, path in sums if path in there and _sha256(place / path) != digest]
    if changed:
        raise ChartError("chart", f"{place}: {changed[0]} is not what `make upstream` fetched: run it again")
    return HelmChart(place, "the chart in GPUCLUSTER_UPSTREAM")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
