"""What a person does with a database in a rehearsed cluster: copy it, lose it, bring it back."""

import base64
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal.toolchain.pythons import postgresql

from .rehearsed import Rehearsed, until

SECONDS = 600


@dataclass(frozen=True)
class Kept:
    """The database `name` of a namespace, with the CronJob that copies it, and the page that says how it is restored.
    Its Secret has its user's password.
    """

    namespace: str
    name: str
    schedule: str
    page: str = ""
    secret: str = ""


TRACKER = Kept("tracking", "mlflow-database", "mlflow-backup", "tracking.md", "mlflow-database")
TRIALS = Kept("kubeflow", "katib-postgres", "katib-backup", "experiments.md", "katib-postgres-secrets")
PIPELINES = Kept("pipelines", "mysql", "pipelines-backup")


def secret(site: Rehearsed, namespace: str, name: str, key: str) -> dict[str, bytes]:
    """What is in a Secret, once it holds the key."""

    def data() -> dict[str, str]:
        return dict((site.kube.get("v1", "Secret", name, namespace) or {}).get("data") or {})

    found: dict[str, str] = until(lambda: data() if key in data() else {}, f"Kubernetes to fill {name}")
    return {key: base64.b64decode(value) for key, value in found.items()}


def copied(site: Rehearsed, kept: Kept) -> bytes:
    """The copy that the schedule's own job makes now."""
    where, name = kept.namespace, kept.schedule
    schedule = site.kube.get("batch/v1", "CronJob", name, where)
    assert schedule
    site.kubectl("-n", where, "create", "job", "now", f"--from=cronjob/{name}")

    def done() -> bool:
        status = (site.kube.get("batch/v1", "Job", "now", where) or {}).get("status") or {}
        assert not status.get("failed"), site.kube.list("v1", "Pod", where)
        return bool(status.get("succeeded"))

    until(done, "the database to be copied", SECONDS)
    (copy,) = schedule["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    (uri,) = [each["value"] for each in copy["env"] if each["name"] == "BACKUP_URI"]
    place = urlsplit(uri)
    store = site.aws("s3")
    (found,) = store.list_objects_v2(Bucket=place.hostname, Prefix=place.path.lstrip("/"))["Contents"]
    return bytes(store.get_object(Bucket=place.hostname, Key=found["Key"])["Body"].read())


def scaled(site: Rehearsed, namespace: str, kind: str, name: str, replicas: int) -> None:
    """Another number of pods, all of them ready."""
    site.kubectl("-n", namespace, "scale", f"{kind.lower()}/{name}", f"--replicas={replicas}")

    def there() -> bool:
        status = (site.kube.get("apps/v1", kind, name, namespace) or {}).get("status") or {}
        return (status.get("replicas", 0), status.get("readyReplicas", 0)) == (replicas, replicas)

    until(there, f"{replicas} ready pods of {name}", SECONDS)


def lose(site: Rehearsed, kept: Kept) -> None:
    """Its volume goes, and it begins on an empty one."""
    where, claim = kept.namespace, f"data-{kept.name}-0"
    before = (site.kube.get("v1", "PersistentVolumeClaim", claim, where) or {})["spec"]["volumeName"]
    scaled(site, where, "StatefulSet", kept.name, 0)
    site.kubectl("-n", where, "delete", "pvc", claim)
    scaled(site, where, "StatefulSet", kept.name, 1)
    after = (site.kube.get("v1", "PersistentVolumeClaim", claim, where) or {})["spec"]["volumeName"]
    assert after != before


def restore(site: Rehearsed, kept: Kept, directory: Path) -> None:
    """The page's command, which a person has the database's pod run: its words ask the pod's own server."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / kept.page).read_text(encoding="utf-8")
    (line,) = [each for each in page.splitlines() if "pg_restore" in each]
    asked(site, kept, f"pg_restore{line.partition(' -- pg_restore')[2]}", directory)


def asked(site: Rehearsed, kept: Kept, command: str, directory: Path) -> str:
    """What a program of PostgreSQL's says beside the one database of the site."""
    lock = max(
        site.directory.path.glob("clusters/*/*/effects/volumes/*/pgdata/postmaster.pid"),
        key=lambda each: each.stat().st_mtime,
    )
    _, _, _, port, _, host, *_ = lock.read_text(encoding="utf-8").splitlines()
    word = secret(site, kept.namespace, kept.secret, "password")["password"].decode()
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=directory,
        env={"PATH": f"{postgresql()}:{os.environ['PATH']}", "PGHOST": host, "PGPORT": port, "PGPASSWORD": word},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    return done.stdout
