"""What a person does with the tracker's database in a rehearsed cluster: copy it, lose it, bring it back."""

import base64
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal.toolchain.pythons import postgresql

from .rehearsed import Rehearsed, until

WHERE, NAME, SECONDS = "tracking", "mlflow-database", 600


def secret(site: Rehearsed, namespace: str, name: str, key: str) -> dict[str, bytes]:
    """What is in a Secret, once it holds the key."""

    def data() -> dict[str, str]:
        return dict((site.kube.get("v1", "Secret", name, namespace) or {}).get("data") or {})

    found: dict[str, str] = until(lambda: data() if key in data() else {}, f"Kubernetes to fill {name}")
    return {key: base64.b64decode(value) for key, value in found.items()}


def copied(site: Rehearsed, to: Path) -> None:
    """Fetches the copy that the schedule's own job makes now."""
    schedule = site.kube.get("batch/v1", "CronJob", "mlflow-backup", WHERE)
    assert schedule
    site.kubectl("-n", WHERE, "create", "job", "now", "--from=cronjob/mlflow-backup")

    def done() -> bool:
        status = (site.kube.get("batch/v1", "Job", "now", WHERE) or {}).get("status") or {}
        assert not status.get("failed"), site.kube.list("v1", "Pod", WHERE)
        return bool(status.get("succeeded"))

    until(done, "the database to be copied", SECONDS)
    (copy,) = schedule["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    (uri,) = [each["value"] for each in copy["env"] if each["name"] == "BACKUP_URI"]
    where = urlsplit(uri)
    store = site.aws("s3")
    listed = store.list_objects_v2(Bucket=where.hostname, Prefix=where.path.lstrip("/"))["Contents"]
    (name,) = [each["Key"] for each in listed if each["Key"].endswith(".dump")]
    to.write_bytes(store.get_object(Bucket=where.hostname, Key=name)["Body"].read())


def scaled(site: Rehearsed, kind: str, name: str, replicas: int) -> None:
    """Another number of pods, all of them ready."""
    site.kubectl("-n", WHERE, "scale", f"{kind.lower()}/{name}", f"--replicas={replicas}")

    def there() -> bool:
        status = (site.kube.get("apps/v1", kind, name, WHERE) or {}).get("status") or {}
        return (status.get("replicas", 0), status.get("readyReplicas", 0)) == (replicas, replicas)

    until(there, f"{replicas} ready pods of {name}", SECONDS)


def lose_database(site: Rehearsed) -> None:
    """Its volume goes, and it begins on an empty one."""
    claim = f"data-{NAME}-0"
    before = (site.kube.get("v1", "PersistentVolumeClaim", claim, WHERE) or {})["spec"]["volumeName"]
    scaled(site, "StatefulSet", NAME, 0)
    site.kubectl("-n", WHERE, "delete", "pvc", claim)
    scaled(site, "StatefulSet", NAME, 1)
    after = (site.kube.get("v1", "PersistentVolumeClaim", claim, WHERE) or {})["spec"]["volumeName"]
    assert after != before


def restore(site: Rehearsed, directory: Path) -> None:
    """The page's command, which a person has the database's pod run: its words ask the pod's own server."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tracking.md").read_text(encoding="utf-8")
    (line,) = [each for each in page.splitlines() if "pg_restore" in each]
    lock = max(
        site.directory.path.glob("clusters/*/*/effects/volumes/*/pgdata/postmaster.pid"),
        key=lambda each: each.stat().st_mtime,
    )
    _, _, _, port, _, host, *_ = lock.read_text(encoding="utf-8").splitlines()
    password = secret(site, WHERE, NAME, "password")["password"].decode()
    subprocess.run(
        ["sh", "-ec", f"pg_restore{line.partition(' -- pg_restore')[2]}"],
        cwd=directory,
        env={"PATH": f"{postgresql()}:{os.environ['PATH']}", "PGHOST": host, "PGPORT": port, "PGPASSWORD": password},
        check=True,
        timeout=300,
    )
