"""The controller of External Secrets while its pod runs, with the rights of its pod's account.

Source: external-secrets v2.9.0, pkg/controllers/externalsecret/externalsecret_controller.go (finalizer, when a secret
is refreshed, owner and marks of what is made, conditions), pkg/controllers/secretstore/common.go and client_manager.go
(stores, what is said of one that is not ready), pkg/controllers/util/util.go (the version that annotations are part
of). Played are SecretStores of Secrets Manager, and ExternalSecrets of one with `data`, whose Secret they own.
"""

import base64
import hashlib
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from rehearsal.devices.reconciling import Reconciling
from rehearsal.images import identity
from rehearsal.images.external_secrets.keeper import KeeperError, value
from rehearsal.images.external_secrets.templates import TemplateError, filled
from rehearsal.kubelet.nodeobject import now
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import TIME_SCALE, Launch, Program

Object = dict[str, Any]
API = "external-secrets.io/v1"
FINALIZER = "externalsecrets.external-secrets.io/externalsecret-cleanup"
MANAGED, OWNER = "reconcile.external-secrets.io/managed", "reconcile.external-secrets.io/created-by"
HASH = "reconcile.external-secrets.io/data-hash"
LONGEST_PAUSE = 30.0
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def run(launch: Launch) -> Program:
    """The controller; its webhook and what makes that one's certificate are not played, and do nothing."""
    return Program() if launch.argv[:1] in (["webhook"], ["certcontroller"]) else Controller(launch)


class _SyncError(Exception):
    """Why a secret is not synced: the condition's message and the event's."""

    def __init__(self, message: str, event: str) -> None:
        super().__init__(message)
        self.event = event


class Controller(Reconciling):
    """Looks after the stores and secrets of all namespaces. After a failure it waits ever longer, as its queue does."""

    NAME = "external-secrets"

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._kube = client(launch)
        self._pauses: dict[str, tuple[float, float]] = {}
        super().__init__(launch)

    def _reconcile(self) -> None:
        for store in self._kube.list(API, "SecretStore"):
            self._check(store)
        for each in self._kube.list(API, "ExternalSecret"):
            self._look_after(each)

    # -- stores

    def _check(self, store: Object) -> None:
        """Whether the controller can sign in; a store's `auth` is not played."""
        provider = store["spec"]["provider"].get("aws") or {}
        said = ("True", "Valid", "store validated")
        try:
            if provider.get("service") != "SecretsManager" or provider.get("auth"):
                raise KeeperError("unable to create client")
            identity.of(self._launch)
        except (KeeperError, identity.CredentialsError) as error:
            self._launch.log(f"SecretStore {store['metadata']['name']}: {error}")
            said = ("False", "InvalidProviderConfig", "unable to validate store")
        if _condition(store) != said:
            self._tell(store, said, {"capabilities": "ReadWrite"})

    # -- secrets

    def _look_after(self, secret: Object) -> None:
        meta = secret["metadata"]
        if meta.get("deletionTimestamp"):
            left = [each for each in meta.get("finalizers") or [] if each != FINALIZER]
            self._patch(secret, {"metadata": {"finalizers": left}})
            return
        if FINALIZER not in (meta.get("finalizers") or []):
            self._patch(secret, {"metadata": {"finalizers": [*(meta.get("finalizers") or []), FINALIZER]}})
            return
        pause, due = self._pauses.get(meta["uid"], (0.5, 0.0))
        if time.monotonic() < due or not self._is_due(secret):
            return
        try:
            self._sync(secret)
        except _SyncError as error:
            self._pauses[meta["uid"]] = (min(2 * pause, LONGEST_PAUSE), time.monotonic() + pause)
            self._world.events.emit(secret, "Warning", "UpdateFailed", error.event, self.NAME)
            said = ("False", "SecretSyncedError", str(error))
            if _condition(secret) != said:
                self._tell(secret, said, {})
        else:
            self._pauses.pop(meta["uid"], None)
            marks = {"refreshTime": now(), "syncedResourceVersion": version(meta)}
            self._tell(secret, ("True", "SecretSynced", "secret synced"), marks)

    def _is_due(self, secret: Object) -> bool:
        held = self._kube.get("v1", "Secret", _target(secret), secret["metadata"]["namespace"])
        return is_due(secret, datetime.now(UTC)) or not _is_valid(held)

    def _sync(self, secret: Object) -> None:
        """Makes the Secret or brings it up to date. Raises _SyncError."""
        content = self._content(secret)
        namespace, name = secret["metadata"]["namespace"], _target(secret)
        data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
        wanted: Object = {
            "metadata": {
                "labels": {MANAGED: "true", OWNER: _hash(f"{namespace}/{secret['metadata']['name']}")},
                "annotations": {HASH: _hash(data)},
                "ownerReferences": [_owner(secret)],
            },
            "data": data,
        }
        held = self._kube.get("v1", "Secret", name, namespace)
        if held is None:
            meta = {**wanted["metadata"], "name": name, "namespace": namespace}
            self._kube.create({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", **wanted, "metadata": meta})
            return
        other = next((each for each in held["metadata"].get("ownerReferences") or [] if each.get("controller")), None)
        if other and other["kind"] == "ExternalSecret" and other["name"] != secret["metadata"]["name"]:
            raise _SyncError("target is owned by another ExternalSecret", str(other["name"]))
        wanted["data"] = {**dict.fromkeys(held.get("data") or {}), **data}
        self._kube.patch("v1", "Secret", name, namespace, wanted)

    def _content(self, secret: Object) -> dict[str, str]:
        namespace, spec = secret["metadata"]["namespace"], secret["spec"]
        named = spec["secretStoreRef"]["name"]
        store = self._kube.get(API, "SecretStore", named, namespace)
        unread = "could not get secret data from provider"
        if store is None:
            raise _SyncError(unread, f'could not get SecretStore "{named}", secretstores.{API} "{named}" not found')
        if _condition(store)[0] != "True":
            raise _SyncError(unread, f'SecretStore "{named}" is not ready')
        values: dict[str, str] = {}
        for each in spec.get("data") or []:
            try:
                values[each["secretKey"]] = value(self._launch, each["remoteRef"])
            except KeeperError as error:
                event = f"error processing spec.data[{len(values)}] (key: {each['remoteRef']['key']}), err: {error}"
                raise _SyncError(unread, event) from None
        templates = (spec["target"].get("template") or {}).get("data")
        if not templates:
            return values
        try:
            return filled(self._world.tools["helm"], templates, values)
        except TemplateError as error:
            raise _SyncError("could not update secret", f"could not apply template: {error}") from None

    # -- what it writes

    def _patch(self, obj: Object, patch: Object, subresource: str | None = None) -> None:
        meta = obj["metadata"]
        self._kube.patch(API, obj["kind"], meta["name"], meta["namespace"], patch, subresource)

    def _tell(self, obj: Object, said: tuple[str, str, str], marks: Object) -> None:
        status, reason, message = said
        changed = _condition(obj)[0] != status
        stamp = now() if changed else _stamp(obj)
        condition = {"type": "Ready", "status": status, "reason": reason, "message": message}
        told = {**condition, "lastTransitionTime": stamp}
        self._patch(obj, {"status": {**marks, "conditions": [told]}}, "status")


def is_due(secret: Mapping[str, Any], at: datetime) -> bool:
    """Whether a secret is to be looked up anew: it has changed, never was, or its interval is over. Pure.

    The interval is a span of life, of which `TIME_SCALE` seconds pass in one here.
    """
    status, spec = secret.get("status") or {}, secret["spec"]
    if status.get("syncedResourceVersion") != version(secret["metadata"]) or not status.get("refreshTime"):
        return True
    policy, every = spec.get("refreshPolicy") or "Periodic", seconds(str(spec.get("refreshInterval") or "1h0m0s"))
    if policy != "Periodic" or every <= 0:
        return False
    return datetime.fromisoformat(str(status["refreshTime"])) + timedelta(seconds=every / TIME_SCALE) < at


def seconds(duration: str) -> int:
    """A duration as Go writes it: 1h0m0s. Pure."""
    found = _DURATION.fullmatch(duration)
    hours, minutes, rest = (int(each or 0) for each in found.groups()) if found else (0, 0, 0)
    return hours * 3600 + minutes * 60 + rest


def version(meta: Mapping[str, Any]) -> str:
    """What an object's version is here: its generation, with its labels and annotations. Pure."""
    marks = {"annotations": meta.get("annotations") or {}, "labels": meta.get("labels") or {}}
    return f"{meta.get('generation')}-{_hash(marks)}"


def _is_valid(held: Mapping[str, Any] | None) -> bool:
    """A Secret that somebody deleted or changed is brought up to date at once."""
    meta = (held or {}).get("metadata") or {}
    marked = (meta.get("labels") or {}).get(MANAGED) == "true"
    return marked and (meta.get("annotations") or {}).get(HASH) == _hash((held or {}).get("data") or {})


def _target(secret: Mapping[str, Any]) -> str:
    return str(secret["spec"].get("target", {}).get("name") or secret["metadata"]["name"])


def _owner(secret: Mapping[str, Any]) -> Object:
    meta = secret["metadata"]
    known = {"apiVersion": API, "kind": "ExternalSecret", "name": meta["name"], "uid": meta["uid"]}
    return {**known, "controller": True, "blockOwnerDeletion": True}


def _ready(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == "Ready"), {})


def _condition(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    found = _ready(obj)
    return str(found.get("status")), str(found.get("reason")), str(found.get("message"))


def _stamp(obj: Mapping[str, Any]) -> str:
    return str(_ready(obj).get("lastTransitionTime") or now())


def _hash(value: object) -> str:
    return hashlib.sha3_224(json.dumps(value, sort_keys=True).encode()).hexdigest()
