"""A container that is a real process on this machine: private files, the pod's own identity, ports on loopback."""

import base64
import contextlib
import hashlib
import http.client
import ipaddress
import json
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kubelet import confined, probes, volumes
from rehearsal.kubelet.program import TIME_SCALE, VOLUMES, Ends, Exit, Launch, LaunchError, Local, Mount, Program
from rehearsal.processes import Process, StartError

TOKEN_SECONDS = 7 * 24 * 3600
FILES = "fs"
CURRENT, KUBECONFIG = "current", "kubeconfig"
"""In a container's directory the link to that of its newest run; in a run's, what its process is to the API server."""
SCRATCH = f"{FILES}/tmp"  # noqa: S108 - relative to the process's own directory
_LOADING = ("LD_", "KUBECTL_", "PYTHON", "GIT_", "SSL_CERT_", "GCONV_", "BASH_FUNC_", "HTTP_PROXY", "HTTPS_PROXY")
_KEPT = {"PATH", "HOME", "ENV", "BASH_ENV", "EDITOR", "VISUAL", "SHELL", "IFS", "KUBECONFIG", "KUBE_EDITOR"}
_KEPT |= {"KUBECACHEDIR", "ALL_PROXY"}
"""Variables of a pod that a real program on this machine does not get, by how they begin and by name."""
Convert = Callable[[str, bytes], bytes]
"""From a path in the container and what lies there to what the process on this machine is to read."""


def free_host(ports: Sequence[int]) -> str:
    """An address on loopback on which all of these ports are free: for a process that is known by its port."""
    while True:
        host = str(ipaddress.IPv4Address("127.1.0.0") + secrets.randbelow(2**22))
        with contextlib.suppress(OSError), contextlib.ExitStack() as taken:
            for port in ports:
                taken.enter_context(socket.socket()).bind((host, port))
            return host


class RealProcess(Local):
    """Runs a built binary for a container. The end of the process is the end of the container.

    `ports` maps container ports to ports of `host`, an address on loopback; they are what the site's proxy and the
    probes reach. Paths of mounts become paths below the process's own directory, relative to it (sockets there must
    have short names). A pod whose words or variables name another file, or lead elsewhere, does not start
    (`confined.py`); with `own_words` that is not looked at, as the words are looked at by the caller, or are a script
    that is a program of the pod's own.
    """

    time_scale = 1.0

    def __init__(
        self,
        launch: Launch,
        binary: Path,
        argv: Sequence[str],
        ports: Mapping[int, int],
        env: Mapping[str, str],
        convert: Convert = lambda _, held: held,
        host: str = places.LOOPBACK,
        own_words: bool = False,
    ) -> None:
        if not own_words:
            _confine(launch, binary.name)
        self._launch, self._ports, self._convert, self._host = launch, dict(ports), convert, host
        self._directory = places.private_directory(launch.directory)
        self._written: dict[str, dict[Path, bytes]] = {}
        self._lock = threading.Lock()
        self._token = request_token(launch)
        self.refresh_files()
        (self._directory / FILES / "tmp").mkdir(parents=True, exist_ok=True)
        kubeconfig = write_kubeconfig(launch, self._directory, self._token)
        _link(launch.directory.parent / CURRENT, self._directory)
        environment = {
            **_inherited(),
            **{name: self._inside(value) for name, value in launch.env.items() if variable(name)},
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
            launch.world.backends.add(launch.namespace, launch.pod_name, port, local, host)

    def _await_end(self) -> None:
        self._process.wait()
        self._launch.wake()

    def _inside(self, word: str) -> str:
        """A word with the paths of the container's mounts replaced by those of the private directory."""
        for path in sorted((mount.path.rstrip("/") for mount in self._launch.mounts), key=len, reverse=True):
            word = re.sub(rf"(?<![\w.-]){re.escape(path)}(?=/|$)", FILES + path, word)
        return word

    def refresh_files(self) -> None:
        """Writes the files of mounted ConfigMaps and Secrets, each replaced at once; other volumes are directories."""
        by_name = {volume["name"]: volume for volume in self._launch.pod["spec"].get("volumes") or []}
        world, namespace = self._launch.world, self._launch.namespace
        with self._lock:
            for mount in sorted(self._launch.mounts, key=lambda each: len(each.path)):
                target = self._directory / FILES / mount.path.strip("/")
                content = volumes.files(by_name[mount.name], namespace, world.find)
                if content is None:
                    shared = directory_of(self._launch, mount) / mount.sub_path
                    shared.mkdir(parents=True, exist_ok=True)
                    _link(target, shared)
                if content is None or volumes.gone(by_name[mount.name], namespace, world.find):
                    continue
                present = {**content, **self._identity(by_name[mount.name])}
                if not mount.sub_path:
                    target.mkdir(parents=True, exist_ok=True)
                else:
                    present = {name: held for name, held in present.items() if name == mount.sub_path}
                files = {target if mount.sub_path else target / name: held for name, held in present.items()}
                before = self._written.get(mount.path, {})
                for path, held in files.items():
                    # A large configuration takes a second to convert, and is asked for with each change around it.
                    if before.get(path) != held:
                        _replace(path, self._convert("/" + str(path.relative_to(self._directory / FILES)), held))
                for gone in set(before) - set(files):
                    gone.unlink(missing_ok=True)
                self._written[mount.path] = files

    def _identity(self, volume: Mapping[str, Any]) -> dict[str, bytes]:
        """The files by which a process in a pod knows who it is: its token and its namespace."""
        result: dict[str, bytes] = {}
        for source in (volume.get("projected") or {}).get("sources") or []:
            if token := source.get("serviceAccountToken"):
                result[token["path"]] = self._token.encode()
            for item in (source.get("downwardAPI") or {}).get("items") or []:
                if (item.get("fieldRef") or {}).get("fieldPath") == "metadata.namespace":
                    result[item["path"]] = self._launch.namespace.encode()
        return result

    # -- what the kubelet asks

    def exited(self, now: float) -> Exit | None:  # noqa: ARG002
        status = self._process.exit_status()
        if status is None:
            return None
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, self._ports)
        return Exit(128 - status if status < 0 else status, self._process.last_words(4) if status else "")

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002
        local = self._ports.get(port)
        if local is None:
            return False
        with contextlib.suppress(OSError), socket.create_connection((self._host, local), 0.5):
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
            status = probes.status(scheme, (self._host, local), path)
        except (OSError, http.client.HTTPException) as error:
            return f"Get {scheme}://:{port}{path}: {error}"
        return None if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"

    def leaves(self) -> bool:
        self._process.ask()
        return not self._process.running()

    def stop(self) -> None:
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, self._ports)
        self._process.stop()


def _confine(launch: Launch, program: str) -> None:
    """Raises LaunchError where the pod says something that is not for a pod to say."""
    argv = launch.argv
    words = argv[1:] if argv and argv[0].startswith("/") else argv
    variables = (f"{name}={value}" for name, value in launch.env.items() if variable(name))
    led = (each for each in variables if any(confined.outside(launch, each.partition("=")[2])))
    if word := next(chain(confined.leading_out(launch, words, program), led), None):
        raise LaunchError(f"{word}: no such file, or not for a pod to say where this is rehearsed")


def directory_of(launch: Launch, mount: Mount) -> Path:
    """Where the files of a volume that holds no ConfigMap or Secret lie: all its containers that are real see them."""
    if mount.volume.startswith("pod:"):
        return launch.directory.parents[1] / VOLUMES / mount.name
    return launch.world.directory / VOLUMES / hashlib.sha256(mount.volume.encode()).hexdigest()[:16]


def request_token(launch: Launch) -> str:
    """A token of the pod's service account, bound to the pod as a projected one is. Raises LaunchError."""
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
        return str(world.kube.call("POST", path, request)["status"]["token"])
    except ApiError as error:
        raise LaunchError(f"no token for service account {launch.service_account}: {error.message}") from error


def client(launch: Launch) -> Kube:
    """A client with the rights of the pod's service account. Raises LaunchError."""
    return Kube.from_kubeconfig(str(write_kubeconfig(launch, places.private_directory(launch.directory))))


def job(launch: Launch, seconds: float, work: Callable[[Kube], str]) -> Program:
    """Works at once with the pod's own rights; the process ends `seconds` later, with what was said or refused."""
    try:
        said, result = work(client(launch)), Exit(0)
    except (ValueError, ApiError, Unreachable) as error:
        said, result = str(error), Exit(1, str(error))
    launch.log(said)
    return Ends(launch.now + seconds / TIME_SCALE, result)


def write_kubeconfig(launch: Launch, directory: Path, token: str | None = None) -> Path:
    """A kubeconfig of the pod's service account, with a new token unless one is given. Raises LaunchError."""
    world, user = launch.world, {"token": token or request_token(launch)}
    cluster = {"server": world.endpoint, "certificate-authority-data": base64.b64encode(world.ca).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "pod", "cluster": cluster}],
        "users": [{"name": "pod", "user": user}],
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod", "namespace": launch.namespace}}],
        "current-context": "pod",
    }
    target = directory / KUBECONFIG
    places.write(target, json.dumps(config).encode())
    return target


def _replace(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    partial.chmod(0o600)
    partial.replace(path)


def _link(path: Path, target: Path) -> None:
    """Make a path lead to a directory, whatever link stood there before."""
    if path.is_symlink() and path.readlink() == target:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(path)


def variable(name: str) -> bool:
    """Whether a variable of the pod is for its program: those that load other code, or lead elsewhere, are not."""
    return name.upper() not in _KEPT and not name.upper().startswith(_LOADING)


def _inherited() -> dict[str, str]:
    """The variables without which no process runs; the user's cluster, account and proxy stay out."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ} | {"HOME": "."}
