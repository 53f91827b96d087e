"""Trackers for tests: MLflow's own server, and its API as documented.

Source of paths, fields, limits and errors: MLflow documentation, REST API (api/2.0/mlflow); what MLflow 3.15 answers
was compared with the real server.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from rehearsal.testing.answering import Asked, Said, answering
from tests import partners

JSON = {"Content-Type": "application/json"}


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


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@contextmanager
def real(place: Path, port: int, database: str = "") -> Iterator[str]:
    """A server of MLflow's own on a database, which lies below `place` unless its address is given."""
    address = f"http://127.0.0.1:{port}"
    words: list[str | Path] = [
        partners.python("mlflow"),
        "-m",
        "mlflow",
        "server",
        "--host=127.0.0.1",
        f"--port={port}",
        "--workers=1",
    ]
    words += [
        f"--backend-store-uri={database or f'sqlite:///{place}/mlflow.db'}",
        f"--artifacts-destination={place}/artifacts",
    ]
    with (place / "server.log").open("w") as log:
        known = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=place, env=known, start_new_session=True)
        try:
            _answers(address, process, 600)
            yield address
        finally:
            # Its workers are of its group, and it keeps nothing that a test looks at later.
            os.killpg(process.pid, 9)
            process.wait(30)


def _answers(address: str, process: subprocess.Popen[bytes], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=2):  # noqa: S310
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("mlflow server did not start")


class Store:
    """Experiments and runs as the API shows them."""

    def __init__(self) -> None:
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.values: list[tuple[str, dict[str, Any]]] = []
        self.models: dict[str, list[dict[str, Any]]] = {}
        self.aliases: dict[tuple[str, str], str] = {}

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Raises RefusalError as MLflow refuses."""
        found: dict[str, Any] = getattr(self, "_" + path.replace("/", "_").replace("-", "_"), self._unknown)(body)
        return found

    def _unknown(self, _: dict[str, Any]) -> dict[str, Any]:
        raise RefusalError(404, "ENDPOINT_NOT_FOUND", "no such path")

    def _experiments_create(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["name"] in self.experiments:
            raise RefusalError(400, "RESOURCE_ALREADY_EXISTS", f"Experiment '{body['name']}' already exists.")
        self.experiments[body["name"]] = str(len(self.experiments) + 1)
        return {"experiment_id": self.experiments[body["name"]]}

    def _experiments_get_by_name(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["experiment_name"] not in self.experiments:
            raise RefusalError(404, "RESOURCE_DOES_NOT_EXIST", "no such experiment")
        return {"experiment": {"experiment_id": self.experiments[body["experiment_name"]]}}

    def _runs_create(self, body: dict[str, Any]) -> dict[str, Any]:
        run = f"{len(self.runs):032x}"
        info = {"run_id": run, "status": "RUNNING", "start_time": body["start_time"]}
        info |= {"experiment_id": body["experiment_id"], "run_name": body.get("run_name", "quiet-hen-1")}
        self.runs[run] = {"info": info, "data": {"params": [], "tags": body.get("tags", []), "metrics": []}}
        return {"run": self.runs[run]}

    def _run(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["run_id"] not in self.runs:
            raise RefusalError(404, "RESOURCE_DOES_NOT_EXIST", f"Run with id={body['run_id']} not found")
        return self.runs[body["run_id"]]

    def _runs_update(self, body: dict[str, Any]) -> dict[str, Any]:
        info = self._run(body)["info"]
        assert body["status"] in ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")
        info |= {key: body[key] for key in ("status", "end_time") if key in body}
        return {"run_info": info}

    def _runs_log_batch(self, body: dict[str, Any]) -> dict[str, Any]:
        data = self._run(body)["data"]
        metrics, params = body.get("metrics", []), body.get("params", [])
        if len(metrics) > 1000 or len(params) > 100 or len(metrics) + len(params) > 1000:
            raise RefusalError(400, "INVALID_PARAMETER_VALUE", "a batch has at most 1000 metrics and 100 params")
        known = {each["key"]: each["value"] for each in data["params"]}
        for each in params:
            assert isinstance(each["value"], str)
            if known.setdefault(each["key"], each["value"]) != each["value"]:
                raise RefusalError(400, "INVALID_PARAMETER_VALUE", f"Changing param values is not allowed: {each}")
        data["params"] = [{"key": key, "value": value} for key, value in known.items()]
        for each in metrics:
            assert isinstance(each["timestamp"], int)
            assert isinstance(each["step"], int)
            self.values.append((body["run_id"], each))
        return {}

    def _runs_search(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "runs": [each for each in self.runs.values() if each["info"]["experiment_id"] in body["experiment_ids"]]
        }

    def _metrics_get_history(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "metrics": [each for run, each in self.values if (run, each["key"]) == (body["run_id"], body["metric_key"])]
        }

    def _registered_models_create(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["name"] in self.models:
            raise RefusalError(400, "RESOURCE_ALREADY_EXISTS", f"Registered Model (name={body['name']}) exists.")
        self.models[body["name"]] = []
        return {"registered_model": {"name": body["name"]}}

    def _model_versions_create(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["name"] not in self.models:
            raise RefusalError(404, "RESOURCE_DOES_NOT_EXIST", "no such model")
        versions = self.models[body["name"]]
        made: dict[str, Any] = {key: body[key] for key in ("name", "source", "tags") if key in body}
        versions.append({**made, "version": str(len(versions) + 1), "status": "READY"})
        return {"model_version": versions[-1]}

    def _model_versions_search(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["filter"].removeprefix("name='").removesuffix("'")
        return {"model_versions": list(reversed(self.models.get(name, [])))}

    def _registered_models_alias(self, body: dict[str, Any]) -> dict[str, Any]:
        key = (body["name"], body["alias"])
        if "version" in body:
            self.aliases[key] = body["version"]
            return {}
        if key not in self.aliases:
            raise RefusalError(404, "RESOURCE_DOES_NOT_EXIST", f"Registered model alias {body['alias']} not found.")
        return {"model_version": self.models[body["name"]][int(self.aliases[key]) - 1]}


class RefusalError(Exception):
    """What the API refuses: status, error code, message."""


@contextmanager
def stand_in(port: int, store: Store | None = None) -> Iterator[str]:
    """The documented API on a port of this machine."""
    kept = store or Store()

    def answer(request: Asked) -> Said:
        path, _, query = request.path.partition("?")
        body = dict(parse_qsl(query)) if request.method == "GET" else json.loads(request.body or b"{}")
        try:
            said = kept.answer(path.removeprefix("/api/2.0/mlflow/"), body)
        except RefusalError as refusal:
            code, name, message = refusal.args
            return Said({"error_code": name, "message": message}, code, JSON)
        return Said(said, headers=JSON)

    with answering(answer, port=port):
        yield f"http://127.0.0.1:{port}"
