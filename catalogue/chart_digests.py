"""SHA-256 of charts' packages, by name and version: another version has none until somebody records its own.

What a chart repository sends is compared with these by whoever fetches (`catalogue.upstream`) and by the program before
it registers anything, where packages lie beside it (`supply.charts`). Helm itself compares a package with the index of
the same repository at most, or with a signature, which these repositories do not all publish.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from catalogue.metal_versions import METAL_CHARTS
from catalogue.versions import CHARTS, Chart

FILE = Path(__file__).with_name("chart_digests.json")
ALL_CHARTS: Mapping[str, Chart] = {**CHARTS, **METAL_CHARTS}
"""Every chart that the program installs, by its name."""


@dataclass(frozen=True, kw_only=True)
class ChartDigest:
    """The digest of a package, hexadecimal, and who said so."""

    sha256: str
    source: str


def key(chart: Chart) -> str:
    """Under which a chart's package is on record."""
    return f"{chart.name} {chart.version}"


def read(file: Path = FILE) -> dict[str, ChartDigest]:
    """What is on record. Raises OSError, ValueError."""
    return {name: ChartDigest(**row) for name, row in json.loads(file.read_text(encoding="utf-8")).items()}


CHART_DIGESTS: Mapping[str, ChartDigest] = read()


def digest_of(chart: Chart, known: Mapping[str, ChartDigest] = CHART_DIGESTS) -> str | None:
    """SHA-256 of the chart's package, None where nobody has recorded it."""
    found = known.get(key(chart))
    return found.sha256 if found else None


def package_name(chart: Chart) -> str:
    """A package's file, as `helm pull` and chart repositories call it."""
    return f"{chart.name}-{chart.version}.tgz"


def wrong(chart: Chart, package: Path, known: Mapping[str, ChartDigest] = CHART_DIGESTS) -> str | None:
    """What is wrong with a chart's package on disk; None if it is what is on record, or nothing is."""
    try:
        found = hashlib.sha256(package.read_bytes()).hexdigest()
    except OSError as error:
        return f"{package} cannot be read ({error.strerror}): type make charts, which fetches and checks it"
    expected = digest_of(chart, known)
    if expected is not None and found != expected:
        return (
            f"{package} is not the package on record for {key(chart)} (SHA-256 {found}, on record {expected}): "
            "fetch it again by make charts, and ask its publisher if it stays so"
        )
    return None
