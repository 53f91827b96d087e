"""kubeadm, kubelet and kubectl: what kubeadm looks at before it acts, and what a host asks of the cluster around it.

Source: kubernetes cmd/kubeadm/app/phases/kubelet. What only a cluster can do - an API server, a signed certificate - is
asked of the hall by a file and answered by a file, one of each for each call: ask-PID.json, answer-PID.json.
"""

import json
import os
import pathlib
import re
import sys

from rehearsal.metal.tools import etcd, firmware, runtime
from rehearsal.metal.tools.drives import empty, names
from rehearsal.metal.tools.kubeadm_checks import ETC, checked, of_plane
from rehearsal.metal.tools.machine import absent, ask, called, complain, lasting, takes, until_boot, version

KNOWN = r"^apiVersion: (kubeadm\.k8s\.io/v1beta4|kubelet\.config\.k8s\.io/v1beta1|kubeproxy\.config\.k8s\.io/v1alpha1)$"


PULLING_SECONDS = 60.0
"""The control plane's images: "a minute or two" (cmd/kubeadm/app/cmd/phases/init/preflight.go, join/preflight.go)."""


def main(name: str, words: list[str]) -> int:
    """One call."""
    have = version(name)
    if not have:
        return absent(name)
    called(name, words)
    if name == "kubelet":
        print(f"Kubernetes v{have.partition('-')[0]}")
        return 0
    if name == "kubectl":
        return _kubectl(words)
    verb = [word for word in words if not word.startswith("-")]
    if verb[:2] == ["config", "validate"]:
        return _valid(pathlib.Path(_option(words, "--config")).read_text())
    if verb[:2] == ["init", "phase"]:
        return 0 if (ETC / "admin.conf").exists() else complain("failed to load admin kubeconfig", 1)
    if verb[:1] == ["init"]:
        return _init(_option(words, "--config"))
    if verb[:1] == ["join"]:
        return _join(_option(words, "--config"))
    if verb[:1] == ["reset"]:
        return _reset()
    if verb[:2] == ["upgrade", "node"]:
        _configure("")
        if "phase" not in verb and (ETC / "admin.conf").exists():
            _static_pods(have)
        return 0
    if verb[:2] == ["upgrade", "apply"]:
        return _upgrade(verb[2], have)
    if verb[:1] == ["version"]:
        print(f"v{have.partition('-')[0]}")
        return 0
    return complain(f'unknown command {" ".join(verb)!r} for "kubeadm"', 1)


def _option(words: list[str], name: str) -> str:
    for at, word in enumerate(words):
        if word == name:
            return words[at + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def _valid(text: str) -> int:
    for document in re.split(r"^---\s*$", text, flags=re.MULTILINE):
        if document.strip() and not re.search(KNOWN, document, re.MULTILINE):
            return complain("error: no kind or apiVersion of kubeadm.k8s.io/v1beta4 in a document of the config", 1)
    print("ok")
    return 0


def _kubelet_runs() -> int:
    """The kubelet ends at start with swap on, and kubeadm gives it four minutes (cmd/kubeadm/app/phases/kubelet); so
    long it also waits for a control plane whose images nobody lets it pull.
    """
    why = runtime.kept_back()
    if why:
        return complain(f"error execution phase wait-control-plane: context deadline exceeded: {why}", 1)
    if len(pathlib.Path("/run/.kernel/swaps").read_text().splitlines()) == 1:
        return 0
    return complain(
        "error execution phase wait-control-plane: failed while waiting for the kubelet to start: the kubelet is not "
        "healthy after 4m0s: running with swap on is not supported",
        1,
    )


def _init(config: str) -> int:
    text = pathlib.Path(config).read_text()
    status = _valid(text) or checked(text, joining=False) or _kubelet_runs() or _reached(text)
    if status:
        return status
    takes(PULLING_SECONDS)
    answer = ask({"kind": "init", "config": text, **_prepared()})
    if "error" in answer:
        return complain(f"error execution phase wait-control-plane: {answer['error']}", 1)
    _static_pods(version("kubeadm"))
    for name in ("admin.conf", "super-admin.conf"):
        _write(ETC / name, answer["admin"])
    etcd.begin()
    _joined(answer)
    print("Your Kubernetes control-plane has initialized successfully!")
    return 0


def _static_pods(package: str) -> None:
    """Write the control plane's manifests, with images of kubeadm's own version."""
    (ETC / "manifests").mkdir(exist_ok=True)
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        image = f"    image: registry.k8s.io/{name}:v{package.partition('-')[0]}\n"
        (ETC / "manifests" / f"{name}.yaml").write_text(f"# static pod {name}\n{image}")


def _upgrade(wanted: str, have: str) -> int:
    """It refuses what is newer than itself (cmd/kubeadm/app/phases/upgrade/policy.go), and writes down what it did."""
    if wanted != f"v{have.partition('-')[0]}":
        return complain(f"[upgrade/version] FATAL: the version to upgrade to {wanted} is not kubeadm's", 1)
    answer = ask({"kind": "upgrade", "version": wanted})
    if "error" in answer:
        return complain(f"[upgrade/config] FATAL: {answer['error']}", 1)
    _static_pods(have)
    print(f'[upgrade] SUCCESS! A control plane node of your cluster was upgraded to "{wanted}".')
    return 0


def _reached(text: str) -> int:
    """kubeadm waits for the API server at the address that nodes are to have; one that is no machine's own answers only
    where a static pod holds it (cmd/kubeadm/app/util/apiclient, WaitForControlPlaneComponents).
    """
    endpoint = re.search(r"^controlPlaneEndpoint: ['\"]?([^\s:'\"]+):(\d+)", text, re.MULTILINE)
    own = re.search(r"^ +advertiseAddress: (\S+)", text, re.MULTILINE)
    if endpoint is None or (own and own[1] == endpoint[1]):
        return 0
    pods = [path.read_text() for path in (ETC / "manifests").glob("*.yaml")]
    if any(re.search(rf"value: ['\"]?{re.escape(endpoint[1])}['\"]?$", pod, re.MULTILINE) for pod in pods):
        return 0
    return complain(
        "error execution phase wait-control-plane: failed while waiting for the control plane to start: kube-apiserver "
        f"check failed at https://{endpoint[1]}:{endpoint[2]}/livez: context deadline exceeded",
        1,
    )


def _join(config: str) -> int:
    text = pathlib.Path(config).read_text()
    status = _valid(text) or checked(text, joining=True) or _kubelet_runs()
    if status:
        return status
    if of_plane(text):
        status = _plane_prepared(text)
        if status:
            return status
    answer = ask({"kind": "join", "config": text, **_prepared()})
    if "error" in answer:
        return complain(f"error execution phase preflight: {answer['error']}", 1)
    _joined(answer)
    if of_plane(text):
        etcd.join()
    print("This node has joined the cluster")
    return 0


def _plane_prepared(text: str) -> int:
    """What comes before the kubelet: the token, the control plane's files, then etcd's health. Files stay where etcd is
    not healthy (cmd/kubeadm/app/cmd/join.go: preflight, control-plane-prepare, check-etcd, kubelet-start).
    """
    takes(PULLING_SECONDS)
    answer = ask({"kind": "discover", "config": text})
    if "error" in answer:
        return complain(f"error execution phase preflight: {answer['error']}", 1)
    _static_pods(version("kubeadm"))
    _write(ETC / "admin.conf", answer["admin"])
    why = etcd.unhealthy()
    return complain(f"error execution phase check-etcd: {why}", 1) if why else 0


def _prepared() -> dict[str, str]:
    """What the kubelet finds on this host: its configuration, its file systems, its runtime, its boot."""
    patches = sorted((ETC / "patches").glob("kubeletconfiguration*.yaml"))
    with until_boot() as state:
        mounts = state.get("mounts", [])
    with lasting() as state:
        arrays = state.get("arrays", {})
    return {
        "kubelet": patches[0].read_text() if patches else "",
        "mounts": json.dumps(mounts),
        "arrays": json.dumps(arrays),
        "ports": json.dumps(firmware.ports()),
        "apart": firmware.NAMESPACES.read_text().strip() if firmware.NAMESPACES.exists() else "",
        "empty": json.dumps([name for each in empty() for name in names(each)]),
        "containerd": version("containerd.io").partition("-")[0],
        "version": version("kubelet").partition("-")[0],
        "boot": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
    }


def _joined(answer: dict[str, str]) -> None:
    _configure(answer.get("kubelet", ""))
    _write(ETC / "kubelet.conf", answer["kubeconfig"])
    with until_boot() as state:
        state.setdefault("active", {})["kubelet.service"] = {}


def _configure(text: str) -> None:
    path = pathlib.Path("/var/lib/kubelet/config.yaml")
    path.write_text(text or (path.read_text() if path.exists() else ""))


def _reset() -> int:
    ask({"kind": "leave"})
    etcd.leave()
    named = [ETC / name for name in ("kubelet.conf", "admin.conf", "super-admin.conf")]
    for path in (*named, *(ETC / "manifests").glob("*.yaml")):
        path.unlink(missing_ok=True)
    with until_boot() as state:
        state.get("active", {}).pop("kubelet.service", None)
    print("[reset] Stopping the kubelet service")
    return 0


def _kubectl(words: list[str]) -> int:
    """The real kubectl runs beside the API server, with the rights of the file that `--kubeconfig` names."""
    config = _option(words, "--kubeconfig") or os.environ.get("KUBECONFIG", "")
    if not config or not pathlib.Path(config).is_file():
        return complain(f"error: stat {config or '/root/.kube/config'}: no such file or directory", 1)
    if "etcdctl" in words:
        return etcd.etcdctl(words)
    read = sys.stdin.read() if "-" in words else ""
    answer = ask({"kind": "kubectl", "words": json.dumps(words), "stdin": read})
    if "error" in answer:
        return complain(f"The connection to the server was refused: {answer['error']}", 1)
    print(answer["stdout"], end="")
    print(answer["stderr"], end="", file=sys.stderr)
    return int(answer["status"])


def _write(path: pathlib.Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    fresh.rename(path)
