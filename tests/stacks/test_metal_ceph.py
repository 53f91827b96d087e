"""Ceph on machines of the inventory: what Rook is told, and what comes of it for the platform."""

from functools import cache
from typing import Any

import pytest
import yaml

from catalogue.metal_versions import METAL_CHARTS
from planner.site import CEPH_STORE_PORT
from rehearsal.charts.values import not_in
from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import crd_file, problems
from tests.graph.stackfiles import run_program
from tests.graph.test_charts import vendor_values

from .ceph_stack import CHATS, DISKS, SERIALS, SERVERS, with_ceph
from .connections import End, Network
from .test_metal import machines, told

STATIC = "/volumes/shared"
KINDS = (
    "CephCluster",
    "CephBlockPool",
    "CephFilesystem",
    "CephFilesystemSubVolumeGroup",
    "CephObjectStore",
    "CephObjectStoreUser",
    "ObjectBucketClaim",
    "VolumeSnapshotClass",
)


@cache
def graph() -> Recorded:
    return run_program(with_ceph(), stack="metal")


def spec(name: str) -> dict[str, Any]:
    return dict(graph().one(name).inputs["spec"])


def test_ceph_gets_the_named_drives_of_the_named_machines_and_no_others() -> None:
    storage = spec("ceph-cluster")["storage"]
    assert (storage["useAllNodes"], storage["useAllDevices"]) == (False, False)
    found = {each["name"]: [device["name"] for device in each["devices"]] for each in storage["nodes"]}
    assert found == dict.fromkeys(SERVERS, DISKS)


def test_its_machines_are_nodes_that_nothing_else_runs_on() -> None:
    found = machines(graph())
    names = {name: name.removeprefix("ceph-servers-") for name in found if "osd-" in name}
    assert sorted(names.values()) == list(SERVERS)
    for name, host in names.items():
        text = str(found[name].inputs["stdin"]).rstrip().rpartition("\n")[2].split()
        assert text.index("ceph-disks") < text.index("join"), "drives are looked at before Rook could take one"
        told_by = _told(name)
        assert told_by["CEPH_DISKS"].split() == DISKS
        assert told_by["ALLOW_FORMAT"] == SERIALS[SERVERS.index(host)]
        (join,) = (each for each in yaml.safe_load_all(told_by["JOIN"]) if each["kind"] == "JoinConfiguration")
        registered = join["nodeRegistration"]
        assert registered["taints"] == [{"key": "gpucluster/role", "value": "storage", "effect": "NoSchedule"}]
        labels = next(each["value"] for each in registered["kubeletExtraArgs"] if each["name"] == "node-labels")
        assert f"topology.rook.io/rack=r{host[-1]}" in labels.split(",")
        assert f"{host} " in _told("cp-1")["INVITATIONS"]


def _told(host: str) -> dict[str, str]:
    return told(host, graph())


def test_a_machine_without_its_serial_may_not_be_formatted() -> None:
    changed = run_program(with_ceph(hosts={"allowFormat": SERIALS[:1]}), stack="metal")
    allowed = {name: told(name, changed)["ALLOW_FORMAT"] for name in machines(changed) if "osd-" in name}
    assert sorted(allowed.values()) == ["", "", SERIALS[0]]


def test_daemons_run_where_ceph_is_and_answer_at_their_machines_addresses() -> None:
    cluster = spec("ceph-cluster")
    (term,) = cluster["placement"]["all"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [{"key": "gpucluster/role", "operator": "In", "values": ["storage"]}]
    assert cluster["network"]["provider"] == "host"
    assert cluster["mon"] == {"count": 3, "allowMultiplePerNode": False}
    assert not cluster["dashboard"]["enabled"]
    assert cluster["resources"]["osd"]["limits"]["memory"] == "8Gi"
    blocks = {
        (peer["ipBlock"]["cidr"], port["port"])
        for each in graph().of_type("NetworkPolicy")
        for rule in each.inputs["spec"].get("egress") or ()
        for peer in rule.get("to") or ()
        for port in rule.get("ports") or ()
        if "ipBlock" in peer
    }
    assert ("10.20.0.31/32", CEPH_STORE_PORT) in blocks


def test_parts_of_an_object_are_on_as_many_racks() -> None:
    pool, files, objects = spec("ceph-pool"), spec("ceph-files"), spec("ceph-objects")
    for each in (pool, files["metadataPool"], *files["dataPools"], objects["metadataPool"], objects["dataPool"]):
        assert (each["failureDomain"], each["replicated"]["size"]) == ("rack", 3)


def test_with_parity_the_data_alone_has_it() -> None:
    """Metadata and volumes cannot: they have as many copies as may be lost, and one more."""
    changed = run_program(
        with_ceph(
            hosts={
                "name": "osd-[1-6]",
                "address": "10.20.0.[31-36]",
                "bmc": "10.20.4.[31-36]",
                "racks": "r[1-3]",
                "units": [20, 22],
                "serials": None,
                "allowFormat": None,
                "hostKeys": [f"ssh-ed25519 {letter * 68}" for letter in "UVWXYZ"],
            },
            count=6,
            replicas=None,
            erasure="4+2",
            failureDomain="host",
            bucket="b-1",
        ),
        stack="metal",
    )
    files = changed.one("ceph-files").inputs["spec"]
    assert [each["name"] for each in files["dataPools"]] == ["replicated", "erasure-coded"]
    assert files["dataPools"][0]["replicated"]["size"] == 3
    assert files["dataPools"][1]["erasureCoded"] == {"dataChunks": 4, "codingChunks": 2}
    assert changed.one("ceph-objects").inputs["spec"]["dataPool"]["erasureCoded"]["dataChunks"] == 4
    assert changed.one("ceph-pool").inputs["spec"]["replicated"]["size"] == 3
    assert changed.one("ceph-shared").inputs["spec"]["dataPoolName"] == "files-erasure-coded"


def test_everybody_waits_until_ceph_has_all_drives_and_is_well() -> None:
    found = graph()
    (job,) = (each for each in found.of_type("Job") if each.name == "ceph-wait")
    words = {each["name"]: each["args"] for each in job.inputs["spec"]["template"]["spec"]["containers"]}
    assert f"--for=jsonpath={{.status.storage.osd.storeType.bluestore}}={3 * len(DISKS)}" in words["drives"]
    assert "--for=jsonpath={.status.ceph.health}=HEALTH_OK" in words["healthy"]
    assert "details" in words
    for name in ("ceph-pool", "ceph-files", "ceph-objects"):
        assert job.urn in found.one(name).depends_on
        assert found.one(name).inputs["metadata"]["annotations"]["pulumi.com/waitFor"].endswith("=Ready")


def test_its_daemons_hold_drives_where_pod_security_lets_them() -> None:
    (space,) = (each.inputs["metadata"] for each in graph().of_type("Namespace") if "ceph" in each.name)
    assert space["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_claims_of_all_namespaces_are_one_directory() -> None:
    volumes = [each for each in graph().of_type("PersistentVolume") if "csi" in each.inputs["spec"]]
    assert len(volumes) > 1
    for each in volumes:
        csi = each.inputs["spec"]["csi"]
        assert csi["volumeAttributes"]["rootPath"] == STATIC
        assert csi["driver"] == "rook-ceph.cephfs.csi.ceph.com"
    assert len({each.inputs["spec"]["csi"]["volumeHandle"] for each in volumes}) == len(volumes)


def test_the_stores_key_is_that_of_the_stack_file() -> None:
    """Rook would make one of its own, which no namespace has."""
    (key,) = spec("ceph-user")["keys"]
    assert key["secretKeyRef"] == {"name": "object-store", "key": "key"}
    assert spec("ceph-bucket")["additionalConfig"] == {"bucketOwner": "gpucluster"}
    values = graph().one("rook-ceph-release").inputs["values"]
    assert "bucketOwner" in values["obcAllowAdditionalConfigFields"].split(",")
    (secret,) = (each for each in graph().of_type("Secret") if each.name == "ceph-key-secret")
    assert "stringData" in secret.secret
    assert secret.inputs["stringData"] == {
        "id": "objectStoreKeyId-secret-for-tests-long-enough",
        "key": "objectStoreKey-secret-for-tests-long-enough",
    }


def test_volumes_are_cephs_and_local_ones_are_not_made() -> None:
    classes = {each.inputs["metadata"]["name"]: each for each in graph().of_type("StorageClass")}
    assert set(classes) == {"ceph-block", "ceph-filesystem", "ceph-filesystem-snapshot", "ceph-bucket"}
    default = "storageclass.kubernetes.io/is-default-class"
    assert [name for name, each in classes.items() if each.inputs["metadata"].get("annotations", {}).get(default)] == [
        "ceph-block"
    ]
    assert classes["ceph-bucket"].inputs["reclaimPolicy"] == "Retain"
    assert not [each for each in graph().of_type("Release") if each.inputs["chart"] == "local-static-provisioner"]


@pytest.mark.parametrize("chart", ["rook-ceph", "ceph-csi-drivers"])
def test_the_chart_has_every_key_we_set(chart: str) -> None:
    theirs, commented = vendor_values(chart)
    (release,) = (each for each in graph().of_type("Release") if each.inputs["chart"] == chart)
    assert release.inputs["version"] == METAL_CHARTS[chart].version
    assert list(not_in(theirs, release.inputs.get("values") or {}, commented, "")) == []


def test_rooks_definitions_take_what_they_are_told() -> None:
    """Every field of a custom resource is one that the vendor's schema has, and of its type."""
    if crd_file("CephCluster") is None:
        pytest.skip("Rook's definitions are not at hand (GPUCLUSTER_UPSTREAM)")
    found = [each for each in graph().resources.values() if each.kind in KINDS]
    assert {each.kind for each in found} == set(KINDS)
    assert [problem for each in found for problem in problems(each)] == []


def test_every_namespace_of_a_site_denies_both_ways_by_default() -> None:
    """As on AWS (NW08). Ceph's daemons are on their machines' own network, where no policy selects a pod."""
    network = Network(graph())
    there = {each.inputs["metadata"]["name"] for each in graph().of_type("Namespace")}
    assert {"training", "inference", "monitoring", "rook-ceph", "network-operator"} < there
    both = {"Ingress", "Egress"}
    assert [name for name in there if network.isolated(End(namespace=name, labels={"new": "pod"})) != both] == []
    assert spec("ceph-cluster")["network"]["provider"] == "host"


ROOK, DRIVERS = ({"app": each} for each in ("rook-ceph-operator", "rook-ceph.rbd.csi.ceph.com-ctrlplugin"))
PREPARES, WAITS = {"app": "rook-ceph-osd-prepare"}, {"batch.kubernetes.io/job-name": "ceph-wait"}
API, MONITOR, CLIENTS = (End(address=each) for each in ("10.20.0.11", "10.20.0.31", "10.20.8.31"))
ELSEWHERE, RUN = End(address="52.219.96.10"), End(namespace="training", labels={"gpucluster/run": "any"})


@pytest.mark.parametrize("labels", [ROOK, DRIVERS, PREPARES, WAITS], ids=["rook", "drivers", "prepares", "waits"])
def test_pods_beside_ceph_reach_its_daemons_and_the_api_and_nobody_reaches_them_nw08(labels: dict[str, str]) -> None:
    network, pod = Network(graph()), End(namespace="rook-ceph", labels=labels)
    assert network.passes(pod, API, 6443)
    for port in (3300, 6800, 7568, CEPH_STORE_PORT):
        assert network.passes(pod, MONITOR, port)
        assert not network.passes(pod, CLIENTS, port)
    assert network.passes(pod, End(namespace="kube-system", labels={"k8s-app": "kube-dns"}), 53, "UDP")
    assert not network.passes(pod, ELSEWHERE, 443)
    assert not network.passes(pod, RUN, 29500)
    for stranger in (RUN, MONITOR, API, End(namespace="rook-ceph", labels=ROOK)):
        assert not network.passes(stranger, pod, 8080)


def test_where_daemons_answer_clients_at_other_addresses_those_are_reached_nw08() -> None:
    network = Network(run_program(with_ceph(publicCidr="10.20.8.0/24"), stack="metal"))
    pod = End(namespace="rook-ceph", labels=DRIVERS)
    assert network.passes(pod, CLIENTS, 6800)
    assert network.passes(pod, MONITOR, 3300)
    assert not network.passes(pod, End(address="10.20.9.31"), 6800)


def test_cephs_metrics_are_collected_where_there_is_monitoring() -> None:
    config = with_ceph()
    config["gpucluster:monitoring"] = {}
    config["gpucluster:inventory"]["logs"] = {"host": "loki.hall-2.example.com"}
    monitor = run_program(config, stack="metal").one("monitors-ceph")
    assert monitor.inputs["metadata"]["namespace"] == "rook-ceph"
    assert monitor.inputs["spec"]["endpoints"][0]["port"] == "http-metrics"


# -- snapshots


@cache
def with_data(**changes: Any) -> Recorded:
    config = with_ceph()
    training = config["gpucluster:training"]
    training["datasets"] = [*training.get("datasets", ()), {**CHATS, **changes}]
    training["runs"][0]["dataset"] = {"name": "chats"}
    return run_program(config, stack="metal")


def test_volumes_and_files_have_a_class_of_snapshots_each() -> None:
    made = {each.inputs["metadata"]["name"]: each.inputs for each in graph().of_type("VolumeSnapshotClass")}
    drivers = {name: each["driver"] for name, each in made.items()}
    assert drivers == {
        "ceph-block": "rook-ceph.rbd.csi.ceph.com",
        "ceph-filesystem": "rook-ceph.cephfs.csi.ceph.com",
    }
    secrets = {each["parameters"]["csi.storage.k8s.io/snapshotter-secret-name"] for each in made.values()}
    assert secrets == {"rook-csi-rbd-provisioner", "rook-csi-cephfs-provisioner"}
    release = graph().one("ceph-csi-drivers-release").inputs["values"]["drivers"]
    assert {release[kind]["snapshotPolicy"] for kind in ("rbd", "cephfs")} == {"volumeSnapshot"}, (
        "rbd's default is none"
    )


def test_the_controller_of_snapshots_is_there_before_their_classes() -> None:
    found = graph()
    controller = found.one("snapshot-controller-deployment")
    assert controller.inputs["metadata"]["namespace"] == "kube-system"
    for each in found.of_type("VolumeSnapshotClass"):
        assert controller.urn in each.depends_on


def test_a_run_reads_a_dataset_as_of_its_snapshot_s08() -> None:
    """The driver makes none of the shared directory, whose volumes are static: the dataset has a volume of its own."""
    found = with_data()
    (own,) = (each for each in found.of_type("PersistentVolumeClaim") if each.name == "dataset-chats-files-claim")
    assert own.inputs["spec"]["storageClassName"] == "ceph-filesystem"
    assert own.inputs["spec"]["resources"]["requests"] == {"storage": "93Gi"}, "90 GB and a tenth"
    (taken,) = found.of_type("VolumeSnapshot")
    assert taken.inputs["spec"]["source"] == {"persistentVolumeClaimName": "dataset-chats"}
    assert taken.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "jsonpath={.status.readyToUse}=true"}
    copy = found.one("dataset-chats-copy")
    volumes = copy.inputs["spec"]["template"]["spec"]["volumes"]
    assert {"name": "shared", "persistentVolumeClaim": {"claimName": "dataset-chats"}} in volumes
    assert copy.urn in taken.depends_on
    name = taken.inputs["metadata"]["name"]
    read = found.one("dataset-chats-snapshot-claim").inputs
    assert read["metadata"]["name"] == name
    assert read["spec"]["accessModes"] == ["ReadOnlyMany"]
    assert read["spec"]["storageClassName"] == "ceph-filesystem-snapshot"
    assert read["spec"]["dataSource"] == {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}
    shallow = next(
        each for each in found.of_type("StorageClass") if each.inputs["metadata"]["name"] == "ceph-filesystem-snapshot"
    )
    assert shallow.inputs["parameters"]["backingSnapshot"] == "true"
    (job,) = (each for each in found.of_type("PyTorchJob") if _reads(each, name))
    assert job.inputs["metadata"]["labels"]["gpucluster/dataset-snapshot"] == "2026-11"
    if crd_file("VolumeSnapshot") is not None:
        assert problems(taken) == []


def _reads(job: Any, claim: str) -> bool:
    volumes = job.inputs["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["volumes"]
    return {"name": "data", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}} in volumes


@pytest.mark.parametrize("changes", [{"snapshot": "2026-12"}, {"source": "s3://gpucluster-metal/chats-2"}])
def test_another_snapshot_or_source_is_another_snapshot(changes: dict[str, str]) -> None:
    (before,), (after,) = (each.of_type("VolumeSnapshot") for each in (with_data(), with_data(**changes)))
    assert before.inputs["metadata"]["name"] != after.inputs["metadata"]["name"]
