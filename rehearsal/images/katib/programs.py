"""Katib's images by its own programs, which ask each other by gRPC through the cluster's network.

Arguments and settings come from the pod as they are. Changed are the addresses to listen on, the directory of the
webhooks' certificate, and how the API server and PostgreSQL are found. The algorithms in Python and early stopping are
the vendor's sources, started as their `main.py` does it (cmd/suggestion, cmd/earlystopping).
"""

import json
import os
from typing import Any

import yaml

from rehearsal import places
from rehearsal.images import words
from rehearsal.images.operators import relocate, without_entry
from rehearsal.images.postgresql import PORT as POSTGRESQL
from rehearsal.images.postgresql import Client
from rehearsal.kubelet.process import RealProcess
from rehearsal.kubelet.program import Launch, Program
from rehearsal.toolchain.manifests import tree
from rehearsal.toolchain.pythons import KATIB

METRICS, HEALTH, WEBHOOK = 8080, 18080, 8443
MANAGER, ALGORITHM, STOPPING = 6789, 6789, 6788
CONFIG = "/katib-config.yaml"
_OWN = {"KUBERNETES_SERVICE_HOST": "", "KUBERNETES_SERVICE_PORT": "", "GOGC": "50"}

START = """
import importlib.util, sys
_, path, address, namespace = sys.argv
spec = importlib.util.spec_from_file_location("main", path)
main = importlib.util.module_from_spec(spec)
spec.loader.exec_module(main)
for module in (main, sys.modules.get("pkg.earlystopping.v1beta1.medianstop.service")):
    if hasattr(module, "DEFAULT_NAMESPACE"):
        module.DEFAULT_NAMESPACE = namespace
main.DEFAULT_PORT = address
main.serve()
"""
"""A service in Python on another address. Outside of a pod's own file system it does not know its namespace."""
_PYTHON_PATH = ("", "pkg/apis/manager/v1beta1/python", "pkg/apis/manager/health/python")
"""As in the images (cmd/suggestion/hyperopt/v1beta1/Dockerfile)."""


@words.operator
def controller(launch: Launch) -> Program:
    """The controller with its webhooks; the file of its settings says where it listens."""
    ports = {METRICS: places.free_port(), HEALTH: places.free_port(), WEBHOOK: places.free_port()}

    def moved(path: str, held: bytes) -> bytes:
        return elsewhere(held, ports) if path == CONFIG else held

    argv = without_entry(launch.argv, "./katib-controller")
    env = {"HTTPS_PROXY": launch.world.proxy.url, **_OWN}
    return RealProcess(launch, launch.world.tools["katib-controller"], argv, ports, env, moved)


def elsewhere(held: bytes, ports: dict[int, int]) -> bytes:
    """A KatibConfig whose controller listens on these ports of loopback (pkg/apis/config/v1beta1/types.go). Pure."""
    config: dict[str, Any] = yaml.safe_load(held)
    config["init"]["controller"] |= {
        "metricsAddr": f"{places.LOOPBACK}:{ports[METRICS]}",
        "healthzAddr": f"{places.LOOPBACK}:{ports[HEALTH]}",
        "webhookPort": ports[WEBHOOK],
    }
    return json.dumps(config).encode()


@words.operator
def manager(launch: Launch) -> Program:
    """What keeps metrics in PostgreSQL, of which its environment says where it is (pkg/db/v1beta1/common/const.go)."""
    argv, ports = relocate(without_entry(launch.argv, "./katib-db-manager"), {"--listen-address": MANAGER})
    name, env = "KATIB_POSTGRESQL_DB_HOST", launch.env
    port = env.get("KATIB_POSTGRESQL_DB_PORT", POSTGRESQL)
    server = f"--host={env.get(name, 'katib-postgres')} --port={port}"
    binary = launch.world.tools["katib-db-manager"]
    return Client(launch, binary, argv, ports, {"GOGC": "50"}, server=server, variable=name)


def algorithm(launch: Launch) -> Program:
    """The service of an algorithm, by its image's name."""
    kind = str(launch.spec["image"]).rpartition("/suggestion-")[2].partition(":")[0].partition("@")[0]
    if kind != "goptuna":
        return _python(launch, f"cmd/suggestion/{kind}/v1beta1/main.py", ALGORITHM)
    local = places.free_port()
    env = {"LISTEN_ADDRESS": f"{places.LOOPBACK}:{local}", "GOGC": "50"}
    return RealProcess(launch, launch.world.tools["suggestion-goptuna"], [], {ALGORITHM: local}, env)


def early_stopping(launch: Launch) -> Program:
    """The service that says when a trial is to be ended, and marks one that was."""
    return _python(launch, "cmd/earlystopping/medianstop/v1beta1/main.py", STOPPING)


def _python(launch: Launch, path: str, port: int) -> Program:
    source, local = tree("katib", "cmd", "pkg"), places.free_port()
    env = {
        "PYTHONPATH": os.pathsep.join(str(source / each) for each in _PYTHON_PATH),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "grpc_proxy": launch.world.proxy.url,
    }
    argv = ["-c", START, str(source / path), f"{places.LOOPBACK}:{local}", launch.namespace]
    return RealProcess(launch, KATIB.python(), argv, {port: local}, env)
