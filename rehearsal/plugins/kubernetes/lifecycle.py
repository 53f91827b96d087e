"""Create, update, read and delete one Kubernetes object."""

from __future__ import annotations

import secrets as random
import threading
from collections.abc import Mapping
from typing import Any, Literal

from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes import awaiting, drift, replacement
from rehearsal.plugins.kubernetes.applying import create_object, placed, update_object, with_live_values
from rehearsal.plugins.kubernetes.diff import differences, response, unignored
from rehearsal.plugins.kubernetes.failures import refused
from rehearsal.plugins.kubernetes.objects import (
    PATCH_FORCE,
    PATCH_MANAGER,
    PROPAGATION,
    REPLACE_UNREADY,
    SERVER_FIELDS,
    SKIP_AWAIT,
    Object,
    annotation,
    dig,
    flagged,
    foreseen,
    identifier,
    kind_of_token,
    output_secrets,
    outputs,
    split_identifier,
)
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.protocol import engine_pb2, provider_pb2
from rehearsal.plugins.servicer import InitFailed, PluginError
from rehearsal.plugins.wire import UNKNOWN, Path, decode, encode, has_unknown

MANAGER = "__fieldManager"


class Resources:
    """Every kind the API server serves."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def diff(self, request: Any) -> Any:
        """Inputs then against inputs now: what the cluster has made of them is `refresh`'s business."""
        old, _ = decode(request.old_inputs)
        new, _ = decode(request.news)
        kube = self._session.previewer(request.urn)
        changes = unignored(differences(self._settled(old, kube), self._settled(new, kube)), request.ignoreChanges)
        replaces = replacement.replaced(changes, replacement.forcing(new, self._session.settings))
        extra = [f'metadata.annotations["{REPLACE_UNREADY}"]'] if replacement.unready_job(new, kube) else []
        first = bool(replaces or extra) and replacement.delete_first(old, new)
        return response(changes, replaces, first, extra)

    def create(self, request: Any) -> Any:
        """Makes the object and waits until it is ready. Raises InitFailed if it exists but is not."""
        inputs, secrets = decode(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=self._preview_create(request.urn, inputs, secrets))
        manager = annotation(inputs, PATCH_MANAGER) or f"pulumi-kubernetes-{random.token_hex(4)}"
        kube = self._session.cluster()
        try:
            live = create_object(inputs, kube, manager, self._stop)
        except (ApiError, Unreachable) as error:
            raise refused(error, inputs) from None
        live = self._ready(request, inputs, secrets, live, kube, manager)
        return provider_pb2.CreateResponse(id=identifier(live), properties=self._state(outputs(live), secrets, manager))

    def update(self, request: Any) -> Any:
        """Applies the changed inputs and waits until the object is ready again."""
        inputs, secrets = decode(request.news)
        olds, _ = decode(request.olds)
        manager = annotation(inputs, PATCH_MANAGER) or _manager(request.olds)
        kube = self._session.previewer(request.urn) if request.preview else self._session.cluster()
        if kube is None or (request.preview and has_unknown(inputs)):
            return provider_pb2.UpdateResponse(properties=self._state(_guess(inputs, olds), secrets, manager))
        force = flagged(inputs, PATCH_FORCE) or self._session.settings.patch_force
        try:
            wanted = with_live_values(inputs, request.ignoreChanges, kube)
            live = update_object(wanted, kube, manager, force, request.preview)
        except (ApiError, Unreachable) as error:
            if request.preview and isinstance(error, ApiError) and error.reason == "NoMatch":
                return provider_pb2.UpdateResponse(properties=self._state(_guess(inputs, olds), secrets, manager))
            raise refused(error, inputs) from None
        if not request.preview:
            live = self._ready(request, inputs, secrets, live, kube, manager)
        return provider_pb2.UpdateResponse(properties=self._state(outputs(live), secrets, manager))

    def read(self, request: Any) -> Any:
        """The object as it is: exact drift, and whether it is (still) ready. An absent one answers without an id."""
        inputs, secrets = decode(request.inputs)
        olds, _ = decode(request.properties)
        kube = self._session.cluster()
        namespace, name = split_identifier(request.id)
        known = bool(inputs)
        api_version, kind = _kind(inputs or olds, request.type)
        reference = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
        try:
            live = kube.get(api_version, kind, name, namespace)
            if live is None:
                return provider_pb2.ReadResponse()
            manager = _manager(request.properties)
            seen = drift.seen_inputs(inputs, live, kube, manager) if known else drift.imported_inputs(live)
            reasons = awaiting.now(seen, live, kube) if known else []
        except (ApiError, Unreachable) as error:
            if isinstance(error, ApiError) and error.reason == "NoMatch":
                return provider_pb2.ReadResponse()
            raise refused(error, reference) from None
        if not known and kind == "Secret":
            secrets = secrets | {("data",)}
        properties = self._state(outputs(live), secrets, manager)
        if reasons:
            raise InitFailed(request.id, properties, encode(seen, secrets), reasons)
        return provider_pb2.ReadResponse(id=request.id, properties=properties, inputs=encode(seen, secrets))

    def delete(self, request: Any) -> Any:
        """Deletes the object and waits until it is gone; one that is gone already, or was made anew, is fine."""
        state, _ = decode(request.properties)
        namespace, name = split_identifier(request.id)
        uid = dig(state, "metadata", "uid")
        reference = {
            "apiVersion": state.get("apiVersion"),
            "kind": state.get("kind"),
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
        }
        kube = self._session.cluster()
        seconds = awaiting.patience(state, request.timeout, state)
        try:
            kube.delete(reference, _propagation(state), uid)
            if not flagged(state, SKIP_AWAIT):
                awaiting.until_gone(reference, kube, seconds, self._stop, self._say(request.urn))
        except ApiError as error:
            if error.reason != "NoMatch" and not (error.code == 409 and "UID" in error.message):
                raise refused(error, reference) from None
        except Unreachable as error:
            raise refused(error, reference) from None
        return Empty()

    # -- parts

    def _settled(self, inputs: Object, kube: Kube | None) -> Object:
        """The inputs with the namespace they end up in: Check may have seen a cluster that did not know the kind."""
        if not isinstance(inputs.get("metadata"), dict):
            return inputs
        metadata = {"namespace": self._session.namespace, **inputs["metadata"]}
        settled = {**inputs, "metadata": metadata}
        try:
            return placed(settled, kube) if kube else settled
        except (ApiError, Unreachable):
            return settled

    @property
    def _stop(self) -> threading.Event:
        return self._session.cancelled

    def _say(self, urn: str) -> awaiting.Progress:
        return lambda text: self._session.log(urn, text, passing=True)

    def _state(self, shown: Mapping[str, Any], secrets: set[Path], manager: str) -> Struct:
        return encode({**shown, MANAGER: manager}, output_secrets(shown, secrets))

    def _ready(
        self, request: Any, inputs: Object, secrets: set[Path], live: Object, kube: Kube, manager: str
    ) -> Object:
        seconds = awaiting.patience(inputs, request.timeout, live)
        try:
            waited = awaiting.until_ready(inputs, live, kube, seconds, self._stop, self._say(request.urn))
        except (ApiError, Unreachable, ValueError) as error:
            waited = awaiting.Waited(live, [f"{error}"])
        if waited.reasons:
            properties = self._state(outputs(waited.live), secrets, manager)
            raise InitFailed(identifier(waited.live), properties, encode(inputs, secrets), waited.reasons)
        return waited.live

    def _preview_create(self, urn: str, inputs: Object, secrets: set[Path]) -> Struct:
        """What the server would make of the inputs; the inputs themselves where it cannot be asked yet."""
        kube = self._session.previewer(urn)
        shown = foreseen(inputs, inputs)
        if kube is not None and not has_unknown(inputs):
            try:
                shown = foreseen(kube.apply(placed(inputs, kube), "pulumi-kubernetes", dry_run=True), inputs)
            except ApiError as error:
                if not self._expected(urn, error, inputs):
                    raise refused(error, inputs) from None
            except Unreachable as error:
                self._session.log(urn, f"previewing from inputs only: {error}", engine_pb2.WARNING)
        return encode(shown, output_secrets(inputs, secrets))

    def _expected(self, urn: str, error: ApiError, inputs: Object) -> bool:
        """Whether a dry run may fail like this although the real creation will not."""
        if error.code in (403, 409) or (error.code == 422 and self._exists(inputs)):
            return True  # no right to dry-run; or the object is about to be replaced
        if error.code != 404:
            return False
        namespace = dig(inputs, "metadata", "namespace")
        brought = (
            self._session.brings_kind(inputs["apiVersion"])
            if error.reason == "NoMatch"
            else self._session.brings_namespace(namespace)
        )
        if not brought:
            text = f"{error}, and nothing in this program brings it: previewing from inputs only"
            self._session.log(urn, text, engine_pb2.WARNING)
        return True

    def _exists(self, inputs: Object) -> bool:
        kube = self._session.cluster()
        meta = inputs["metadata"]
        return kube.get(inputs["apiVersion"], inputs["kind"], meta["name"], meta.get("namespace")) is not None


def _guess(inputs: Object, olds: Object) -> Object:
    """The outputs of an update that the server cannot be asked about: the identity stays, the status may change."""
    shown = foreseen(inputs, inputs)
    if isinstance(shown.get("metadata"), dict):
        shown["metadata"].update({key: dig(olds, "metadata", key, default=UNKNOWN) for key in SERVER_FIELDS})
    return shown


def _manager(state: Struct) -> str:
    stored: str = state.fields[MANAGER].string_value if MANAGER in state.fields else ""
    return stored or "pulumi-kubernetes"


def _kind(known: Mapping[str, Any], token: str) -> tuple[str, str]:
    if known.get("apiVersion") and known.get("kind"):
        return known["apiVersion"], known["kind"]
    return kind_of_token(token)


def _propagation(state: Mapping[str, Any]) -> Literal["Background", "Foreground", "Orphan"]:
    wanted = (annotation(state, PROPAGATION) or "background").lower()
    if wanted == "foreground":
        return "Foreground"
    if wanted == "orphan":
        return "Orphan"
    if wanted != "background":
        raise PluginError(f"{PROPAGATION} is {wanted!r}: write background, foreground or orphan")
    return "Background"
