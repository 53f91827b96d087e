"""Tells MLflow how the run gets on, by its REST API: what it is made of, each step's values, and how it ended.

The run is what counts: a tracker that is slow, down or wrong delays nothing and ends nothing. Values wait in memory, as
many as HELD, and a thread of its own sends them; what it cannot send it says once, and again when it can.
A run that goes on from a save goes on in the tracker: the name of its run there lies beside the saves.
Source of paths, fields and limits: MLflow documentation, REST API (api/2.0/mlflow/...), log-batch above all.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

ADDRESS, EXPERIMENT, NAME, CONTEXT = (
    "MLFLOW_TRACKING_URI",
    "MLFLOW_EXPERIMENT_NAME",
    "MLFLOW_RUN_NAME",
    "MLFLOW_RUN_CONTEXT",
)
FILE = "mlflow-run"
"""Beside the saves: the id of the run in the tracker."""
EVERY_SECONDS, ANSWER_SECONDS, END_SECONDS = 5.0, 10.0, 20.0
HELD, BATCH, PARAMS = 100_000, 1000, 100
"""Values that wait at the most; values and parameters of one request (log-batch: 1000 metrics, 100 params and tags)."""
LONGEST_PARAM = 6000
"""Characters of a parameter's value (log-batch)."""


class RefusedError(Exception):
    """What the tracker has against a request."""


class Tracker:
    """Of rank 0. Without an address it is told nothing and does nothing."""

    def __init__(self, environment: Mapping[str, str], place: Path | None, say: Callable[[str], None]) -> None:
        self._address = environment.get(ADDRESS, "").rstrip("/")
        self._experiment = environment.get(EXPERIMENT) or "Default"
        self._name, self._context = environment.get(NAME), environment.get(CONTEXT)
        token = environment.get("MLFLOW_TRACKING_TOKEN")
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._place, self._say = place, say
        self._values: deque[dict[str, Any]] = deque(maxlen=HELD)
        self._params: list[dict[str, str]] = []
        self._run: str | None = None
        self._resumed = False
        self._well = True
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, params: Mapping[str, object], *, resumed: bool) -> None:
        """Begins to tell; `resumed` runs go on where they were."""
        if not self._address.startswith(("http://", "https://")):
            return
        self._resumed = resumed
        self._params = [{"key": key, "value": str(value)[:LONGEST_PARAM]} for key, value in sorted(params.items())]
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def tell(self, step: int, **values: float) -> None:
        """Values of a step. It never waits."""
        if self._thread is None:
            return
        now = round(time.time() * 1000)
        for key, value in values.items():
            self._values.append({"key": key, "value": value, "timestamp": now, "step": step})

    def end(self, status: str) -> None:
        """Sends what is left, for so long as END_SECONDS, and says how the run ended: FINISHED, FAILED or KILLED."""
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive() or self._values or self._run is None:
            return
        now = round(time.time() * 1000)
        self._tried(lambda: self._ask("runs/update", {"run_id": self._run, "status": status, "end_time": now}))

    def _work(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            self._tried(self._send)
        until = time.monotonic() + END_SECONDS
        while not self._tried(self._send) and time.monotonic() < until - ANSWER_SECONDS:
            time.sleep(1)

    def _tried(self, what: Callable[[], object]) -> bool:
        """Whether it went well; a change from the one to the other is said."""
        try:
            what()
        except (OSError, ValueError, KeyError, TypeError, RefusedError) as error:
            if self._well:
                self._say(
                    f"tracker {self._address} did not answer: {error}; the run continues and sends its metrics later"
                )
            self._well = False
            return False
        if not self._well:
            self._say(f"tracker {self._address} answers again")
        self._well = True
        return True

    def _send(self) -> None:
        if self._run is None:
            self._run = self._known() or self._made()
        while self._params:
            part = self._params[:PARAMS]
            try:
                self._ask("runs/log-batch", {"run_id": self._run, "params": part})
            except RefusedError as error:
                # A parameter is written once: a run that goes on with another value keeps its first.
                self._say(f"tracker {self._address} refused changed parameters, the first ones stay: {error}")
            del self._params[:PARAMS]
        while self._values:
            batch = [self._values[index] for index in range(min(BATCH, len(self._values)))]
            self._ask("runs/log-batch", {"run_id": self._run, "metrics": batch})
            last = batch[-1]
            while self._values and self._values.popleft() is not last:
                """Those that were sent; what is newer stays."""

    def _known(self) -> str | None:
        """The run that this one goes on with, as long as the tracker has it."""
        if not self._resumed or self._place is None or not (self._place / FILE).is_file():
            return None
        run = (self._place / FILE).read_text(encoding="utf-8").strip()
        try:
            self._ask("runs/update", {"run_id": run, "status": "RUNNING"})
        except RefusedError:
            return None
        return run

    def _made(self) -> str:
        try:
            found = self._ask("experiments/create", {"name": self._experiment})["experiment_id"]
        except RefusedError:
            named = self._ask(f"experiments/get-by-name?experiment_name={quote(self._experiment)}", None)
            found = named["experiment"]["experiment_id"]
        tags = [{"key": key, "value": str(value)} for key, value in json.loads(self._context or "{}").items()]
        wanted = {"experiment_id": found, "start_time": round(time.time() * 1000), "tags": tags}
        made = self._ask("runs/create", {**wanted, **({"run_name": self._name} if self._name else {})})
        run = str(made["run"]["info"]["run_id"])
        if self._place is not None:
            (self._place / FILE).write_text(f"{run}\n", encoding="utf-8")
        return run

    def _ask(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        """The answer to a request. Raises RefusedError with MLflow's own sentence, OSError where nobody answers."""
        request = urllib.request.Request(  # noqa: S310 - begin() lets http and https through
            f"{self._address}/api/2.0/mlflow/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **self._authorization},
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:  # noqa: S310
                found: dict[str, Any] = json.loads(response.read() or b"{}")
                return found
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(2000).decode(errors="replace")
            if 400 <= error.code < 500 and error.code != 429:
                raise RefusedError(f"{error.code} {said}") from None
            raise OSError(f"status {error.code}") from None
