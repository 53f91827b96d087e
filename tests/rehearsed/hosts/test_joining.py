"""Hosts become nodes of a real API server, with just what their preparation earned them."""

import base64
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rehearsal.kube.client import Kube
from rehearsal.kube.quantities import parse
from rehearsal.metal.cluster import STRATEGIC, Cluster, Plane
from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.lacking import missing
from rehearsal.metal.machine import Machine
from rehearsal.tests.kube.control_plane import ControlPlane

from .bundles import bundle
from .racks import Prepared, gpu_node, over_ssh, prepare, verified

pytestmark = pytest.mark.engine

LACKING = missing()
READY = ("packages", "modules", "sysctls", "swap", "containerd", "memlock", "kubelet")
STAMP = "2026-01-01T00:00:00Z"
TOKEN = "abcdef.0123456789abcdef"
KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
maxPods: 200
kubeReserved: {cpu: 4000m, memory: 16384Mi}
evictionHard: {memory.available: 1024Mi}
"""
KUBEADM = """apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration: {name: cp-1, taints: []}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
"""


def joining(name: str, token: str = TOKEN, serial: str = "SER-1") -> str:
    return f"""apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {{file: {{kubeConfigPath: /etc/kubernetes/discovery.conf}}, tlsBootstrapToken: {token}}}
nodeRegistration:
  name: {name}
  taints: [{{key: nvidia.com/gpu, value: "true", effect: NoSchedule}}]
  kubeletExtraArgs:
  - {{name: node-labels, value: "gpucluster/pool=training,gpucluster/role=training,gpucluster/serial={serial}"}}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hall, Kube]]:
    """A hall whose hosts are answered by a real API server, and one control plane node made by the scripts."""
    if LACKING:
        pytest.skip(LACKING)
    plane = ControlPlane(tmp_path_factory.mktemp("plane"))
    kubeconfig = plane.admin_kubeconfig
    kubectl = shutil.which("kubectl")
    assert kubectl is not None

    def begin(*_: Any) -> Plane:
        plane.start()
        return Plane(kubeconfig, Path(kubectl))

    hall = Hall(tmp_path_factory.mktemp("hall"), Cluster(begin).asked)
    hall.start()
    hall.rack([Machine("cp-1", "10.40.0.1", "CP-1", memory_gib=512, cores=64)])
    made = make_first(hall)
    assert made.status == 0, made.lines
    with_client = Kube.from_kubeconfig(str(kubeconfig))
    yield hall, with_client
    with_client.close()
    hall.stop()
    plane.stop()


def make_first(hall: Hall, invitations: str = f"gpu-a {TOKEN} worker -\n", leaving: str = "") -> Prepared:
    given = {"INVITATIONS": invitations, "LEAVING": leaving, "KUBELET": KUBELET}
    variables = {"SERIAL": "CP-1", "KUBEADM": KUBEADM, **given}
    return prepare(hall, hall.hosts["cp-1"], bundle((*READY, "control-plane", "invitations"), variables))


@pytest.fixture
def hall_alone(tmp_path: Path) -> Iterator[Hall]:
    """A hall with nobody who answers its hosts."""
    if LACKING:
        pytest.skip(LACKING)
    hall = Hall(tmp_path / "hall")
    hall.start()
    yield hall
    hall.stop()


@pytest.fixture
def rack(site: tuple[Hall, Kube], request: pytest.FixtureRequest) -> Iterator[Callable[..., Host]]:
    hall, kube = site
    racked: list[Host] = []

    def one(name: str, **facts: Any) -> Host:
        hall.rack([gpu_node(name, f"10.40.1.{len(hall.hosts)}", **facts)])
        racked.append(hall.hosts[name])
        return racked[-1]

    yield one
    for host in racked:
        host.power_off()
        kube.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": host.machine.name}})


def node(kube: Kube, name: str) -> dict[str, Any]:
    found = kube.get("v1", "Node", name)
    assert found is not None
    return found


def test_the_first_node_is_made_once(site: tuple[Hall, Kube]) -> None:
    hall, kube = site
    found = node(kube, "cp-1")
    assert found["status"]["capacity"]["cpu"] == "64"
    assert found["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""
    assert make_first(hall).all_ok()
    told = over_ssh(hall, hall.hosts["cp-1"], "stat -c %a /etc/kubernetes/admin.conf; ps ax -o args").stdout
    assert told.startswith("600\n")
    assert TOKEN not in told
    calls = hall.hosts["cp-1"].calls()
    assert sum(call[:2] == ["kubeadm", "init"] for call in calls) == 1
    assert not any(TOKEN.partition(".")[2] in word for call in calls for word in call)


def test_systemd_accepts_what_invites_machines_again(site: tuple[Hall, Kube]) -> None:
    hall, _ = site
    assert {"gpucluster-invite.service", "gpucluster-invite.timer"} <= set(verified(hall, hall.hosts["cp-1"]))


def test_a_host_asks_for_several_things_at_once(site: tuple[Hall, Kube]) -> None:
    """A wait of minutes for nodes keeps nobody on the machine from asking for something else."""
    hall, _ = site
    kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
    words = f"({kubectl} wait --for=delete node/cp-1 --timeout=5s; echo waited) & {kubectl} get node cp-1 -o name; wait"
    done = over_ssh(hall, hall.hosts["cp-1"], words)
    assert done.stdout == "node/cp-1\nwaited\n"


def test_an_address_of_the_api_that_nobody_holds_ends_the_first_node(hall_alone: Hall) -> None:
    endpoint = "controlPlaneEndpoint: 10.40.0.250:6443\n"
    given = {"SERIAL": "CP-9", "KUBEADM": KUBEADM + endpoint, "KUBELET": KUBELET}
    hall_alone.rack([Machine("cp-9", "10.40.0.9", "CP-9", memory_gib=512, cores=64)])
    host = hall_alone.hosts["cp-9"]
    said = prepare(hall_alone, host, bundle((*READY, "control-plane"), given))
    assert "check failed at https://10.40.0.250:6443/livez" in said.lines["control-plane"]
    held = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - env:\n    - name: address\n      value: 10.40.0.250\n"
    line = f"600 /etc/kubernetes/manifests/kube-vip.yaml {base64.b64encode(held.encode()).decode()}\n"
    text = bundle((*READY, "control-plane"), {**given, "CONTROL_PLANE_FILES": line})
    assert "no cluster is there for cp-9" in prepare(hall_alone, host, text).lines["control-plane"]


def test_an_invited_host_joins_with_what_its_preparation_earned(site: tuple[Hall, Kube], rack: Any) -> None:
    hall, kube = site
    host = rack("gpu-a")
    given = {"JOIN": joining("gpu-a"), "KUBELET": KUBELET, "NVME_MOUNT": "/var/lib/kubelet"}
    text = bundle((*READY, "nvme", "join"), given)
    joined = prepare(hall, host, text)
    assert joined.status == 0, joined.lines
    found = node(kube, "gpu-a")
    capacity, allocatable = found["status"]["capacity"], found["status"]["allocatable"]
    assert capacity["pods"] == "200"
    assert parse(capacity["ephemeral-storage"]) == 2 * 3840 * 10**9
    assert parse(capacity["memory"]) - parse(allocatable["memory"]) == pytest.approx((16384 + 1024) * 2**20, abs=2048)
    assert parse(capacity["cpu"]) - parse(allocatable["cpu"]) == 4
    assert "nvidia.com/gpu" not in capacity
    assert found["metadata"]["labels"]["gpucluster/pool"] == "training"
    assert found["spec"]["taints"][0]["key"] == "nvidia.com/gpu"
    assert found["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert prepare(hall, host, text).all_ok()
    log = over_ssh(hall, host, "cat /var/log/gpucluster.log; ls -R /run/gpucluster /etc/kubernetes").stdout
    assert TOKEN not in log
    assert "join.yaml" not in log


def test_without_scratch_and_patch_a_node_has_the_disk_and_pods_of_any(site: tuple[Hall, Kube], rack: Any) -> None:
    hall, kube = site
    said = make_first(hall, "gpu-b bbbbbb.0123456789abcdef worker -\n").lines["invitations"]
    assert said.startswith("changed: ")
    assert said.endswith("gpu-b invited")
    host = rack("gpu-b")
    concerns = [each for each in READY if each != "kubelet"]
    given = {"JOIN": joining("gpu-b", "bbbbbb.0123456789abcdef")}
    assert prepare(hall, host, bundle((*concerns, "join"), given)).status == 0
    capacity = node(kube, "gpu-b")["status"]["capacity"]
    assert capacity["pods"] == "110"
    assert parse(capacity["ephemeral-storage"]) == 480 * 10**9


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ("swap", "running with swap on is not supported"),
        ("sysctls", "ip_forward contents are not set to 1"),
        ("containerd", "could not connect to the container runtime"),
    ],
)
def test_a_host_that_is_not_prepared_does_not_join(
    site: tuple[Hall, Kube], rack: Any, left_out: str, words: str
) -> None:
    hall, kube = site
    host = rack(f"gpu-no-{left_out}")
    concerns = [each for each in READY if each not in (left_out, "memlock")]
    said = prepare(hall, host, bundle((*concerns, "join"), {"JOIN": joining(host.machine.name)}))
    assert said.status == 1
    assert words in said.lines["join"] + over_ssh(hall, host, "cat /var/log/gpucluster.log").stdout
    assert kube.get("v1", "Node", host.machine.name) is None
    whole = bundle((*READY, "join"), {"JOIN": joining(host.machine.name)})
    assert prepare(hall, host, whole).status == 0


@pytest.mark.parametrize("token", ["cccccc.0123456789abcdef", "abcdef.ffffffffffffffff"])
def test_a_token_that_nobody_gave_lets_nobody_in(site: tuple[Hall, Kube], rack: Any, token: str) -> None:
    hall, kube = site
    host = rack(f"gpu-{token[:3]}")
    said = prepare(hall, host, bundle((*READY, "join"), {"JOIN": joining(host.machine.name, token)}))
    assert said.status == 1
    assert "the token is unknown or has expired" in said.lines["join"]
    assert kube.get("v1", "Node", host.machine.name) is None


def test_an_expired_token_is_renewed_by_the_control_plane_and_then_lets_in(site: tuple[Hall, Kube], rack: Any) -> None:
    hall, kube = site
    token, host = "dddddd.0123456789abcdef", rack("gpu-d")
    assert make_first(hall, f"gpu-d {token} worker -\n").status == 0
    secret = kube.get("v1", "Secret", "bootstrap-token-dddddd", "kube-system")
    assert secret is not None
    patch = {"stringData": {"expiration": "2020-01-01T00:00:00Z"}}
    kube.patch("v1", "Secret", "bootstrap-token-dddddd", "kube-system", patch)
    text = bundle((*READY, "join"), {"JOIN": joining("gpu-d", token)})
    assert "has expired" in prepare(hall, host, text).lines["join"]
    kube.delete(secret)
    assert make_first(hall, f"gpu-d {token} worker -\n").lines["invitations"].endswith("gpu-d invited")
    assert prepare(hall, host, text).status == 0
    assert node(kube, "gpu-d")["metadata"]["name"] == "gpu-d"


def test_a_node_leaves_its_cluster_only_by_its_serial(site: tuple[Hall, Kube], rack: Any) -> None:
    hall, _ = site
    host = rack("gpu-e")
    assert make_first(hall, "gpu-e eeeeee.0123456789abcdef worker -\n").status == 0
    given = {"JOIN": joining("gpu-e", "eeeeee.0123456789abcdef")}
    assert prepare(hall, host, bundle((*READY, "join"), given)).status == 0
    kept = prepare(hall, host, bundle(("join",), given), "undo")
    assert kept.lines["join"] == "ok"
    assert not any(call[:2] == ["kubeadm", "reset"] for call in host.calls())
    gone = prepare(hall, host, bundle(("join",), {**given, "ALLOW_RESET": "SER-1"}), "undo")
    assert gone.lines["join"] == "changed: left the cluster"


def ready(kube: Kube, name: str, value: str) -> None:
    """What the node controller, or a kubelet, says of a node."""
    conditions = [{"type": "Ready", "status": value, "reason": "Test", "message": "", "lastTransitionTime": STAMP}]
    kube.patch("v1", "Node", name, None, {"status": {"conditions": conditions}}, "status", STRATEGIC)


def test_another_machine_under_a_nodes_name_joins_when_the_file_says_so_and_the_old_one_is_off(
    site: tuple[Hall, Kube], rack: Any
) -> None:
    hall, kube = site
    token, later = "f0f0f0.0123456789abcdef", "f1f1f1.0123456789abcdef"
    old = rack("gpu-f")
    assert make_first(hall, f"gpu-f {token} worker SER-1\n").status == 0
    first = bundle((*READY, "join"), {"JOIN": joining("gpu-f", token)})
    assert prepare(hall, old, first).status == 0
    before = node(kube, "gpu-f")["metadata"]["uid"]
    ready(kube, "gpu-f", "True")
    refused = make_first(hall, f"gpu-f {later} worker SER-2\n")
    assert "gpu-f is Ready as the machine SER-1, and the stack file says SER-2" in refused.lines["invitations"]
    assert node(kube, "gpu-f")["metadata"]["uid"] == before

    old.power_off()
    ready(kube, "gpu-f", "Unknown")
    hall.rack([replace(old.machine, serial="SER-2")])
    new = hall.hosts["gpu-f"]
    stranger = prepare(hall, new, bundle(("checks", *READY, "join"), {"JOIN": joining("gpu-f", token)}))
    assert list(stranger.lines) == ["checks"]
    assert "serial SER-2 and the stack file says SER-1" in stranger.lines["checks"]
    assert not any(call[0] == "apt-get" for call in new.calls())

    said = make_first(hall, f"gpu-f {later} worker SER-2\n").lines["invitations"]
    assert "gpu-f of the machine SER-1 is no node any more, gpu-f invited" in said
    text = bundle((*READY, "join"), {"SERIAL": "SER-2", "JOIN": joining("gpu-f", later, "SER-2")})
    assert prepare(hall, new, text).status == 0
    after = node(kube, "gpu-f")["metadata"]
    assert (after["labels"]["gpucluster/serial"], after["uid"] != before) == ("SER-2", True)
    assert make_first(hall, f"gpu-f {later} worker SER-2\n").all_ok()
    new.power_off()


def test_a_machine_that_may_leave_and_is_named_no_more_is_drained_and_deleted(
    site: tuple[Hall, Kube], rack: Any
) -> None:
    hall, kube = site
    token, host = "f2f2f2.0123456789abcdef", rack("gpu-h", serial="SER-H")
    named = f"gpu-h {token} worker SER-H\n"
    assert make_first(hall, named).status == 0
    given = {"SERIAL": "SER-H", "JOIN": joining("gpu-h", token, "SER-H")}
    assert prepare(hall, host, bundle((*READY, "join"), given)).status == 0
    for still, leaving in ((named, "SER-H"), ("", "")):
        assert make_first(hall, still, leaving).status == 0
        assert node(kube, "gpu-h")["spec"].get("unschedulable") is None, "it is named, or may not leave"
    said = make_first(hall, "", "SER-X SER-H")
    assert said.lines["invitations"].endswith("gpu-h drained and deleted")
    assert kube.get("v1", "Node", "gpu-h") is None
    assert make_first(hall, "", "SER-X SER-H").all_ok()


def test_a_node_does_not_change_its_minor_by_packages_alone(site: tuple[Hall, Kube], rack: Any) -> None:
    hall, _ = site
    token, host = "f3f3f3.0123456789abcdef", rack("gpu-m")
    assert make_first(hall, f"gpu-m {token} worker SER-1\n").status == 0
    assert prepare(hall, host, bundle((*READY, "join"), {"JOIN": joining("gpu-m", token)})).status == 0
    newer = {"KUBERNETES_MINOR": "1.37", "PACKAGES": "kubelet=1.37.1-1.1 kubeadm=1.37.1-1.1 kubectl=1.37.1-1.1"}
    said = prepare(hall, host, bundle(("packages",), newer))
    assert "this node runs Kubernetes 1.36 and the stack file says 1.37" in said.lines["packages"]
    assert (
        "1.36"
        in over_ssh(hall, host, "kubelet --version; cat /etc/apt/sources.list.d/gpucluster-kubernetes.list").stdout
    )
    fresh = rack("gpu-n")
    assert prepare(hall, fresh, bundle(("packages",), newer)).status == 0


UPGRADE = (Path(__file__).parents[3] / "node/kubernetes/upgrade.sh").read_text()


def upgraded(hall: Hall, name: str, version: str) -> tuple[int | None, str]:
    """What the script for another version says on a machine."""
    done = over_ssh(hall, hall.hosts[name], f"bash -s -- {name} {version}", UPGRADE)
    return done.status, done.stdout + done.stderr


def drained(kube: Kube, name: str, *, yes: bool = True) -> None:
    kube.patch("v1", "Node", name, None, {"spec": {"unschedulable": yes or None}})


def test_nodes_change_their_minor_one_after_the_other_behind_the_control_plane(
    site: tuple[Hall, Kube], rack: Any
) -> None:
    """The last of these tests: the control plane is another one afterwards."""
    hall, kube = site
    token, host = "f4f4f4.0123456789abcdef", rack("gpu-u")
    kept = {"ClusterConfiguration": "kind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n"}
    meta = {"name": "kubeadm-config", "namespace": "kube-system"}
    kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": kept}, "kubeadm", force=True)
    assert make_first(hall, f"gpu-u {token} worker SER-1\n").status == 0
    assert prepare(hall, host, bundle((*READY, "join"), {"JOIN": joining("gpu-u", token)})).status == 0

    new = "1.37.1-1.1"
    drained(kube, "gpu-u")
    for name, version, words in (
        ("gpu-u", new, "the control plane is v1.36.3: upgrade its machines first"),
        ("cp-1", new, "it is not drained: kubectl drain cp-1"),
        ("cp-1", "1.38.0-1.1", "versions go up one minor at a time"),
        ("cp-1", "v1.37.1", "is no version of a package"),
    ):
        status, said = upgraded(hall, name, version)
        assert (status, words in said) == (1, True), said
    first = hall.hosts["cp-1"]
    assert not [call for each in (first, host) for call in each.calls() if "upgrade" in call]

    drained(kube, "cp-1")
    assert upgraded(hall, "cp-1", new)[0] == 0
    assert upgraded(hall, "gpu-u", new)[0] == 0
    done = [" ".join(call) for each in (first, host) for call in each.calls() if call[:2] == ["kubeadm", "upgrade"]]
    patches = "--patches /etc/kubernetes/patches"
    assert done == [f"kubeadm upgrade apply v1.37.1 --yes {patches}", f"kubeadm upgrade node {patches}"]
    calls = len(host.calls())
    assert upgraded(hall, "gpu-u", new) == (0, f"gpu-u: {new}; kubectl uncordon gpu-u\n")
    assert not [call for call in host.calls()[calls:] if "install" in call or call[0] == "kubeadm" or "restart" in call]

    newer = {"KUBERNETES_MINOR": "1.37", "PACKAGES": f"kubelet={new} kubeadm={new} kubectl={new}"}
    assert prepare(hall, host, bundle(("packages",), newer)).status == 0, "the stack file's word and the node's agree"
    drained(kube, "cp-1", yes=False)
