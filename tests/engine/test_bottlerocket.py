"""A stack whose GPU nodes boot Bottlerocket, whole: up, its gang by the image's own device plugin, quiet, down."""

from collections.abc import Iterator

import pytest

from catalogue import versions
from planner.nodes import hugepages_mib
from rehearsal.command import removal

from .rehearsed import Rehearsed, rehearsed
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

GPU, EFA, POOL = "nvidia.com/gpu", "vpc.amazonaws.com/efa", "gpucluster/pool=training"


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack without its services; the last test here ends it."""
    directory = tmp_path_factory.mktemp("bottlerocket")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    system, training, _ = stack.get("gpucluster:pools")
    stack.set("gpucluster:pools", [system, {**training, "amiFamily": "bottlerocket"}])
    stack.set("gpucluster:serving.services", [])
    with rehearsed("bottlerocket", tree, directory / "state") as site:
        site.up().require()
        yield site


def test_its_nodes_boot_the_recorded_release_and_offer_gpus_efa_and_huge_pages(booted: Rehearsed) -> None:
    release = versions.KUBERNETES["1.36"].bottlerocket_release.partition("-")[0]
    nodes = booted.kube.list("v1", "Node", label_selector=POOL)
    assert [each["status"]["nodeInfo"]["osImage"] for each in nodes] == [f"Bottlerocket OS {release}"] * 2
    offered = [each["status"]["allocatable"] for each in nodes]
    assert {(each[GPU], each[EFA], each["hugepages-2Mi"]) for each in offered} == {("1", "1", f"{hugepages_mib(1)}Mi")}


def test_the_gang_runs_on_them_and_the_operator_has_no_device_plugin_there(booted: Rehearsed) -> None:
    assert booted.settled().gangs[0].running == 2
    daemons = {each["metadata"]["name"] for each in booted.kube.list("apps/v1", "DaemonSet", "gpu-operator")}
    assert "nvidia-dcgm-exporter" in daemons
    assert "nvidia-device-plugin-daemonset" not in daemons


def test_nothing_changes_by_itself(booted: Rehearsed) -> None:
    booted.assert_quiet()


def test_down_leaves_nothing(booted: Rehearsed) -> None:
    removal.destroy(booted.session)
    removal.prove_empty(booted.session)
