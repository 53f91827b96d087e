"""The stack on racked hosts: prepared over SSH, joined to one cluster, with a gang that runs on them.

Hosts are namespaces of this machine; where it lacks what they take, the tests are skipped and say what that is.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.metal.secrets import certificate_key, encryption_key, join_token
from rehearsal.command import removal
from rehearsal.metal.lacking import missing
from rehearsal.metal.record import Record
from rehearsed.machines import machines

from .leaks import forms, leaks_below, secret_values
from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import ROOT, Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

LACKING = missing()
HOSTS = machines((ROOT / "Pulumi.metal.yaml").read_text())
GPU_HOSTS = sorted(each.name for each in HOSTS if each.gpu)
NODES = sorted([*GPU_HOSTS, "cp-1", "cp-2", "cp-3"])
RUN = "llama-3-70b-pretrain"


@pytest.fixture(scope="module")
def metal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The shipped stack, applied; the last test of this module ends it."""
    if LACKING:
        pytest.skip(LACKING)
    directory = tmp_path_factory.mktemp("metal")
    with rehearsed("metal", Tree.copy(directory / "tree"), directory / "state", "metal") as site:
        site.up().require()
        site.settled()
        yield site


def nodes(site: Rehearsed) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in site.kube.list("v1", "Node")}


def disk(site: Rehearsed, host: str) -> Path:
    """A host's own files, seen from outside."""
    record = Record.read(site.directory.hall / "hall.json")
    assert record is not None
    return Path(f"/proc/{record.keeper.pid}/root{site.directory.hall}/hosts/{host}")


def logins(site: Rehearsed) -> dict[str, int]:
    """How often each host has let somebody in."""
    logs = {each.name: disk(site, each.name) / "var/log/sshd.log" for each in HOSTS}
    return {name: len(re.findall("Accepted publickey", log.read_text())) for name, log in logs.items()}


def test_hosts_that_joined_are_nodes_with_what_is_in_them(metal: Rehearsed) -> None:
    found = nodes(metal)
    assert sorted(found) == NODES
    for name in GPU_HOSTS:
        allocatable, labels = found[name]["status"]["allocatable"], found[name]["metadata"]["labels"]
        assert (allocatable["nvidia.com/gpu"], allocatable["rdma/compute"]) == ("8", "63")
        assert (labels["gpucluster/pool"], labels["nvidia.com/gpu.product"]) == ("training", "NVIDIA-H100-80GB-HBM3")
        assert found[name]["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    for name in ("cp-1", "cp-2", "cp-3"):
        assert not found[name]["status"]["allocatable"].keys() & {"nvidia.com/gpu", "rdma/compute"}
        assert "node-role.kubernetes.io/control-plane" in found[name]["metadata"]["labels"]


def test_servers_of_the_file_system_are_prepared_and_no_nodes(metal: Rehearsed) -> None:
    seen = logins(metal)
    for name in ("oss-1", "oss-4", "mds-1", "mds-2"):
        assert seen[name] == 1
        assert name not in nodes(metal)


def test_a_gang_runs_on_every_gpu_host_over_infiniband(metal: Rehearsed) -> None:
    def running() -> list[Any]:
        found = metal.kube.list("v1", "Pod", namespace="training", label_selector=f"gpucluster/run={RUN}")
        return found if found and all(each["status"].get("phase") == "Running" for each in found) else []

    pods = until(running, "every rank to run")
    assert sorted(each["spec"]["nodeName"] for each in pods) == GPU_HOSTS
    (log,) = metal.directory.clusters.glob(f"hall/*/effects/pods/training_{RUN}-master-0_*/pytorch/0/log")
    assert "Using network IB" in log.read_text()
    assert not metal.view().unready()


def test_volumes_of_local_disks_are_there_for_claims(metal: Rehearsed) -> None:
    found = metal.kube.list("v1", "PersistentVolume")
    local = [each for each in found if each["spec"].get("storageClassName") == "local-volumes"]
    assert len(local) == 3 * 8
    assert {each["spec"]["local"]["path"] for each in local} == {f"/mnt/local-volumes/volume-{n}" for n in range(1, 9)}


def test_keys_of_machines_are_nowhere_in_clear(metal: Rehearsed) -> None:
    private = (metal.directory.hall / "keys" / ".person").read_text()
    middle = private.splitlines()[2]
    assert middle not in metal.state_text()
    logs = [path for path in metal.directory.logs.rglob("*.log") if middle in path.read_text(errors="replace")]
    assert not logs


def test_what_follows_from_the_clusters_key_is_on_its_machines_and_nowhere_in_clear(metal: Rehearsed) -> None:
    """State and its history, logs, private stack files: below the site's directory; hosts' disks are not below it."""
    (key,) = secret_values(metal.session.engine)["gpucluster:clusterKey"]
    encryption, certificates = encryption_key(key), certificate_key(key)
    tokens = {each.name: join_token(key, each.name, each.serial) for each in HOSTS if each.name in NODES}
    kept = disk(metal, "cp-1") / "etc/kubernetes"
    assert tokens["dgx-01"] in (kept / "gpucluster/invitations").read_text()
    assert encryption in (kept / "gpucluster/encryption.yaml").read_text()
    assert certificates in (kept / "gpucluster-kubeadm.yaml").read_text()
    values = {"the cluster's key": key, "encryption at rest": encryption, "certificates": certificates, **tokens}
    assert leaks_below(metal.directory.path, forms({owner: {text} for owner, text in values.items()})) == {}


def test_a_second_up_changes_nothing_and_asks_no_host(metal: Rehearsed) -> None:
    before = logins(metal)
    assert before["cp-1"] >= 3, "it was prepared, its credentials were read, it waited for nodes"
    metal.assert_quiet()
    assert operations(metal.up()) == []
    assert logins(metal) == before


def test_down_leaves_nothing_of_the_stack_and_nothing_of_the_hosts(metal: Rehearsed) -> None:
    metal.destroy().require()
    removal.prove_empty(metal.session)
    place = str(metal.directory.hall)
    assert processes(place), "hosts run until the site ends"
    metal.session.stop()
    assert until(lambda: not processes(place), "the hosts' processes to end")
    assert not mounted(place)
    assert not metal.directory.path.exists()


def processes(place: str) -> list[str]:
    """Command lines that name a place of the hall."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if place in words:
            found.append(words)
    return found


def mounted(place: str) -> list[str]:
    """Mounts below a place of the hall, in any namespace that a process is in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            found += [line for line in path.read_text().splitlines() if place in line]
        except OSError:
            continue
    return found
