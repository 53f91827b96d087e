"""One plugin in front of two: Releases go to the stand-in, everything else to the official Kubernetes plugin.

The official plugin fetches a chart from its repository, and none is reached offline; the stand-in renders the chart
that is at hand. Both are configured alike, so that they mean the same cluster.
"""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import Any, NoReturn

import grpc

from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.servicer import GRPC_OPTIONS, WORKERS, Context, exit_on_interrupt, exit_with_parent, listen

RELEASE = "kubernetes:helm.sh/v3:Release"
SERVICE = provider_pb2.DESCRIPTOR.services_by_name["ResourceProvider"]
TO_BOTH = frozenset({"Configure", "Cancel"})
# The engine's secrets and the official plugin's errors travel in headers, which gRPC limits to 8 KiB by default.
OPTIONS = [*GRPC_OPTIONS, ("grpc.max_metadata_size", 1 << 20), ("grpc.absolute_max_metadata_size", 1 << 21)]
STAND_IN = (sys.executable, "-P", "-m", "rehearsal.plugins.kubernetes")


class Switch(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Passes requests on as they are, and answers and errors back as they are."""

    def __init__(self, official: Any, ours: Any) -> None:
        """`official` and `ours` are channels."""
        self._official, self._ours = official, ours

    def service(self, details: Any) -> Any:
        """The handler of one call; the method's name is the last part of its path."""
        method = SERVICE.methods_by_name.get(details.method.rpartition("/")[2])
        if method is None:
            return None
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream(details.method))
        return grpc.unary_unary_rpc_method_handler(self._unary(details.method, method))

    def _unary(self, path: str, method: Any) -> Callable[[bytes, Context], bytes]:
        def handle(request: bytes, context: Context) -> bytes:
            ours = method.name in TO_BOTH or _is_release(method, request)
            answer = b""
            if method.name in TO_BOTH or not ours:
                answer = _pass_on(self._official, path, request, context)
            if ours:
                own = _pass_on(self._ours, path, request, context)
                answer = answer or own
            return answer

        return handle

    def _stream(self, path: str) -> Callable[[bytes, Context], Iterator[bytes]]:
        def handle(request: bytes, context: Context) -> Iterator[bytes]:
            with _told_as_it_is(context):
                yield from self._official.unary_stream(path)(request, metadata=_metadata(context))

        return handle


def _is_release(method: Any, request: bytes) -> bool:
    """Whether the request is about a Release: by its URN, whose last type stands before the name."""
    if not any(field.name == "urn" for field in method.input_type.fields):
        return False
    urn = provider_pb2.DESCRIPTOR.message_types_by_name[method.input_type.name]._concrete_class.FromString(request).urn
    return str(urn).partition("::")[2].split("::")[1].rpartition("$")[2] == RELEASE if urn.count("::") > 2 else False


def _pass_on(channel: Any, path: str, request: bytes, context: Context) -> bytes:
    with _told_as_it_is(context):
        answer: bytes = channel.unary_unary(path)(request, metadata=_metadata(context))
        return answer
    raise AssertionError("an error ends the call")


def _metadata(context: Context) -> list[tuple[str, Any]]:
    """What the engine sends along, without what gRPC adds by itself."""
    return [each for each in context.invocation_metadata() if each[0] not in ("user-agent", "grpc-accept-encoding")]


@contextlib.contextmanager
def _told_as_it_is(context: Context) -> Iterator[None]:
    """An error of the plugin behind, with its code, text and details, which tell the engine of half-made objects."""
    try:
        yield
    except grpc.RpcError as error:
        context.set_trailing_metadata(error.trailing_metadata() or ())
        context.abort(error.code(), error.details())


def serve(official: str, arguments: Sequence[str]) -> NoReturn:
    """Starts both plugins with the engine's arguments and serves until the engine dismisses this one or dies."""
    children = [_started([official, *arguments]), _started([*STAND_IN, *arguments])]
    end = _ending(children)
    exit_with_parent(end)
    exit_on_interrupt(end)
    channels = [grpc.insecure_channel(f"127.0.0.1:{_port(child)}", options=OPTIONS) for child in children]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=WORKERS), options=OPTIONS)
    server.add_generic_rpc_handlers((Switch(*channels),))
    listen(server)
    server.wait_for_termination()
    sys.exit(0)


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _port(child: subprocess.Popen[str]) -> int:
    """The port that a plugin announces in its first line. Ends this process if it announces none."""
    line = child.stdout.readline().strip() if child.stdout else ""
    if not line.isdigit():
        print(f"{child.args!r} announced no port: {line!r}", file=sys.stderr)
        sys.exit(1)
    return int(line)


def _ending(children: Sequence[subprocess.Popen[str]]) -> Callable[[], None]:
    def end() -> None:
        for child in children:
            child.terminate()

    return end
