"""Changes of the dev stack, each with the operations it costs, seen in AWS and Kubernetes, and taken back.

They are applied together, which costs one update instead of seven; every operation belongs to one of them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from catalogue.versions import VOLCANO
from rehearsal.engine import state

from .rehearsed import Operation, Rehearsed, operations, replaced
from .trees import Tree

pytestmark = pytest.mark.engine

FILE_SYSTEM = "urn:pulumi:dev::gpucluster::gpucluster:index:Storage$gpucluster:index:Lustre$"
FILE_SYSTEM += "aws:fsx/lustreFileSystem:LustreFileSystem::lustre-file-system"
VOLUMES = ("inference-model-weights", "training-checkpoints", "training-training-data")


def dashboard(name: str) -> list[Operation]:
    """A dashboard shows what the plan expects: its ConfigMap is replaced when that changes."""
    return replaced("core/v1:ConfigMap", f"dashboards-gpucluster-{name}")


@dataclass(frozen=True)
class Change:
    """What a person edits, and what it costs."""

    make: Callable[[Tree], object]
    costs: list[Operation]


def more_training_nodes(tree: Tree) -> None:
    tree.stack("dev").set("gpucluster:pools[1].count", 3).set("gpucluster:budget.maxHourlyUsd", 40)


def another_model(tree: Tree) -> None:
    service = "gpucluster:serving.services[0]"
    weights = "s3://acme-model-weights/llama-3.1-8b"
    tree.stack("dev").set(f"{service}.model", "llama-3.1-8b").set(f"{service}.weights", weights)


UNKNOWN = {
    "weights-not-pinned": ("llama-3-8b",),
    "chart-not-pinned": ("prometheus-adapter", VOLCANO.name),  # the latter in the version of nobody's below
}
"""What is not pinned in dev besides what prod waives, by rule."""


def protection(tree: Tree) -> None:
    """What protects a stack also wants its images, charts and weights pinned: prod's waivers hold here too."""
    more = {"reason": "what changes here is published by nobody", "until": "2027-12-31"}
    waivers = [
        *tree.stack("prod").get("gpucluster:waivers"),
        *({"rule": rule, "subject": each, **more} for rule, subjects in UNKNOWN.items() for each in subjects),
    ]
    tree.stack("dev").set("gpucluster:lifecycle.protect", True).set("gpucluster:waivers", waivers)


OF_VOLCANO = f'depName={VOLCANO.name}\n    version="{VOLCANO.version}'
"""Another chart may have the same number."""

CHANGES = {
    "pool count": Change(
        more_training_nodes,
        [
            ("update", "aws:eks:NodeGroup", "pool-training-nodes"),
            ("update", "scheduling.volcano.sh/v1beta1:Queue", "queues-training"),
            *replaced("core/v1:ConfigMap", "gate-training-plan"),  # the weekly gate measures the newcomer, too
            ("update", "batch/v1:CronJob", "gate-training-weekly"),
            *dashboard("cluster"),
            *dashboard("energy"),
            *dashboard("fabric"),
            *dashboard("cost"),  # which other changes move too
        ],
    ),
    "instance type": Change(
        lambda tree: tree.stack("dev").set("gpucluster:pools[0].instanceType", "m7i.2xlarge"),
        [
            ("update", "aws:ec2:LaunchTemplate", "pool-system-template"),
            ("update", "aws:eks:NodeGroup", "pool-system-nodes"),
        ],
    ),
    "FSx capacity": Change(
        lambda tree: tree.stack("dev").set("gpucluster:storage.lustre.capacityGib", 2400),
        [
            ("update", "aws:fsx:LustreFileSystem", "lustre-file-system"),
            *(("update", "core/v1:PersistentVolume", f"claims-{name}-volume") for name in VOLUMES),
            *dashboard("storage"),
        ],
    ),
    "chart version": Change(
        lambda tree: tree.edit(
            "catalogue/versions.py", OF_VOLCANO, OF_VOLCANO.replace(VOLCANO.version, f"{VOLCANO.version}0")
        ),
        [
            ("update", "helm.sh/v3:Release", "volcano-release"),
            *replaced("batch/v1:Job", "gang-admission-wait-first"),
            *replaced("batch/v1:Job", "gang-admission-wait"),
        ],
    ),
    "model": Change(
        another_model,
        [
            ("update", "aws:iam:RolePolicy", "weights-llama-3-8b-identity-policy"),
            *replaced("batch/v1:Job", "weights-llama-3-8b-copy"),
            ("update", "apps/v1:Deployment", "service-llama-3-8b-deployment"),
            *replaced("batch/v1:Job", "smoke-llama-3-8b-request"),
        ],
    ),
    "queue weight": Change(
        lambda tree: tree.stack("dev").set("gpucluster:scheduling.queues[0].weight", 6),
        [],  # the operation of the pool's count, which the queue's cap follows
    ),
    "protection": Change(
        protection,
        [
            ("update", "aws:eks:Cluster", "cluster-control-plane"),
            ("update", "aws:kms:Key", "keys-key"),
            ("update", "aws:s3:Bucket", "object-store-bucket"),
        ],
    ),
}


def costs(*left_out: str) -> list[Operation]:
    return sorted(each for name, change in CHANGES.items() if name not in left_out for each in change.costs)


@dataclass
class Changed:
    """The stack with all changes, what they did, and what it looked like before."""

    site: Rehearsed
    done: list[Operation]
    service_before: dict[str, Any]


def vllm(site: Rehearsed) -> dict[str, Any]:
    found = site.kube.get("apps/v1", "Deployment", "llama-3-8b", "inference")
    assert found is not None
    container: dict[str, Any] = found["spec"]["template"]["spec"]["containers"][0]
    return container


def model_service(site: Rehearsed) -> dict[str, Any]:
    found = site.kube.get("v1", "Service", "llama-3-8b", "inference")
    assert found is not None
    return found


def instances(site: Rehearsed, pool: str) -> list[str]:
    """Types of the pool's running instances, as EC2 tells them."""
    filters = [
        {"Name": "tag:eks:nodegroup-name", "Values": [pool]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    answer = site.aws("ec2").describe_instances(Filters=filters)
    return [each["InstanceType"] for group in answer["Reservations"] for each in group["Instances"]]


def lustre_volumes(site: Rehearsed) -> dict[str, dict[str, Any]]:
    """Specs of the volumes that are on the file system, by their names; Prometheus and others have disks."""
    specs = {each["metadata"]["name"]: each["spec"] for each in site.kube.list("v1", "PersistentVolume")}
    return {name: spec for name, spec in specs.items() if spec["csi"]["driver"] == "fsx.csi.aws.com"}


def file_systems(site: Rehearsed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.aws("fsx").describe_file_systems()["FileSystems"]
    return found


@pytest.fixture(scope="module")
def changed(dev: Rehearsed) -> Iterator[Changed]:
    with dev.tree.changed() as tree:
        before = model_service(dev)
        for change in CHANGES.values():
            change.make(tree)
        done = dev.apply()
        dev.settled()
        yield Changed(dev, done, before)


def test_preview_and_update_do_exactly_what_the_changes_cost(changed: Changed) -> None:
    assert changed.done == costs()


def test_a_larger_count_adds_a_node(changed: Changed) -> None:
    group = changed.site.aws("eks").describe_nodegroup(clusterName="gpucluster-dev", nodegroupName="training")
    assert group["nodegroup"]["scalingConfig"] == {"minSize": 3, "maxSize": 3, "desiredSize": 3}
    assert instances(changed.site, "training") == ["p5.4xlarge"] * 3
    nodes = [each for each in changed.site.view().nodes if each.instance_type == "p5.4xlarge"]
    assert [(each.ready, each.gpus, each.efa) for each in nodes] == [(True, 1, 1)] * 3


def test_another_instance_type_rolls_through_its_pool(changed: Changed) -> None:
    assert instances(changed.site, "system") == ["m7i.2xlarge"] * 2
    nodes = [each for each in changed.site.view().nodes if each.instance_type.startswith("m7i.")]
    assert sorted((each.zone, each.ready) for each in nodes) == [("us-east-2a", True), ("us-east-2b", True)]


def test_the_file_system_grows_and_its_volumes_say_so(changed: Changed) -> None:
    assert [each["StorageCapacity"] for each in file_systems(changed.site)] == [2400]
    sizes = {name: spec["capacity"]["storage"] for name, spec in lustre_volumes(changed.site).items()}
    assert sizes == dict.fromkeys(VOLUMES, "2400Gi")


def test_another_chart_version_runs_other_images(changed: Changed) -> None:
    """Every pod of the chart: the gate's is the program's own."""
    pods = changed.site.kube.list("v1", "Pod", "volcano-system")
    charts = [each for each in pods if not each["metadata"]["labels"].get("job-name", "").startswith("gang-admission-")]
    versions = {container["image"].rpartition(":")[2] for pod in charts for container in pod["spec"]["containers"]}
    assert versions == {f"v{VOLCANO.version}0"}


def test_another_model_is_loaded_beside_the_old_one_and_its_service_stays(changed: Changed) -> None:
    site, before = changed.site, changed.service_before
    jobs = {each["metadata"]["name"].partition("-")[0]: each for each in site.kube.list("batch/v1", "Job", "inference")}
    assert jobs.keys() == {"weights", "smoke"}
    assert all(each["status"]["succeeded"] == 1 for each in jobs.values())
    job = jobs["weights"]
    copied = re.search(r"s3 sync (\S+) (\S+)", " ".join(job["spec"]["template"]["spec"]["containers"][0]["args"]))
    assert copied is not None
    source, target = copied.groups()
    assert source == "s3://acme-model-weights/llama-3.1-8b"
    assert vllm(site)["command"][2] == target
    after = model_service(site)
    assert (after["metadata"]["uid"], after["spec"]["clusterIP"]) == (
        before["metadata"]["uid"],
        before["spec"]["clusterIP"],
    )
    assert {(each.ready, each.endpoints) for each in site.view().services if each.name == "llama-3-8b"} == {(1, 1)}


def test_a_queue_has_its_new_weight(changed: Changed) -> None:
    queue = changed.site.kube.get("scheduling.volcano.sh/v1beta1", "Queue", "training")
    assert queue is not None
    assert queue["spec"]["weight"] == 6


def test_another_type_of_a_protected_file_system_is_refused(changed: Changed) -> None:
    """SCRATCH_2 to PERSISTENT_2 is a new file system; nobody loses the old one by an edit."""
    lustre = {"deploymentType": "PERSISTENT_2", "capacityGib": 2400, "throughputMbpsPerTib": 125}
    site = changed.site
    kept = site.tree.text("Pulumi.dev.yaml")
    site.tree.stack("dev").set("gpucluster:storage.lustre", lustre)
    outcome = site.preview()
    site.tree.write("Pulumi.dev.yaml", kept)
    assert outcome.status != 0
    assert [str(each) for each in outcome.record.errors()] == [
        f'aws:fsx:LustreFileSystem lustre-file-system: unable to replace resource "{FILE_SYSTEM}"\n'
        "as it is currently marked for protection. To unprotect the resource, remove the `protect` flag from the "
        "resource in your Pulumi program and run `pulumi up`",
        "preview failed",
    ]


def test_everything_but_the_file_system_goes_back_in_place(changed: Changed) -> None:
    site = changed.site
    assert any(each.get("protect") for each in state.resources(site.engine.export()))
    site.tree.restore()
    CHANGES["FSx capacity"].make(site.tree)
    assert operations(site.up()) == costs("FSx capacity")
    assert not any(each.get("protect") for each in state.resources(site.engine.export()))
    assert site.settled().gangs[0].running == 2


def test_a_smaller_file_system_is_a_new_one_and_what_mounts_it_starts_again(changed: Changed) -> None:
    """FSx does not shrink. Claims go by fixed names, so volumes, claims and their pods make way first."""
    site = changed.site
    (old,) = file_systems(site)
    site.tree.restore()
    assert site.apply() == sorted(
        [
            *replaced("aws:fsx:LustreFileSystem", "lustre-file-system"),
            *(each for name in VOLUMES for each in replaced("core/v1:PersistentVolume", f"claims-{name}-volume")),
            *(each for name in VOLUMES for each in replaced("core/v1:PersistentVolumeClaim", f"claims-{name}-claim")),
            *replaced("kubeflow.org/v1:PyTorchJob", "run-llama-3-8b-sft-job"),
            *replaced("batch/v1:Job", "dataset-instructions-copy"),
            *replaced("batch/v1:Job", "weights-llama-3-8b-copy"),
            *replaced("apps/v1:Deployment", "service-llama-3-8b-deployment"),
            *replaced("core/v1:ConfigMap", "gate-training-plan"),
            *replaced("batch/v1:Job", "gate-training-job"),
            *replaced("apps/v1:DaemonSet", "gate-training-newcomers"),
            *dashboard("storage"),
            *dashboard("cost"),
        ]
    )
    (new,) = file_systems(site)
    assert new["FileSystemId"] != old["FileSystemId"]
    handles = {spec["csi"]["volumeHandle"] for spec in lustre_volumes(site).values()}
    assert handles == {f"{new['FileSystemId']}-{name}" for name in VOLUMES}
    assert site.settled().gangs[0].running == 2
