"""MLflow's image by the real program: its server with its database, and what brings the tables up to date.

Words and environment come from the pod as they are. Changed are the address to listen on, and the processes that serve,
of which there is one. What it asks of an object store goes to the cluster's proxy, which reaches none.
"""

from collections.abc import Sequence

from rehearsal import places
from rehearsal.images.operators import extract, relocate
from rehearsal.images.postgresql import Client
from rehearsal.kubelet.images import unknown
from rehearsal.kubelet.program import Launch, Program
from rehearsal.toolchain.pythons import MLFLOW

PORT = 5000
"""Where nobody says another (mlflow/cli/__init__.py, server)."""

START = """
import os
import mlflow.server
from mlflow.cli import cli
mlflow.server._exec_cmd = lambda words, extra_env, **_: os.execve(words[0], words, {**os.environ, **extra_env})
cli(prog_name="mlflow")
"""
"""`mlflow`, whose server takes its process' place (mlflow/server/__init__.py, _run_server): so it needs the memory of
one, and ends with its pod however that ends.
"""


def run(launch: Launch) -> Program:
    """`mlflow server`, or another command of `mlflow` that ends; any other program is an image that nobody knows."""
    if launch.argv[:1] != ["mlflow"]:
        return unknown(launch)
    argv, ports = launch.argv[1:], dict[int, int]()
    if argv[:1] == ["server"]:
        argv, ports = relocate(argv, {"--port": PORT}, bare=True)
        host, argv = extract(argv, "--host")
        _, argv = extract(argv, "--workers")
        argv += [f"--host={places.LOOPBACK}", "--workers=1"]
        # On its pod's loopback, which it listens on unless it is told another, nobody finds it.
        ports = ports if host == "0.0.0.0" else {}  # noqa: S104 - what the pod says
    proxy = launch.world.proxy.url
    env = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": ""}
    return Client(launch, MLFLOW.python(), ["-c", START, *argv], ports, env)


def port(words: Sequence[str]) -> int:
    """Where the server listens, by its command line."""
    return int(extract(words, "--port")[0] or PORT)
