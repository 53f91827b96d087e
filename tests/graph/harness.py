"""The program without an engine: the real SDK classes register with a monitor that keeps every request.

What a `pulumi.runtime.Mocks` sees are inputs only. The monitor sees the request itself, so parents, providers,
protection, dependencies, secrets and options can be looked at, and URNs are formed as the engine forms them.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pulumi
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime import mocks, rpc
from pulumi.runtime import resource as sdk_resource
from pulumi.runtime import settings as runtime_settings
from pulumi.runtime.proto import engine_pb2, resource_pb2, source_pb2
from pulumi.runtime.stack import run_in_stack

from policy.graph import Graph, Invocation, Resource
from policy.wire import provider_inputs
from tests.graph.outputs import INVOKES, outputs_of
from tests.graph.transforms import Transforms

PROJECT = "gpucluster"
SECRET_MARK, SECRET = rpc._special_sig_key, rpc._special_secret_sig
UNKNOWN = rpc.UNKNOWN


@dataclass(kw_only=True, slots=True)
class Recorded(Graph):
    """A graph; what the program told the engine to show: (severity, text) from warnings upwards; and by URN, when which
    hooks run, and whether in a preview too.
    """

    messages: list[tuple[int, str]] = field(default_factory=list)
    hooks: dict[str, dict[str, dict[str, bool]]] = field(default_factory=dict)


def plain(value: Any) -> Any:
    """A wire value as plain Python: secrets unwrapped, whole doubles as integers."""
    if isinstance(value, Mapping):
        if value.get(SECRET_MARK) == SECRET:
            return plain(value.get("value"))
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def has_secret(value: Any) -> bool:
    """Whether a wire value holds a secret anywhere."""
    if isinstance(value, Mapping):
        return value.get(SECRET_MARK) == SECRET or any(has_secret(each) for each in value.values())
    return isinstance(value, list) and any(has_secret(each) for each in value)


class RecordingMonitor(mocks.MockMonitor):
    """Keeps every request; `preview` withholds ids and computed outputs as a first preview does."""

    def __init__(self, *, preview: bool) -> None:
        super().__init__(_Unused())
        self.graph = Recorded()
        self._preview = preview
        self._read: set[str] = set()
        self._previewed: dict[str, bool] = {}
        self._transforms = Transforms()
        self._lock = threading.Lock()

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """As the engine does: every ancestor's type but the stack's."""
        above = parent.split("::")[2] if parent else ""
        chain = f"{above}${type_}" if above and above != "pulumi:pulumi:Stack" else type_
        return "::".join(["urn:pulumi:" + pulumi.get_stack(), pulumi.get_project(), chain, name])

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return resource_pb2.RegisterResourceResponse(urn=urn)
        request = self._transforms.applied(urn, request)
        wire = json_format.MessageToDict(request.object)
        inputs = plain(wire)
        identity, computed = outputs_of(request.type, request.name, inputs) if request.custom else ("", {})
        self._keep(urn, request, wire, identity, computed)
        state = struct_pb2.Struct()
        state.CopyFrom(request.object)
        state.update(_withheld(computed) if self._preview else computed)
        known = identity if not self._preview else ""
        return resource_pb2.RegisterResourceResponse(urn=urn, id=known, object=state)

    def ReadResource(self, request: Any) -> Any:  # noqa: N802
        """An object of the cluster that somebody else made, NAMESPACE/NAME: known by name, and nobody's to judge."""
        urn = self.make_urn(request.parent, request.type, request.name)
        namespace, _, name = request.id.partition("/")
        state = struct_pb2.Struct()
        state.update({"metadata": {"name": name, "namespace": namespace}})
        with self._lock:
            self._read.add(urn)
        return resource_pb2.ReadResourceResponse(urn=urn, properties=state)

    def _keep(
        self, urn: str, request: Any, wire: Mapping[str, Any], identity: str, computed: Mapping[str, Any]
    ) -> None:
        resource = Resource(
            urn=urn,
            token=request.type,
            name=request.name,
            custom=request.custom,
            parent=request.parent,
            provider=request.provider,
            inputs=provider_inputs(plain(wire)) if request.type.startswith("pulumi:providers:") else plain(wire),
            secret=frozenset(key for key, value in wire.items() if has_secret(value)),
            secret_outputs=tuple(request.additionalSecretOutputs),
            protect=request.protect,
            retained=request.retainOnDelete,
            depends_on=self._made(request.dependencies),
            ignore_changes=tuple(request.ignoreChanges),
            imported=request.importId,
            replace_on_changes=tuple(request.replaceOnChanges),
            delete_before_replace=request.deleteBeforeReplace,
            timeouts={
                key: value for key in ("create", "update", "delete") if (value := getattr(request.customTimeouts, key))
            },
            aliases=tuple(str(alias) for alias in request.aliases),
            id="" if self._preview else identity,
            references={key: self._made(each.urns) for key, each in request.propertyDependencies.items()},
            outputs={} if self._preview else computed,
        )
        with self._lock:
            if urn in self.graph.resources:
                raise AssertionError(f"two resources have the URN {urn}; give one another logical name")
            self.graph.resources[urn] = resource
            for moment, names in request.hooks.ListFields():
                self.graph.hooks.setdefault(urn, {})[moment.name] = {name: self._previewed[name] for name in names}

    def RegisterStackTransform(self, request: Any) -> Any:  # noqa: N802
        self._transforms.of_stack.append(request)
        return empty_pb2.Empty()

    def RegisterResourceHook(self, request: Any) -> Any:  # noqa: N802
        self._previewed[request.name] = request.on_dry_run
        return empty_pb2.Empty()

    def _made(self, urns: Iterable[str]) -> tuple[str, ...]:
        return tuple(urn for urn in urns if urn not in self._read)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        if "pulumi:pulumi:Stack" in request.urn:
            self.graph.outputs = plain(json_format.MessageToDict(request.outputs))
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:  # noqa: N802
        with self._lock:
            args = plain(json_format.MessageToDict(request.args))
            self.graph.invokes.append(Invocation(token=request.tok, provider=request.provider, args=args))
        if request.tok not in INVOKES:
            raise KeyError(f"{request.tok} is unknown to tests/graph/outputs.py")
        answer = struct_pb2.Struct()
        answer.update(INVOKES[request.tok])
        return resource_pb2.ResourceInvokeResponse(**{"return": answer})


class _Unused(mocks.Mocks):
    """The base class asks these; the recording monitor answers by itself and never does."""

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        raise AssertionError(args.token)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise AssertionError(f"{args.typ} is read, which the monitor answers by itself")


def _withheld(computed: Any) -> Any:
    """What a preview does not know: every computed leaf."""
    if isinstance(computed, Mapping):
        return {key: _withheld(value) for key, value in computed.items()}
    return UNKNOWN if not isinstance(computed, list) else [_withheld(each) for each in computed]


class _Engine(mocks.MockEngine):
    def __init__(self, graph: Recorded) -> None:
        super().__init__(logging.getLogger("graph"))
        self._graph = graph

    def Log(self, request: Any) -> Any:  # noqa: N802
        if request.severity >= engine_pb2.WARNING:
            self._graph.messages.append((request.severity, request.message))
        return empty_pb2.Empty()


def record(
    program: Callable[[], object],
    *,
    stack: str = "test",
    config: Mapping[str, str] | None = None,
    secrets: tuple[str, ...] = (),
    preview: bool = False,
) -> Recorded:
    """Run `program` as the language host does and return what it registered. Errors of the program are raised.

    Where in the source a resource was made is left out: nobody looks, and with pytest's frames it is a fifth of a run.
    The SDK looks at all outputs whenever one of them is known, which is two fifths; here it does when all are, or one
    has failed.
    """

    def run() -> None:
        program()

    loop = asyncio.new_event_loop()
    # the SDK registers from threads: of several, two queues come in any order on a busy machine
    loop.set_default_executor(ThreadPoolExecutor(max_workers=1))
    asyncio.set_event_loop(loop)
    monitor = RecordingMonitor(preview=preview)
    try:
        runtime_settings.reset_options(project=PROJECT, stack=stack)
        pulumi.runtime.set_all_config(dict(config or {}), list(secrets))
        runtime_settings.configure(
            mocks.MockSettings(  # type: ignore[no-untyped-call]
                monitor=monitor,
                engine=_Engine(monitor.graph),
                project=PROJECT,
                stack=stack,
                dry_run=preview,
                organization="organization",
            )
        )
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        with (
            patch.object(sdk_resource, "_get_stack_trace", source_pb2.StackTrace),
            patch.object(asyncio, "FIRST_COMPLETED", asyncio.FIRST_EXCEPTION),
        ):
            loop.run_until_complete(run_in_stack(run))
    finally:
        loop.close()
    return monitor.graph


def config_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Configuration as the engine hands it over: strings, with structures as JSON."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
