"""A container that is a real process on this machine: private files, the pod's own identity, ports on loopback."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import urllib3

from rehearsal import places
from rehearsal.effects import volumes
from rehearsal.effects.program import Exit, Launch, LaunchError, Program
from rehearsal.kube.client import ApiError
from rehearsal.processes import Process, StartError

TOKEN_SECONDS = 7 * 24 * 3600
FILES = "fs"
SCRATCH = f"{FILES}/tmp"  # noqa: S108 - relative to the process's own directory
_probes = urllib3.PoolManager(retries=False, cert_reqs="CERT_NONE", assert_hostname=False)


def free_port() -> int:
    """A loopback port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((places.LOOPBACK, 0))
        return int(probe.getsockname()[1])


class RealProcess(Program):
    """Runs a built binary for a container. The end of the process is the end of the container.

    `ports` maps container ports to loopback ports; they are what the site's proxy and the probes reach. Paths of mounts
    become paths below the process's own directory, relative to it (sockets there must have short names).
    """

    time_scale = 1.0

    def __init__(
        self, launch: Launch, binary: Path, argv: Sequence[str], ports: Mapping[int, int], env: Mapping[str, str]
    ) -> None:
        self._launch, self._ports = launch, dict(ports)
        self._directory = places.private_directory(launch.directory)
        self._lock = threading.Lock()
        (self._directory / FILES / "tmp").mkdir(parents=True, exist_ok=True)
        self.refresh_files()
        kubeconfig = write_kubeconfig(launch, self._directory)
        environment = {
            **_inherited(),
            **{name: self._inside(value) for name, value in launch.env.items()},
            "KUBECONFIG": str(kubeconfig),
            "TMPDIR": SCRATCH,
            **env,
        }
        self._process = Process(
            launch.spec["name"],
            [binary, *(self._inside(word) for word in argv)],
            environment,
            log=self._directory / "log",
            cwd=self._directory,
        )
        try:
            self._process.start()
        except StartError as error:
            raise LaunchError(str(error)) from error
        threading.Thread(target=self._await_end, name=f"wait-{launch.pod_name}", daemon=True).start()
        for port, local in self._ports.items():
            launch.world.backends.add(launch.namespace, launch.pod_name, port, local)

    def _await_end(self) -> None:
        self._process.wait()
        self._launch.wake()

    def _inside(self, word: str) -> str:
        """A word with the paths of the container's mounts replaced by those of the private directory."""
        for path in sorted((mount.path.rstrip("/") for mount in self._launch.mounts), key=len, reverse=True):
            word = re.sub(rf"(?<![\w.-]){re.escape(path)}(?=/|$)", FILES + path, word)
        return word

    def refresh_files(self) -> None:
        """Writes the files of mounted ConfigMaps and Secrets, each replaced at once."""
        by_name = {volume["name"]: volume for volume in self._launch.pod["spec"].get("volumes") or []}
        world, namespace = self._launch.world, self._launch.namespace
        with self._lock:
            for mount in self._launch.mounts:
                target = self._directory / FILES / mount.path.strip("/")
                content = volumes.files(by_name[mount.name], namespace, world.find)
                if content is None:
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                for name, text in content.items():
                    if not mount.sub_path:
                        _replace(target / name, text)
                    elif name == mount.sub_path:
                        _replace(target, text)

    # -- what the kubelet asks

    def exited(self, now: float) -> Exit | None:  # noqa: ARG002
        status = self._process.exit_status()
        if status is None:
            return None
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name)
        return Exit(128 - status if status < 0 else status, self._process.last_words(4) if status else "")

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002
        local = self._ports.get(port)
        if local is None:
            return False
        with contextlib.suppress(OSError), socket.create_connection((places.LOOPBACK, local), 0.5):
            return True
        return False

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        if probe.get("exec") or port is None:
            return None
        local = self._ports.get(port)
        if local is None or not self.listens(port, now):
            return f"dial tcp: connect to port {port}: connection refused"
        if not probe.get("httpGet"):
            return None
        scheme = str(probe["httpGet"].get("scheme") or "HTTP").lower()
        path = probe["httpGet"].get("path") or "/"
        try:
            answer = _probes.request("GET", f"{scheme}://{places.LOOPBACK}:{local}{path}", timeout=2.0)
        except urllib3.exceptions.HTTPError as error:
            return f"Get {scheme}://:{port}{path}: {error}"
        return None if 200 <= answer.status < 400 else f"HTTP probe failed with statuscode: {answer.status}"

    def stop(self) -> None:
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name)
        self._process.stop()

    def close(self) -> None:
        self.stop()


def write_kubeconfig(launch: Launch, directory: Path) -> Path:
    """A kubeconfig of the pod's service account, its token bound to the pod (as the kubelet's projected token is).

    Raises LaunchError if the service account gives no token.
    """
    meta, world = launch.pod["metadata"], launch.world
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {
            "expirationSeconds": TOKEN_SECONDS,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]},
        },
    }
    path = world.kube.path("v1", "ServiceAccount", launch.namespace, launch.service_account, "token")
    try:
        token = world.kube.call("POST", path, request)["status"]["token"]
    except ApiError as error:
        raise LaunchError(f"no token for service account {launch.service_account}: {error.message}") from error
    cluster = {"server": world.endpoint, "certificate-authority-data": base64.b64encode(world.ca).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "pod", "cluster": cluster}],
        "users": [{"name": "pod", "user": {"token": token}}],
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod", "namespace": launch.namespace}}],
        "current-context": "pod",
    }
    target = directory / "kubeconfig"
    places.write(target, json.dumps(config).encode())
    return target


def _replace(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text)
    partial.chmod(0o600)
    partial.replace(path)


def _inherited() -> dict[str, str]:
    """Nothing of ours but what a process needs to run at all: no cluster, no account, no proxy of the user."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ} | {"HOME": "."}
