"""The kubernetes plugin: which RPC goes where."""

from typing import Any

from google.protobuf.empty_pb2 import Empty
from typing_extensions import override

from rehearsal.plugins.kubernetes import checking, manifests, settings
from rehearsal.plugins.kubernetes.helm_release import Releases
from rehearsal.plugins.kubernetes.lifecycle import Resources
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.kubernetes.settings import ProviderSettings
from rehearsal.plugins.kubernetes.tools import Provide, none
from rehearsal.plugins.protocol import engine_pb2, provider_pb2
from rehearsal.plugins.servicer import Context, OwnWordsError, Plugin, PluginError, rpc
from rehearsal.plugins.wire import decode, encode

RELEASE = "kubernetes:helm.sh/v3:Release"
UNREACHABLE_REMEDY = (
    "If the cluster is gone for good, take its resources out of the state: run again with "
    "PULUMI_K8S_DELETE_UNREACHABLE=true in the environment"
)
NOT_REHEARSED = ("kubernetes:helm.sh/", "kubernetes:yaml/", "kubernetes:kustomize/")


class KubernetesPlugin(Plugin):
    """Behaves as pulumi-kubernetes 4.34.2 does with server-side apply, for any kind the API server serves."""

    name, version = "kubernetes", "4.34.2"

    def __init__(self, engine: str | None = None, provide: Provide = none) -> None:
        """`engine` is its address; `provide` builds what a resource needs of the rehearsal's tools."""
        super().__init__()
        self._engine, self._provide = engine, provide
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
        try:
            differing, replaces = settings.changed(old, new)
        except ValueError as error:
            raise PluginError(f"failed to parse kubeconfig: {error}") from None
        kinds = provider_pb2.DiffResponse
        return kinds(changes=kinds.DIFF_SOME if differing else kinds.DIFF_NONE, diffs=differing, replaces=replaces)

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
        session = self._configured[0] if self._configured else None
        lives = session.namespaced if session else None
        try:
            found = manifests.decoded(arguments.get("text", ""), arguments.get("defaultNamespace", ""), lives)
        except ValueError as error:
            raise PluginError(str(error)) from None
        return provider_pb2.InvokeResponse(**{"return": encode({"result": found}, {("result",)} if secrets else set())})

    @override
    @rpc
    def Construct(self, request: Any, context: Context) -> Any:
        raise PluginError(f"{request.type} is not rehearsed: use kubernetes.helm.v3.Release or typed objects")

    # -- resources

    @override
    @rpc
    def Check(self, request: Any, context: Context) -> Any:
        session = self._configured[0] if self._configured else None
        if session and session.settings.skip_update_unreachable and session.unreachable:
            session.log(request.urn, f"{session.unreachable}; skipUpdateUnreachable leaves it", engine_pb2.WARNING)
            return provider_pb2.CheckResponse(inputs=request.olds)
        if session:
            self._provide(request, lambda line: session.warn(request.urn, line))
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
        if session.settings.kubeconfig is None:
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        if session.unreachable:
            session.log(request.urn, session.unreachable, engine_pb2.WARNING)
            if session.settings.delete_unreachable:
                return provider_pb2.ReadResponse()
            if session.settings.skip_update_unreachable:
                return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
            raise OwnWordsError(f"failed to read resource state due to unreachable cluster. {UNREACHABLE_REMEDY}")
        return self._of(request).read(request)

    @override
    @rpc
    def Update(self, request: Any, context: Context) -> Any:
        return self._of(request).update(request)

    @override
    @rpc
    def Delete(self, request: Any, context: Context) -> Any:
        session, _, _ = self._need()
        if session.unreachable:
            if request.type == RELEASE:  # provider.go, Delete: no flag lets it go, a refresh does (its issue 2675)
                raise OwnWordsError(f"can't delete Helm Release with unreachable cluster. {session.unreachable}")
            session.log(request.urn, session.unreachable, engine_pb2.WARNING)
            if session.settings.delete_unreachable:
                return Empty()
            raise OwnWordsError(f"configured Kubernetes cluster is unreachable. {UNREACHABLE_REMEDY}")
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
