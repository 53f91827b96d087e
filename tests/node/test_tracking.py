"""What the reference trainer tells MLflow's own server (R05)."""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import tracking
from tracking import Tracker

from rehearsal.places import free_port
from tests.node.mlflow_servers import runs, served, steps

Serve = Callable[[int], AbstractContextManager[str]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Starts a tracker on a port; again on the same data."""
    place = tmp_path / "server"
    place.mkdir()
    return lambda port: served(place, port)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "EVERY_SECONDS", 0.05)
    # As long as a real server on a busy machine may take.
    monkeypatch.setattr(tracking, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(tracking, "END_SECONDS", 120.0)


def environment(address: str, **more: str) -> dict[str, str]:
    context = json.dumps({"gpucluster.image": "trainer@sha256:1", "gpucluster.stack": "dev"})
    known = {"MLFLOW_TRACKING_URI": address, "MLFLOW_EXPERIMENT_NAME": "sft", "MLFLOW_RUN_CONTEXT": context}
    return {**known, **more}


def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_run_tells_what_it_is_made_of_its_values_and_its_end(serve: Serve, tmp_path: Path) -> None:
    said: list[str] = []
    with serve(free_port()) as address:
        told = Tracker(environment(address, MLFLOW_RUN_NAME="rates-1"), tmp_path, said.append)
        told.begin({"learning_rate": 0.01, "layers": 2}, resumed=False)
        for step in range(1, 2501):
            told.tell(step, loss=1.0 / step)
        told.end("FINISHED")
        (run,) = runs(address, "sft")
        assert run["info"]["status"] == "FINISHED"
        assert run["info"]["run_name"] == "rates-1"
        assert {each["key"]: each["value"] for each in run["data"]["params"]} == {
            "learning_rate": "0.01",
            "layers": "2",
        }
        tags = {each["key"]: each["value"] for each in run["data"]["tags"]}
        assert tags["gpucluster.image"] == "trainer@sha256:1"
        assert steps(address, run, "loss") == pytest.approx({step: 1.0 / step for step in range(1, 2501)})
    assert said == []


def test_a_run_that_goes_on_from_a_save_goes_on_in_the_tracker(serve: Serve, tmp_path: Path) -> None:
    with serve(free_port()) as address:
        for first, status in ((1, "KILLED"), (4, "FINISHED")):
            told = Tracker(environment(address), tmp_path, print)
            told.begin({"steps": 6}, resumed=first > 1)
            for step in range(first, first + 3):
                told.tell(step, loss=float(step))
            told.end(status)
        (run,) = runs(address, "sft")
        assert run["info"]["status"] == "FINISHED"
        assert sorted(steps(address, run, "loss")) == [1, 2, 3, 4, 5, 6]
        other = Tracker(environment(address), tmp_path, print)
        other.begin({"steps": 6}, resumed=False)
        other.end("FINISHED")
        assert len(runs(address, "sft")) == 2


def test_a_tracker_that_comes_back_is_told_everything_and_each_change_is_said_once(
    serve: Serve, tmp_path: Path
) -> None:
    said: list[str] = []
    port = free_port()
    told = Tracker(environment(f"http://127.0.0.1:{port}"), tmp_path, said.append)
    told.begin({}, resumed=False)
    for step in range(1, 11):
        told.tell(step, loss=float(step))
    until(lambda: said)
    time.sleep(0.3)
    assert len(said) == 1
    assert "did not answer" in said[0]
    assert "the run continues" in said[0]
    with serve(port) as address:
        until(lambda: len(said) == 2, 120)
        told.end("FINISHED")
        (run,) = runs(address, "sft")
        assert sorted(steps(address, run, "loss")) == list(range(1, 11))
    assert said[1] == f"tracker http://127.0.0.1:{port} answers again"


def test_a_tracker_that_is_down_costs_no_step_and_ends_within_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "END_SECONDS", 0.5)
    monkeypatch.setattr(tracking, "HELD", 50)
    told = Tracker(environment(f"http://127.0.0.1:{free_port()}"), tmp_path, lambda _: None)
    told.begin({}, resumed=False)
    begun = time.monotonic()
    for step in range(10_000):
        told.tell(step, loss=1.0)
    assert time.monotonic() - begun < 1
    told.end("FAILED")
    assert time.monotonic() - begun < 3
    assert len(told._values) == 50


@pytest.mark.parametrize("address", ["", "file:///tmp/runs", "databricks"])
def test_no_address_of_a_server_means_nobody_is_told(address: str, tmp_path: Path) -> None:
    told = Tracker(environment(address), tmp_path, print)
    told.begin({}, resumed=False)
    told.tell(1, loss=1.0)
    told.end("FINISHED")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_the_tracker_has_lost_begins_there_anew(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / tracking.FILE).write_text("0123456789abcdef0123456789abcdef\n")
    with serve(free_port()) as address:
        told = Tracker(environment(address), tmp_path, print)
        told.begin({"steps": 6}, resumed=True)
        told.tell(5, loss=1.0)
        told.end("FINISHED")
        (run,) = runs(address, "sft")
        assert steps(address, run, "loss") == {5: 1.0}
