"""Suggestions: the service of an algorithm, and what it chose (pkg/controller.v1beta1/suggestion)."""

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.images.katib.asking import RefusedError, call
from rehearsal.images.katib.hooks import labels_of_trial
from rehearsal.images.katib.objects import (
    API,
    DEPLOYMENT_LABEL,
    EXPERIMENT_LABEL,
    SUGGESTION_LABEL,
    Object,
    has,
    marked,
    name_of,
    namespace_of,
    owned,
    tell,
)
from rehearsal.kube.client import Kube
from rehearsal.kubelet.nodeobject import now

PORT, STOPPING_PORT = 6789, 6788
_RBAC = "rbac.authorization.k8s.io"


def service_of(suggestion: Mapping[str, Any]) -> str:
    """Name of an algorithm's service, Deployment and account (pkg/controller.v1beta1/util/suggestion.go)."""
    return f"{name_of(suggestion)}-{suggestion['spec']['algorithm']['algorithmName']}"


def address(suggestion: Mapping[str, Any], port: int) -> str:
    """Where it is asked."""
    return f"{service_of(suggestion)}.{namespace_of(suggestion)}:{port}"


class Suggestions:
    """The reconciler of suggestions."""

    def __init__(self, kube: Kube, proxy: str, database: str, config: Callable[[], Object]) -> None:
        self._kube, self._proxy, self._database, self._config = kube, proxy, database, config

    def reconcile(self) -> None:
        """Looks at each suggestion once."""
        for suggestion in self._kube.list(API, "Suggestion"):
            if not suggestion["metadata"].get("deletionTimestamp"):
                self._look_at(suggestion)

    def _look_at(self, suggestion: Object) -> None:
        status = suggestion.get("status") or {}
        if has(suggestion, "Succeeded"):
            self._clean(suggestion)
        elif not has(suggestion, "Created"):
            made = {"startTime": now(), **status}
            tell(self._kube, suggestion, marked(made, "Created", "SuggestionCreated", "Suggestion is created"))
        elif not has(suggestion, "Failed"):
            made = self._looked_after(suggestion, status)
            if made != status:
                tell(self._kube, suggestion, made)

    def _clean(self, suggestion: Object) -> None:
        where = {"name": service_of(suggestion), "namespace": namespace_of(suggestion)}
        for api, kind in (("apps/v1", "Deployment"), ("v1", "Service")):
            if self._kube.get(api, kind, where["name"], where["namespace"]) is not None:
                self._kube.delete({"apiVersion": api, "kind": kind, "metadata": where})

    def _looked_after(self, suggestion: Object, status: Object) -> Object:
        for each in wanted(suggestion, self._config()):
            if self._kube.get(each["apiVersion"], each["kind"], name_of(each), namespace_of(each)) is None:
                self._kube.create(each, "katib-controller")
        deployment = self._kube.get("apps/v1", "Deployment", service_of(suggestion), namespace_of(suggestion)) or {}
        if not has(deployment, "Available"):
            return status
        experiment = self._kube.get(API, "Experiment", name_of(suggestion), namespace_of(suggestion))
        if experiment is None:
            return status
        try:
            if not has(suggestion, "Running"):
                self._ask(suggestion, PORT, "ValidateAlgorithmSettings", {"spec": experiment["spec"]})
                status = marked(status, "Running", "SuggestionRunning", "Suggestion is running")
            return self._assigned(suggestion, experiment, status)
        except RefusedError as error:
            if error.unavailable or has(suggestion, "Running"):
                return status
            return marked(status, "Failed", "SuggestionFailed", f"Validation failed: {error}")

    def _assigned(self, suggestion: Object, experiment: Object, status: Object) -> Object:
        """As many assignments as were asked for (suggestionclient.go, SyncAssignments)."""
        made = list(status.get("suggestions") or ())
        missing = suggestion["spec"]["requests"] - len(made)
        if missing <= 0:
            return status
        asked = {"spec": experiment["spec"], "made": len(made), "wanted": missing}
        chosen = self._ask(suggestion, PORT, "GetSuggestions", asked)["assignments"]
        if len(chosen) != missing:
            raise RefusedError("The response contains unexpected trials", unavailable=True)
        rules = []
        if experiment["spec"].get("earlyStopping"):
            selector = ",".join(f"{key}={value}" for key, value in labels_of_trial(experiment).items())
            trials = self._kube.list(API, "Trial", namespace_of(suggestion), selector)
            told = [name_of(trial) for trial in trials if has(trial, "Succeeded")]
            message = {"spec": experiment["spec"], "succeeded": told, "database": self._database}
            rules = self._ask(suggestion, STOPPING_PORT, "GetEarlyStoppingRules", message)["rules"]
        made += [
            {
                "name": f"{name_of(suggestion)}-{_suffix(len(made) + index)}",
                "parameterAssignments": each,
                **({"earlyStoppingRules": rules} if rules else {}),
            }
            for index, each in enumerate(chosen)
        ]
        return {**status, "suggestions": made, "suggestionCount": len(made)}

    def _ask(self, suggestion: Object, port: int, method: str, message: Mapping[str, Any]) -> dict[str, Any]:
        return call(self._proxy, address(suggestion, port), method, message)


def _suffix(number: int) -> str:
    """Eight letters, as Katib draws them; here in their order."""
    letters = "bcdfghjklmnpqrst"
    return "".join(letters[number // 16**place % 16] for place in reversed(range(8)))


def wanted(suggestion: Object, config: Object) -> list[Object]:
    """Service and Deployment of the algorithm, and for early stopping an account with a role (composer.go). Pure."""
    spec, name, namespace = suggestion["spec"], service_of(suggestion), namespace_of(suggestion)
    runtime = config["runtime"]
    stops = spec.get("earlyStopping")
    labels = {**(suggestion["metadata"].get("labels") or {}), "sidecar.istio.io/inject": "false"}
    labels |= {DEPLOYMENT_LABEL: name, EXPERIMENT_LABEL: name_of(suggestion), SUGGESTION_LABEL: name_of(suggestion)}
    told = next(each for each in runtime["suggestions"] if each["algorithmName"] == spec["algorithm"]["algorithmName"])
    container = {key: value for key, value in told.items() if key != "algorithmName"}
    probe = {"grpc": {"port": PORT, "service": "manager.v1beta1.Suggestion"}, "initialDelaySeconds": 10}
    container |= {
        "name": "suggestion",
        "ports": [{"name": "suggestion-api", "containerPort": PORT}],
        "readinessProbe": {**probe, "periodSeconds": 10},
        "livenessProbe": {**probe, "periodSeconds": 120, "failureThreshold": 12},
    }
    pod: Object = {"containers": [container]}
    ports = [{"name": "suggestion-api", "port": PORT}]
    if stops:
        ends = next(each for each in runtime["earlyStoppings"] if each["algorithmName"] == stops["algorithmName"])
        beside = {"name": "early-stopping", "image": ends["image"], "resources": ends.get("resources") or {}}
        beside["ports"] = [{"name": "earlystop-api", "containerPort": STOPPING_PORT}]
        pod = {"containers": [container, beside], "serviceAccountName": name}
        ports.append({"name": "earlystop-api", "port": STOPPING_PORT})
    meta = {"name": name, "namespace": namespace}
    template = {"metadata": {"labels": labels}, "spec": pod}
    service = {"selector": labels, "ports": ports, "type": "ClusterIP"}
    deployment = {"selector": {"matchLabels": labels}, "template": template}
    made = [
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": service},
        *(_rights(meta) if stops else ()),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**meta, "labels": labels}, "spec": deployment},
    ]
    return [owned(each, suggestion) for each in made]


def _rights(meta: Object) -> list[Object]:
    """DesiredRBAC: all of trials in the namespace."""
    rules = [{"apiGroups": ["kubeflow.org"], "resources": ["trials", "trials/status"], "verbs": ["*"]}]
    subject = {"kind": "ServiceAccount", **meta}
    reference = {"apiGroup": _RBAC, "kind": "Role", "name": meta["name"]}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "subjects": [subject],
            "roleRef": reference,
        },
    ]
