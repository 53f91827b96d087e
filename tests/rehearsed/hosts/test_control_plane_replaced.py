"""Another machine in the place of the first control plane machine: no second cluster, no join beside a dead member."""

import base64
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.metal import kube_vip
from rehearsal.kube.client import Kube
from rehearsal.metal.cluster import Cluster, Plane
from rehearsal.metal.hall import Hall
from rehearsal.metal.machine import Machine
from rehearsal.tests.kube.control_plane import ControlPlane

from .bundles import bundle
from .racks import Prepared, over_ssh, prepare
from .test_joining import KUBEADM, KUBELET, LACKING, READY, joining, node, ready

pytestmark = [pytest.mark.engine, pytest.mark.scale]

ENDPOINT = "10.40.0.250"
ADDRESSES = {"cp-1": "10.40.0.1", "cp-2": "10.40.0.2", "cp-3": "10.40.0.3"}
TOKENS = {"cp-1": "a1a1a1.0123456789abcdef", "cp-2": "a2a2a2.0123456789abcdef", "cp-3": "a3a3a3.0123456789abcdef"}
ETCDCTL = re.compile(r"find its ID by `(.*) member list`")


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[tuple[Hall, Path]]:
    """A hall of three machines, and an API server for them."""
    if LACKING:
        pytest.skip(LACKING)
    plane, kubectl = ControlPlane(tmp_path / "plane"), shutil.which("kubectl")
    assert kubectl is not None

    def begin(*_: Any) -> Plane:
        plane.start()
        return Plane(plane.admin_kubeconfig, Path(kubectl))

    hall = Hall(tmp_path / "hall", Cluster(begin).asked)
    hall.start()
    hall.rack([Machine(name, address, name.upper(), memory_gib=512, cores=64) for name, address in ADDRESSES.items()])
    try:
        yield hall, plane.admin_kubeconfig
    finally:
        hall.stop()
        plane.stop()


def holder(*, first: bool) -> str:
    """kube-vip's manifest as a line of the files that are given."""
    text = kube_vip.manifest("kube-vip:v1", address=ENDPOINT, interface=None, first=first)
    return f"600 /etc/kubernetes/manifests/kube-vip.yaml {base64.b64encode(text.encode()).decode()}\n"


def begins(hall: Hall, name: str, serials: dict[str, str], *, guarded: bool = True) -> Prepared:
    """A machine prepared as the one that the control plane begins on."""
    others = [each for each in ADDRESSES if each != name]
    label = f"{{name: node-labels, value: gpucluster/serial={serials[name]}}}"
    registered = f"{{name: {name}, taints: [], kubeletExtraArgs: [{label}]}}"
    given = {
        "SERIAL": serials[name],
        "KUBELET": KUBELET,
        "KUBEADM": KUBEADM.replace("{name: cp-1, taints: []}", registered) + f"controlPlaneEndpoint: {ENDPOINT}:6443\n",
        "CONTROL_PLANE_PEERS": " ".join((ENDPOINT, *(ADDRESSES[each] for each in others))) if guarded else "",
        "CONTROL_PLANE_FILES": holder(first=True),
        "INVITATIONS": "".join(f"{each} {TOKENS[each]} control-plane {serials[each]}\n" for each in others),
    }
    return prepare(hall, hall.hosts[name], bundle((*READY, "control-plane", "invitations"), given))


def joins(hall: Hall, name: str, serial: str) -> Prepared:
    text = (
        joining(name, TOKENS[name], serial)
        + f"controlPlane: {{localAPIEndpoint: {{advertiseAddress: {ADDRESSES[name]}}}}}\n"
    )
    given = {"SERIAL": serial, "JOIN": text, "KUBELET": KUBELET, "CONTROL_PLANE_FILES": holder(first=False)}
    return prepare(hall, hall.hosts[name], bundle((*READY, "join"), given))


def inits(hall: Hall, name: str) -> int:
    return sum(call[:2] == ["kubeadm", "init"] for call in hall.hosts[name].calls())


def test_a_replaced_first_machine_joins_behind_another_one_and_begins_no_second_cluster(
    hall: tuple[Hall, Path],
) -> None:
    site, kubeconfig = hall
    serials = {name: name.upper() for name in ADDRESSES}
    assert begins(site, "cp-1", serials).status == 0
    kube = Kube.from_kubeconfig(str(kubeconfig))
    for name in ("cp-2", "cp-3"):
        made = joins(site, name, serials[name])
        assert made.status == 0, made.lines
    assert begins(site, "cp-1", serials).all_ok()
    manifest = site.hosts["cp-1"].disk / "etc/kubernetes/manifests/kube-vip.yaml"
    assert "path: /etc/kubernetes/super-admin.conf" in manifest.read_text()

    old = site.hosts["cp-1"]
    old.power_off()
    ready(kube, "cp-1", "Unknown")
    site.rack([replace(old.machine, serial="CP-1-NEW")])
    serials["cp-1"] = "CP-1-NEW"
    refused = begins(site, "cp-1", serials).lines["control-plane"]
    assert f"a cluster answers at {ENDPOINT}:6443 and this machine is not of it: in inventory.hosts write" in refused
    assert inits(site, "cp-1") == 0
    assert not (site.hosts["cp-1"].disk / "etc/kubernetes/manifests/kube-vip.yaml").exists()
    beside = begins(site, "cp-1", serials, guarded=False).lines["control-plane"]
    assert "x509: certificate signed by unknown authority" in beside
    assert "CP-1-NEW" not in node(kube, "cp-1")["status"]["nodeInfo"]["machineID"]

    behind = begins(site, "cp-2", serials)
    assert behind.status == 0, behind.lines
    assert "cp-1 of the machine CP-1 is no node any more, cp-1 invited" in behind.lines["invitations"]
    held = (site.hosts["cp-2"].disk / "etc/kubernetes/manifests/kube-vip.yaml").read_text()
    assert "path: /etc/kubernetes/admin.conf" in held
    for _ in range(2):
        said = joins(site, "cp-1", "CP-1-NEW").lines["join"]
        assert "check-etcd: etcd cluster is not healthy: failed to dial endpoint https://10.40.0.1:2379" in said
    assert kube.get("v1", "Node", "cp-1") is None

    found = ETCDCTL.search(said)
    assert found is not None
    etcdctl = f"KUBECONFIG=/etc/kubernetes/admin.conf {found[1].replace('NAME', 'cp-3')} member"
    members = over_ssh(site, site.hosts["cp-3"], f"{etcdctl} list").stdout.splitlines()
    identities = {line.split(", ")[2]: line.split(", ")[0] for line in members}
    assert sorted(identities) == ["cp-1", "cp-2", "cp-3"]
    assert over_ssh(site, site.hosts["cp-3"], f"{etcdctl} remove {identities['cp-2']}").status == 1, "no majority"
    assert over_ssh(site, site.hosts["cp-3"], f"{etcdctl} remove {identities['cp-1']}").status == 0
    joined = joins(site, "cp-1", "CP-1-NEW")
    assert joined.status == 0, joined.lines
    assert node(kube, "cp-1")["metadata"]["labels"]["gpucluster/serial"] == "CP-1-NEW"
    assert joins(site, "cp-1", "CP-1-NEW").all_ok()
    assert begins(site, "cp-2", serials).all_ok()
