"""MLflow's own server for tests, and what it is asked (MLflow documentation, REST API: api/2.0/mlflow)."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rehearsal.processes import last_lines
from rehearsal.toolchain.pythons import MLFLOW


def asked(address: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The answer of a tracker."""
    request = urllib.request.Request(  # noqa: S310 - loopback
        f"{address}/api/2.0/mlflow/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        found: dict[str, Any] = json.loads(response.read())
        return found


def runs(address: str, experiment: str) -> list[dict[str, Any]]:
    """The runs of an experiment, the oldest first."""
    found = asked(address, f"experiments/get-by-name?experiment_name={experiment}")["experiment"]["experiment_id"]
    listed = asked(address, "runs/search", {"experiment_ids": [found], "max_results": 100}).get("runs", [])
    return sorted(listed, key=lambda each: each["info"]["start_time"])


def steps(address: str, run: Mapping[str, Any], metric: str) -> dict[int, float]:
    """All values of a metric of a run, by their steps."""
    path = f"metrics/get-history?run_id={run['info']['run_id']}&metric_key={metric}&max_results=10000"
    return {int(each.get("step", 0)): each["value"] for each in asked(address, path)["metrics"]}


@contextmanager
def served(place: Path, port: int, database: str = "") -> Iterator[str]:
    """A server of MLflow's own on a database, which lies below `place` unless its address is given."""
    address = f"http://127.0.0.1:{port}"
    store = database or f"sqlite:///{place}/mlflow.db"
    words = [str(MLFLOW.python()), "-m", "mlflow", "server", "--host=127.0.0.1", f"--port={port}"]
    words += ["--workers=1", f"--backend-store-uri={store}", f"--artifacts-destination={place}/artifacts"]
    with (place / "server.log").open("w") as log:
        known = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=place, env=known, start_new_session=True)
        try:
            _answers(address, process, place / "server.log", 600)
            yield address
        finally:
            # Its workers are of its group, and it keeps nothing that a test looks at later.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait(30)


def _answers(address: str, process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=2):  # noqa: S310
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"mlflow server did not start:\n{last_lines(log)}")
