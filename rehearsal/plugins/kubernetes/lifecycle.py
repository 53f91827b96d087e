"""Create, update, read and delete one Kubernetes object: provider/pkg/provider/provider.go of pulumi-kubernetes."""

import threading
from collections.abc import Mapping
from typing import Any, Literal

from google.protobuf.empty_pb2 import Empty

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes import awaiting, drift, failures, replacement
from rehearsal.plugins.kubernetes.applying import Change, create_object, placed, update_object
from rehearsal.plugins.kubernetes.checkpoint import checkpoint, initial_version_of, manager_of
from rehearsal.plugins.kubernetes.diff import differences, response, unignored
from rehearsal.plugins.kubernetes.managers import CREATOR
from rehearsal.plugins.kubernetes.objects import (
    PROPAGATION,
    REPLACE_UNREADY,
    Object,
    annotation,
    identifier,
    kind_of_token,
    split_identifier,
)
from rehearsal.plugins.kubernetes.session import SEVERITIES, Session
from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.servicer import InitFailed, OwnWordsError
from rehearsal.plugins.wire import Path, decode, encode, has_unknown


class Resources:
    """Every kind the API server serves."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def diff(self, request: Any) -> Any:
        """Inputs then against inputs now: what the cluster has made of them is `refresh`'s business."""
        old, _ = decode(request.old_inputs)
        new, _ = decode(request.news)
        changes = unignored(differences(self._settled(old), self._settled(new)), request.ignoreChanges)
        replaces = replacement.replaced(changes, replacement.forcing(new, self._session.settings))
        unready = replacement.unready_job(new, self._session.previewer())
        extra = [f'metadata.annotations["{REPLACE_UNREADY}"]'] if unready else []
        first = bool(replaces or extra) and replacement.delete_first(old, new)
        return response(changes, replaces, first, extra)

    def create(self, request: Any) -> Any:
        """Makes the object and waits until it is ready. Raises InitFailed if it exists but is not."""
        inputs, secrets = decode(request.properties)
        if request.preview:
            return self._preview_create(request, inputs, secrets)
        manager, version = manager_of(None, inputs), initial_version_of(None, inputs)
        kube = self._session.cluster()
        try:
            live = create_object(inputs, kube, self._stop)
        except (ApiError, Unreachable) as error:
            raise failures.not_created(request.urn, error, inputs) from None
        waited = self._wait(request, inputs, live, None, kube)
        state = checkpoint(waited.live, inputs, secrets, version, manager)
        if waited.reasons:
            reasons = failures.half_made(request.urn, waited.reasons)
            raise InitFailed(identifier(live), state, encode(inputs, secrets), reasons)
        return provider_pb2.CreateResponse(id=identifier(live), properties=state)

    def update(self, request: Any) -> Any:
        """Applies the changed inputs and waits until the object is ready again.

        Whatever goes wrong while the object is there leaves the new inputs in the state, with the reasons beside them.
        """
        inputs, secrets = decode(request.news)
        if request.preview and (has_unknown(inputs) or not self._serves(inputs)):
            return provider_pb2.UpdateResponse(properties=request.news)
        manager, version = manager_of(request.olds, inputs), initial_version_of(request.olds, inputs)
        kube = self._session.cluster()
        force = self._session.settings.patch_force
        change = Change(inputs, list(request.ignoreChanges), manager, force, bool(request.preview))
        try:
            before, live = update_object(change, kube)
            reasons: list[str] = []
        except (ApiError, Unreachable) as error:
            if request.preview and isinstance(error, ApiError) and error.code == 403:
                return provider_pb2.UpdateResponse(properties=request.news)
            live, reasons = self._still_there(request, error, kube, inputs), [failures.conflict(error, manager)]
        if not request.preview and not reasons:
            waited = self._wait(request, inputs, live, before, kube)
            live, reasons = waited.live, waited.reasons
        state = checkpoint(live, inputs, secrets, version, manager)
        if reasons:
            id = identifier(live)
            raise InitFailed(id, state, encode(inputs, secrets), failures.half_updated(id, reasons))
        return provider_pb2.UpdateResponse(properties=state)

    def read(self, request: Any) -> Any:
        """The object as it is: exact drift, and whether it is (still) ready. An absent one answers without an id."""
        inputs, secrets = decode(request.inputs)
        olds, _ = decode(request.properties)
        kube = self._session.cluster()
        namespace, name = split_identifier(request.id)
        known = bool(inputs)
        api_version, kind = _kind(inputs or olds, request.type)
        manager = manager_of(request.properties, inputs)
        try:
            live = kube.get(api_version, kind, name, namespace)
            if live is None:
                return provider_pb2.ReadResponse()
            seen = drift.seen_inputs(inputs, live, kube, manager) if known else drift.imported_inputs(live)
            reasons = awaiting.now(seen, live, kube) if known else []
        except (ApiError, Unreachable) as error:
            if isinstance(error, ApiError) and error.reason == "NoMatch":
                return provider_pb2.ReadResponse()
            raise OwnWordsError(str(error)) from None
        if not known and kind == "Secret":
            secrets = secrets | {("data",)}
        state = checkpoint(live, seen, secrets, initial_version_of(request.properties, seen), manager)
        if reasons:
            raise InitFailed(request.id, state, encode(seen, secrets), reasons)
        return provider_pb2.ReadResponse(id=request.id, properties=state, inputs=encode(seen, secrets))

    def delete(self, request: Any) -> Any:
        """Deletes what has the object's name and waits until the object is gone; one that is gone already is fine."""
        state, _ = decode(request.properties)
        inputs, _ = decode(request.old_inputs)
        namespace, name = split_identifier(request.id)
        uid = (state.get("metadata") or {}).get("uid")
        metadata = {"name": name, "namespace": namespace, "uid": uid}
        reference = {"apiVersion": state.get("apiVersion"), "kind": state.get("kind"), "metadata": metadata}
        kube = self._session.cluster()
        seconds = awaiting.patience(inputs or state, request.timeout)
        try:
            kube.delete(reference, propagation(inputs or state))
            awaiting.until_gone(inputs or state, reference, kube, seconds, self._stop, self._say(request.urn))
        except ApiError as error:
            if error.reason != "NoMatch":
                raise OwnWordsError(str(error)) from None
        except Unreachable as error:
            raise OwnWordsError(str(error)) from None
        return Empty()

    # -- parts

    def _settled(self, inputs: Object) -> Object:
        """The inputs with the namespace they end up in: Check may have seen a cluster that did not know the kind."""
        if not isinstance(inputs.get("metadata"), dict):
            return inputs
        metadata = {"namespace": self._session.namespace, **inputs["metadata"]}
        if not self._session.namespaced(str(inputs.get("apiVersion")), str(inputs.get("kind"))):
            metadata.pop("namespace")
        return {**inputs, "metadata": metadata}

    @property
    def _stop(self) -> threading.Event:
        return self._session.cancelled

    def _say(self, urn: str) -> awaiting.Progress:
        return lambda severity, text: self._session.log(urn, text, SEVERITIES[severity], passing=True)

    def _serves(self, inputs: Mapping[str, Any]) -> bool:
        return self._session.serves(str(inputs.get("apiVersion")), str(inputs.get("kind")))

    def _wait(self, request: Any, inputs: Object, live: Object, before: Object | None, kube: Kube) -> awaiting.Waited:
        seconds = awaiting.patience(inputs, request.timeout)
        return awaiting.until_ready(inputs, live, before, kube, seconds, self._stop, self._say(request.urn))

    def _preview_create(self, request: Any, inputs: Object, secrets: set[Path]) -> Any:
        """What the server would make of the inputs; the inputs themselves where it cannot be asked yet.

        An object that exists is no error yet, nor is a namespace that does not.
        """
        as_given = provider_pb2.CreateResponse(properties=request.properties)
        if has_unknown(inputs) or not self._serves(inputs):
            return as_given
        kube = self._session.cluster()
        try:
            live = kube.create(placed(inputs, kube), CREATOR, dry_run=True)
        except (ApiError, Unreachable) as error:
            if isinstance(error, ApiError) and (error.code in (403, 404) or error.reason == "AlreadyExists"):
                return as_given
            raise failures.not_created(request.urn, error, inputs) from None
        live.pop("status", None)
        version = initial_version_of(None, inputs)
        return provider_pb2.CreateResponse(
            properties=checkpoint(live, inputs, secrets, version, manager_of(None, inputs))
        )

    def _still_there(self, request: Any, error: ApiError | Unreachable, kube: Kube, inputs: Object) -> Object:
        """The object that an update failed on. Raises OwnWordsError if it is not there any more, or cannot be read."""
        namespace, name = split_identifier(request.id)
        try:
            live = kube.get(inputs["apiVersion"], inputs["kind"], name, namespace)
        except (ApiError, Unreachable) as unread:
            raise OwnWordsError(
                f'update of resource "{request.urn}" failed: {error}\nunable to get cluster state: {unread}'
            ) from None
        if live is None:
            raise OwnWordsError(
                f'update of resource "{request.urn}" failed: {error}\nunable to get cluster state: {error}'
            )
        return live


def _kind(known: Mapping[str, Any], token: str) -> tuple[str, str]:
    if known.get("apiVersion") and known.get("kind"):
        return known["apiVersion"], known["kind"]
    return kind_of_token(token)


def propagation(inputs: Mapping[str, Any]) -> Literal["Background", "Foreground", "Orphan"]:
    """How dependents go: before their owner, unless the annotation says otherwise (overrides.go)."""
    wanted = (annotation(inputs, PROPAGATION) or "").lower()
    return "Orphan" if wanted == "orphan" else "Background" if wanted == "background" else "Foreground"
