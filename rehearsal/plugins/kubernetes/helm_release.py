"""`kubernetes.helm.v3.Release`: the RPCs of one release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct

from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.plugins.kubernetes import helm_charts
from rehearsal.plugins.kubernetes.checking import Options, automatic_name
from rehearsal.plugins.kubernetes.diff import differences, response, unignored
from rehearsal.plugins.kubernetes.failures import refused
from rehearsal.plugins.kubernetes.helm import Helm, HelmError, Order, ReleaseFailed
from rehearsal.plugins.kubernetes.helm_charts import ChartError
from rehearsal.plugins.kubernetes.helm_objects import NotReady, in_order
from rehearsal.plugins.kubernetes.helm_store import Record
from rehearsal.plugins.kubernetes.objects import Object, identifier, split_identifier, without_nulls
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.protocol import provider_pb2
from rehearsal.plugins.servicer import InitFailed, PluginError
from rehearsal.plugins.wire import UNKNOWN, Path, decode, encode, has_unknown

DEFAULT_SECONDS = 300
REHEARSED = {
    "atomic",
    "chart",
    "checksum",
    "cleanupOnFail",
    "compat",
    "createNamespace",
    "dependencyUpdate",
    "description",
    "disableOpenapiValidation",
    "lint",
    "maxHistory",
    "name",
    "namespace",
    "repositoryOpts",
    "resetValues",
    "resourceNames",
    "skipAwait",
    "skipCrds",
    "timeout",
    "values",
    "version",
    "waitForJobs",
}
COMPUTED = ("checksum", "resourceNames")
Failure = tuple[str, str]


class Releases:
    """Helm releases of one configured provider."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def check(self, request: Any) -> Any:
        """Fills in name, namespace and time-out, renders the chart, and refuses values the chart does not know."""
        new, secrets = decode(request.news)
        old, _ = decode(request.olds)
        new = without_nulls({key: value for key, value in new.items() if key not in COMPUTED})
        failures = [
            (key, f"Release input {key!r} is not rehearsed: leave it out")
            for key, value in new.items()
            if key not in REHEARSED and value
        ]
        failures += self._defaults(request, new, old)
        failures = failures or self._render(request.urn, new)
        self._session.announce({"kind": "Release"})
        return provider_pb2.CheckResponse(
            inputs=encode(new, secrets),
            failures=[provider_pb2.CheckFailure(property=path, reason=reason) for path, reason in failures],
        )

    def _defaults(self, request: Any, new: Object, old: Mapping[str, Any]) -> list[Failure]:
        if not new.get("chart"):
            return [("chart", "chart is missing: name the chart")]
        mode = request.autonaming.mode if request.HasField("autonaming") else None
        if not new.get("name") and not old.get("name") and mode == Options.DISABLE:
            return [("name", "automatic names are disabled: give the release a name")]
        proposed = request.autonaming.proposed_name if mode is not None else automatic_name(request)
        new["name"] = new.get("name") or old.get("name") or proposed
        new["namespace"] = new.get("namespace") or self._session.namespace
        if not new.get("skipAwait"):
            new.setdefault("timeout", DEFAULT_SECONDS)
        return []

    def _render(self, urn: str, new: Object) -> list[Failure]:
        """Adds what the chart makes of the values (a checksum, the objects' names), or says what is wrong with them."""
        if has_unknown([new["chart"], new.get("version"), new["name"], new["namespace"]]):
            return []
        try:
            chart = helm_charts.find(new["chart"], new.get("version"))
            values = new.get("values") or {}
            if values == UNKNOWN:
                return []
            if unknown := chart.unknown_keys(values):
                return [("values", text) for text in unknown]
            if has_unknown(values):
                return []
            objects = chart.objects(new["name"], new["namespace"], values)
            for text in chart.unchecked():
                self._session.log(urn, text)
        except ChartError as error:
            remedy = "; check the chart name and repository configuration" if error.where == "chart" else ""
            return [(error.where, f"{error}{remedy}")]
        new["checksum"] = hashlib.sha256(json.dumps(objects, sort_keys=True).encode()).hexdigest()
        new["resourceNames"] = _names(objects)
        return []

    def diff(self, request: Any) -> Any:
        """Name and namespace replace; everything else, also what the chart renders, is an upgrade."""
        old, _ = decode(request.old_inputs)
        new, _ = decode(request.news)
        changes = unignored(differences(old, new), request.ignoreChanges)
        replaces = [path for path in changes if path[0] in ("name", "namespace")]
        return response(changes, replaces, delete_before_replace=False)

    def create(self, request: Any) -> Any:
        """Installs. Raises InitFailed if the release is left with status failed."""
        inputs, secrets = decode(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=encode({**inputs, "status": UNKNOWN}, secrets))
        record = self._carry_out(inputs, secrets, request.timeout, upgrade=False)
        return provider_pb2.CreateResponse(id=_id(inputs), properties=_state(inputs, record, secrets))

    def update(self, request: Any) -> Any:
        """Upgrades to a new revision."""
        inputs, secrets = decode(request.news)
        if request.preview:
            return provider_pb2.UpdateResponse(properties=encode({**inputs, "status": UNKNOWN}, secrets))
        record = self._carry_out(inputs, secrets, request.timeout, upgrade=True)
        return provider_pb2.UpdateResponse(properties=_state(inputs, record, secrets))

    def _carry_out(self, inputs: Object, secrets: set[Path], seconds: float, upgrade: bool) -> Record:
        helm = self._helm()
        try:
            order = _order(inputs, seconds)
            return helm.upgrade(order) if upgrade else helm.install(order)
        except ReleaseFailed as failure:
            reasons = [f"Helm release {_id(inputs)} failed to become available within allocated timeout or was refused"]
            state = _state(inputs, failure.record, secrets)
            raise InitFailed(_id(inputs), state, encode(inputs, secrets), reasons + failure.reasons) from None
        except (HelmError, ChartError) as error:
            raise PluginError(str(error)) from None
        except NotReady as error:
            raise PluginError(f"Helm release {_id(inputs)}: {error}") from None
        except (ApiError, Unreachable) as error:
            raise refused(error, _reference(inputs)) from None

    def read(self, request: Any) -> Any:
        """The newest revision: chart, version and values as recorded, and its status."""
        inputs, secrets = decode(request.inputs)
        namespace, name = split_identifier(request.id)
        try:
            record = self._helm().last(namespace or self._session.namespace, name)
        except (ApiError, Unreachable) as error:
            raise refused(error, {"kind": "Release", "metadata": {"name": name, "namespace": namespace}}) from None
        if record is None:
            return provider_pb2.ReadResponse()
        seen = _seen(inputs, record)
        if not inputs:
            secrets = secrets | {("values",)}
        state = _state(seen, record, secrets)
        if record.status != "deployed":
            reasons = [f"Helm release {request.id} is {record.status}: {record.description or 'interrupted'}"]
            raise InitFailed(request.id, state, encode(seen, secrets), reasons)
        return provider_pb2.ReadResponse(id=request.id, properties=state, inputs=encode(seen, secrets))

    def delete(self, request: Any) -> Any:
        """Uninstalls; the chart's CRDs stay, as Helm leaves them."""
        state, _ = decode(request.properties)
        namespace, name = split_identifier(request.id)
        seconds = request.timeout or state.get("timeout") or DEFAULT_SECONDS
        try:
            self._helm().uninstall(namespace or self._session.namespace, name, seconds, not state.get("skipAwait"))
        except NotReady as error:
            raise PluginError(f"Helm release {request.id}: {error}") from None
        except (ApiError, Unreachable) as error:
            raise refused(error, {"kind": "Release", "metadata": {"name": name, "namespace": namespace}}) from None
        return Empty()

    def _helm(self) -> Helm:
        return Helm(self._session.cluster(), self._session.cancelled)


def _order(inputs: Mapping[str, Any], seconds: float) -> Order:
    chart = helm_charts.find(inputs["chart"], inputs.get("version"))
    values = inputs.get("values") or {}
    return Order(
        name=inputs["name"],
        namespace=inputs["namespace"],
        chart=chart.name,
        version=inputs.get("version") or "",
        values=values,
        rendered=chart.objects(inputs["name"], inputs["namespace"], values),
        crds=[] if inputs.get("skipCrds") else chart.crds(),
        timeout=float(inputs.get("timeout") or seconds or DEFAULT_SECONDS),
        wait=not inputs.get("skipAwait"),
        wait_for_jobs=bool(inputs.get("waitForJobs")),
        atomic=bool(inputs.get("atomic")),
        cleanup_on_fail=bool(inputs.get("cleanupOnFail")),
        create_namespace=bool(inputs.get("createNamespace")),
    )


def _seen(inputs: Mapping[str, Any], record: Record) -> Object:
    """The inputs with what the record says where it says something else."""
    seen = dict(inputs) or {"name": record.name, "namespace": record.namespace, "chart": record.chart}
    if not inputs:
        seen.update(version=record.version, values=dict(record.values))
    if str(seen["chart"]).rstrip("/").rpartition("/")[2] != record.chart:
        seen["chart"] = record.chart
    if "version" in seen and seen["version"] != record.version:
        seen["version"] = record.version
    if (seen.get("values") or {}) != dict(record.values):
        seen["values"] = dict(record.values)
    return seen


def _state(inputs: Mapping[str, Any], record: Record, secrets: set[Path]) -> Struct:
    status = {
        "name": record.name,
        "namespace": record.namespace,
        "revision": record.revision,
        "status": record.status,
        "chart": record.chart,
        "version": record.version,
        "appVersion": record.app_version,
    }
    return encode({**inputs, "status": status}, secrets)


def _names(objects: list[Object]) -> dict[str, list[str]]:
    """`kind/apiVersion` -> names, as the official provider shows a release's objects."""
    names: dict[str, list[str]] = {}
    for obj in in_order(objects):
        names.setdefault(f"{obj['kind']}/{obj['apiVersion']}", []).append(identifier(obj))
    return names


def _id(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['namespace']}/{inputs['name']}"


def _reference(inputs: Mapping[str, Any]) -> Object:
    return {"kind": "Release", "metadata": {"name": inputs["name"], "namespace": inputs["namespace"]}}
