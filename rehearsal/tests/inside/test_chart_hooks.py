"""Jobs that charts have helm run: what they do to the cluster."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.images import managecrds
from rehearsal.images import table as images
from rehearsal.kubelet.program import Exit, Launch
from rehearsal.tests.inside import facts, workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site
from rehearsal.tests.inside.test_charts import GPU, find, pod_of, render, rendered


def test_definitions_are_upgraded_from_the_files_that_the_hook_names() -> None:
    chart = find(*GPU)
    job = rendered(*GPU, {}, "Job", "gpu-operator-upgrade-crd")
    container = pod_of(job)["containers"][0]
    row = images.known().find(container["image"], container["name"], container["command"])
    assert row is not None
    assert row.start is managecrds.run
    assert managecrds.chosen(container["args"], chart.crds()) == chart.crds()
    with pytest.raises(FileNotFoundError, match=r"/opt/other\.yaml"):
        managecrds.chosen(["apply", "--filepath=/opt/other.yaml"], chart.crds())


@pytest.mark.parametrize("directory", ["/opt/gpu-operator", "/opt/gpu-operator/", "/opt"])
def test_a_directory_stands_for_all_files_below_it_lf08(directory: str) -> None:
    definitions = find(*GPU).crds()
    chosen = managecrds.chosen(["apply", f"--filepath={directory}"], definitions)
    names = [sorted(each["metadata"]["name"] for each in found) for found in (chosen, definitions)]
    assert names[0] == names[1]
    with pytest.raises(FileNotFoundError, match="/opt/gpu-operator/crds"):
        managecrds.chosen(["apply", f"--filepath={directory}", "--filepath=/opt/gpu-operator/crds"], definitions)


def test_what_feature_discovery_published_goes_with_its_release(tmp_path: Path) -> None:
    host = facts.host("p5.4xlarge")
    labels = {"feature.node.kubernetes.io/pci-10de.present": "true", "nvidia.com/gpu.product": "x", "own": "kept"}
    patches: list[Any] = []
    world: Any = SimpleNamespace(
        stores={"nodes": SimpleNamespace(all=lambda: [{"metadata": {"name": host.node, "labels": labels}}])},
        hosts=SimpleNamespace(get=lambda _: host),
        kube=SimpleNamespace(patch=lambda *told: patches.append(told)),
    )
    container = pod_of(rendered(*GPU, {}, "Job", "gpu-operator-node-feature-discovery-prune"))["containers"][0]
    row = images.known().find(container["image"], container["name"])
    assert row is not None
    ended = row.start(Launch(world, {}, container, "n", (), (), {}, (), tmp_path, print, 0.0))
    assert ended.exited(0.0) == Exit(0)
    gone = dict.fromkeys(("feature.node.kubernetes.io/pci-10de.present", "nvidia.com/gpu.product"))
    assert patches == [("v1", "Node", host.node, None, {"metadata": {"labels": gone}})]


@pytest.mark.engine
def test_the_upgrade_hook_applies_definitions_with_its_own_rights(site: Site) -> None:
    """Without the role that comes with it the Job would fail: manage-crds acts as the pod's service account."""
    definition = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "nvidiadrivers.nvidia.com")
    site.kube.delete(
        dict(zip(("apiVersion", "kind", "metadata"), (*definition[:2], {"name": definition[2]}), strict=True))
    )
    until(lambda: site.kube.get(*definition) is None, 20, "the definition is gone")
    site.apply(workloads.namespace("upgrade"))
    hooks = [each for each in render(*GPU, {}, "upgrade") if "upgrade-crd" in each["metadata"]["name"]]
    assert len(hooks) == 4
    site.apply(*hooks)
    until(lambda: site.succeeded("upgrade", "gpu-operator-upgrade-crd"), 60, "the hook's Job ends well")
    assert site.kube.get(*definition) is not None
    site.kube.delete(workloads.namespace("upgrade"))
