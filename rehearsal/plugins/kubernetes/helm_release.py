"""`kubernetes.helm.v3.Release`: the RPCs of one release."""

import functools
from collections.abc import Mapping
from typing import Any

from google.protobuf.empty_pb2 import Empty

from rehearsal.charts import chart as charts
from rehearsal.charts import sources
from rehearsal.charts.chart import ChartError
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.plugins.kubernetes.checking import Options, automatic_name
from rehearsal.plugins.kubernetes.diff import differences, response, unignored
from rehearsal.plugins.kubernetes.failures import refused
from rehearsal.plugins.kubernetes.helm import Helm, HelmError, ReleaseFailed
from rehearsal.plugins.kubernetes.helm_hooks import HookFailed
from rehearsal.plugins.kubernetes.helm_objects import NotReady
from rehearsal.plugins.kubernetes.helm_state import (
    DEFAULT_SECONDS,
    as_recorded,
    id_of,
    order_from,
    reference_to,
    state_of,
)
from rehearsal.plugins.kubernetes.helm_store import Record
from rehearsal.plugins.kubernetes.objects import Object, split_identifier, title, without_nulls
from rehearsal.plugins.kubernetes.session import Session
from rehearsal.plugins.protocol import engine_pb2, provider_pb2
from rehearsal.plugins.servicer import InitFailed, PluginError
from rehearsal.plugins.wire import UNKNOWN, Path, decode, encode, has_unknown

REHEARSED = {
    "atomic",
    "chart",
    "cleanupOnFail",
    "compat",
    "createNamespace",
    "description",
    "disableCRDHooks",
    "disableOpenapiValidation",
    "disableWebhooks",
    "maxHistory",
    "name",
    "namespace",
    "repositoryOpts",
    "resetValues",
    "skipAwait",
    "skipCrds",
    "timeout",
    "values",
    "version",
    "waitForJobs",
}
COMPUTED = ("checksum", "resourceNames", "status")
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
        failures = failures or self._render(request.urn, new, upgrade=bool(old))
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

    def _render(self, urn: str, new: Object, upgrade: bool) -> list[Failure]:
        """Renders with what the cluster serves, if it answers, and says what is wrong with the chart or its values.

        pulumi-kubernetes renders here too, without asking the cluster and without a word about failures: only to know
        the definitions that a chart brings (provider/pkg/provider/helm_release.go, cacheReleaseCRDs). What a chart
        refuses would be seen at `up`; a rehearsal says it in the preview.
        """
        if has_unknown([new["chart"], new.get("version"), new["name"], new["namespace"]]):
            return []
        try:
            chart = sources.find(new["chart"], new.get("version") or "")
            values = new.get("values") or {}
            if values == UNKNOWN:
                return []
            if unknown := chart.unknown_values(values):
                return [("values", text) for text in unknown]
            if has_unknown(values):
                return []
            chart.render(
                charts.Order(new["name"], new["namespace"], values, *self._session.capabilities(), upgrade=upgrade)
            )
            self._session.log(urn, f"rendered {chart.name} {chart.version} from {chart.source}", passing=True)
            for text in chart.unchecked():
                self._session.log(urn, text)
        except ChartError as error:
            remedy = "; check the chart name and repository configuration" if error.where == "chart" else ""
            return [(error.where, f"{error}{remedy}")]
        return []

    def diff(self, request: Any) -> Any:
        """Name and namespace replace; every other input is an upgrade."""
        old, new = (
            {key: value for key, value in decode(inputs)[0].items() if key not in COMPUTED}
            for inputs in (request.old_inputs, request.news)
        )
        changes = unignored(differences(old, new), request.ignoreChanges)
        replaces = [path for path in changes if path[0] in ("name", "namespace")]
        return response(changes, replaces, delete_before_replace=False)

    def create(self, request: Any) -> Any:
        """Installs. Raises InitFailed if the release is left with status failed."""
        inputs, secrets = decode(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(
                properties=encode({**inputs, "resourceNames": UNKNOWN, "status": UNKNOWN}, secrets)
            )
        record = self._carry_out(request.urn, inputs, secrets, request.timeout, upgrade=False)
        return provider_pb2.CreateResponse(id=id_of(inputs), properties=state_of(inputs, record, secrets))

    def update(self, request: Any) -> Any:
        """Upgrades to a new revision."""
        inputs, secrets = decode(request.news)
        if request.preview:
            return provider_pb2.UpdateResponse(
                properties=encode({**inputs, "resourceNames": UNKNOWN, "status": UNKNOWN}, secrets)
            )
        record = self._carry_out(request.urn, inputs, secrets, request.timeout, upgrade=True)
        return provider_pb2.UpdateResponse(properties=state_of(inputs, record, secrets))

    def _carry_out(self, urn: str, inputs: Object, secrets: set[Path], seconds: float, upgrade: bool) -> Record:
        helm = self._helm(urn)
        try:
            order = order_from(inputs, seconds, upgrade)
            return helm.upgrade(order) if upgrade else helm.install(order)
        except ReleaseFailed as failure:
            reasons = [
                f"Helm release {id_of(inputs)} failed to become available within allocated timeout or was refused"
            ]
            state = state_of(inputs, failure.record, secrets)
            raise InitFailed(id_of(inputs), state, encode(inputs, secrets), reasons + failure.reasons) from None
        except (HelmError, ChartError) as error:
            raise PluginError(str(error)) from None
        except NotReady as error:
            raise PluginError(f"Helm release {id_of(inputs)}: {error}") from None
        except (ApiError, Unreachable) as error:
            raise refused(error, reference_to(inputs)) from None

    def read(self, request: Any) -> Any:
        """The newest revision: chart, version and values as recorded, and its status."""
        inputs, secrets = decode(request.inputs)
        namespace, name = split_identifier(request.id)
        try:
            record = self._helm(request.urn).last(namespace or self._session.namespace, name)
        except (ApiError, Unreachable) as error:
            raise refused(error, {"kind": "Release", "metadata": {"name": name, "namespace": namespace}}) from None
        if record is None:
            return provider_pb2.ReadResponse()
        seen = as_recorded(inputs, record)
        if not inputs:
            secrets = secrets | {("values",)}
        state = state_of(seen, record, secrets)
        if record.status != "deployed":
            reasons = [f"Helm release {request.id} is {record.status}: {record.description or 'interrupted'}"]
            raise InitFailed(request.id, state, encode(seen, secrets), reasons)
        return provider_pb2.ReadResponse(id=request.id, properties=state, inputs=encode(seen, secrets))

    def delete(self, request: Any) -> Any:
        """Uninstalls with the chart's delete hooks; the definitions of `crds/` and what is to be kept stay."""
        state, _ = decode(request.properties)
        namespace, name = split_identifier(request.id)
        seconds = request.timeout or state.get("timeout") or DEFAULT_SECONDS
        try:
            wait = bool(state.get("atomic")) or not state.get("skipAwait")
            kept = self._helm(request.urn).uninstall(namespace or self._session.namespace, name, seconds, wait)
            for obj in kept:
                self._session.log(request.urn, f"kept due to the resource policy: {title(obj)}", engine_pb2.WARNING)
        except (NotReady, HookFailed) as error:
            raise PluginError(f"Helm release {request.id}: {error}") from None
        except (ApiError, Unreachable) as error:
            raise refused(error, {"kind": "Release", "metadata": {"name": name, "namespace": namespace}}) from None
        return Empty()

    def _helm(self, urn: str) -> Helm:
        log = functools.partial(self._session.log, urn, passing=True)
        return Helm(self._session.cluster(), self._session.cancelled, log)
