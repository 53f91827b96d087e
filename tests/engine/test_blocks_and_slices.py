"""Capacity that is bought in blocks, GPUs that are cut, checkpoints in three places, a mirror of images, a sandbox and
pods' addresses in blocks of 16: a stack of all, applied (PF10, E21, J16, K09, KJ24, KJ25, T01, Y05)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

BLOCK = "cr-0123456789abcdef0"
RUN = "llama-3-8b-sft"
MIRROR = "123456789012.dkr.ecr.us-east-2.amazonaws.com/mirror"
SANDBOX = {"source": "s3://acme-tools/gvisor/20261116", "runscSha256": "a" * 64, "shimSha256": "b" * 64}


@pytest.fixture(scope="module")
def booked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack with its training in a block that began yesterday, and its service on slices of one GPU."""
    directory = tmp_path_factory.mktemp("booked")
    tree, today = Tree.copy(directory / "tree"), datetime.now(UTC).date()
    days = {"start": str(today - timedelta(days=1)), "end": str(today + timedelta(days=6))}
    stack = tree.stack("dev")
    for path, value in {
        "platform.network": {"prefixDelegation": True},
        "supply": {"registry": MIRROR},
        "pools[0].sandbox": SANDBOX,
        "pools[1].instanceType": "p5.48xlarge",
        "pools[1].count": 1,
        "pools[1].capacity": "capacity-block",
        "pools[1].reservation": {"id": BLOCK, "zone": "use2-az1", **days},
        "pools[2].instanceType": "p5.4xlarge",
        "pools[2].mig": "3g.40gb",
        "pools[2].count": 1,
        "training.runs[0].nodes": 1,
        "training.runs[0].checkpoint": {
            "everyMinutes": 15,
            "withinSeconds": 60,
            "local": True,
            "fileSystemMinutes": 30,
            "objectStoreHours": 2,
        },
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


def test_every_image_but_those_of_eks_comes_from_the_mirror(booked: Rehearsed) -> None:
    """J16: nodes, charts, runs and services; the add-ons' are the region's own registry of EKS."""
    pods = [each["spec"] for each in booked.kube.list("v1", "Pod")]
    images = {each["image"] for pod in pods for each in [*pod["containers"], *pod.get("initContainers", ())]}
    assert len([each for each in images if each.startswith(f"{MIRROR}/")]) > 10
    elsewhere = {each.partition(":")[0] for each in images if not each.startswith(f"{MIRROR}/")}
    own = re.compile(r"602401143452\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com/eks/(?!aws-efa)")
    assert {each for each in elsewhere if not own.match(each)} == set()


def test_a_pod_of_untrusted_code_runs_in_the_sandbox_where_nodes_have_it(booked: Rehearsed) -> None:
    """Y05: the API server's own admission sends it to the nodes of the pool, whose containerd knows the runtime."""
    meta = {"name": "untrusted", "namespace": "default"}
    container = {"name": "code", "image": f"{MIRROR}/registry.k8s.io/pause:3.10"}
    spec = {"runtimeClassName": "gvisor", "containers": [container]}
    booked.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def running() -> str:
        pod = booked.kube.get("v1", "Pod", "untrusted", "default") or {}
        return str(pod["spec"].get("nodeName")) if pod["status"].get("phase") == "Running" else ""

    node = until(running, "the pod to run")
    assert node in {each["metadata"]["name"] for each in pool(booked, "system")}
    booked.kubectl("delete", "pod", "untrusted")


def test_nodes_take_addresses_in_blocks(booked: Rehearsed) -> None:
    """What up waited for ran with it: the plugin's own setting, by which a rehearsed node has room for pods."""
    daemon = booked.kube.get("apps/v1", "DaemonSet", "aws-node", "kube-system") or {}
    env = {each["name"]: each.get("value") for each in daemon["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["ENABLE_PREFIX_DELEGATION"] == "true"


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


def backup(site: Rehearsed, name: str) -> dict[str, Any]:
    """The end of a copy that is made now: its Job's status."""
    site.kubectl("create", "job", "-n", "training", f"--from=cronjob/backup-{RUN}", name)

    def ended() -> dict[str, Any]:
        status: dict[str, Any] = (site.kube.get("batch/v1", "Job", name, "training") or {}).get("status") or {}
        return status if {each["type"] for each in status.get("conditions") or []} & {"Complete", "Failed"} else {}

    found: dict[str, Any] = until(ended, f"the copy {name} to end")
    return found


def test_the_newest_save_is_copied_to_the_bucket(booked: Rehearsed) -> None:
    """T01: the schedule is one of the real controller's; what the run saved first is in the bucket, hashes last."""
    assert backup(booked, "now")["succeeded"] == 1
    bucket = booked.outputs()["storage"]["bucket"]
    listed = booked.aws("s3").list_objects_v2(Bucket=bucket, Prefix=f"checkpoints/{RUN}/")["Contents"]
    assert [each["Key"].rpartition("/")[2] for each in listed] == ["SHA256SUMS", "shard-0.pt"]


def test_a_copier_without_its_rights_says_so(booked: Rehearsed) -> None:
    """And the stack's own identity, put back by the next up, is enough again."""
    eks = booked.aws("eks")
    (cluster,) = eks.list_clusters()["clusters"]
    (held,) = eks.list_pod_identity_associations(clusterName=cluster, serviceAccount=RUN)["associations"]
    eks.delete_pod_identity_association(clusterName=cluster, associationId=held["associationId"])
    assert backup(booked, "denied").get("failed")
    pods = booked.kube.list("v1", "Pod", "training", label_selector="job-name=denied")
    ends = [each["status"]["containerStatuses"][0]["state"]["terminated"]["message"] for each in pods]
    assert all("Unable to locate credentials" in each for each in ends)
    booked.refresh().require()
    booked.up().require()
    assert backup(booked, "again")["succeeded"] == 1
