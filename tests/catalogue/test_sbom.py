"""The bill of materials holds all that the program pins, by names that tools know."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from catalogue import sbom
from catalogue.chart_digests import ALL_CHARTS, digest_of
from catalogue.chart_images import CHART_IMAGES
from catalogue.images import EXPERIMENT_IMAGES, PLATFORM_IMAGES
from catalogue.versions import ADDONS, TRAINING_OPERATOR_CRD_SHA256

PURL = re.compile(r"pkg:(pypi|helm|oci|generic|github)/[\w./-]+(@[\w.%+-]+)?(\?[\w=&.%_-]+)?(#[\w./-]+)?")
"""As package-url/purl-spec has it: type, name, version, qualifiers, subpath."""


def of(kind: str) -> dict[str, dict[str, object]]:
    found = (each for each in sbom.document()["components"] if each["purl"].startswith(f"pkg:{kind}/"))
    return {each["name"]: each for each in found}


def test_every_component_has_a_name_of_its_own_that_tools_know() -> None:
    components = sbom.document()["components"]
    assert len({each["bom-ref"] for each in components}) == len(components)
    assert [each["purl"] for each in components if not PURL.fullmatch(each["purl"])] == []
    assert {each["type"] for each in components} == {"library", "application", "container", "file"}


def test_all_that_is_pinned_is_in_it() -> None:
    lines = sbom.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    packages = [line.partition("==")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))]
    assert len(packages) > 5
    assert set(of("pypi")) == {name.lower().replace("_", "-").replace(".", "-") for name in packages}
    assert set(of("helm")) == set(ALL_CHARTS)
    assert set(of("generic")) == set(ADDONS)
    rows = [row.image for rows in CHART_IMAGES.values() for row in rows if row.use != "named"]
    images = {*PLATFORM_IMAGES, *EXPERIMENT_IMAGES, *rows}
    assert len([each for each in sbom.document()["components"] if each["type"] == "container"]) == len(images)
    assert of("helm")["volcano"]["hashes"] == [{"alg": "SHA-256", "content": digest_of(ALL_CHARTS["volcano"])}]
    assert of("helm")["kube-prometheus-stack"]["hashes"] == []
    (definitions,) = of("github").values()
    assert definitions["hashes"] == [{"alg": "SHA-256", "content": TRAINING_OPERATOR_CRD_SHA256}]


def test_packages_have_the_hashes_that_pip_checks() -> None:
    text = sbom.REQUIREMENTS.read_text(encoding="utf-8")
    properties = of("pypi")["boto3"]["properties"]
    assert isinstance(properties, list)
    assert len(properties) >= 2
    assert all(f"--hash=sha256:{each['value']}" in text for each in properties)


def test_an_image_is_named_by_its_digest_where_one_was_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    image = PLATFORM_IMAGES[0]
    monkeypatch.setattr(sbom, "DIGESTS", {image: f"sha256:{'a' * 64}"})
    (found,) = (each for each in of("oci").values() if each["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}])
    assert str(of("oci")["cilium"]["purl"]).startswith("pkg:oci/cilium@sha256%3A")
    assert f"@sha256%3A{'a' * 64}?repository_url=" in str(found["purl"])
    assert found["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]


def test_it_is_written_and_the_same_each_time(tmp_path: Path) -> None:
    out = tmp_path / "build" / "sbom.json"
    done = subprocess.run([sys.executable, "-m", "catalogue.sbom", "--out", str(out)], cwd=sbom.ROOT, check=True)
    assert done.returncode == 0
    assert json.loads(out.read_text()) == sbom.document()
