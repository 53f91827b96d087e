"""The kubernetes plugin: which RPC goes where."""

from __future__ import annotations

from typing import Any

import yaml
from google.protobuf.empty_pb2 import Empty
from typing_extensions import override

from rehearsal.plugins.kubernetes import checking, settings
from rehearsal.plugins.kubernetes.helm_release import Releases
from rehearsal.plugins.kubernetes.lifecycle import Resources
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.servicer import Context, Plugin, PluginError, rpc
from rehearsal.plugins.wire import UNKNOWN, decode, encode

RELEASE = "kubernetes:helm.sh/v3:Release"
NOT_REHEARSED = ("kubernetes:helm.sh/", "kubernetes:yaml/", "kubernetes:kustomize/")


class KubernetesPlugin(Plugin):
    """Behaves as pulumi-kubernetes 4.34.2 does with server-side apply, for any kind the API server serves."""

    name, version = "kubernetes", "4.34.2"

    def __init__(self, engine: str | None = None) -> None:
        super().__init__()
        self._engine = engine
        self._configured: tuple[Session, Resources, Releases] | None = None

    # -- the provider itself

    @override
    @rpc
    def CheckConfig(self, request: Any, context: Context) -> Any:
        inputs, secrets = decode(request.news)
        failures = [provider_pb2.CheckFailure(property=key, reason=reason) for key, reason in settings.check(inputs)]
        return provider_pb2.CheckResponse(inputs=encode(inputs, secrets), failures=failures)

    @override
    @rpc
    def DiffConfig(self, request: Any, context: Context) -> Any:
        old, _ = decode(request.old_inputs or request.olds)
        new, _ = decode(request.news)
        differing, replaces = settings.changed(old, new)
        kinds = provider_pb2.DiffResponse
        unknown = any(new.get(key) == UNKNOWN for key in differing)
        changes = kinds.DIFF_UNKNOWN if unknown else kinds.DIFF_SOME if differing else kinds.DIFF_NONE
        return kinds(changes=changes, diffs=differing, replaces=replaces)

    @override
    @rpc
    def Configure(self, request: Any, context: Context) -> Any:
        arguments, _ = decode(request.args)
        chosen = ProviderSettings.from_arguments(arguments)
        try:
            kube = chosen.connect()
        except ValueError as error:
            raise PluginError(str(error)) from None
        session = Session(chosen, kube, self.cancelled, self._engine)
        self._configured = session, Resources(session), Releases(session)
        return self.configured()

    @override
    @rpc
    def Invoke(self, request: Any, context: Context) -> Any:
        if request.tok != "kubernetes:yaml:decode":
            raise PluginError(f"function {request.tok} is not rehearsed: declare the objects as resources")
        arguments, secrets = decode(request.args)
        documents = [item for item in yaml.safe_load_all(arguments.get("text", "")) if item]
        return provider_pb2.InvokeResponse(
            **{"return": encode({"result": documents}, {("result",)} if secrets else set())}
        )

    @override
    @rpc
    def Construct(self, request: Any, context: Context) -> Any:
        raise PluginError(f"{request.type} is not rehearsed: use kubernetes.helm.v3.Release or typed objects")

    # -- resources

    @override
    @rpc
    def Check(self, request: Any, context: Context) -> Any:
        session = self._configured[0] if self._configured else None
        if session and session.settings.skip_update_unreachable and request.olds.fields and session.unreachable():
            return provider_pb2.CheckResponse(inputs=request.olds)
        if request.type == RELEASE:
            return self._releases().check(request)
        if request.type.startswith(NOT_REHEARSED):
            raise PluginError(f"{request.type} is not rehearsed: use kubernetes.helm.v3.Release or typed objects")
        return checking.check(request, session)

    @override
    @rpc
    def Diff(self, request: Any, context: Context) -> Any:
        return self._of(request).diff(request)

    @override
    @rpc
    def Create(self, request: Any, context: Context) -> Any:
        return self._of(request).create(request)

    @override
    @rpc
    def Read(self, request: Any, context: Context) -> Any:
        session, _, _ = self._need()
        unchanged = provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        if session.settings.kubeconfig is None:
            return unchanged
        if session.settings.delete_unreachable or session.settings.skip_update_unreachable:
            why = session.unreachable()
            if why:
                session.log(request.urn, why)
                return provider_pb2.ReadResponse() if session.settings.delete_unreachable else unchanged
        return self._of(request).read(request)

    @override
    @rpc
    def Update(self, request: Any, context: Context) -> Any:
        return self._of(request).update(request)

    @override
    @rpc
    def Delete(self, request: Any, context: Context) -> Any:
        session, _, _ = self._need()
        if session.settings.delete_unreachable and request.type != RELEASE and (why := session.unreachable()):
            session.log(request.urn, f"{why}; deleteUnreachable takes the resource out of the state")
            return Empty()
        return self._of(request).delete(request)

    def _need(self) -> tuple[Session, Resources, Releases]:
        if self._configured is None:
            raise PluginError("the engine has not configured the provider: its kubeconfig is not known yet")
        return self._configured

    def _releases(self) -> Releases:
        return self._need()[2]

    def _of(self, request: Any) -> Resources | Releases:
        _, resources, releases = self._need()
        return releases if request.type == RELEASE else resources
