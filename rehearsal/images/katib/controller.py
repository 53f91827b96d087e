"""Katib's controller: its certificate, its webhooks and its three reconcilers, with the rights of its pod's account.

Source: cmd/katib-controller/v1beta1/main.go (what it reads when it starts, what it exits for), pkg/certgenerator.
"""

import base64
import json
import logging
import ssl
from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal import places
from rehearsal.cluster.pages import Answer, Request, texts
from rehearsal.cluster.pki import Authority
from rehearsal.images.katib import hooks
from rehearsal.images.katib.experiments import Experiments
from rehearsal.images.katib.objects import API, EXPERIMENT_LABEL, Object, Reconciler, name_of
from rehearsal.images.katib.suggestions import STOPPING_PORT, Suggestions, address
from rehearsal.images.katib.trials import Trials
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet import volumes
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import Launch, Program, failed

log = logging.getLogger(__name__)

METRICS, HEALTH, DATABASE_PORT = 8080, 18080, 6789
LOOK_SECONDS = 0.5
CONFIG, FILE, WEBHOOK = "katib-config", "katib-config.yaml", "katib.kubeflow.org"
_REGISTRATION = "admissionregistration.k8s.io/v1"
_WATCHED = (
    *((API, kind) for kind in ("Experiment", "Trial", "Suggestion")),
    *(("v1", kind) for kind in ("ConfigMap", "Service", "ServiceAccount")),
    ("apps/v1", "Deployment"),
    *(("rbac.authorization.k8s.io/v1", kind) for kind in ("Role", "RoleBinding")),
)
_HOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def run(launch: Launch) -> Program:
    """The controller; it ends at once where it cannot read its configuration."""
    path = next((word.partition("=")[2] for word in launch.argv if word.startswith("--katib-config=")), "")
    text = volumes.mounted(launch, path)
    if text is None:
        return failed(launch, f"Failed to get KatibConfig: open {path}: no such file or directory")
    return Controller(launch, yaml.safe_load(text)["init"])


class Controller(Answering):
    """Makes its certificate, then looks after experiments, suggestions and trials."""

    def __init__(self, launch: Launch, init: Mapping[str, Any]) -> None:
        self._init, self._started = init, False
        self._kube = client(launch)
        self._namespace = launch.env.get("KATIB_CORE_NAMESPACE", "kubeflow")
        self._port = int(init["controller"].get("webhookPort", 8443))
        proxy = launch.world.proxy.url
        self._database = f"katib-db-manager.{self._namespace}:{DATABASE_PORT}"
        self._parts: tuple[Reconciler, ...] = (
            Experiments(self._kube),
            Suggestions(self._kube, proxy, self._database, self._config),
            Trials(self._kube, proxy, self._database),
        )
        self._kinds = [_kind(each) for each in init["controller"].get("trialResources") or ["Job.v1.batch"]]
        pages = {HEALTH: texts({"/healthz": lambda: "ok", "/readyz": lambda: "ok"}), METRICS: texts({"/metrics": str})}
        super().__init__(launch, pages)
        self._task = f"katib-controller {launch.pod_name} {launch.now}"
        launch.world.tasks.run(self._task, self._look)

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        """It is ready when the server of its webhooks has started."""
        if (probe.get("httpGet") or {}).get("path") == "/readyz" and not self._started:
            return "HTTP probe failed with statuscode: 500"
        return super().refuses(probe, port, now)

    def listens(self, port: int, now: float) -> bool:
        return (port == self._port and self._started) or super().listens(port, now)

    def _look(self) -> float:
        try:
            if not self._started:
                self._start()
            for part in self._parts:
                part.reconcile()
        except (ApiError, Unreachable) as error:
            self._launch.log(f"Reconcile error: {error}")
        return LOOK_SECONDS

    def _config(self) -> Object:
        """katib-config as it is now (pkg/util/v1beta1/katibconfig/config.go)."""
        found = self._kube.get("v1", "ConfigMap", CONFIG, self._namespace) or {}
        config: Object = yaml.safe_load((found.get("data") or {}).get(FILE, "{}"))
        return config

    # -- certificate and webhooks

    def _start(self) -> None:
        """Its own generator fills an empty Secret and tells both configurations (cert-controller pkg/rotator)."""
        generator = self._init.get("certGenerator") or {}
        if not generator.get("enable"):
            return
        service, secret = generator["webhookServiceName"], generator["webhookSecretName"]
        secrets = self._kube.list("v1", "Secret", self._namespace)
        found = next((each for each in secrets if name_of(each) == secret), None)
        if found is None:
            return
        self._sync()
        data = found.get("data") or self._filled(secret, f"{service}.{self._namespace}.svc")
        for kind in _HOOKS:
            self._tell(kind, data["ca.crt"])
        for name in ("tls.crt", "tls.key"):
            places.write(self._launch.directory / name, base64.b64decode(data[name]))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self._launch.directory / "tls.crt", self._launch.directory / "tls.key")
        where = (self._launch.namespace, self._launch.pod_name, self._port)
        self._launch.world.backends.answer(*where, self._review, tls=tls)
        self._started = True
        self._launch.wake()

    def _sync(self) -> None:
        """Its caches are of the whole cluster. Raises ApiError where it may not list a kind; a kind of trials whose
        definition is not there is not looked at (trial_controller.go, add).
        """
        for api, kind in (*_WATCHED, *self._kinds):
            try:
                self._kube.call("GET", self._kube.path(api, kind), limit=1)
            except ApiError as error:
                if error.reason != "NoMatch" or (api, kind) in _WATCHED:
                    raise
                self._launch.log(f"Job watch error. CRD might be missing: {api} {kind}")

    def _filled(self, secret: str, host: str) -> dict[str, str]:
        authority = Authority("katib-ca")
        pair = authority.server(host, dns=(host,))
        files = {"ca.crt": authority.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        self._kube.patch("v1", "Secret", secret, self._namespace, {"data": data})
        return data

    def _tell(self, kind: str, authority: str) -> None:
        found = next((each for each in self._kube.list(_REGISTRATION, kind) if name_of(each) == WEBHOOK), None)
        if found is None:
            return
        webhooks = [
            {**each, "clientConfig": {**each["clientConfig"], "caBundle": authority}} for each in found["webhooks"]
        ]
        self._kube.patch(_REGISTRATION, kind, WEBHOOK, None, {"webhooks": webhooks})

    def _review(self, request: Request) -> Answer:
        """An AdmissionReview's answer."""
        review = json.loads(request.body)["request"]
        answer: Object = {"uid": review["uid"], "allowed": True}
        try:
            answer |= self._judged(request.path, review)
        except (ApiError, Unreachable, ValueError) as error:
            answer |= {"allowed": False, "status": {"message": str(error), "code": 500}}
        shown = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
        return Answer(json.dumps(shown), 200, "application/json")

    def _judged(self, path: str, review: Object) -> Object:
        obj = review["object"]
        if path == "/mutate-experiment":
            return _patched(obj, hooks.with_defaults(obj))
        if path == "/validate-experiment":
            wrong = hooks.wrong_with(obj, self._config()) if not obj["metadata"].get("deletionTimestamp") else []
            return {"allowed": False, "status": {"message": ", ".join(wrong), "code": 403}} if wrong else {}
        namespace = review["namespace"]

        def find(api: str, kind: str, name: str) -> Mapping[str, Any] | None:
            return self._kube.get(api, kind, name, namespace)

        trial = hooks.trial_of(obj, find)
        if trial is None:
            return {}
        name = (trial["metadata"].get("labels") or {}).get(EXPERIMENT_LABEL, "")
        suggestion = find(API, "Suggestion", name) or {}
        stopping = address(suggestion, STOPPING_PORT) if suggestion else ""
        config = {**self._config(), "init": self._init}
        return _patched(obj, hooks.with_collector(obj, trial, config, self._database, stopping))

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, [self._port])
        super().stop()


def _patched(old: Mapping[str, Any], new: Mapping[str, Any]) -> Object:
    """The answer that changes an object, part by part."""
    patch = [
        {"op": "replace" if key in old else "add", "path": f"/{key}", "value": value}
        for key, value in new.items()
        if old.get(key) != value
    ]
    if not patch:
        return {}
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


def _kind(text: str) -> tuple[str, str]:
    """Kind.version.group as (apiVersion, kind)."""
    kind, version, group = text.split(".", 2)
    return f"{group}/{version}", kind
