"""A whole chart, rendered by helm itself with what the cluster serves: hooks, sub-charts, capabilities and all."""

import copy
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import yaml

from rehearsal import places, toolchain
from rehearsal.charts import values as names
from rehearsal.charts.chart import ChartError, Object, Order
from rehearsal.charts.values import given

HELM_SECONDS = 120
_MANIFESTS = (".yaml", ".yml", ".json")
_REVISION = re.compile(r"\$?\.Release\.Revision\b")
_LOOKUP = re.compile(r"\{\{[^}]*\blookup\s")
_made: dict[str, list[Object]] = {}
_lock = threading.Lock()


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as Kubernetes reads it: a lone `=` and a date are strings, not values of YAML 1.1."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:value", "tag:yaml.org,2002:timestamp")
    ]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


@functools.cache
def helm() -> Path:
    """The built helm. Raises ChartError if it cannot be built."""
    try:
        return toolchain.ensure(["helm"], report=lambda _: None)["helm"]
    except toolchain.BuildError as error:
        raise ChartError("chart", f"helm, which renders charts, could not be built: {error}") from None


def documents(text: str | bytes) -> list[Object]:
    """The objects in a manifest; lists of objects are taken apart, as `kubectl apply` does."""
    found: list[Object] = []
    for document in yaml.load_all(text, _Loader):
        if document and str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
            found += document["items"]
        elif document:
            found.append(document)
    return found


class HelmChart:
    """A chart in a directory. Equal orders are rendered once: a preview asks several times."""

    def __init__(self, directory: Path, source: str, named: bool = True, free: Collection[str] = ()) -> None:
        """`named` charts are checked for values that they do not know, but those below `free`, which they hand on.

        Raises ChartError if this is no chart.
        """
        try:
            about = yaml.safe_load((directory / "Chart.yaml").read_text())
            self.name, self.version = str(about["name"]), str(about["version"])
        except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
            raise ChartError("chart", f"{directory} is no chart: its Chart.yaml cannot be read ({error})") from None
        self.app_version = str(about.get("appVersion") or "")
        self.source, self._directory, self._named, self._free = source, directory, named, tuple(free)
        self._conditions = {
            str(each.get("alias") or each["name"]): str(each.get("condition") or "")
            for each in about.get("dependencies") or []
        }

    def render(self, order: Order) -> list[Object]:
        """What `helm install` or `helm upgrade` would make of the values, hooks included."""
        known = {**vars(order), "values": dict(order.values), "api_versions": sorted(order.api_versions)}
        text = json.dumps([self._digest, known], sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()
        with _lock:
            if key not in _made:
                _made[key] = self._render(order)
            return copy.deepcopy(_made[key])

    def _render(self, order: Order) -> list[Object]:
        # A helm from Go's module proxy has no Kubernetes version linked in and would take 1.20.
        options = ["--namespace", order.namespace, "--kube-version", order.kube_version, "--values", "-"]
        if order.api_versions:
            options += ["--api-versions", ",".join(sorted(order.api_versions))]
        if order.upgrade:
            options.append("--is-upgrade")
        values = json.dumps(dict(order.values))
        if order.revision == 1:
            return self._run("values", ["template", order.release, str(self._directory), *options], values)
        with tempfile.TemporaryDirectory(dir=places.private_directory(places.cache() / "charts")) as scratch:
            numbered = _at_revision(self._directory, Path(scratch) / self.name, order.revision)
            return self._run("values", ["template", order.release, str(numbered), *options], values)

    def crds(self, values: Mapping[str, Any] | None = None) -> list[Object]:
        off = {name for name, condition in self._conditions.items() if not self._on(condition, values)}
        return [each for text in _crd_files(self._directory, off) for each in documents(text)]

    def _on(self, condition: str, values: Mapping[str, Any] | None) -> bool:
        """Whether a sub-chart is on: the first of its conditions that the values, or else the chart's, decide.

        Source: helm, pkg/chartutil/dependencies.go (processDependencyConditions), which comes before crds/.
        """
        if values is None:
            return True
        told = _values(self._directory)
        for path in filter(None, (each.strip() for each in condition.split(","))):
            for known in (values, told):
                is_given, value = given(known, path)
                if is_given and isinstance(value, bool):
                    return value
        return True

    def unknown_values(self, values: Mapping[str, Any]) -> list[str]:
        if not self._named:
            return []
        known = [*self._conditions, "global"]
        found = names.unknown(self._directory, {key: value for key, value in values.items() if key not in known})
        return [
            f"chart {self.name} {self.version} has no value {name}: see its values.yaml"
            for name in found
            if not name.startswith(self._free)
        ]

    def unchecked(self) -> list[str]:
        said = [] if self._named else [f"{self.name}: the names of values are not checked (a chart of your own)"]
        if any(_LOOKUP.search(path.read_text(errors="replace")) for path in _templates(self._directory)):
            said.append(f"{self.name}: its templates look into the cluster (`lookup`), and find nothing there here")
        return said

    @functools.cached_property
    def _digest(self) -> str:
        content = hashlib.sha256()
        for path in sorted(path for path in self._directory.rglob("*") if path.is_file()):
            content.update(f"{path.relative_to(self._directory)}\0".encode() + path.read_bytes())
        return content.hexdigest()

    def _run(self, where: str, arguments: list[str], given: str) -> list[Object]:
        try:
            done = subprocess.run(
                [helm(), *arguments],
                input=given,
                capture_output=True,
                text=True,
                check=False,
                timeout=HELM_SECONDS,
                env=_environment(),
            )
        except subprocess.TimeoutExpired:
            raise ChartError("chart", f"helm {arguments[0]} of {self.name} took {HELM_SECONDS} s") from None
        if done.returncode:
            raise ChartError(where, f"helm {arguments[0]}: {done.stderr.strip()[-800:]}")
        made = documents(done.stdout)
        for each in made:
            if not (each.get("apiVersion") and each.get("kind") and (each.get("metadata") or {}).get("name")):
                raise ChartError(
                    where, f"{self.name}: a template makes no object of Kubernetes: {json.dumps(each)[:200]}"
                )
        return made


def _values(chart: Path) -> Mapping[str, Any]:
    path = chart / "values.yaml"
    return (yaml.safe_load(path.read_text()) or {}) if path.is_file() else {}


def _crd_files(chart: Path, off: Set[str] = frozenset()) -> Iterator[bytes]:
    """The files in `crds/` of a chart and its sub-charts, packed ones too (`helm show crds` prints them as one).

    Those of the sub-charts `off` are left out; the archive of a sub-chart is NAME-VERSION.tgz.
    """
    for path in sorted((chart / "crds").rglob("*")):
        if path.suffix in _MANIFESTS:
            yield path.read_bytes()
    for path in sorted((chart / "charts").glob("*")):
        if path.name in off or path.name.rpartition("-")[0] in off:
            continue
        if path.is_dir():
            yield from _crd_files(path)
        elif path.suffix == ".tgz":
            with tarfile.open(path) as packed:
                for member in packed:
                    file = packed.extractfile(member)
                    if file and "crds" in Path(member.name).parts and Path(member.name).suffix in _MANIFESTS:
                        yield file.read()


def _templates(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("templates/**/*") if path.is_file()]


def _at_revision(chart: Path, target: Path, revision: int) -> Path:
    """A copy of the chart whose templates know their revision: `helm template` gives every release the first."""
    shutil.copytree(chart, target, copy_function=shutil.copyfile)
    for path in _templates(target):
        text = path.read_text(errors="surrogateescape")
        if _REVISION.search(text):
            path.write_text(_REVISION.sub(str(revision), text), errors="surrogateescape")
    return target


def _environment() -> dict[str, str]:
    """The environment of helm, without the user's plugins, repositories and cluster."""
    home = places.cache() / "helm"
    own = {f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(home), **own}
