"""Drives a provider plugin over real gRPC, as the engine does."""

from collections.abc import Collection, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from rehearsal.plugins.servicer import Plugin
from rehearsal.plugins.wire import SIGNATURE, Path, decode, encode

SEED = bytes(range(32))


@dataclass
class State:
    """A resource as the engine keeps it: checked inputs (with their bookkeeping), outputs, secrets of both."""

    type: str
    name: str
    inputs: Any
    id: str = ""
    outputs: dict[str, Any] = field(default_factory=dict)
    struct: Any = None
    secrets: set[Path] = field(default_factory=set)


class RefusalError(Exception):
    """Check failures: input -> reason."""

    def __init__(self, failures: Mapping[str, str]) -> None:
        super().__init__("; ".join(failures.values()))
        self.failures = dict(failures)


class Driver:
    """The engine's side of one provider."""

    def __init__(self, stub: Any, plugin: Plugin) -> None:
        self.stub = stub
        self.plugin = plugin

    def configure(self, **arguments: Any) -> Any:
        """CheckConfig, then Configure with what it answered."""
        urn = "urn:pulumi:t::p::pulumi:providers:x::x"
        checked = self.stub.CheckConfig(provider_pb2.CheckRequest(urn=urn, news=encode(arguments)))
        if checked.failures:
            raise RefusalError({failure.property: failure.reason for failure in checked.failures})
        return self.stub.Configure(provider_pb2.ConfigureRequest(args=checked.inputs, acceptSecrets=True))

    def check(
        self,
        type: str,
        name: str,
        inputs: Mapping[str, Any],
        old: State | None = None,
        secrets: Collection[Path] = (),
        seed: bytes = SEED,
    ) -> Any:
        """The checked inputs; raises RefusalError."""
        sent = {
            "olds": old.inputs if old else None,
            "news": encode(inputs, secrets),
            "randomSeed": seed + name.encode(),
        }
        answer = self.stub.Check(provider_pb2.CheckRequest(**_named(type, name), **sent))
        if answer.failures:
            raise RefusalError({failure.property: failure.reason for failure in answer.failures})
        return answer.inputs

    def preview(self, type: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs that a create would have."""
        checked = self.check(type, name, inputs)
        answer = self.stub.Create(provider_pb2.CreateRequest(**_named(type, name), properties=checked, preview=True))
        assert not answer.id
        return decode(answer.properties)[0]

    def create(
        self, type: str, name: str, inputs: Mapping[str, Any], secrets: Collection[Path] = (), timeout: float = 0
    ) -> State:
        """Checks and creates."""
        checked = self.check(type, name, inputs, secrets=secrets)
        answer = self.stub.Create(provider_pb2.CreateRequest(**_named(type, name), properties=checked, timeout=timeout))
        assert answer.id
        return self._state(State(type, name, checked, answer.id), answer.properties)

    def diff(self, state: State, inputs: Mapping[str, Any] | Any) -> Any:
        """Check against the state, then Diff."""
        checked = self.check(state.type, state.name, inputs, state) if isinstance(inputs, dict) else inputs
        known: dict[str, Any] = {"olds": state.struct, "old_inputs": state.inputs}
        return self.stub.Diff(provider_pb2.DiffRequest(**_kept(state), **known, news=checked))

    def update(
        self,
        state: State,
        inputs: Mapping[str, Any],
        *,
        preview: bool = False,
        timeout: float = 0,
        secrets: Collection[Path] = (),
    ) -> State:
        """Checks and updates; in a preview the outputs are what they would be."""
        checked = self.check(state.type, state.name, inputs, state, secrets)
        sent: dict[str, Any] = {"olds": state.struct, "old_inputs": state.inputs, "news": checked, "timeout": timeout}
        answer = self.stub.Update(provider_pb2.UpdateRequest(**_kept(state), **sent, preview=preview))
        return self._state(State(state.type, state.name, checked, state.id), answer.properties)

    def read(self, state: State) -> State | None:
        """What refresh does: None if the object is gone."""
        known: dict[str, Any] = {"properties": state.struct, "inputs": state.inputs}
        answer = self.stub.Read(provider_pb2.ReadRequest(**_kept(state), **known))
        if not answer.id:
            return None
        return self._state(State(state.type, state.name, answer.inputs, answer.id), answer.properties)

    def imported(self, type: str, name: str, id: str) -> State | None:
        """What import does: Read with an id only."""
        return self.read(State(type, name, encode({}), id, struct=encode({})))

    def delete(self, state: State, timeout: float = 0) -> None:
        known: dict[str, Any] = {"properties": state.struct, "old_inputs": state.inputs}
        self.stub.Delete(provider_pb2.DeleteRequest(**_kept(state), **known, timeout=timeout))

    def invoke(self, token: str, **arguments: Any) -> dict[str, Any]:
        answer = self.stub.Invoke(provider_pb2.InvokeRequest(tok=token, args=encode(arguments)))
        return decode(getattr(answer, "return"))[0]

    def _state(self, state: State, properties: Any) -> State:
        state.struct = properties
        state.outputs, state.secrets = decode(properties)
        return state


@contextmanager
def driven(plugin: Plugin) -> Iterator[Driver]:
    """A driver for a plugin served on loopback."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(plugin, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    try:
        yield Driver(provider_pb2_grpc.ResourceProviderStub(channel), plugin)
    finally:
        channel.close()
        server.stop(None)


def changed(diff: Any) -> dict[str, Any]:
    """Changed property paths of a diff -> kind."""
    kinds = provider_pb2.PropertyDiff.Kind
    return {path: kinds.Name(entry.kind).lower() for path, entry in diff.detailedDiff.items()}


def partial(error: grpc.RpcError) -> Any:
    """The ErrorResourceInitFailed that an error carries."""
    trailing = dict(error.trailing_metadata())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    failed = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(failed)
    return failed


def in_clear(struct: Any, text: str) -> bool:
    """Whether the text stands anywhere in a property map outside a secret."""
    return any(_clear(value, text) for value in struct.fields.values())


def _clear(value: Any, text: str) -> bool:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        fields = value.struct_value.fields
        return SIGNATURE not in fields and any(_clear(item, text) for item in fields.values())
    if kind == "list_value":
        return any(_clear(item, text) for item in value.list_value.values)
    return kind == "string_value" and text in value.string_value


def _named(type: str, name: str) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:test::project::{type}::{name}", "type": type, "name": name}


def _kept(state: State) -> dict[str, Any]:
    return {"id": state.id, **_named(state.type, state.name)}
