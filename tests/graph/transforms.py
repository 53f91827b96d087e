"""Resource transforms, run as the engine runs them: a resource's own, those of what it belongs to, then the stack's.

Order and what a transform may change: pulumi, pkg/resource/deploy/source_eval.go, RegisterResource. Each is asked over
the wire, where the SDK serves it.
"""

from collections.abc import Iterator
from typing import Any

import grpc
from pulumi.runtime.proto import callback_pb2, callback_pb2_grpc, resource_pb2

OPTIONS = {
    "additional_secret_outputs": "additionalSecretOutputs",
    "aliases": "aliases",
    "custom_timeouts": "customTimeouts",
    "delete_before_replace": "deleteBeforeReplace",
    "depends_on": "dependencies",
    "hooks": "hooks",
    "ignore_changes": "ignoreChanges",
    "import": "importId",
    "protect": "protect",
    "provider": "provider",
    "replace_on_changes": "replaceOnChanges",
    "retain_on_delete": "retainOnDelete",
}
"""Options as a transform sees them, and the same ones in a request; those that nobody here looks at are left out."""


class Transforms:
    """The transforms of one run."""

    def __init__(self) -> None:
        self.of_stack: list[Any] = []
        self._of: dict[str, tuple[str, list[Any]]] = {}
        self._served: dict[str, Any] = {}

    def applied(self, urn: str, request: Any) -> Any:
        """The request as the transforms leave it."""
        self._of[urn] = (request.parent, list(request.transforms))
        for callback in [*self._above(urn), *self.of_stack]:
            request = self._asked(callback, request)
        return request

    def _above(self, urn: str) -> Iterator[Any]:
        while urn in self._of:
            urn, own = self._of[urn]
            yield from own

    def _asked(self, callback: Any, request: Any) -> Any:
        words = {key: getattr(request, key) for key in ("type", "name", "custom", "parent")}
        said = resource_pb2.TransformRequest(
            **words, properties=request.object, options=resource_pb2.TransformResourceOptions(**_set(request, _SEEN))
        )
        asked = callback_pb2.CallbackInvokeRequest(token=callback.token, request=said.SerializeToString())
        answer = resource_pb2.TransformResponse.FromString(self._server(callback.target).Invoke(asked).response)
        changed: Any = resource_pb2.RegisterResourceRequest()
        changed.CopyFrom(request)
        changed.object.CopyFrom(answer.properties)
        if answer.HasField("options"):
            for each in OPTIONS.values():
                changed.ClearField(each)
            changed.MergeFrom(resource_pb2.RegisterResourceRequest(**_set(answer.options, OPTIONS)))
        return changed

    def _server(self, target: str) -> Any:
        if target not in self._served:
            channel = grpc.insecure_channel(target)
            self._served[target] = callback_pb2_grpc.CallbacksStub(channel)
        return self._served[target]


_SEEN = {ours: theirs for theirs, ours in OPTIONS.items()}


def _set(message: Any, names: dict[str, str]) -> dict[str, Any]:
    """The fields of a message that are set, by their names in another."""
    return {names[field.name]: value for field, value in message.ListFields() if field.name in names}
