"""Drives the kubernetes plugin as the engine does, in this process: check, diff, create or update or replace."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import provider_pb2, status_pb2

from rehearsal.plugins.kubernetes.provider import KubernetesPlugin
from rehearsal.plugins.wire import Path, decode, encode

PREFIX = "urn:pulumi:dev::test::"


class Aborted(Exception):  # noqa: N818 - grpc's word
    """The plugin answered with an error; `reasons` are those of a resource that exists but is not ready."""

    def __init__(self, text: str, failed: Any | None) -> None:
        super().__init__(text)
        self.failed = failed
        self.reasons = list(failed.reasons) if failed else []


class Context:
    """What a servicer gets from grpc, as far as the plugin uses it."""

    def __init__(self) -> None:
        self._trailing: dict[str, bytes] = {}

    def set_trailing_metadata(self, pairs: Any) -> None:
        self._trailing = dict(pairs)

    def abort(self, _: Any, text: str) -> None:
        failed = None
        if packed := self._trailing.get("grpc-status-details-bin"):
            failed = provider_pb2.ErrorResourceInitFailed()
            status_pb2.Status.FromString(packed).details[0].Unpack(failed)
        raise Aborted(text, failed)


@dataclass
class Resource:
    """One resource in the state."""

    token: str
    id: str
    inputs: Struct
    properties: Struct
    reasons: list[str] = field(default_factory=list)

    @property
    def outputs(self) -> dict[str, Any]:
        return decode(self.properties)[0]


class Stack:
    """One stack's kubernetes resources; each method does what one engine operation does."""

    def __init__(self, kubeconfig: str | None, **arguments: Any) -> None:
        self.plugin = KubernetesPlugin()
        given = {**({"kubeconfig": kubeconfig} if kubeconfig else {}), **arguments}
        request = provider_pb2.ConfigureRequest(args=encode(given), acceptSecrets=True)
        self.plugin.Configure(request, Context())
        self.state: dict[str, Resource] = {}

    def check(self, token: str, name: str, inputs: dict[str, Any], secrets: Collection[Path] = ()) -> Any:
        known = self.state.get(name)
        sent: dict[str, Any] = {
            "olds": known.inputs if known else None,
            "news": encode(inputs, secrets),
            "randomSeed": b"seed",
        }
        return self.plugin.Check(provider_pb2.CheckRequest(**_named(token, name), **sent), Context())

    def diff(self, token: str, name: str, inputs: Struct, ignore: Collection[str] = ()) -> Any:
        known = self.state[name]
        old: dict[str, Any] = {"id": known.id, "olds": known.properties, "old_inputs": known.inputs}
        request = provider_pb2.DiffRequest(**_named(token, name), **old, news=inputs, ignoreChanges=list(ignore))
        return self.plugin.Diff(request, Context())

    def preview(self, token: str, name: str, inputs: dict[str, Any], secrets: Collection[Path] = ()) -> dict[str, Any]:
        """What the outputs would be."""
        checked = self.check(token, name, inputs, secrets)
        assert not checked.failures, checked.failures
        known = self.state.get(name)
        if known is None:
            request = provider_pb2.CreateRequest(**_named(token, name), properties=checked.inputs, preview=True)
            return decode(self.plugin.Create(request, Context()).properties)[0]
        return decode(self._update(known, name, checked.inputs, 0, preview=True))[0]

    def up(
        self,
        token: str,
        name: str,
        inputs: dict[str, Any],
        secrets: Collection[Path] = (),
        timeout: float = 30,
        ignore: Collection[str] = (),
    ) -> str:
        """Applies one resource; "create", "same", "update", "replace" or "delete-replace"."""
        checked = self.check(token, name, inputs, secrets)
        assert not checked.failures, checked.failures
        if name not in self.state:
            self._create(token, name, checked.inputs, timeout)
            return "create"
        known, diff = self.state[name], self.diff(token, name, checked.inputs, ignore)
        if diff.replaces:
            if diff.deleteBeforeReplace:
                self.delete(name)
            self._create(token, name, checked.inputs, timeout)
            if not diff.deleteBeforeReplace:
                self._delete(known, name)
            return "delete-replace" if diff.deleteBeforeReplace else "replace"
        if diff.changes == provider_pb2.DiffResponse.DIFF_NONE and not known.reasons:
            return "same"
        properties = self._update(known, name, checked.inputs, timeout, ignore=ignore)
        self.state[name] = Resource(token, known.id, checked.inputs, properties)
        return "update"

    def refresh(self, name: str) -> dict[str, Any] | None:
        """Reads one resource into the state; its inputs as the cluster has them, None if it is gone."""
        known = self.state[name]
        old: dict[str, Any] = {"id": known.id, "inputs": known.inputs, "properties": known.properties}
        try:
            read = self.plugin.Read(provider_pb2.ReadRequest(**_named(known.token, name), **old), Context())
        except Aborted as error:
            if error.failed is None:
                raise
            failed = error.failed
            self.state[name] = Resource(known.token, failed.id, failed.inputs, failed.properties, error.reasons)
            return decode(failed.inputs)[0]
        if not read.id:
            del self.state[name]
            return None
        self.state[name] = Resource(known.token, read.id, read.inputs, read.properties)
        return decode(read.inputs)[0]

    def delete(self, name: str, timeout: float = 30) -> None:
        self._delete(self.state.pop(name), name, timeout)

    def destroy(self) -> None:
        """Deletes everything, the newest first."""
        for name in reversed(list(self.state)):
            self.delete(name)

    def _create(self, token: str, name: str, inputs: Struct, timeout: float) -> None:
        request = provider_pb2.CreateRequest(**_named(token, name), properties=inputs, timeout=timeout)
        try:
            made = self.plugin.Create(request, Context())
        except Aborted as error:
            if error.failed is not None:
                failed = error.failed
                self.state[name] = Resource(token, failed.id, inputs, failed.properties, error.reasons)
            raise
        self.state[name] = Resource(token, made.id, inputs, made.properties)

    def _update(
        self, known: Resource, name: str, inputs: Struct, timeout: float, preview: bool = False, ignore: Any = ()
    ) -> Any:
        old: dict[str, Any] = {"id": known.id, "olds": known.properties, "old_inputs": known.inputs}
        wanted: dict[str, Any] = {"news": inputs, "timeout": timeout, "preview": preview, "ignoreChanges": list(ignore)}
        request = provider_pb2.UpdateRequest(**_named(known.token, name), **old, **wanted)
        return self.plugin.Update(request, Context()).properties

    def _delete(self, known: Resource, name: str, timeout: float = 30) -> None:
        old: dict[str, Any] = {"id": known.id, "properties": known.properties, "old_inputs": known.inputs}
        self.plugin.Delete(provider_pb2.DeleteRequest(**_named(known.token, name), **old, timeout=timeout), Context())


def _named(token: str, name: str) -> dict[str, Any]:
    return {"urn": f"{PREFIX}{token}::{name}", "type": token, "name": name}
