"""The concern that makes a cluster, run with a curl and a kubeadm that write down how they are called."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

HOST = Path(__file__).resolve().parents[2] / "node" / "host"
STUBS = """
curl() { printf 'curl %s\\n' "${@: -1}" >>"$HERE/calls"; [[ " $ANSWERS " == *" ${@: -1} "* ]]; }
kubectl() { printf 'kubectl\\n' >>"$HERE/calls"; }
kubeadm() {
    printf 'kubeadm %s\\n' "$1" >>"$HERE/calls"
    if [ "$1" = init ]; then touch "$HERE/etc/admin.conf" "$HERE/etc/super-admin.conf"; fi
    if [ "$1" = join ]; then echo "$SAYS" >&2; return 1; fi
}
"""


def run(place: Path, concern: str, **variables: str) -> tuple[str, list[str]]:
    """What the concern fails with, empty where it does not, and what it called; its /etc/kubernetes is `etc`."""
    for name in ("run", "state", "etc/manifests"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "calls").write_text("")
    (place / "run" / "failure").unlink(missing_ok=True)
    given = {"GPUCLUSTER_KUBEADM": "kind: ClusterConfiguration", "GPUCLUSTER_JOIN": "kind: JoinConfiguration"}
    parts = [(HOST / f"{name}.sh").read_text() for name in ("lib", concern)]
    at = f"GPUCLUSTER_RUN={place}/run GPUCLUSTER_STATE={place}/state"
    text = "\n".join(["set -eEuo pipefail", *parts, STUBS, at, f"{concern.replace('-', '_')}_apply"])
    subprocess.run(
        ["/bin/bash", "-s"],
        input=text.replace("/etc/kubernetes", f"{place}/etc"),
        env={"HERE": str(place), "ANSWERS": "", "SAYS": "", **given, **variables},
        text=True,
        capture_output=True,
        check=False,
        timeout=20,
    )
    failure = place / "run" / "failure"
    return failure.read_text() if failure.exists() else "", (place / "calls").read_text().splitlines()


PEERS = {"GPUCLUSTER_CONTROL_PLANE_PEERS": "10.0.0.9 10.0.0.2 10.0.0.3"}
ASKED = [f"curl https://10.0.0.{number}:6443/livez" for number in (9, 2, 3)]


@pytest.mark.parametrize("number", [9, 2, 3])
def test_no_cluster_is_made_beside_one_that_answers_at_any_of_its_addresses(tmp_path: Path, number: int) -> None:
    said, calls = run(tmp_path, "control-plane", **PEERS, ANSWERS=f"https://10.0.0.{number}:6443/livez")
    assert f"a cluster answers at 10.0.0.{number}:6443 and this machine is not of it: in inventory.hosts write" in said
    assert not [call for call in calls if call.startswith("kubeadm")]
    assert list((tmp_path / "etc").rglob("*.yaml")) == [], "nothing of a control plane is written"


def test_where_no_cluster_answers_one_is_made_and_is_asked_by_its_own_file_afterwards(tmp_path: Path) -> None:
    assert run(tmp_path, "control-plane", **PEERS) == ("", [*ASKED, "kubeadm config", "kubeadm init"])
    assert run(tmp_path, "control-plane", **PEERS, ANSWERS="https://10.0.0.9:6443/livez") == ("", ["kubectl"])


@pytest.mark.parametrize(
    ("there", "asks"), [((), "super-admin"), (("admin", "super-admin"), "super-admin"), (("admin",), "admin")]
)
def test_kube_vip_asks_with_a_file_that_this_machine_has(tmp_path: Path, there: tuple[str, ...], asks: str) -> None:
    """super-admin.conf is where `kubeadm init` ran, and nowhere else."""
    (tmp_path / "etc").mkdir()
    for name in there:
        (tmp_path / "etc" / f"{name}.conf").touch()
    text = f"path: {tmp_path}/etc/super-admin.conf\n"
    line = f"600 {tmp_path}/etc/manifests/kube-vip.yaml {base64.b64encode(text.encode()).decode()}\n"
    assert run(tmp_path, "control-plane", **PEERS, GPUCLUSTER_CONTROL_PLANE_FILES=line)[0] == ""
    written = (tmp_path / "etc/manifests/kube-vip.yaml").read_text()
    assert written == f"path: {tmp_path}/etc/{asks}.conf\n"


def test_a_join_beside_a_dead_member_says_how_it_is_taken_out_and_may_be_run_again(tmp_path: Path) -> None:
    left = tmp_path / "etc/manifests/kube-apiserver.yaml"
    left.parent.mkdir(parents=True)
    left.touch()
    why = "error execution phase check-etcd: etcd cluster is not healthy: failed to dial endpoint https://10.0.0.1:2379"
    said, calls = run(tmp_path, "join", SAYS=why)
    assert calls == ["kubeadm join"]
    assert said.startswith(f"kubeadm join ended: {why}: a machine that is gone is still a member of etcd")
    assert "/pki/etcd/server.key member list`" in said
    assert "member remove ID" in said
    assert not left.exists(), "what a join that ended has left is refused by the next one"
    assert not (tmp_path / "run" / "join.yaml").exists()


def test_another_failed_join_ends_as_kubeadm_says(tmp_path: Path) -> None:
    assert run(tmp_path, "join", SAYS="error execution phase preflight: no")[0].rstrip() == (
        "kubeadm join ended: error execution phase preflight: no"
    )
