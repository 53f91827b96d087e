"""What kubeadm looks at before it acts.

Source: kubernetes cmd/kubeadm/app/preflight/checks.go (names and words of the checks; all of them are told, then it
ends with 1).
"""

import pathlib
import re
import sys

from rehearsal.metal.tools import runtime
from rehearsal.metal.tools.machine import complain, until_boot

ETC = pathlib.Path("/etc/kubernetes")


def of_plane(text: str) -> bool:
    """Whether a machine that joins becomes one of the control plane's."""
    return re.search(r"^controlPlane:", text, re.MULTILINE) is not None


def _problems(text: str, *, joining: bool) -> list[str]:
    found = []
    with until_boot() as state:
        active = state.get("active", {})
    if "containerd.service" not in active:
        found.append(
            "[ERROR CRI]: could not connect to the container runtime: failed to create new CRI runtime service: "
            "validate service connection: dial unix /var/run/containerd/containerd.sock: "
            "connect: no such file or directory"
        )
    if pathlib.Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() != "1":
        found.append(
            "[ERROR FileContent--proc-sys-net-ipv4-ip_forward]: /proc/sys/net/ipv4/ip_forward contents are not set to 1"
        )
    parts = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
    # A machine that joins the control plane has the checks of the first one besides (join/preflight.go).
    pods = [f"manifests/{each}.yaml" for each in parts]
    files = ["kubelet.conf", *(pods if of_plane(text) else ["pki/ca.crt"])] if joining else pods
    found += [
        f"[ERROR FileAvailable--etc-kubernetes-{each.replace('/', '-')}]: {ETC / each} already exists"
        for each in files
        if (ETC / each).exists()
    ]
    return found + _not_pulled(text)


def _not_pulled(text: str) -> list[str]:
    """kubeadm pulls the control plane's images as nobody, unless it is to pull none (ImagePullCheck)."""
    repository = re.search(r"^imageRepository: (\S+)", text, re.MULTILINE)
    if repository is None or re.search(r"^  imagePullPolicy: Never$", text, re.MULTILINE):
        return []
    why = runtime.refusal(f"{repository[1]}/kube-apiserver", "")
    return [f"[ERROR ImagePull]: failed to pull image: {why}"] if why else []


def checked(text: str, *, joining: bool) -> int:
    """The checks before anything is done: all that fail are told, then it ends with 1."""
    print("[preflight] Running pre-flight checks")
    found = _problems(text, joining=joining)
    if not found:
        return 0
    lines = "".join(f"\t{each}\n" for each in found)
    print(f"error execution phase preflight: [preflight] Some fatal errors occurred:\n{lines}", file=sys.stderr, end="")
    return complain(
        "[preflight] If you know what you are doing, you can make a check non-fatal with "
        "`--ignore-preflight-errors=...`",
        1,
    )
