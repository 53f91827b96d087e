"""One plugin process and its cluster: is it there, which kinds are namespaced, what to tell the engine."""

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import grpc

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.objects import dig
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.protocol import engine_pb2, engine_pb2_grpc
from rehearsal.plugins.servicer import OwnWordsError, PluginError
from rehearsal.toolchain import versions

Severity = Any
SEVERITIES = {"info": engine_pb2.INFO, "warning": engine_pb2.WARNING}
_CLUSTER_SCOPED_TEXT = """
    APIService CertificateSigningRequest ClusterRole ClusterRoleBinding ClusterTrustBundle CSIDriver CSINode
    CustomResourceDefinition DeviceClass FlowSchema IngressClass MutatingWebhookConfiguration Namespace Node
    PersistentVolume PriorityClass PriorityLevelConfiguration ResourceSlice RuntimeClass StorageClass
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment
    VolumeAttributesClass
"""
CLUSTER_SCOPED = frozenset(_CLUSTER_SCOPED_TEXT.split())
"""Kubernetes' own kinds that live in no namespace; the provider knows them without asking (kinds/kinds.go)."""


class Session:
    """What all operations of one configured provider share.

    Whether the cluster answers is asked once, when the provider is configured (provider.go, Configure): a cluster that
    does not answer then is away for the whole run, and one that goes away later fails what is under way.
    """

    def __init__(
        self, settings: ProviderSettings, kube: Kube | None, cancelled: threading.Event, engine: str | None
    ) -> None:
        self.settings, self.cancelled = settings, cancelled
        self.namespace = settings.namespace or (kube.namespace if kube else None) or "default"
        self._kube = kube.as_client_go(cancelled) if kube else None
        self._engine = engine_pb2_grpc.EngineStub(grpc.insecure_channel(engine)) if engine else None
        self._scopes: dict[tuple[str, str], str] = {}
        self.unreachable = _reach(self._kube) if self._kube else None
        """Why the cluster could not be used when the provider was configured; None if it could."""
        self._lock = threading.Lock()
        self._capabilities: tuple[str, frozenset[str]] | None = None

    # -- the cluster

    def previewer(self) -> Kube | None:
        """The cluster for a preview; None, without a word, if it is unknown or does not let us in."""
        return None if self.unreachable else self._kube

    def capabilities(self) -> tuple[str, frozenset[str]]:
        """What a preview's charts are rendered with: the cluster's version and kinds, asked once; without a cluster the
        version that is rehearsed and no kinds but those that Helm itself knows.
        """
        kube = self.previewer()
        with self._lock:
            if self._capabilities is None:
                self._capabilities = versions.KUBERNETES, frozenset()
                if kube is not None:
                    with contextlib.suppress(ApiError, Unreachable):
                        self._capabilities = kube.capabilities()
            return self._capabilities

    def cluster(self) -> Kube:
        """The cluster for an operation. Raises OwnWordsError if it is away."""
        if self._kube is None:
            raise PluginError(
                "the provider has no kubeconfig: give k8s.Provider(kubeconfig=...); a rehearsal reads no default one"
            )
        if self.unreachable:
            raise OwnWordsError(self.unreachable)
        return self._kube

    # -- kinds

    def announce(self, obj: Mapping[str, Any]) -> None:
        """Remembers the scope of kinds that the program itself brings (clients/cache.go)."""
        if obj.get("kind") == "CustomResourceDefinition":
            key = str(dig(obj, "spec", "group")), str(dig(obj, "spec", "names", "kind"))
            self._scopes[key] = str(dig(obj, "spec", "scope"))

    def namespaced(self, api_version: str, kind: str) -> bool:
        """Whether the kind lives in namespaces; one that nobody knows counts as namespaced (clients/clients.go)."""
        group = api_version.rpartition("/")[0]
        if "." not in group or group.endswith(".k8s.io"):
            return kind not in CLUSTER_SCOPED
        if (group, kind) in self._scopes:
            return self._scopes[group, kind] == "Namespaced"
        kube = self.previewer()
        try:
            return kube.namespaced(api_version, kind) if kube else True
        except (ApiError, Unreachable):
            return True

    def serves(self, api_version: str, kind: str) -> bool:
        """Whether the cluster can be asked about the kind now (provider.go, gvkExists)."""
        kube = self.previewer()
        try:
            return kube is not None and kube.namespaced(api_version, kind) is not None
        except (ApiError, Unreachable):
            return False

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

    def warn(self, urn: str, text: str) -> None:
        """Shows a line at the resource that every view of the engine shows."""
        self.log(urn, text, engine_pb2.WARNING)


def _reach(kube: Kube) -> str | None:
    try:
        kube.call("GET", "/version")
    except (Unreachable, ApiError) as error:
        return (
            "configured Kubernetes cluster is unreachable: "
            f"unable to load schema information from the API server: {error}"
        )
    return None
