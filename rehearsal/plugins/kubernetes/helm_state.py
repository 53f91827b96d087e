"""Between a Release's inputs and outputs as the engine has them, and orders and records as Helm has them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.struct_pb2 import Struct

from rehearsal.charts import sources
from rehearsal.plugins import wire
from rehearsal.plugins.kubernetes.helm_objects import in_order
from rehearsal.plugins.kubernetes.helm_order import Order
from rehearsal.plugins.kubernetes.helm_store import Record
from rehearsal.plugins.kubernetes.objects import Object, identifier

DEFAULT_SECONDS = 300


def order_from(inputs: Mapping[str, Any], seconds: float, upgrade: bool) -> Order:
    """What is handed to Helm. pulumi-kubernetes 4.34 hands `disableWebhooks` and `disableOpenapiValidation` to an
    install only, `disableCRDHooks`, `maxHistory` and `resetValues` to an upgrade only (helm_release.go, helmCreate and
    helmUpdate).
    """
    return Order(
        name=inputs["name"],
        namespace=inputs["namespace"],
        chart=sources.find(inputs["chart"], inputs.get("version") or ""),
        version=inputs.get("version") or "",
        values=inputs.get("values") or {},
        skip_crds=bool(inputs.get("skipCrds")),
        install_hooks=not inputs.get("disableWebhooks"),
        upgrade_hooks=not inputs.get("disableCRDHooks"),
        validate=upgrade or not inputs.get("disableOpenapiValidation"),
        reset_values=bool(inputs.get("resetValues")),
        max_history=int(inputs.get("maxHistory") or 0) if upgrade else 0,
        description=str(inputs.get("description") or ""),
        timeout=float(inputs.get("timeout") or seconds or DEFAULT_SECONDS),
        wait=not inputs.get("skipAwait"),
        wait_for_jobs=bool(inputs.get("waitForJobs")),
        atomic=bool(inputs.get("atomic")),
        cleanup_on_fail=bool(inputs.get("cleanupOnFail")),
        create_namespace=bool(inputs.get("createNamespace")),
    )


def as_recorded(inputs: Mapping[str, Any], record: Record) -> Object:
    """The inputs with what the record says where it says something else."""
    seen = dict(inputs) or {"name": record.name, "namespace": record.namespace, "chart": record.chart}
    if not inputs:
        seen.update(version=record.version, values=dict(record.values))
    own = Path(seen["chart"]).is_dir() or str(seen["chart"]).endswith(sources.PACKAGE)
    if not own and str(seen["chart"]).rstrip("/").rpartition("/")[2] != record.chart:
        seen["chart"] = record.chart
    if "version" in seen and seen["version"] != record.version:
        seen["version"] = record.version
    if (seen.get("values") or {}) != dict(record.values):
        seen["values"] = dict(record.values)
    return seen


def state_of(inputs: Mapping[str, Any], record: Record, secrets: set[wire.Path]) -> Struct:
    """The resource's outputs: its inputs, the names of what it made, and its status."""
    status = {
        "name": record.name,
        "namespace": record.namespace,
        "revision": record.revision,
        "status": record.status,
        "chart": record.chart,
        "version": record.version,
        "appVersion": record.app_version,
    }
    return wire.encode({**inputs, "resourceNames": _names(record.objects), "status": status}, secrets)


def _names(objects: list[Object]) -> dict[str, list[str]]:
    """`kind/apiVersion` -> names, as the official provider shows a release's objects."""
    names: dict[str, list[str]] = {}
    for obj in in_order(objects):
        names.setdefault(f"{obj['kind']}/{obj['apiVersion']}", []).append(identifier(obj))
    return names


def id_of(inputs: Mapping[str, Any]) -> str:
    """Pulumi's id of the release."""
    return f"{inputs['namespace']}/{inputs['name']}"


def reference_to(inputs: Mapping[str, Any]) -> Object:
    """What messages call the release."""
    return {"kind": "Release", "metadata": {"name": inputs["name"], "namespace": inputs["namespace"]}}
