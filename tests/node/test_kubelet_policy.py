"""node/host/kubelet.sh: a CPU policy changes on a drained node, without the state that the old one left (AA03)."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "node" / "host" / "kubelet.sh"
STUBS = """
set -u
rm() { echo "rm $*"; }
systemctl() { echo "systemctl $*"; }
kubeadm() { echo "kubeadm $*"; }
restart_pending() { echo "restart $1"; }
fail() { echo "$1" >&2; exit 1; }
"""
STATIC = "cpuManagerPolicy: static\nmaxPods: 110"


def said(commands: str, *, drained: str = "yes", wanted: str = STATIC) -> list[str]:
    """What the functions of the script call, line by line."""
    told = {"GPUCLUSTER_DRAINED": drained, "GPUCLUSTER_KUBELET": wanted, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", f"{STUBS}\n. {SCRIPT}\n{commands}"], env=told, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(("drained", "removed"), [("yes", True), ("no", False)])
def test_the_state_of_the_old_policy_goes_while_the_kubelet_is_stopped(drained: str, removed: bool) -> None:
    """It ends at start beside the state of another policy; pods that run are in it."""
    found = said("kubelet_renew", drained=drained)
    stopped = ["systemctl stop kubelet.service"]
    stopped += ["rm -f /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state"]
    renewed = ["kubeadm upgrade node phase kubelet-config --patches /etc/kubernetes/patches"]
    assert found == [*renewed, *(stopped if removed else []), "restart kubelet.service"]


@pytest.mark.parametrize(
    ("before", "differs"),
    [("maxPods: 110", True), ("cpuManagerPolicy: none\nmaxPods: 110", True), ("cpuManagerPolicy: static", False)],
)
def test_only_another_policy_takes_a_drained_node(tmp_path: Path, before: str, differs: bool) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text(before + "\n")
    found = said(f"KUBELET_PATCH={patch}\nkubelet_policy_differs && echo differs || echo same")
    assert found == ["differs" if differs else "same"]
