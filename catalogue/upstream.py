"""Fetches the vendors' charts at the catalogue's versions, to render and to check against (`make upstream`).

What is fetched lies outside the checkout, in GPUCLUSTER_UPSTREAM: whole charts in `charts/<name>-<version>/`, each with
a `SHA256SUMS` of its files, and their definitions in `crds/<group>_<plural>.yaml`. An archive is what its repository's
index says that it is, and the one on record (`catalogue.chart_digests`). Needs a machine that
reaches the charts' repositories.
"""

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tarfile
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import yaml

from catalogue.chart_digests import ALL_CHARTS, CHART_DIGESTS, FILE, ChartDigest, digest_of, key, package_name, read
from catalogue.fetching import LARGEST, opened, refused, whole
from catalogue.versions import Chart

TIMEOUT_SECONDS = 60
SUMS = "SHA256SUMS"
_DNS = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
"""A DNS subdomain, which groups and plurals are (Kubernetes, "Object Names and IDs")."""
DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "upstream"


class UpstreamError(Exception):
    """A chart cannot be had; the text says which, from where, and why."""


def fetch(charts: Iterable[Chart], directory: Path) -> list[str]:
    """Fetch every chart into `directory`; returns one sentence per chart that could not be had."""
    problems = []
    for chart in charts:
        try:
            found = dict(files(chart))
        except UpstreamError as error:
            problems.append(str(error))
            continue
        shutil.rmtree(directory / _home(chart), ignore_errors=True)
        for path, content in found.items():
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return problems


def files(chart: Chart) -> Iterator[tuple[Path, bytes]]:
    """Path below the directory and content of what is kept of a chart. Raises UpstreamError."""
    url, archive = package(chart)
    sums = []
    for name, content in _members(archive, chart):
        _, _, inside = name.partition("/")
        if not inside or ".." in Path(inside).parts:
            raise UpstreamError(f"{chart.name} {chart.version}: {url} holds {name!r}, which is no file of a chart")
        sums.append(f"{hashlib.sha256(content).hexdigest()}  {inside}\n")
        yield _home(chart) / inside, content
        if "/crds/" in name and name.endswith((".yaml", ".yml")):
            yield from _definitions(content, chart)
    yield _home(chart) / SUMS, "".join(sums).encode()


def package(chart: Chart, known: Mapping[str, ChartDigest] = CHART_DIGESTS) -> tuple[str, bytes]:
    """Address and content of the chart's package: what the index says that it is, and what is on record. Raises
    UpstreamError.
    """
    url, digest = _archive(chart)
    archive = _read(url, chart)
    found = hashlib.sha256(archive).hexdigest()
    if digest and found != digest:
        raise UpstreamError(f"{chart.name} {chart.version}: {url} is not the archive that the index names ({digest})")
    expected = digest_of(chart, known)
    if expected not in (None, found):
        raise UpstreamError(
            f"{chart.name} {chart.version}: {url} has the SHA-256 {found}, and {expected} is on record: nothing of it "
            "is kept; ask its publisher before you correct catalogue/chart_digests.json"
        )
    return url, archive


def keep_packages(charts: Iterable[Chart], directory: Path) -> list[str]:
    """Fetch packages of charts into `directory`; returns one sentence per chart that could not be had."""
    problems = []
    for chart in charts:
        try:
            _, content = package(chart)
        except UpstreamError as error:
            problems.append(str(error))
            continue
        directory.mkdir(parents=True, exist_ok=True)
        (directory / package_name(chart)).write_bytes(content)
    return problems


def record(charts: Iterable[Chart], file: Path) -> list[str]:
    """Put digests of charts that have none on record; returns one sentence per chart that could not be had."""
    known, problems = read(file), []
    for chart in charts:
        if key(chart) not in known:
            try:
                url, content = package(chart, known)
            except UpstreamError as error:
                problems.append(str(error))
                continue
            known[key(chart)] = ChartDigest(sha256=hashlib.sha256(content).hexdigest(), source=url)
    fresh = file.with_suffix(".new")
    rows = {name: asdict(row) for name, row in known.items()}
    fresh.write_text(json.dumps(rows, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(file)
    return problems


def _home(chart: Chart) -> Path:
    return Path("charts") / f"{chart.name}-{chart.version.removeprefix('v')}"


def _archive(chart: Chart) -> tuple[str, str]:
    """Address and SHA-256 of the chart's archive; an index need not name the latter."""
    if chart.repository.startswith("oci://"):
        raise UpstreamError(
            f"{chart.name} {chart.version}: it lies in a registry of images, which has no index: type "
            f"helm pull {chart.repository}/{chart.name} --version {chart.version}"
        )
    index = yaml.safe_load(_read(f"{chart.repository}/index.yaml", chart)) or {}
    for entry in index.get("entries", {}).get(chart.name, []):
        if str(entry.get("version")) == chart.version and entry.get("urls"):
            address = urllib.parse.urljoin(f"{chart.repository}/", str(entry["urls"][0]))
            return address, str(entry.get("digest") or "").removeprefix("sha256:")
    raise UpstreamError(
        f"{chart.name} {chart.version}: {chart.repository} does not list it; correct catalogue/versions.py"
    )


def _read(url: str, chart: Chart) -> bytes:
    if why := refused(url, f"{chart.repository}/"):
        raise UpstreamError(f"{chart.name} {chart.version}: {why}")
    try:
        with opened(urllib.request.Request(url), TIMEOUT_SECONDS) as answer:  # noqa: S310 - the scheme was looked at
            return whole(answer)
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise UpstreamError(f"{chart.name} {chart.version}: {url} cannot be read here ({reason})") from error


def _members(archive: bytes, chart: Chart) -> Iterator[tuple[str, bytes]]:
    try:
        left = LARGEST
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            for member in tar:
                left -= max(member.size, 512)  # a header alone takes as much
                if left < 0:
                    raise UpstreamError(
                        f"{chart.name} {chart.version}: its archive holds more than {LARGEST // 2**20} MiB"
                    )
                file = tar.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield member.name, file.read()
    except tarfile.TarError as error:
        raise UpstreamError(f"{chart.name} {chart.version}: what came is no chart archive ({error})") from error


def _definitions(content: bytes, chart: Chart) -> Iterator[tuple[Path, bytes]]:
    """The CRDs of a file, one by one; BaseLoader, because a lone `=` (AlertmanagerConfig) is no YAML 1.1 string."""
    for document in yaml.load_all(content, yaml.BaseLoader):
        if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
            spec = document["spec"]
            group, plural = str(spec["group"]), str(spec["names"]["plural"])
            if not (_DNS.fullmatch(group) and _DNS.fullmatch(plural)):
                raise UpstreamError(f"{chart.name} {chart.version}: {group!r} with {plural!r} names no definition")
            yield Path("crds") / f"{group}_{plural}.yaml", _part(content, document)


def _part(content: bytes, document: dict[str, object]) -> bytes:
    """The text of one document of a file, as the vendor wrote it."""
    parts = [b"\n" + part for part in (b"\n" + content).split(b"\n---")]
    metadata = document["metadata"]
    name = metadata["name"].encode() if isinstance(metadata, dict) else b""
    return next((part.lstrip() for part in parts if b"\n  name: " + name + b"\n" in part), content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch everything the catalogue pins; 1 if something could not be had."""
    parser = argparse.ArgumentParser(prog="python -m catalogue.upstream", description="Charts as they are on record.")
    parser.add_argument("--packages", type=Path, metavar="DIRECTORY", help="keep packages there, for supply.charts")
    parser.add_argument("--record", action="store_true", help="put digests that nobody has recorded on record")
    options = parser.parse_args(arguments)
    if options.record:
        return _told(record(ALL_CHARTS.values(), FILE), f"on record in {FILE.name}")
    if options.packages:
        return _told(keep_packages(ALL_CHARTS.values(), options.packages), f"in {options.packages}")
    directory = Path(os.environ.get("GPUCLUSTER_UPSTREAM") or DEFAULT)
    try:
        problems = fetch(ALL_CHARTS.values(), directory)
    except OSError as error:
        problems = [f"{directory} cannot be written ({error}); name another directory with GPUCLUSTER_UPSTREAM"]
    return _told(problems, f"in {directory}")


def _told(problems: Sequence[str], where: str) -> int:
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"{len(ALL_CHARTS) - len(problems)} of {len(ALL_CHARTS)} charts are {where}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
