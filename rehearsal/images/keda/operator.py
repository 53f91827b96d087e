"""KEDA's operator, played from its source: ScaledObjects by what Prometheus and pods say.

Played is what a Deployment's ScaledObject with triggers of Prometheus and of pods does: its HPA, the way from zero to
one replica and back, a fallback by the replicas that there are, conditions and finalizer. Another trigger is an error,
as it says of itself. To the metrics server it speaks JSON over http in the place of gRPC with certificates.
Sources: KEDA v2.20.2, controllers/keda/scaledobject_finalizer.go, pkg/scaling/scale_handler.go,
pkg/fallback/fallback.go, pkg/scalers/{prometheus_scaler,kubernetes_workload_scaler}.go.
"""

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode
from urllib.request import ProxyHandler, build_opener

from rehearsal.cluster.pages import Answer, Request, texts
from rehearsal.devices.reconciling import Reconciling
from rehearsal.images.keda.scaled import (
    API,
    KIND,
    Asked,
    Object,
    TriggerError,
    decided,
    hpa_of,
    names,
    threshold,
    written,
)
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import Launch

NAME, FINALIZER = "keda-operator", "finalizer.keda.sh"
PORT, METRICS_PORT = 9666, 8080
_POLLING = 30
_TIMEOUT_SECONDS = 3.0
_ENDED = ("Succeeded", "Failed")


class Operator(Reconciling):
    """Looks at ScaledObjects of the namespace that it watches, each as often as it says, and answers the server."""

    NAME = NAME

    def __init__(self, launch: Launch) -> None:
        self._launch, self._kube = launch, client(launch)
        self._watched = launch.env.get("WATCH_NAMESPACE") or None
        self._prometheus = build_opener(ProxyHandler({"http": launch.world.proxy.url}))
        self._next: dict[str, float] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._errors: dict[tuple[str, str, int, str], int] = {}
        for port, handler in ((PORT, self._told), (METRICS_PORT, texts({"/metrics": self._counted}))):
            launch.world.backends.answer(launch.namespace, launch.pod_name, port, handler)
        super().__init__(launch)

    def stop(self) -> None:
        super().stop()
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, [PORT, METRICS_PORT])

    def close(self) -> None:
        self.stop()

    def _reconcile(self) -> None:
        for scaled in self._kube.list(API, KIND, self._watched):
            meta = scaled["metadata"]
            if meta.get("deletionTimestamp"):
                self._end(scaled)
                continue
            if FINALIZER not in (meta.get("finalizers") or []):
                self._patch(scaled, {"metadata": {"finalizers": [*(meta.get("finalizers") or []), FINALIZER]}})
            self._kube.apply(hpa_of(scaled), NAME, force=True)
            if time.monotonic() >= self._next.get(meta["uid"], 0):
                self._next[meta["uid"]] = time.monotonic() + scaled["spec"].get("pollingInterval", _POLLING)
                self._scale(scaled)

    def _end(self, scaled: Object) -> None:
        if hpa := self._kube.get("autoscaling/v2", "HorizontalPodAutoscaler", *_place(hpa_of(scaled))):
            self._kube.delete(hpa)
        left = [each for each in scaled["metadata"].get("finalizers") or [] if each != FINALIZER]
        self._patch(scaled, {"metadata": {"finalizers": left or None}})

    def _scale(self, scaled: Object) -> None:
        target, now = scaled["spec"]["scaleTargetRef"], time.time()
        asked = self.ask(scaled)
        deployment = self._kube.get("apps/v1", "Deployment", target["name"], scaled["metadata"]["namespace"])
        if deployment is None:
            said = "ScaledObject doesn't have correct scaleTargetRef specification"
            self._tell(scaled, asked, {"status": "False", "reason": "ScaledObjectCheckFailed", "message": said}, None)
            return
        wanted = decided(scaled, deployment["spec"]["replicas"], asked, now)
        if wanted is not None:
            where = (target["name"], scaled["metadata"]["namespace"])
            self._kube.patch("apps/v1", "Deployment", *where, {"spec": {"replicas": wanted}}, "scale")
        active = any(each.active for each in asked)
        ready = {"status": "True", "reason": "ScaledObjectReady", "message": "ScaledObject is defined correctly"}
        self._tell(scaled, asked, ready, written(now) if active else None)

    def _tell(self, scaled: Object, asked: list[Asked], ready: Mapping[str, str], active: str | None) -> None:
        awake = any(each.active for each in asked)
        falls = any(self._falls_back(scaled, each) for each in names(scaled["spec"], scaled["metadata"]["namespace"]))
        conditions = [
            {"type": "Ready", **ready},
            {"type": "Active", "status": str(awake), "reason": "ScalerActive" if awake else "ScalerNotActive"},
            {"type": "Fallback", "status": str(falls), "reason": "FallbackExists" if falls else "NoFallbackFound"},
        ]
        status: Object = {"conditions": conditions, "hpaName": hpa_of(scaled)["metadata"]["name"]}
        if active:
            status["lastActiveTime"] = active
        self._patch(scaled, {"status": status}, "status")

    def _patch(self, scaled: Object, patch: Mapping[str, Any], part: str | None = None) -> None:
        self._kube.patch(API, KIND, *_place(scaled), patch, part)

    def ask(self, scaled: Object) -> list[Asked]:
        """What each trigger says now; those that say nothing are counted."""
        found = []
        meta, spec = scaled["metadata"], scaled["spec"]
        for at, (name, trigger) in enumerate(zip(names(spec, meta["namespace"]), spec["triggers"], strict=True)):
            key, counter = (meta["uid"], name), (meta["namespace"], meta["name"], at, name)
            self._errors.setdefault(counter, 0)
            try:
                found.append(self._asked(scaled, trigger))
                self._failures.pop(key, None)
            except TriggerError as error:
                found.append(Asked(error=str(error)))
                self._failures[key] = self._failures.get(key, 0) + 1
                self._errors[counter] += 1
        return found

    def _asked(self, scaled: Object, trigger: Mapping[str, Any]) -> Asked:
        said = trigger["metadata"]
        if trigger["type"] == "kubernetes-workload":
            pods = self._kube.list("v1", "Pod", scaled["metadata"]["namespace"], said["podSelector"])
            count = sum((each.get("status") or {}).get("phase") not in _ENDED for each in pods)
            return Asked(count, count > float(said.get("activationValue", 0)))
        if trigger["type"] != "prometheus":
            raise TriggerError(f"a trigger of the type {trigger['type']} is not rehearsed")
        url = f"{said['serverAddress']}/api/v1/query?{urlencode({'query': said['query']})}"
        try:
            with self._prometheus.open(url, timeout=_TIMEOUT_SECONDS) as answer:
                result = json.loads(answer.read())["data"]["result"]
        except (OSError, ValueError, KeyError) as error:
            raise TriggerError(str(error)) from error
        if len(result) > 1:
            raise TriggerError(f"prometheus query {said['query']} returned multiple elements")
        if not result:
            if said.get("ignoreNullValues", "true") == "true":
                return Asked()
            raise TriggerError("prometheus metrics 'prometheus' target may be lost, the result is empty")
        value = float(result[0]["value"][1])
        return Asked(value, value > float(said.get("activationThreshold", 0)))

    def _told(self, request: Request) -> Answer:
        """What the metrics server asks for: a value, or why there is none."""
        query = dict(parse_qsl(request.query))
        try:
            value = self.metric(query["namespace"], query["metric"], query["of"])
        except TriggerError as error:
            return Answer(json.dumps({"error": str(error)}), 500)
        return Answer(json.dumps({"value": value}))

    def _counted(self) -> str:
        """Its metrics, as far as they are played (pkg/metricscollector/prommetrics.go)."""
        lines = ["# TYPE keda_scaler_detail_errors_total counter"]
        for (namespace, name, at, metric), count in list(self._errors.items()):
            scaler = "prometheusScaler" if metric.endswith("-prometheus") else "kubernetesWorkloadScaler"
            of = {"namespace": namespace, "scaledObject": name, "scaler": scaler, "triggerIndex": at, "metric": metric}
            told = ",".join(f'{key}="{value}"' for key, value in {**of, "type": "scaledobject"}.items())
            lines.append(f"keda_scaler_detail_errors_total{{{told}}} {count}")
        return "\n".join([*lines, ""])

    def _falls_back(self, scaled: Object, name: str) -> bool:
        fallback = scaled["spec"].get("fallback")
        failed = self._failures.get((scaled["metadata"]["uid"], name), 0)
        return fallback is not None and failed > fallback["failureThreshold"]

    def metric(self, namespace: str, name: str, of: str) -> float:
        """What an HPA is told of a trigger. Raises TriggerError."""
        scaled = self._kube.get(API, KIND, of, namespace)
        if scaled is None or name not in names(scaled["spec"], namespace):
            raise TriggerError(f"no matching metrics found for {name}")
        at = names(scaled["spec"], namespace).index(name)
        asked, trigger = self.ask(scaled)[at], scaled["spec"]["triggers"][at]
        if not asked.error:
            return asked.value
        if not self._falls_back(scaled, name) or scaled["spec"]["fallback"].get("behavior") != "currentReplicas":
            raise TriggerError(asked.error)
        target = scaled["spec"]["scaleTargetRef"]["name"]
        deployment = self._kube.get("apps/v1", "Deployment", target, namespace) or {"spec": {"replicas": 0}}
        return threshold(trigger) * float(deployment["spec"]["replicas"])


def _place(obj: Mapping[str, Any]) -> tuple[str, str]:
    return obj["metadata"]["name"], obj["metadata"]["namespace"]
