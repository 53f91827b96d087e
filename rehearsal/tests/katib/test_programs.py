"""Katib's programs as a kubelet starts them: what they need, what they serve, and what they end for (R02)."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pages import Request
from rehearsal.images.katib import algorithms, controller, database
from rehearsal.images.katib.asking import RefusedError
from rehearsal.images.katib.objects import Object
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.kubelet.services import Reach
from rehearsal.tests.katib.kube import Memory
from rehearsal.tests.katib.test_hooks import KNOWN, POD
from rehearsal.tests.katib.test_reconciling import experiment

CONFIG: dict[str, Any] = {
    **KNOWN,
    "init": {
        "certGenerator": {"enable": True, "webhookServiceName": "katib-controller", "webhookSecretName": "cert"},
        "controller": {
            "webhookPort": 8443,
            "injectSecurityContext": True,
            "trialResources": ["PyTorchJob.v1.kubeflow.org"],
        },
    },
}
HOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
LATER = 1e12


class Api(Memory):
    """The API server with Katib's own objects; listing kinds of `forbidden` is refused."""

    def __init__(self, *, forbidden: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.forbidden = forbidden
        meta = {"namespace": "kubeflow"}
        self.create({"apiVersion": "v1", "kind": "Secret", "metadata": {**meta, "name": "cert"}})
        text = json.dumps(CONFIG)
        configured = {"metadata": {**meta, "name": "katib-config"}, "data": {"katib-config.yaml": text}}
        self.create({"apiVersion": "v1", "kind": "ConfigMap", **configured})
        for kind in HOOKS:
            hook = {"name": "one", "clientConfig": {"service": {"name": "katib-controller"}}}
            named = {"metadata": {"name": "katib.kubeflow.org", "namespace": ""}, "webhooks": [hook]}
            self.create({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, **named})

    def path(self, api: str, kind: str) -> str:
        return f"{api}/{kind}"

    def call(self, _: str, path: str, **__: Any) -> Object:
        kind = path.rpartition("/")[2]
        if kind in self.forbidden:
            raise ApiError(403, "Forbidden", f"cannot list {kind}")
        return {}

    def close(self) -> None:
        """Nothing is held."""


class Started:
    """A program of a pod on a machine that has nothing but the cluster's table of ports."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
        self.work: list[Callable[[], float | None]] = []
        self.backends, self._directory, self._files = Backends(), directory, {"katib-config.yaml": json.dumps(CONFIG)}
        tasks = SimpleNamespace(run=lambda _, work: self.work.append(work), cancel=lambda _: None)
        self.world: Any = SimpleNamespace(
            kube=api,
            backends=self.backends,
            tasks=tasks,
            proxy=SimpleNamespace(url="http://127.0.0.1:9"),
            find=lambda *_: {"kind": "ConfigMap", "data": self._files},
        )
        for module in (controller, algorithms):
            monkeypatch.setattr(module, "client", lambda _: api)

    def launch(self, image: str, argv: list[str], env: dict[str, str] | None = None, *mounts: Mount) -> Launch:
        volume = {"name": "config", "configMap": {"name": "katib-config"}}
        pod: Any = {"metadata": {"name": "any", "namespace": "kubeflow", "uid": "u"}, "spec": {"volumes": [volume]}}
        spec = {"name": "main", "image": image}
        return Launch(
            self.world, pod, spec, "n", argv[:1], argv[1:], env or {}, mounts, self._directory / "c", _nothing, 0.0
        )


def _nothing() -> None:
    pass


FILE = Mount("/katib-config.yaml", "config", sub_path="katib-config.yaml", name="config")
ARGV = ["./katib-controller", "--katib-config=/katib-config.yaml"]


def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: Api) -> controller.Controller:
    site = Started(tmp_path, monkeypatch, api)
    made = controller.run(site.launch("katib-controller:1", ARGV, {}, FILE))
    assert isinstance(made, controller.Controller)
    site.work[0]()
    return made


READY = {"httpGet": {"path": "/readyz"}}


def test_the_controller_makes_its_certificate_and_tells_the_api_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    made = started(tmp_path, monkeypatch, api)
    assert made.refuses(READY, 18080, LATER) is None
    assert made.listens(8443, LATER)
    held = (api.get("v1", "Secret", "cert", "kubeflow") or {})["data"]
    for kind in HOOKS:
        found = api.get("admissionregistration.k8s.io/v1", kind, "katib.kubeflow.org") or {}
        assert found["webhooks"][0]["clientConfig"] == {
            "service": {"name": "katib-controller"},
            "caBundle": held["ca.crt"],
        }


@pytest.mark.parametrize("kind", ["ConfigMap", "PyTorchJob", "RoleBinding"])
def test_without_a_right_to_look_everywhere_it_is_never_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Its caches are of the whole cluster: one that cannot be filled keeps all of it from starting."""
    made = started(tmp_path, monkeypatch, Api(forbidden=(kind,)))
    assert made.refuses(READY, 18080, LATER)
    assert not made.listens(8443, LATER)


def test_without_its_configuration_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = controller.run(Started(tmp_path, monkeypatch, Api()).launch("katib-controller:1", ARGV))
    ended = made.exited(LATER)
    assert ended
    assert "no such file" in ended.message


def asked(made: controller.Controller, path: str, obj: Object) -> Object:
    review = {"request": {"uid": "1", "namespace": "training", "object": obj}}
    answer = made._review(Request("POST", path, body=json.dumps(review).encode()))
    found: Object = json.loads(answer.content)["response"]
    return found


def test_webhooks_fill_in_refuse_and_put_the_collector_into_pods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    made = started(tmp_path, monkeypatch, api)
    bare = experiment()
    bare["spec"].pop("resumePolicy")
    patch = json.loads(base64.b64decode(asked(made, "/mutate-experiment", bare)["patch"]))
    assert [(each["op"], each["path"]) for each in patch] == [("replace", "/spec")]
    assert patch[0]["value"]["resumePolicy"] == "Never"
    assert asked(made, "/validate-experiment", experiment())["allowed"]
    wrong = asked(made, "/validate-experiment", experiment(parallelTrialCount=9))
    assert not wrong["allowed"]
    assert "parallelTrialCount" in wrong["status"]["message"]
    meta = {"name": "t", "namespace": "training"}
    owner = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": "t"}
    spec = {
        "objective": experiment()["spec"]["objective"],
        "metricsCollector": {"collector": {"kind": "StdOut"}},
        "primaryContainerName": "pytorch",
    }
    api.create({"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": meta, "spec": spec})
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {**meta, "ownerReferences": [owner]}}
    api.create(job)
    pod = json.loads(json.dumps(POD))
    pod["metadata"]["ownerReferences"] = [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "t"}]
    patch = json.loads(base64.b64decode(asked(made, "/mutate-pod", pod)["patch"]))
    (changed,) = [each["value"] for each in patch if each["path"] == "/spec"]
    assert [each["name"] for each in changed["containers"]] == ["pytorch", "metrics-logger-and-collector"]
    assert asked(made, "/mutate-pod", POD) == {"uid": "1", "allowed": True}


TOLD = {"MYSQL_ROOT_PASSWORD": "right", "MYSQL_DATABASE": "katib"}


def databases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, *, reached: bool = True
) -> database.Manager:
    site = Started(tmp_path, monkeypatch, Api())
    server = site.launch("mysql:8", ["--datadir"], TOLD, Mount("/var/lib/mysql", "csi:x:vol-1", name="data"))
    assert isinstance(database.mysql(server), database.MySql)
    ways = [Reach("dbapi", ok=reached, why="Service kubeflow/katib-mysql has no ready endpoint")]
    monkeypatch.setattr(database, "reachable", lambda *_: ways)
    made = database.manager(site.launch("db:1", ["./katib-db-manager"], {"DB_NAME": "mysql", "DB_PASSWORD": password}))
    assert isinstance(made, database.Manager)
    site.work[0]()
    return made


HEALTHY = {"grpc": {"port": 6789}}


def test_metrics_are_kept_by_trial_and_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = databases(tmp_path, monkeypatch, "right")
    assert made.listens(6789, LATER)
    assert made.refuses(HEALTHY, 6789, LATER) is None
    made._report({"trial": "a", "log": [["loss", "2"], ["loss", "1"]]})
    made._report({"trial": "b", "log": [["loss", "3"]]})
    assert made._server().select("a", "loss") == [("loss", "2"), ("loss", "1")]
    made._remove({"trial": "a"})
    assert made._server().select("a", None) == []
    assert made._server().select("b", None) == [("loss", "3")]


@pytest.mark.parametrize(
    ("password", "reached", "said"), [("wrong", True, "Access denied"), ("right", False, "endpoint")]
)
def test_without_its_database_the_service_is_not_there_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, reached: bool, said: str
) -> None:
    made = databases(tmp_path, monkeypatch, password, reached=reached)
    assert not made.listens(6789, LATER)
    with pytest.raises(RefusedError, match=said):
        made._server()
    ended = made.exited(database.CONNECT_SECONDS + 1)
    assert ended
    assert ended.code == 255


def test_a_database_without_a_password_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Started(tmp_path, monkeypatch, Api())
    ended = database.mysql(site.launch("mysql:8", ["--datadir"], {"MYSQL_DATABASE": "katib"})).exited(LATER)
    assert ended
    assert "password option is not specified" in ended.message


def test_early_stopping_compares_with_the_mean_of_first_values_and_marks_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    logs = {"a": [["loss", "4"], ["loss", "2"], ["loss", "0"]], "b": [["loss", "8"], ["loss", "6"], ["loss", "0"]]}
    monkeypatch.setattr(algorithms, "call", lambda _, __, ___, asked: {"log": logs[asked["trial"]]})
    median = algorithms.Median(Started(tmp_path, monkeypatch, api).launch("median:1", []))
    assert isinstance(median, algorithms.Median)
    settings = [{"name": "min_trials_required", "value": "2"}, {"name": "start_step", "value": "2"}]
    spec = {**experiment()["spec"], "earlyStopping": {"algorithmSettings": settings}}
    message = {"spec": spec, "succeeded": ["a"], "database": "db:6789"}
    assert median._rules(message) == {"rules": []}
    told = median._rules({**message, "succeeded": ["a", "b"]})
    assert told == {"rules": [{"name": "loss", "value": "5.0", "comparison": "greater", "startStep": 2}]}
    meta = {"name": "a", "namespace": "kubeflow"}
    api.create({"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": meta, "spec": {}, "status": {}})
    median._set({"trial": "a"})
    found = api.get("kubeflow.org/v1beta1", "Trial", "a", "kubeflow") or {}
    assert [each["type"] for each in found["status"]["conditions"]] == ["EarlyStopped"]
