"""One plugin process and its cluster: is it there, what has this run announced, what to tell the engine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import grpc

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.objects import dig
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.protocol import engine_pb2, engine_pb2_grpc
from rehearsal.plugins.servicer import PluginError

Severity = Any
PATIENCE_SECONDS = 60.0
"""How long an operation rides over an API server that is away: a managed control plane's endpoint blinks."""


class Session:
    """What all operations of one configured provider share."""

    def __init__(
        self, settings: ProviderSettings, kube: Kube | None, cancelled: threading.Event, engine: str | None
    ) -> None:
        self.settings, self.cancelled = settings, cancelled
        self.namespace = settings.namespace or (kube.namespace if kube else None) or "default"
        self._once = kube
        self._patient = kube.patient(PATIENCE_SECONDS, cancelled) if kube else None
        self._engine = engine_pb2_grpc.EngineStub(grpc.insecure_channel(engine)) if engine else None
        self._lock = threading.Lock()
        self._answer: str | None = None
        self._asked = False
        self._announced: set[tuple[str, str | None, str | None]] = set()

    # -- the cluster

    def previewer(self, urn: str) -> Kube | None:
        """The cluster for a preview; None (said once, as a warning) if it is unknown or does not let us in."""
        if self._once is None:
            return None
        with self._lock:
            if not self._asked:
                self._asked, self._answer = True, self._ask(self._once)
                if self._answer:
                    self.log(urn, f"previewing from inputs only: {self._answer}", engine_pb2.WARNING)
        return None if self._answer else self._once

    def cluster(self) -> Kube:
        """The cluster for an operation, waiting for a while if it is away. Raises PluginError if it stays away."""
        if self._patient is None:
            raise PluginError(
                "the provider has no kubeconfig: give k8s.Provider(kubeconfig=...); a rehearsal reads no default one"
            )
        return self._patient

    def unreachable(self) -> str | None:
        """Why the cluster cannot be used, asked anew and with patience; None if it can."""
        return self._ask(self.cluster())

    def _ask(self, kube: Kube) -> str | None:
        try:
            kube.call("GET", "/version")
        except (Unreachable, ApiError) as error:
            return f"configured Kubernetes cluster is unreachable: {error}"
        return None

    # -- what this run brings

    def announce(self, obj: Mapping[str, Any]) -> None:
        """Remembers a resource that was checked in this run: it may bring a namespace or kinds."""
        kind = str(obj.get("kind"))
        name = dig(obj, "metadata", "name")
        group = dig(obj, "spec", "group") if kind == "CustomResourceDefinition" else None
        with self._lock:
            self._announced.add((kind, name if isinstance(name, str) else None, group))

    def brings_namespace(self, name: str) -> bool:
        """Whether something checked in this run makes the namespace, or may (a Release, a Job)."""
        return any(
            kind in ("Release", "Job") or (kind == "Namespace" and own in (name, None))
            for kind, own, _ in list(self._announced)
        )

    def brings_kind(self, api_version: str) -> bool:
        """Whether something checked in this run makes kinds of that group, or may (a Release, a Job)."""
        group = api_version.partition("/")[0]
        return any(
            kind in ("Release", "Job") or (kind == "CustomResourceDefinition" and own in (group, None))
            for kind, _, own in list(self._announced)
        )

    # -- the engine

    def log(self, urn: str, text: str, severity: Severity = engine_pb2.INFO, passing: bool = False) -> None:
        """Shows a line at the resource; `passing` ones are a progress display that the next one overwrites."""
        if self._engine is None:
            return
        request = engine_pb2.LogRequest(severity=severity, message=text, urn=urn, ephemeral=passing)
        try:
            self._engine.Log(request, timeout=5)
        except grpc.RpcError:
            return
