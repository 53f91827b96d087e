"""The copy of the tracker's database, by the very script of the CronJob on a real PostgreSQL, and back again (R05).

MLFLOW_PYTHON names a Python with mlflow, psycopg2-binary and pgserver, which brings PostgreSQL's programs.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from components.tracking.backup import DUMP, DUMPING, copying
from components.tracking.database import HOST, USER
from components.tracking.mlflow import BACKEND
from tests.stacks.fake_platform import CaskClient

PYTHON = os.environ.get("MLFLOW_PYTHON")
MINUTES = 5 * 60

SERVE = """
import json, pathlib, subprocess, sys
import pgserver
place, backend, dumping, restoring, host = sys.argv[1:]
tools = pathlib.Path(pgserver.__file__).parent / "pginstall" / "bin"
server = pgserver.get_server(place)
socket = server.get_uri().partition("host=")[2]
env = {"PATH": f"{tools}:/usr/bin:/bin", "PGPASSWORD": "hush", "MLFLOW_DISABLE_TELEMETRY": "true", "HOME": place}
run = lambda *words: subprocess.run(words, env=env, check=True)
server.psql("create role mlflow login superuser; ")
server.psql("create database mlflow owner mlflow")
uri = backend.replace(f"@{host}:5432/mlflow", f"@/mlflow?host={socket}")
from mlflow.tracking import MlflowClient
run(sys.executable, "-m", "mlflow", "db", "upgrade", uri)
client = MlflowClient(uri)
made = client.create_run(client.create_experiment("sft", artifact_location="s3://none"))
client.log_metric(made.info.run_id, "loss", 1.5, step=7)
run("sh", "-c", dumping.replace(f"--host={host}", f"--host={socket}"))
for table in ("metrics", "latest_metrics"):
    server.psql(f"\\\\c mlflow\\ndelete from {table}")
lost = client.get_metric_history(made.info.run_id, "loss")
run("sh", "-c", restoring.replace("pg_restore", f"pg_restore --host={socket}"))
run(sys.executable, "-m", "mlflow", "db", "upgrade", uri)
found = client.get_metric_history(made.info.run_id, "loss")
print("\\n" + json.dumps([len(lost), [[each.step, each.value] for each in found]]))
server.cleanup()
"""


def test_a_lost_table_is_back_as_the_page_says(tmp_path: Path) -> None:
    if PYTHON is None or subprocess.run([PYTHON, "-c", "import pgserver, psycopg2"], check=False).returncode:
        pytest.skip("MLFLOW_PYTHON names no Python with mlflow==3.15.1, psycopg2-binary and pgserver")
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tracking.md").read_text(encoding="utf-8")
    (line,) = [each for each in page.splitlines() if "pg_restore" in each]
    restoring = f"pg_restore{line.partition(' -- pg_restore')[2]}".replace("mlflow.dump", str(tmp_path / "mlflow.dump"))
    dumping = DUMPING.replace(DUMP, str(tmp_path / "mlflow.dump"))
    said = subprocess.run(
        [PYTHON, "-c", SERVE, str(tmp_path / "pg"), BACKEND, dumping, restoring, HOST],
        capture_output=True,
        text=True,
        check=False,
        timeout=MINUTES,
    )
    assert said.returncode == 0, said.stderr[-3000:]
    assert json.loads(said.stdout.splitlines()[-1]) == [0, [[7, 1.5]]]
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
