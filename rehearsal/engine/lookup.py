"""Looks for half-created objects where the stack's own providers would: their regions, roles and kubeconfigs.

Everything here goes through the APIs of AWS and Kubernetes, so it works on real clouds as it does on a rehearsal.
Credentials come from the environment, as the provider plugins take them.
"""

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jmespath

from rehearsal.engine import naturalkeys
from rehearsal.engine.naturalkeys import ForeignObjectError, NoNaturalKeyError
from rehearsal.engine.state import Pending
from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.aws import settings
from rehearsal.plugins.aws.account import Account, Deadline
from rehearsal.plugins.aws.life import describe
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.table import ROWS
from rehearsal.plugins.kubernetes.helm import Helm
from rehearsal.plugins.kubernetes.helm_store import PENDING, Store

FIELD_MANAGER = "pulumi"
"""How the field managers of the Kubernetes provider begin (pulumi-kubernetes, server-side apply)."""
FIELD_MANAGER_KEPT = "__fieldManager"
"""The output in which that provider keeps it."""
SETTLE_SECONDS = 1800.0
RELEASE_SECONDS = 420.0
"""Longer than the five minutes after which an API server looks again at a definition that it has begun to delete
(apiextensions-apiserver, pkg/apiserver/apiserver.go: resync of the informers that its finalizer works by)."""
UNSETTLED = frozenset({"CREATING", "UPDATING", "pending"})


@dataclass(frozen=True)
class Surroundings:
    """What the lookup of one pending create may use."""

    provider: Mapping[str, Any]
    """The inputs of its provider resource."""
    known: frozenset[str]
    """Ids of this type that the state has already: not candidates."""


Finder = Callable[[Pending, Surroundings], list[str]]
"""Ids of the objects that the interrupted create may have made.

Raises ForeignObjectError, NoNaturalKeyError, or what the API raises.
"""


def find(pending: Pending, around: Surroundings) -> list[str]:
    """The Finder for AWS and Kubernetes."""
    if pending.urn.type.startswith("kubernetes:"):
        return _kubernetes(pending, around)
    if pending.urn.type.startswith("aws:"):
        return _aws(pending, around)
    raise NoNaturalKeyError(f"no natural key is known for {pending.urn.type}")


def settled(pending: Pending, id: str, around: Surroundings) -> str:
    """Wait until the object is no longer being made and return its last state; at once for kinds made in one go."""
    row = ROWS.get(pending.urn.type)
    if row is None or row.wait is None:
        return ""
    obj = _object(pending, around)
    obj.learn(id)
    while True:
        now = str(jmespath.search(row.wait.status, describe(obj) or {}) or "")
        if now not in UNSETTLED or not obj.deadline.pause():
            return now


def remembered(pending: Pending, id: str, around: Surroundings) -> dict[str, Any]:
    """What the provider keeps in the state and reads from no API: under which name it owns an object's fields.

    Without it the next update would be another owner to the API server, and conflict with the killed one.
    """
    _, version, kind = pending.urn.type.split(":")
    if not pending.urn.type.startswith("kubernetes:") or version == "helm.sh/v3":
        return {}
    namespace, _, name = id.rpartition("/")
    kube = _cluster(_kubeconfig(around), around)
    live = kube.get(version.removeprefix("core/"), kind, name, namespace or None) or {}
    owners = [owner for owner in _managers(live) if owner.startswith(FIELD_MANAGER)]
    return {FIELD_MANAGER_KEPT: owners[0]} if owners else {}


def _managers(live: Mapping[str, Any]) -> list[str]:
    entries = (live.get("metadata") or {}).get("managedFields") or ()
    return sorted({str(each.get("manager", "")) for each in entries})


def _aws(pending: Pending, around: Surroundings) -> list[str]:
    if pending.urn.type not in ROWS:
        raise NoNaturalKeyError(f"no natural key is known for {pending.urn.type}")
    return [each for each in naturalkeys.find(_object(pending, around)) if each not in around.known]


def _object(pending: Pending, around: Surroundings) -> Object:
    """The interrupted resource in the account of its provider, which may refuse to be worked in."""
    region = around.provider.get("region") or pending.inputs.get("region") or os.environ.get("AWS_REGION", "")
    given = settings.plain({**around.provider, "region": region})
    alive = threading.Event()
    account = Account(settings.settings(given), alive)
    token = pending.urn.type
    return Object(account, ROWS[token], token, dict(pending.inputs), Deadline(SETTLE_SECONDS, alive))


def _kubernetes(pending: Pending, around: Surroundings) -> list[str]:
    metadata = pending.inputs.get("metadata") or {}
    kubeconfig = _kubeconfig(around)
    _, version, kind = pending.urn.type.split(":")
    if version == "helm.sh/v3":
        name, namespace = pending.inputs.get("name"), pending.inputs.get("namespace") or "default"
        return release(_cluster(kubeconfig, around), str(name), str(namespace))
    if not metadata.get("name"):
        raise NoNaturalKeyError("its manifest names no object")
    kube = _cluster(kubeconfig, around)
    try:
        live = kube.get(version.removeprefix("core/"), kind, metadata["name"], metadata.get("namespace"))
    except ApiError as error:
        if error.reason == "NoMatch":
            return []
        raise
    if live is None:
        return []
    managers = _managers(live)
    ours = any(manager.startswith(FIELD_MANAGER) for manager in managers)
    if not ours and (managers or _owns_fields(pending.inputs)):
        raise ForeignObjectError(f"{kind} {metadata['name']} exists and was made by {', '.join(managers) or 'another'}")
    namespace = live["metadata"].get("namespace")
    return [f"{namespace}/{metadata['name']}" if namespace else metadata["name"]]


def _owns_fields(inputs: Mapping[str, Any]) -> bool:
    """Whether applying these inputs leaves the field manager's mark: of a bare name, the API server keeps none."""
    metadata = inputs.get("metadata") or {}
    return bool(inputs.keys() - {"apiVersion", "kind", "metadata"} or metadata.keys() - {"name", "namespace"})


def _kubeconfig(around: Surroundings) -> str | None:
    """The provider's kubeconfig as text; programs that write it as JSON find it decoded like any other argument."""
    given = around.provider.get("kubeconfig")
    if isinstance(given, Mapping):
        return json.dumps(given)
    return given if isinstance(given, str) else None


def _cluster(kubeconfig: str | None, around: Surroundings) -> Kube:
    if kubeconfig is None:
        raise NoNaturalKeyError("the state holds no kubeconfig for its provider")
    return Kube.from_kubeconfig(kubeconfig, around.provider.get("context"))


def release(kube: Kube, name: str, namespace: str) -> list[str]:
    """A Helm release that reached its end. One that was caught at its first revision is undone, objects and all: the
    next install may have another name. Later revisions caught in the middle are forgotten, or Helm refuses without end.
    """
    store = Store(kube)
    history = store.history(namespace, name)
    ended = [record for record in history if record.status not in PENDING]
    if history and not ended:
        Helm(kube, threading.Event()).uninstall(namespace, name, RELEASE_SECONDS, wait=True, hooks=False)
    for record in history:
        if ended and record.status in PENDING:
            store.remove(record)
    return [f"{namespace}/{name}"] if ended else []
