"""Where a release's objects come from: the effects of the vendors' charts, or `helm template` of a local directory."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import yaml

from rehearsal.plugins.kubernetes.objects import Object

HELM_SECONDS = 120


class ChartError(Exception):
    """The chart or its values are wrong; `where` is the input that says so."""

    def __init__(self, where: str, text: str) -> None:
        super().__init__(text)
        self.where = where


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as Kubernetes reads it: a lone `=` is a string (AlertmanagerConfig's matchers), not a YAML 1.1 value."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:value"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


class Chart(Protocol):
    """A chart at one version."""

    name: str

    def objects(self, release: str, namespace: str, values: Mapping[str, Any]) -> list[Object]:
        """What the chart makes of the values. Raises ChartError."""

    def crds(self) -> list[Object]:
        """The definitions in the chart's `crds/` directory."""

    def unknown_keys(self, values: Mapping[str, Any]) -> list[str]:
        """Sentences about values that the chart does not know."""

    def unchecked(self) -> list[str]:
        """Sentences about checks that are off here."""


def find(chart: str, version: str | None) -> Chart:
    """The chart that a Release names: a directory, or the last part of a repository's or registry's address.

    Raises ChartError naming the chart if there is nothing to play it with.
    """
    if Path(chart).is_dir():
        helm = shutil.which("helm")
        if helm is None:
            raise ChartError("chart", f"chart {chart!r} is a local directory, and no helm is on PATH to render it")
        return LocalChart(helm, Path(chart))
    return VendorChart(chart.rstrip("/").rpartition("/")[2], version or "")


class VendorChart:
    """A vendor's chart, whose effect is played (rehearsal.effects.charts)."""

    def __init__(self, name: str, version: str) -> None:
        self.name, self._version = name, version
        self._effects: Any = importlib.import_module("rehearsal.effects.charts")

    def objects(self, release: str, namespace: str, values: Mapping[str, Any]) -> list[Object]:
        try:
            rendered: list[Object] = self._effects.render(self.name, self._version, namespace, release, values)
        except LookupError as error:
            raise ChartError("chart", _text(error) or f"chart {self.name!r} is not rehearsed") from None
        except (ValueError, TypeError) as error:
            raise ChartError("values", str(error)) from None
        return rendered

    def crds(self) -> list[Object]:
        paths = self._effects.crds(self.name, self._version)
        return [document for path in paths for document in yaml.load_all(Path(path).read_bytes(), _Loader) if document]

    def unknown_keys(self, values: Mapping[str, Any]) -> list[str]:
        try:
            return list(self._effects.check_values(self.name, self._version, values))
        except LookupError as error:
            raise ChartError("chart", _text(error) or f"chart {self.name!r} is not rehearsed") from None

    def unchecked(self) -> list[str]:
        return list(self._effects.unchecked(self.name, self._version))


class LocalChart:
    """A chart in a directory, rendered by helm itself; its hooks are not run."""

    def __init__(self, helm: str, directory: Path) -> None:
        self._helm, self._directory = helm, directory
        about = yaml.safe_load((directory / "Chart.yaml").read_text())
        self.name = str(about["name"])

    def objects(self, release: str, namespace: str, values: Mapping[str, Any]) -> list[Object]:
        arguments = ["template", release, str(self._directory), "--namespace", namespace, "--no-hooks", "--values", "-"]
        return self._run("values", arguments, json.dumps(values))

    def crds(self) -> list[Object]:
        return self._run("chart", ["show", "crds", str(self._directory)], "")

    def unknown_keys(self, values: Mapping[str, Any]) -> list[str]:  # noqa: ARG002 - helm checks the chart's schema
        return []

    def unchecked(self) -> list[str]:
        return []

    def _run(self, where: str, arguments: list[str], given: str) -> list[Object]:
        done = subprocess.run(
            [self._helm, *arguments], input=given, capture_output=True, text=True, check=False, timeout=HELM_SECONDS
        )
        if done.returncode:
            raise ChartError(where, f"helm {arguments[0]}: {done.stderr.strip()[-800:]}")
        return [document for document in yaml.safe_load_all(done.stdout) if document]


def _text(error: LookupError) -> str:
    """The sentence of a LookupError (a KeyError prints its argument quoted)."""
    return str(error.args[0]) if error.args else ""
