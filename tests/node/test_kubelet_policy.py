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


KEPT = "kubeReserved:\n  cpu: 630m\n  memory: 1465Mi\n"
SPARE = "cpuManagerPolicy: static\ncpuManagerPolicyOptions:\n  full-pcpus-only: 'true'\nsystemReserved:\n  cpu: 4870m"
"""What the kubelet of a pool with exclusive CPUs is told."""


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


@pytest.mark.parametrize(
    ("before", "differs"),
    [
        (SPARE, False),
        (SPARE.replace("4870m", "2870m"), True),
        (SPARE.replace("'true'", "'false'"), True),
        (SPARE.replace("system", "kube"), True),
        (f"{KEPT}{SPARE}", True),
    ],
)
def test_cpus_kept_for_daemons_take_a_drained_node_where_pods_have_their_own(
    tmp_path: Path, before: str, differs: bool
) -> None:
    """The kubelet ends at start where a pod has one of the CPUs that it is to keep."""
    patch = tmp_path / "patch.yaml"
    patch.write_text(before + "\n")
    found = said(f"KUBELET_PATCH={patch}\nkubelet_policy_differs && echo differs || echo same", wanted=SPARE)
    assert found == ["differs" if differs else "same"]


def test_what_is_kept_changes_on_a_node_with_pods_where_none_has_cpus_of_its_own(tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text(KEPT)
    wanted = KEPT.replace("630m", "700m").rstrip()
    found = said(f"KUBELET_PATCH={patch}\nkubelet_policy_differs && echo differs || echo same", wanted=wanted)
    assert found == ["same"]


def test_memory_kept_for_the_kubelet_changes_beside_pods_that_have_cpus_of_their_own(tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text(f"{KEPT}{SPARE}\n")
    found = said(
        f"KUBELET_PATCH={patch}\nkubelet_policy_differs && echo differs || echo same",
        wanted=f"{KEPT.replace('1465', '1500')}{SPARE}",
    )
    assert found == ["same"]
