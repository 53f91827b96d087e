"""Capacity that is bought in blocks, and GPUs that are cut: a stack of both, applied (PF10, E21, K09, KJ24, KJ25)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = pytest.mark.engine

BLOCK = "cr-0123456789abcdef0"


@pytest.fixture(scope="module")
def booked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack with its training in a block that began yesterday, and its service on slices of one GPU."""
    directory = tmp_path_factory.mktemp("booked")
    tree, today = Tree.copy(directory / "tree"), datetime.now(UTC).date()
    days = {"start": str(today - timedelta(days=1)), "end": str(today + timedelta(days=6))}
    stack = tree.stack("dev")
    for path, value in {
        "pools[1].instanceType": "p5.48xlarge",
        "pools[1].count": 1,
        "pools[1].capacity": "capacity-block",
        "pools[1].reservation": {"id": BLOCK, "zone": "use2-az1", **days},
        "pools[2].instanceType": "p5.4xlarge",
        "pools[2].mig": "3g.40gb",
        "training.runs[0].nodes": 1,
        "training.runs[0].checkpoint": {"everyMinutes": 15, "withinSeconds": 60},
        "serving.services[0].quantization": "fp8",
        "serving.services[0].minReplicas": 2,
        "serving.services[0].maxReplicas": 2,
        "budget.maxHourlyUsd": 900,
    }.items():
        stack.set(f"gpucluster:{path}", value)
    with rehearsed("booked", tree, directory / "state") as site:
        site.up().require()
        site.settled()
        yield site


def pool(site: Rehearsed, name: str) -> list[dict[str, Any]]:
    """The nodes of a pool."""
    nodes = site.kube.list("v1", "Node")
    return [each for each in nodes if each["metadata"]["labels"]["eks.amazonaws.com/nodegroup"].find(name) >= 0]


def test_the_nodes_of_the_block_are_taken_out_of_it(booked: Rehearsed) -> None:
    (held,) = booked.aws("ec2").describe_capacity_reservations(CapacityReservationIds=[BLOCK])["CapacityReservations"]
    assert (held["TotalInstanceCount"], held["AvailableInstanceCount"]) == (1, 0)
    (node,) = pool(booked, "training")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["allocatable"]["vpc.amazonaws.com/efa"] == "32"


def test_two_replicas_share_one_gpu_by_a_slice_each(booked: Rehearsed) -> None:
    (node,) = pool(booked, "inference")
    labels = node["metadata"]["labels"]
    assert (labels["nvidia.com/mig.config"], labels["nvidia.com/mig.config.state"]) == ("all-3g.40gb", "success")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    pods = [pod for pod in booked.kube.list("v1", "Pod", "inference") if pod["status"]["phase"] == "Running"]
    assert [pod["spec"]["nodeName"] for pod in pods] == [node["metadata"]["name"]] * 2


def test_what_manager_and_discovery_label_is_no_change_of_the_stack(booked: Rehearsed) -> None:
    booked.assert_quiet()


def test_a_gpu_that_serves_is_not_cut_again(booked: Rehearsed) -> None:
    """KJ24: another profile needs idle GPUs; the slices and their pods stay."""
    (node,) = pool(booked, "inference")
    name = node["metadata"]["name"]
    booked.kubectl("label", "node", name, "nvidia.com/mig.config=all-1g.10gb", "--overwrite")

    def state() -> str:
        found = booked.kube.get("v1", "Node", name) or {}
        return str(found["metadata"]["labels"]["nvidia.com/mig.config.state"])

    until(lambda: state() == "failed", "the MIG manager to refuse")
    assert pool(booked, "inference")[0]["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    assert booked.view().unready() == []
