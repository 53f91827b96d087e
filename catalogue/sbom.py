"""What the program is made of and what it deploys, as CycloneDX: `python -m catalogue.sbom [--out FILE]` (make sbom).

Python packages by the hashes that pip checks, charts and add-ons by version, images by version and, where one was
resolved, by digest; definitions by their hash. Those inside charts are pinned by their chart's version alone, which the
document says of each. Without images that a stack file names.
Format: CycloneDX 1.6, JSON reference; names: package-url/purl-spec, types pypi, helm, oci and generic.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from catalogue.chart_digests import ALL_CHARTS, digest_of
from catalogue.chart_images import CHART_IMAGES
from catalogue.images import DIGESTS, EXPERIMENT_IMAGES, PLATFORM_IMAGES
from catalogue.pins import Reference
from catalogue.versions import ADDONS, TRAINING_OPERATOR, TRAINING_OPERATOR_CRD_SHA256

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements.txt"
_PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

Component = dict[str, Any]


def document() -> Component:
    """The whole bill of materials, the same for the same tree. Pure but for the files of the tree."""
    components = sorted(
        (*_packages(REQUIREMENTS.read_text(encoding="utf-8")), *_charts(), *_images(), *_addons(), _definitions()),
        key=lambda each: str(each["bom-ref"]),
    )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "gpucluster", "bom-ref": "gpucluster"}},
        "components": components,
    }


def _component(kind: str, name: str, version: str | None, purl: str, **more: Any) -> Component:
    known = {"version": version} if version else {}
    return {"type": kind, "name": name, **known, "purl": purl, "bom-ref": purl, **more}


def _property(name: str, value: str) -> dict[str, str]:
    return {"name": f"gpucluster:{name}", "value": value}


def _packages(text: str) -> Iterator[Component]:
    """Python packages; each has a hash for every file that may be installed."""
    for block in re.split(r"\n(?=\S)", text):
        if found := _PACKAGE.match(block):
            name, version = re.sub(r"[-_.]+", "-", found[1]).lower(), found[2]
            hashes = [_property("sha256", each) for each in _HASH.findall(block)]
            yield _component("library", name, version, f"pkg:pypi/{name}@{quote(version)}", properties=hashes)


def _charts() -> Iterator[Component]:
    for chart in ALL_CHARTS.values():
        purl = f"pkg:helm/{chart.name}@{quote(chart.version)}?repository_url={quote(chart.repository, safe='')}"
        digest = digest_of(chart)
        hashes = [{"alg": "SHA-256", "content": digest}] if digest else []
        how = "by the digest of its package" if digest else "by version: `make pin-charts` records its digest"
        told = [_property("pinned", f"{how}; its images by the chart's version alone")]
        yield _component("application", chart.name, chart.version, purl, hashes=hashes, properties=told)


def _images() -> Iterator[Component]:
    own = (*PLATFORM_IMAGES, *EXPERIMENT_IMAGES)
    of_charts = (row.image for rows in CHART_IMAGES.values() for row in rows if row.use != "named")
    for image in dict.fromkeys((*own, *of_charts)):
        named, _, known = image.partition("@")
        reference = Reference.parse(named)
        name = reference.repository.rpartition("/")[2]
        where = quote(f"{reference.host}/{reference.repository}", safe="")
        digest = DIGESTS.get(image, known)
        version = f"@{quote(digest, safe='')}" if digest else ""
        purl = f"pkg:oci/{name}{version}?repository_url={where}&tag={quote(reference.tag)}"
        hashes = [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}] if digest else []
        by_tag = "by tag: `make pin-images` resolves it" if image in own else "by tag, which its chart's version fixes"
        told = [_property("pinned", "by digest" if digest else by_tag)]
        yield _component("container", name, reference.tag, purl, hashes=hashes, properties=told)


def _addons() -> Iterator[Component]:
    for name, version in ADDONS.items():
        at = f"@{quote(version)}" if version else ""
        told = [_property("pinned", "by version" if version else "by EKS: its default for the cluster's version")]
        yield _component("application", name, version, f"pkg:generic/aws-eks-addon/{name}{at}", properties=told)


def _definitions() -> Component:
    name = "kubeflow.org_pytorchjobs.yaml"
    purl = f"pkg:github/kubeflow/training-operator@{TRAINING_OPERATOR}#manifests/base/crds/{name}"
    hashes = [{"alg": "SHA-256", "content": TRAINING_OPERATOR_CRD_SHA256}]
    return _component("file", name, TRAINING_OPERATOR, purl, hashes=hashes)


def main() -> int:
    """Print or write the document."""
    parser = argparse.ArgumentParser(prog="python -m catalogue.sbom", description="The bill of materials as CycloneDX.")
    parser.add_argument("--out", type=Path, help="write it there instead of printing it")
    options = parser.parse_args()
    text = json.dumps(document(), indent=2) + "\n"
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
