"""A real etcd, kube-apiserver and kube-controller-manager on loopback, for tests; no node, so no pod ever runs."""

from __future__ import annotations

import base64
import functools
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from rehearsal import places
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.processes import Process

ADMIN, NOBODY = "admin-token", "nobody-token"
START_SECONDS = 90


class ControlPlane:
    """One cluster with two users: `admin` (system:masters) and `nobody`, who may do nothing."""

    def __init__(self, directory: Path, binaries: Path | None) -> None:
        self._directory, self._binaries = directory, binaries
        self.port = places.free_port()
        self.server = f"https://127.0.0.1:{self.port}"
        self._etcd_port, self._peer_port = places.free_port(), places.free_port()
        self._processes: dict[str, Process] = {}

    def start(self) -> None:
        """Starts everything and waits until the API server is ready and the controllers work."""
        self._write_keys()
        self._run("etcd", self._etcd())
        self._run("kube-apiserver", self._api_server())
        self._until(lambda kube: kube.ready())
        self._start_controllers()

    def stop_api_server(self) -> None:
        """Stops the API server alone; etcd keeps the objects."""
        self._processes["kube-apiserver"].stop(grace=2)

    def start_api_server(self) -> None:
        """Starts the API server again, on the same port and data, and waits until it is ready.

        The controllers start anew with it: left alone they would come back after a pause of up to half a minute.
        """
        self._processes.pop("kube-controller-manager").stop(grace=0.5)
        self._run("kube-apiserver", self._api_server())
        self._until(lambda kube: kube.ready())
        self._start_controllers()

    def _start_controllers(self) -> None:
        self._run("kube-controller-manager", self._controller_manager())
        meta = {"name": f"probe-{time.monotonic_ns()}", "namespace": "default"}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        probe = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
        self.kube().create(probe)
        self._until(lambda kube: "status" in self._seen(kube, meta["name"]))
        self._until(lambda kube: kube.get("v1", "ServiceAccount", "default", "default") is not None)
        self.kube().delete(probe)

    def _seen(self, kube: Kube, name: str) -> dict[str, Any]:
        """The probe, if the Deployment controller has looked at it."""
        probe = kube.get("apps/v1", "Deployment", name, "default") or {}
        return probe if probe.get("status", {}).get("observedGeneration") else {}

    def stop(self) -> None:
        """Stops everything, the API server's clients first."""
        for name in ("kube-controller-manager", "kube-apiserver", "etcd"):
            if name in self._processes:
                self._processes[name].stop(grace=2)

    def kubeconfig(self, **user: Any) -> str:
        """A kubeconfig's text; `user` are the fields of its user entry (default: the admin's token)."""
        authority = (self._directory / "pki" / "apiserver.crt").read_bytes()
        cluster = {"server": self.server, "certificate-authority-data": base64.b64encode(authority).decode()}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                "clusters": [{"name": "test", "cluster": cluster}],
                "users": [{"name": "test", "user": user or {"token": ADMIN}}],
            }
        )

    def kube(self) -> Kube:
        """A client that may do everything."""
        return Kube.from_kubeconfig(self.kubeconfig())

    def _write_keys(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        (self._directory / "service-accounts.key").write_bytes(pem)
        tokens = f"{ADMIN},admin,admin,system:masters\n{NOBODY},nobody,nobody\n"
        (self._directory / "tokens.csv").write_text(tokens)

    def _etcd(self) -> list[str]:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        return [
            f"--data-dir={self._directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        ]

    def _api_server(self) -> list[str]:
        key = self._directory / "service-accounts.key"
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self._directory / 'pki'}",
            f"--token-auth-file={self._directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--allow-privileged",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=172.20.0.0/16",
            "--endpoint-reconciler-type=none",
        ]

    def _controller_manager(self) -> list[str]:
        path = self._directory / "kubeconfig"
        path.write_text(self.kubeconfig())
        return [
            f"--kubeconfig={path}",
            f"--service-account-private-key-file={self._directory / 'service-accounts.key'}",
            f"--root-ca-file={self._directory / 'pki' / 'apiserver.crt'}",
            "--use-service-account-credentials=false",
            "--leader-elect=false",
            "--secure-port=0",
        ]

    def _run(self, name: str, arguments: list[str]) -> None:
        binary = shutil.which(name, path=str(self._binaries) if self._binaries else None)
        if binary is None:
            raise FileNotFoundError(f"{name} is neither in GPUCLUSTER_TEST_BIN nor on PATH: build the toolchain first")
        process = Process(name, [binary, *arguments], log=self._directory / f"{name}.log")
        process.start()
        self._processes[name] = process

    def _until(self, reached: Any) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            for name, process in self._processes.items():
                if not process.running():
                    raise RuntimeError(f"{name} ended:\n{process.last_words()}")
            try:
                if (self._directory / "pki" / "apiserver.crt").exists() and reached(self.kube()):
                    return
            except (ApiError, Unreachable, ValueError):
                pass
            if time.monotonic() > deadline:
                raise TimeoutError(f"the control plane is not ready after {START_SECONDS} s")
            time.sleep(0.2)


@functools.cache
def _shared() -> tuple[ControlPlane, Path]:
    directory = Path(tempfile.mkdtemp(prefix="control-plane-"))
    binaries = os.environ.get("GPUCLUSTER_TEST_BIN")
    plane = ControlPlane(directory, Path(binaries) if binaries else None)
    try:
        plane.start()
    except BaseException:
        plane.stop()
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return plane, directory


def shared() -> ControlPlane:
    """The control plane that all tests of this process use, started on first use."""
    return _shared()[0]


def stop_shared() -> None:
    """Stops the shared control plane, if it was started, and removes its files."""
    if _shared.cache_info().currsize:
        plane, directory = _shared()
        _shared.cache_clear()
        plane.stop()
        shutil.rmtree(directory, ignore_errors=True)
