"""Versions: one file, markers an update bot finds, and agreement with what rehearsal runs."""

import os
import re
from pathlib import Path

import pytest
import yaml

from catalogue import versions
from catalogue.chart_images import CHART_IMAGES
from catalogue.images import is_pinned, own_images, pinned
from rehearsal.charts.sources import IN_MODULES
from rehearsal.toolchain import versions as toolchain

ROOT = Path(__file__).parents[2]
UPSTREAM = Path(os.environ.get("GPUCLUSTER_UPSTREAM", ROOT.parent / "shared" / "upstream"))
SOURCE = Path(versions.__file__).read_text(encoding="utf-8")


def test_every_version_has_an_update_marker() -> None:
    """I03: the line below each marker holds a version, and each version in the file has a marker."""
    lines = SOURCE.splitlines()
    marked = [lines[index + 1] for index, line in enumerate(lines) if line.strip().startswith("# renovate:")]
    assert len(marked) == len(versions.CHARTS) + len(versions.KUBERNETES) + 18
    assert all(re.search(r"\d+\.\d+", line) for line in marked)


def test_nothing_floats() -> None:
    """I03, KJ14: charts, AMI releases and images name one version each."""
    for chart in versions.CHARTS.values():
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", chart.version)
        assert chart.repository.startswith(("https://", "oci://"))
    for minor, kubernetes in versions.KUBERNETES.items():
        assert re.fullmatch(rf"{re.escape(minor)}\.\d+-20\d{{6}}", kubernetes.ami_release)
        assert kubernetes.source.startswith("https://")
    named = own_images(experiments=True, mpi=True, mlflow=True, pipelines=True, people=True)
    assert all(re.search(r":v?\d[\w.\-]*$", image) for image in named)


def test_charts_exist_as_published() -> None:
    """K01, L07, M01: the pinned charts, against the vendors' data where it is at hand."""
    index = UPSTREAM / "charts" / "versions.yaml"
    if not index.exists():
        pytest.skip("vendors' data is not at hand: set GPUCLUSTER_UPSTREAM")
    published = yaml.safe_load(index.read_text(encoding="utf-8"))["charts"]
    for chart in versions.CHARTS.values():
        stored = [each for name, each in published.items() if re.fullmatch(rf"{chart.name}(-[\d.]+)?", name)]
        # What lies in a Go module is vouched for by Go, and not each version of it is stored.
        built = chart.version in (toolchain.VOLCANO, toolchain.TRAEFIK_CHART, IN_MODULES["kyverno"].own)
        assert built or chart.version in [each["chart_version"] for each in stored], chart.name
        sources = {each["source"].rstrip("/") for each in stored if each["source_kind"] != "oci"}
        assert sources <= {chart.repository}, chart.name


def test_versions_equal_the_rehearsed_binaries() -> None:
    """M01: what is rehearsed is what is deployed; the rehearsal's Go modules name the binaries' versions."""
    assert versions.VOLCANO.version == toolchain.VOLCANO
    assert f"v{toolchain.TRAINING_OPERATOR}" == versions.TRAINING_OPERATOR
    assert f"v{toolchain.KATIB}" == versions.KATIB
    assert f"v{toolchain.CERT_MANAGER}" == versions.CERT_MANAGER.version
    assert versions.TRAEFIK.version == toolchain.TRAEFIK_CHART
    assert versions.OAUTH2_PROXY_IMAGE.endswith(f":v{toolchain.OAUTH2_PROXY}")
    assert f"v{toolchain.GATEWAY_API}" == versions.GATEWAY_API
    assert (versions.KYVERNO.version, versions.KYVERNO_VERSION) == (IN_MODULES["kyverno"].own, f"v{toolchain.KYVERNO}")
    kubectl = versions.KUBECTL_IMAGE.rpartition(":")[2]
    assert kubectl == f"v{toolchain.KUBERNETES}"
    assert kubectl.removeprefix("v").rpartition(".")[0] in versions.KUBERNETES


FLOORS = {
    # EC2's P6e-GB200 and P6-B200: eks-charts, aws-efa-k8s-device-plugin, values.yaml of 0.5.14 and 0.5.6.
    "aws-efa-k8s-device-plugin": (0, 5, 14),
    # EKS user guide, "Use P6e-GB200 UltraServers".
    "gpu-operator": (25, 3, 4),
    # Blocks 1.6, network interfaces of EFA 1.11: karpenter-provider-aws, release notes.
    "karpenter": (1, 11, 0),
}
BAD_PLUGINS = {(0, 19, 0), (0, 19, 1), (0, 19, 2)}
"""NVIDIA/k8s-device-plugin, issue 1692: they mount the uverbs devices of EFA into every pod of a GPU."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version))


@pytest.mark.parametrize("chart", FLOORS)
def test_versions_have_what_the_catalogues_instances_need(chart: str) -> None:
    assert numbers(versions.CHARTS[chart].version) >= FLOORS[chart]


def test_the_operators_device_plugin_leaves_efa_to_its_own() -> None:
    plugins = {each.image for each in CHART_IMAGES["gpu-operator"] if "/k8s-device-plugin:" in each.image}
    assert plugins
    assert not {numbers(each.rpartition(":")[2]) for each in plugins} & BAD_PLUGINS


def test_image_with_a_known_digest_is_pinned() -> None:
    """I03: a resolved digest is appended, an image's own is kept, an unknown one is not invented."""
    digests = {"a/b:1": "sha256:" + "0" * 64}
    assert pinned("a/b:1", digests) == "a/b:1@sha256:" + "0" * 64
    assert pinned("a/b:2", digests) == "a/b:2"
    assert pinned("a/b:1@sha256:" + "1" * 64, digests) == "a/b:1@sha256:" + "1" * 64
    assert is_pinned("a/b:1", digests)
    assert is_pinned("a/b:2@sha256:" + "1" * 64, digests)
    assert not is_pinned("a/b:2", digests)
