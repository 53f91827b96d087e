"""What every provider plugin does alike: the handshake, errors that name the resource, the process's life."""

import functools
import gc
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent import futures
from typing import Any, NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from typing_extensions import override

from rehearsal.plugins.protocol import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2
from rehearsal.plugins.wire import UNKNOWN, decode, encode

GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
WORKERS = 64  # an operation that waits holds one; the engine runs no more at once than --parallel allows

Context = Any
"""``grpc.ServicerContext``; grpc carries no types."""


class PluginError(Exception):
    """A fault whose text is for the person at the terminal; it reaches them after "<operation> <type> <name>: "."""


class OwnWordsError(PluginError):
    """A fault whose text says by itself what it is about: nothing is put before it."""


class InitFailed(Exception):  # noqa: N818 - the protocol's own name for it
    """The object exists but is not as it should be: the engine keeps it in the state with these reasons.

    The next ``up`` calls Update for it, also when no input has changed.
    """

    def __init__(self, id: str, properties: Struct, inputs: Struct, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.id = id
        self.properties = properties
        self.inputs = inputs
        self.reasons = reasons


def rpc(method: Callable[..., Any]) -> Callable[..., Any]:
    """Turns what a servicer's method raises into an answer that names operation, type and resource.

    PluginError (OwnWordsError too) and InitFailed are expected; anything else is a bug of the plugin: its traceback
    goes to stderr, which the engine writes to its log, and the person reads one sentence.
    """
    operation = method.__name__.removesuffix("Config").lower()

    @functools.wraps(method)
    def wrapper(self: Plugin, request: Any, context: Context) -> Any:
        subject = _subject(self, operation, request)
        try:
            return method(self, request, context)
        except InitFailed as failure:
            _abort_partial(context, subject, failure)
        except OwnWordsError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        except PluginError as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"{subject}: {error}")
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            text = f"{subject}: fault in the {self.name} plugin itself, {type(error).__name__}: {error}"
            context.abort(grpc.StatusCode.UNKNOWN, text)

    return wrapper


class Plugin(provider_pb2_grpc.ResourceProviderServicer):
    """A provider without resources: subclasses add Check, Diff, Create, Read, Update, Delete and Invoke.

    Secrets are accepted as such (and must be returned as such), resource references and outputs are not: the engine
    sends ids and plain values instead. Whatever is not overridden answers UNIMPLEMENTED, which the engine tolerates.
    """

    name: str
    version: str
    autonaming = False
    """Whether Check honours the ``pulumi:autonaming`` setting, which then comes with the request."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        """Set when the engine wants waiting operations to come back as soon as they can."""

    @override
    def Handshake(self, request: Any, context: Context) -> Any:
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True,
            accept_resources=False,
            accept_outputs=False,
            supports_autonaming_configuration=self.autonaming,
        )

    @override
    def GetPluginInfo(self, request: Any, context: Context) -> Any:
        return plugin_pb2.PluginInfo(version=self.version)

    @override
    def Attach(self, request: Any, context: Context) -> Any:
        return Empty()

    @override
    def Cancel(self, request: Any, context: Context) -> Any:
        self.cancelled.set()
        return Empty()

    @override
    def CheckConfig(self, request: Any, context: Context) -> Any:
        inputs, secrets = decode(request.news)
        return provider_pb2.CheckResponse(inputs=encode(inputs, secrets))

    @override
    def DiffConfig(self, request: Any, context: Context) -> Any:
        """Changed arguments update the provider and never replace it: a replaced provider replaces its resources."""
        old, _ = decode(request.old_inputs if request.HasField("old_inputs") else request.olds)
        new, _ = decode(request.news)
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        changes = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        if any(new.get(key) == UNKNOWN for key in changed):
            changes = provider_pb2.DiffResponse.DIFF_UNKNOWN
        return provider_pb2.DiffResponse(changes=changes, diffs=changed)

    @override
    def Configure(self, request: Any, context: Context) -> Any:
        return self.configured()

    def configured(self) -> Any:
        """The answer to Configure: previews go through Create and Update."""
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True,
            supportsPreview=True,
            acceptResources=False,
            acceptOutputs=False,
            supports_autonaming_configuration=self.autonaming,
        )


def serve(plugin: Plugin) -> NoReturn:
    """Serves the plugin on loopback until the engine interrupts it or dies.

    The port is the first line of stdout, as the engine expects; later output of the process goes to stderr.
    """
    # What is imported never becomes garbage, and looking through it takes a tenth of a plugin's time.
    gc.freeze()
    exit_with_parent()
    exit_on_interrupt()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=WORKERS), options=GRPC_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(plugin, server)
    listen(server)
    server.wait_for_termination()
    sys.exit(0)


def listen(server: Any) -> None:
    """Starts a gRPC server on a free port of loopback and announces the port on stdout."""
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdout = sys.stderr


def exit_with_parent(before: Callable[[], None] = lambda: None) -> None:
    """Ends this process as soon as its parent has died: the engine may be killed without a chance to tell us."""
    parent = os.getppid()

    def watch() -> None:
        try:
            descriptor = os.pidfd_open(parent)
        except ProcessLookupError:
            descriptor = -1
        if descriptor >= 0 and os.getppid() == parent:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
        before()
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def exit_on_interrupt(before: Callable[[], None] = lambda: None) -> None:
    """Ends this process quietly on SIGINT, with which the engine dismisses its plugins (5 s before it kills them)."""

    def leave(*_: object) -> None:
        before()
        os._exit(0)

    signal.signal(signal.SIGINT, leave)


def _subject(plugin: Plugin, operation: str, request: Any) -> str:
    token = getattr(request, "type", "") or getattr(request, "tok", "")
    if not token or token.startswith("pulumi:providers:"):
        return f"{operation} {plugin.name} provider"
    name = getattr(request, "name", "")
    return f"{operation} {token} {name}".rstrip()


def _abort_partial(context: Context, subject: str, failure: InitFailed) -> NoReturn:
    text = f"{subject}: {failure}"
    detail = AnyMessage()
    detail.Pack(
        provider_pb2.ErrorResourceInitFailed(
            id=failure.id, properties=failure.properties, inputs=failure.inputs, reasons=failure.reasons
        )
    )
    code = grpc.StatusCode.UNKNOWN
    status = status_pb2.Status(code=code.value[0], message=text, details=[detail])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, text)
    raise AssertionError("abort returned")
