"""PostgreSQL and MLflow by themselves: real processes in pods, which find each other by the cluster's network."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import urllib3

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.proxy import Proxy, admitting
from rehearsal.cluster.router import Router
from rehearsal.images import mlflow, postgresql
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Exit, Launch, Mount
from rehearsal.tests.inside.account import until

PASSWORD, SECONDS = "pa ss'word", 600
SERVICES = {"database": ("database-0", 5432), "mlflow": ("mlflow-0", 5000)}
MADE = {"POSTGRES_USER": "mlflow", "POSTGRES_DB": "mlflow", "PGDATA": "/data/pgdata"}
READY = {"exec": {"command": ["pg_isready", "--host=127.0.0.1", "--username=mlflow", "--dbname=mlflow"]}}
TOLD = {"PGPASSWORD": PASSWORD, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


class Cluster:
    """An API server that gives tokens, and has two Services with the one pod behind each."""

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, *_: Any) -> dict[str, Any]:
        return {"status": {"token": "t"}}

    def get(self, _: str, kind: str, name: str, namespace: str) -> dict[str, Any] | None:
        if kind != "Service" or namespace != "n" or name not in SERVICES:
            return None
        spec = {"clusterIP": "172.20.0.9", "ports": [{"name": "p", "port": SERVICES[name][1]}]}
        return {"metadata": {"namespace": "n", "name": name}, "spec": spec}

    def list(self, *_: Any, label_selector: str, **_more: Any) -> list[Any]:
        pod, port = SERVICES[label_selector.partition("=")[2]]
        target = {"kind": "Pod", "name": pod}
        return [{"ports": [{"name": "p", "port": port}], "endpoints": [{"targetRef": target}]}]


class Pods:
    """Containers of pods of one namespace, whose disks are named."""

    def __init__(self, directory: Path) -> None:
        self.directory, backends, kube = directory, Backends(), cast("Any", Cluster())
        self.proxy = Proxy(backends.server)
        self.proxy.start(Router(kube, backends))
        self.world: Any = SimpleNamespace(
            kube=kube,
            find=lambda *_: None,
            backends=backends,
            proxy=self.proxy,
            directory=directory,
            endpoint="https://x",
            ca=b"",
        )
        self.begun: list[RealProcess] = []

    def run(self, pod: str, image: Any, argv: Sequence[str], env: Mapping[str, str], disk: str = "") -> RealProcess:
        number = str(len(self.begun))
        mounts = [Mount("/data", f"csi:x:{disk}", name="data")] if disk else []
        launch = Launch(
            world=self.world,
            pod={
                "metadata": {"name": pod, "namespace": "n", "uid": pod},
                "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
            },
            spec={"name": "main"},
            node="a",
            command=argv[:1],
            args=argv[1:],
            env=env,
            mounts=mounts,
            directory=self.directory / pod / "main" / number,
            wake=lambda: None,
            now=0.0,
        )
        program = image.run(launch)
        assert isinstance(program, RealProcess)
        self.begun.append(program)
        return program

    def database(self, disk: str, password: str = PASSWORD) -> RealProcess:
        return self.run("database-0", postgresql, [], {**MADE, "POSTGRES_PASSWORD": password}, disk)

    def ready(self, server: RealProcess) -> None:
        until(lambda: runs(server) and server.refuses(READY, None, 0.0) is None, SECONDS, "PostgreSQL is ready")

    def mlflow(self, *words: str, **env: str) -> RealProcess:
        return self.run("mlflow-0", mlflow, ["mlflow", *words], {**TOLD, **env})

    def upgrade(self, uri: str = "database:5432", **env: str) -> RealProcess:
        return self.mlflow("db", "upgrade", f"postgresql+psycopg2://mlflow@{uri}/mlflow", **env)

    def serve(self, *words: str) -> RealProcess:
        store = "--backend-store-uri=postgresql+psycopg2://mlflow@database:5432/mlflow"
        return self.mlflow("server", "--workers=2", store, "--allowed-hosts=mlflow.n.svc:5000", *words)

    def ask(self, path: str, **body: Any) -> Any:
        """An answer of MLflow's to somebody in the cluster."""
        with urllib3.ProxyManager(self.proxy.url, proxy_headers=admitting(self.proxy.url)) as pool:
            said = pool.request("POST", f"http://mlflow.n.svc:5000/api/2.0/mlflow/{path}", json=body, timeout=60.0)
        assert said.status == 200, said.data
        return said.json()

    def close(self) -> None:
        for each in reversed(self.begun):
            each.close()
        self.proxy.stop()
        self.world.backends.close()


def ended(program: RealProcess) -> Exit:
    found: Exit = until(lambda: program.exited(0.0), SECONDS, "the process ends")
    return found


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    made = Pods(tmp_path)
    yield made
    made.close()


def runs(server: RealProcess) -> bool:
    assert (found := server.exited(0.0)) is None, found
    return True


def healthy(server: RealProcess) -> bool:
    return runs(server) and server.refuses({"httpGet": {"path": "/health"}}, 5000, 0.0) is None


def test_mlflow_keeps_in_the_database_what_it_is_told_as_long_as_its_disk_is_there(pods: Pods) -> None:
    database = pods.database("one")
    pods.ready(database)
    assert ended(pods.upgrade()).code == 0
    server = pods.serve("--host=0.0.0.0", "--port=5000")
    until(lambda: healthy(server), SECONDS, "MLflow is ready")
    made = pods.ask("experiments/create", name="sft")
    assert database.leaves() or until(database.leaves, SECONDS, "PostgreSQL ends with a client that stays connected")
    database.stop()
    pods.ready(pods.database("one"))
    again = pods.ask("experiments/search", max_results=10)["experiments"]
    assert [each["experiment_id"] for each in again if each["name"] == "sft"] == [made["experiment_id"]]
    server.stop()
    assert not pods.world.backends.accepts("n", "mlflow-0", 5000)


WRONG: tuple[tuple[str, dict[str, str], str], ...] = (
    ("database:5432", {"PGPASSWORD": "another"}, 'password authentication failed for user "mlflow"'),
    ("database:5432", {"PGPASSWORD": ""}, "no password supplied"),
    ("database:5433", {}, "port 5433 failed: Connection refused"),
    ("databse:5432", {}, 'could not parse network address "databse"'),
)


def test_what_is_wrong_with_the_database_mlflow_says_in_its_own_words(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its second try, not at its tenth after two minutes (mlflow/store/db/utils.py)."""
    tries = "import mlflow.store.db.utils as tried\ntried.MAX_RETRY_COUNT = 2"
    monkeypatch.setattr(mlflow, "START", tries + mlflow.START)
    pods.ready(pods.database("one"))
    begun = [(pods.upgrade(uri, **env), words) for uri, env, words in WRONG]
    for upgrade, words in begun:
        found = ended(upgrade)
        assert found.code == 1
        assert words in found.message


def test_a_database_without_a_password_is_not_made(pods: Pods) -> None:
    found = ended(pods.database("two", password=""))
    assert (found.code, "superuser password is not specified" in found.message) == (1, True)


def test_a_server_on_its_pods_loopback_is_not_found(pods: Pods) -> None:
    pods.ready(pods.database("one"))
    assert ended(pods.upgrade()).code == 0
    server = pods.serve("--port=5000")
    assert server.refuses({"httpGet": {"path": "/health"}}, 5000, 0.0) == (
        "dial tcp: connect to port 5000: connection refused"
    )
    assert not pods.world.backends.accepts("n", "mlflow-0", 5000)
