"""Prometheus, Alertmanager and their reloaders by themselves: real processes in pods, without a control plane."""

import base64
import gzip
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import urllib3
import yaml

from rehearsal import toolchain
from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pages import texts
from rehearsal.cluster.proxy import Proxy
from rehearsal.cluster.router import Router
from rehearsal.images import prometheus
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch, LaunchError, Mount
from rehearsal.tests.inside.account import until

pytestmark = pytest.mark.engine
IPS = {"10.0.0.9": "shop", "10.0.0.10": "prometheus-0", "10.0.0.11": "alertmanager-0", "10.0.0.12": "alertmanager-1"}


class Cluster:
    """An API server that gives tokens, tells whose address is whose, and holds Secrets by name."""

    def __init__(self) -> None:
        self.secrets: dict[str, dict[str, bytes]] = {}

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, *_: Any) -> dict[str, Any]:
        return {"status": {"token": "t"}}

    def list(self, _: str, kind: str, field_selector: str = "", **_more: Any) -> list[dict[str, Any]]:
        pod = IPS.get(field_selector.partition("=")[2])
        return [{"metadata": {"namespace": "n", "name": pod}}] if pod and kind == "Pod" else []

    def find(self, store: str, name: str, _namespace: str) -> dict[str, Any] | None:
        data = {key: base64.b64encode(held).decode() for key, held in self.secrets.get(name, {}).items()}
        return {"kind": "Secret", "data": data} if store == "secrets" and name in self.secrets else None

    def hold(self, name: str, key: str, config: Mapping[str, Any]) -> None:
        self.secrets[name] = {key: gzip.compress(yaml.dump(dict(config)).encode())}


class Pods:
    """Containers of pods as the operator makes them."""

    def __init__(self, directory: Path) -> None:
        self.cluster = Cluster()
        backends, kube = Backends(), cast("Any", self.cluster)
        proxy = Proxy(backends.server)
        proxy.start(Router(kube, backends))
        self.world: Any = SimpleNamespace(
            kube=self.cluster,
            find=self.cluster.find,
            backends=backends,
            proxy=proxy,
            directory=directory,
            endpoint="https://127.0.0.1:1",
            ca=b"",
            tools=toolchain.ensure(["prometheus-operator", "prometheus", "alertmanager"]),
        )
        self.begun: list[RealProcess] = []

    def run(self, pod: str, kind: str, container: str, args: list[str]) -> RealProcess:
        """A container of a pod with the volumes `config`, `config-out` and `data` of its kind."""
        places = {"config": "config", "config-out": "config_out"}
        mounts = [{"name": name, "mountPath": f"/etc/{kind}/{place}"} for name, place in places.items()]
        mounts.append({"name": "data", "mountPath": f"/{kind}"})
        containers = [{"name": each, "volumeMounts": mounts} for each in (kind, "config-reloader")]
        volumes = [{"name": "config", "secret": {"secretName": kind}}, {"name": "config-out"}, {"name": "data"}]
        launch = Launch(
            world=self.world,
            pod={
                "metadata": {"name": pod, "namespace": "n", "uid": pod},
                "spec": {"containers": containers, "volumes": volumes},
            },
            spec={"name": container},
            node="a",
            command=(),
            args=args,
            env={"POD_NAME": pod},
            mounts=[Mount(each["mountPath"], f"pod:{pod}:{each['name']}", name=each["name"]) for each in mounts],
            directory=self.world.directory / pod / container / "0",
            wake=lambda: None,
            now=0.0,
            ip=next(ip for ip, name in IPS.items() if name == pod),
        )
        start = {"prometheus": prometheus.server, "alertmanager": prometheus.alertmanager}
        program = start.get(container, prometheus.config_reloader)(launch)
        assert isinstance(program, RealProcess)
        self.begun.append(program)
        return program

    def reloader(self, pod: str, kind: str, file: str, *more: str) -> RealProcess:
        container = "init-config-reloader" if "--watch-interval=0" in more else "config-reloader"
        args = [
            f"--config-file=/etc/{kind}/config/{file}.yaml.gz",
            f"--config-envsubst-file=/etc/{kind}/config_out/{file}.env.yaml",
            f"--watched-dir=/etc/{kind}/config",
            *more,
        ]
        return self.run(pod, kind, container, args)

    def ask(self, pod: str, port: int, path: str) -> Any:
        address = self.world.backends.find("n", pod, port)
        try:
            return urllib3.request("GET", f"http://{address[0]}:{address[1]}{path}", timeout=5.0, retries=False).json()
        except (urllib3.exceptions.HTTPError, ValueError):
            return None

    def close(self) -> None:
        for each in self.begun:
            each.close()
        self.world.proxy.stop()
        self.world.backends.close()


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    made = Pods(tmp_path)
    yield made
    made.close()


def scraping(*targets: str) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": "1s", "external_labels": {"replica": "$(POD_NAME)"}},
        "scrape_configs": [{"job_name": "shop", "static_configs": [{"targets": list(targets)}]}],
    }


def test_prometheus_reads_what_its_reloader_unpacks_and_reads_it_again(pods: Pods) -> None:
    pods.world.backends.answer("n", "shop", 8000, texts({"/metrics": lambda: "shop_waiting 3\n"}))
    pods.cluster.hold("prometheus", "prometheus.yaml.gz", scraping("10.0.0.9:8000"))
    first = pods.reloader("prometheus-0", "prometheus", "prometheus", "--watch-interval=0", "--listen-address=:8081")
    ended = until(lambda: first.exited(0.0), 20, "the init container ends")
    assert ended.code == 0, ended.message
    args = ["--config.file=/etc/prometheus/config_out/prometheus.env.yaml", "--storage.tsdb.path=/prometheus"]
    pods.run("prometheus-0", "prometheus", "prometheus", [*args, "--web.enable-lifecycle"])
    url = "http://localhost:9090/-/reload"
    second = pods.reloader("prometheus-0", "prometheus", "prometheus", f"--reload-url={url}", "--listen-address=:8080")

    def health() -> dict[str, str]:
        found = pods.ask("prometheus-0", 9090, "/api/v1/targets?state=active")
        targets = found["data"]["activeTargets"] if found else ()
        return {each["labels"]["instance"]: each["health"] for each in targets}

    until(lambda: health() == {"10.0.0.9:8000": "up"}, 30, "the pod is scraped")
    configured = pods.ask("prometheus-0", 9090, "/api/v1/status/config")["data"]["yaml"]
    assert "replica: prometheus-0" in configured

    for target in ("10.0.0.9:8001", "10.0.0.9:8002"):
        pods.cluster.hold("prometheus", "prometheus.yaml.gz", scraping("10.0.0.9:8000", target))
        second.refresh_files()
        expected = {"10.0.0.9:8000": "up", target: "down"}
        until(partial(lambda expected: health() == expected, expected), 30, "the new target is looked at")


def test_alertmanagers_find_each_other_one_after_the_other(pods: Pods) -> None:
    pods.cluster.hold(
        "alertmanager", "alertmanager.yaml.gz", {"route": {"receiver": "a"}, "receivers": [{"name": "a"}]}
    )
    peers = [f"--cluster.peer=alertmanager-{index}.alertmanager-operated:9094" for index in range(2)]
    args = ["--config.file=/etc/alertmanager/config_out/alertmanager.env.yaml", "--storage.path=/alertmanager", *peers]
    for index in range(2):
        pod = f"alertmanager-{index}"
        first = pods.reloader(pod, "alertmanager", "alertmanager", "--watch-interval=0")
        until(partial(first.exited, 0.0), 20, "the init container ends")
        listen = f"--cluster.listen-address=[10.0.0.{11 + index}]:9094"
        pods.run(pod, "alertmanager", "alertmanager", [*args, listen, "--web.listen-address=:9093"])

    def known() -> int:
        found = pods.ask("alertmanager-0", 9093, "/api/v2/status")
        return len(found["cluster"]["peers"]) if found else 0

    until(lambda: known() == 2, 30, "each knows the other")


def test_a_reloader_whose_output_nobody_reads_does_not_start(pods: Pods) -> None:
    pods.cluster.hold("prometheus", "prometheus.yaml.gz", scraping())
    with pytest.raises(LaunchError, match="no container of the pod mounts config-out"):
        pods.reloader("prometheus-0", "config-reloader", "prometheus")
