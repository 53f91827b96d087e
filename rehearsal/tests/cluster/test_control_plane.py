"""A real control plane: up quickly, nodes, what EKS puts into it, back after a crash with its data."""

import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
import yaml

from rehearsal import places
from rehearsal.cluster import ControlPlane
from rehearsal.cluster.components import NAMES
from rehearsal.keys import Account, Keys
from rehearsal.kube.client import Kube
from rehearsal.processes import Identity, StartError
from rehearsal.tests.cluster.conftest import REGION, Trial, eventually, node
from rehearsal.toolchain import Tools, crds

NOBODY = Account("http://127.0.0.1:9", Keys("AKIANOBODY", "none", "none"))

pytestmark = pytest.mark.engine


def test_a_new_cluster_holds_what_eks_puts_into_it(kube: Kube) -> None:
    assert kube.get("v1", "ServiceAccount", "default", "default") is not None
    gp2 = kube.get("storage.k8s.io/v1", "StorageClass", "gp2")
    assert gp2 is not None
    assert "storageclass.kubernetes.io/is-default-class" not in gp2["metadata"].get("annotations", {})


def listening(pid: int) -> set[str]:
    """The local addresses, as in /proc/net, on which a process listens over TCP."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        name = str(entry.readlink())
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(fields[1].partition(":")[0])
    return found


def test_everything_listens_on_loopback_only(trial: Trial) -> None:
    pids = {name: trial.plane.pid(name) for name in NAMES}
    assert all(pids.values()), pids
    heard = {name: listening(pid) for name, pid in pids.items() if pid}
    assert heard.pop("kube-apiserver") == {"0100007F"}
    assert set().union(*heard.values()) == set(), heard


def ready(kube: Kube, name: str) -> bool:
    found = kube.get("v1", "Node", name) or {}
    conditions = found.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_a_node_becomes_ready_keeps_its_lease_and_its_capacity_and_the_life_of_pods_is_the_kubelets(kube: Kube) -> None:
    kube.create(node("one"))
    eventually(lambda: ready(kube, "one"))
    found = kube.get("v1", "Node", "one")
    assert found is not None
    assert found["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "50"}
    eventually(lambda: kube.get("coordination.k8s.io/v1", "Lease", "one", "kube-node-lease"))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"kubernetes.io/hostname": "one"}},
    }
    kube.create(pod)
    placed = eventually(lambda: (kube.get("v1", "Pod", "p", "default") or {})["spec"].get("nodeName"))
    assert placed == "one"
    assert (kube.get("v1", "Pod", "p", "default") or {})["status"]["phase"] == "Pending"
    kube.delete(pod)
    asked = eventually(lambda: (kube.get("v1", "Pod", "p", "default") or {})["metadata"].get("deletionTimestamp"))
    assert asked, "and it has the time that its deletion gives it"


@pytest.mark.parametrize(
    ("name", "some"),
    [
        ("training-operator", {"kubeflow.org_pytorchjobs"}),
        ("volcano", {"scheduling.volcano.sh_podgroups", "scheduling.volcano.sh_queues", "batch.volcano.sh_jobs"}),
        ("prometheus-operator", {"monitoring.coreos.com_servicemonitors", "monitoring.coreos.com_prometheuses"}),
    ],
)
def test_generated_crds_are_accepted(kube: Kube, name: str, some: set[str]) -> None:
    files = crds(name)
    assert some <= {path.stem for path in files}
    for path in files:
        kube.create(yaml.load(path.read_text(), yaml.CSafeLoader), dry_run=True)


def test_a_killed_api_server_comes_back_with_its_data(trial: Trial, kube: Kube) -> None:
    plane = trial.plane
    marker = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}}
    kube.create(marker)
    before = plane.pid("kube-apiserver")
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not plane.healthy())

    def tended() -> bool:
        plane.tend()
        return plane.healthy()

    eventually(tended)
    after = Identity.from_record(places.read_json(plane.record)["kube-apiserver"])  # type: ignore[index]
    assert after is not None
    assert after.alive()
    assert plane.pid("kube-apiserver") == after.pid != before
    assert kube.get("v1", "ConfigMap", "kept", "default") is not None


def test_nobody_asks_an_api_server_that_has_just_begun(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it knows roles and bindings it refuses everybody; once it was ready it is asked."""
    plane = ControlPlane(tmp_path, "begun", REGION, NOBODY, tools)
    pids: list[int | None] = [None, 1, 1, 1, 2, 2]
    says = [False, True, False, True]
    monkeypatch.setattr(plane, "pid", lambda _: pids.pop(0))
    monkeypatch.setattr(plane, "healthy", lambda: says.pop(0))
    told = [plane.barred() for _ in range(6)]
    assert told == ["the API server is not ready", "the API server is not ready", None, None, *told[4:]]
    assert told[4:] == ["the API server is not ready", None]


def test_a_restarted_store_keeps_its_data(trial: Trial, kube: Kube) -> None:
    trial.plane.restart("etcd")
    assert eventually(lambda: kube.get("v1", "ConfigMap", "kept", "default"))


def test_a_cluster_is_up_in_seconds_and_leaves_no_process(tools: Tools, account: Account, tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path, "another", REGION, account, tools)
    begun = time.monotonic()
    plane.start()
    took = time.monotonic() - begun
    identities = [Identity.of(pid) for name in NAMES if (pid := plane.pid(name))]
    plane.stop()
    assert len(identities) == len(NAMES)
    assert not any(identity.alive() for identity in identities if identity)
    assert took < 20


def test_a_port_that_somebody_took_is_left_to_them(
    tools: Tools, account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((places.LOOPBACK, 0)) as somebody:
        taken, free = somebody.getsockname()[1], places.free_port()
        ports = [taken, free]
        monkeypatch.setattr(places, "free_port", lambda: ports.pop(0))
        plane = ControlPlane(tmp_path, "unlucky", REGION, account, tools)
        plane.start()
        try:
            assert plane.endpoint.endswith(f":{free}")
            assert plane.kube().get("v1", "Namespace", "default")
        finally:
            plane.stop()


def test_a_component_that_cannot_start_is_named_with_its_last_lines(
    tools: Tools, account: Account, tmp_path: Path
) -> None:
    plane = ControlPlane(tmp_path, "broken", REGION, account, tools)
    (tmp_path / "etcd-data").write_text("not a directory")
    with pytest.raises(StartError, match=r"(?s)etcd of cluster broken ended with status 1:.*etcd-data"):
        plane.start()
    assert not any(plane.pid(name) for name in ("etcd", "kube-apiserver"))
    shutil.rmtree(tmp_path)
