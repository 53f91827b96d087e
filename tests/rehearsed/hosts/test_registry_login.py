"""A mirror that asks who pulls: what a machine needs before kubeadm, containerd and the kubelet get an image (J16)."""

import base64
import json

import pytest

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host

from .bundles import bundle
from .conftest import Rack
from .racks import over_ssh, prepare

pytestmark = pytest.mark.engine

HOST = "hub.site.example:5000"
PAUSE = f"{HOST}/mirror/registry.k8s.io/pause:3.10.1"
LOGIN = base64.b64encode(b"robot$nodes:hush").decode()
TOLD = {"PAUSE_IMAGE": PAUSE, "REGISTRY": HOST, "REGISTRY_LOGIN": LOGIN}
READY = ("packages", "modules", "sysctls", "swap", "containerd", "registry-login", "kubelet")
INIT = """apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  name: cp-1
{policy}---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
imageRepository: hub.site.example:5000/mirror/registry.k8s.io
"""
NEVER = "  imagePullPolicy: Never\n"


def asking(rack: Rack) -> Host:
    return rack(registries=(f"{HOST}={LOGIN}",))


def init(hall: Hall, host: Host, policy: str) -> str:
    """What kubeadm init says is wrong before it asks for a cluster around."""
    over_ssh(hall, host, "bash -s", f"cat > /root/init.yaml <<'E'\n{INIT.format(policy=policy)}E\n")
    return over_ssh(hall, host, "kubeadm init --config /root/init.yaml").stderr


def test_a_machine_signs_in_once_and_a_second_run_changes_nothing(hall: Hall, rack: Rack) -> None:
    host = asking(rack)
    first = prepare(hall, host, bundle(READY, TOLD))
    assert first.status == 0, first.lines
    assert first.lines["registry-login"] == f"changed: /var/lib/kubelet/config.json, {PAUSE} pulled"
    held = over_ssh(hall, host, "stat -c %a /var/lib/kubelet/config.json; cat /var/lib/kubelet/config.json").stdout
    mode, _, content = held.partition("\n")
    assert (mode, json.loads(content)) == ("600", {"auths": {HOST: {"auth": LOGIN}}})
    assert prepare(hall, host, bundle(READY, TOLD)).lines["registry-login"] == "ok"
    assert prepare(hall, host, bundle(READY, TOLD), action="undo").status == 0
    assert over_ssh(hall, host, "cat /var/lib/kubelet/config.json").status != 0


def test_the_login_is_in_no_arguments_and_no_log(hall: Hall, rack: Rack) -> None:
    host = asking(rack)
    assert prepare(hall, host, bundle(READY, TOLD)).status == 0
    assert [call for call in host.calls() if call[0] == "crictl" and call[-2] == "pull"]
    assert not [call for call in host.calls() if LOGIN in " ".join(call)]
    assert LOGIN not in over_ssh(hall, host, "cat /var/log/gpucluster.log").stdout


def test_a_wrong_password_ends_there_and_is_tried_again(hall: Hall, rack: Rack) -> None:
    host = asking(rack)
    wrong = prepare(hall, host, bundle(READY, {**TOLD, "REGISTRY_LOGIN": "d3Jvbmc6b25l"}))
    assert wrong.status == 1
    assert f"{PAUSE} cannot be pulled from {HOST} as the user of supply.registryLogin" in wrong.lines["registry-login"]
    assert "kubelet" not in wrong.lines
    assert prepare(hall, host, bundle(READY, TOLD)).status == 0


def test_without_a_login_nothing_of_the_control_plane_comes(hall: Hall, rack: Rack) -> None:
    host = asking(rack)
    assert prepare(hall, host, bundle([each for each in READY if each != "registry-login"], TOLD)).status == 0
    assert "no basic auth credentials" in init(hall, host, "")
    assert "failed to create pod sandbox" in init(hall, host, NEVER)
    # The image of sandboxes alone is not enough: the kubelet is nobody there.
    pulled = f"CRICTL_AUTH={LOGIN} crictl pull {PAUSE} && echo there"
    assert over_ssh(hall, host, pulled).stdout.splitlines()[-1] == "there"
    assert "pull access denied" in init(hall, host, NEVER)


def test_with_one_kubeadm_leaves_it_to_the_kubelet(hall: Hall, rack: Rack) -> None:
    host = asking(rack)
    assert prepare(hall, host, bundle(READY, TOLD)).status == 0
    assert "[ERROR ImagePull]" in init(hall, host, "")
    assert "denied" not in init(hall, host, NEVER)
