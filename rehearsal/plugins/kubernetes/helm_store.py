"""Release records as Helm 3 keeps them: one Secret per revision, so that `helm list` and `helm history` work."""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import yaml

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.objects import Object, dig

SECRET_TYPE = "helm.sh/release.v1"  # noqa: S105 - the type of a Secret
PENDING = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")


@dataclass(frozen=True)
class Record:
    """One revision of a release."""

    name: str
    namespace: str
    revision: int
    status: str
    chart: str
    version: str
    values: Mapping[str, Any]
    objects: list[Object] = field(default_factory=list)
    description: str = ""
    app_version: str = ""
    hooks: list[Object] = field(default_factory=list)

    @property
    def secret_name(self) -> str:
        """`sh.helm.release.v1.<name>.v<revision>`."""
        return f"sh.helm.release.v1.{self.name}.v{self.revision}"


class Store:
    """The records of the releases of one cluster."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def history(self, namespace: str, name: str) -> list[Record]:
        """All revisions, oldest first; empty if there is no such release."""
        secrets = self._kube.list("v1", "Secret", namespace, f"owner=helm,name={name}")
        records = [_decode(secret) for secret in secrets if secret.get("type") == SECRET_TYPE]
        return sorted(records, key=lambda record: record.revision)

    def add(self, record: Record, most: int = 0) -> Record:
        """Writes a new revision, and forgets the oldest ones but the deployed one so that at most `most` are left.

        Raises ApiError AlreadyExists if another helm just wrote it. (pkg/storage/storage.go, Create)
        """
        if most:
            history = self.history(record.namespace, record.name)
            deployed = next((each.revision for each in reversed(history) if each.status == "deployed"), None)
            spare = [each for each in history if each.revision != deployed]
            for old in spare[: max(0, len(history) - most + 1)]:
                self.remove(old)
        self._kube.create(_secret(record), manager="helm")
        return record

    def set_status(self, record: Record, status: str, description: str = "") -> Record:
        """Writes the revision's new status and gives it back."""
        changed = replace(record, status=status, description=description or record.description)
        secret = _secret(changed)
        patch = {"metadata": {"labels": secret["metadata"]["labels"]}, "stringData": secret["stringData"]}
        self._kube.patch("v1", "Secret", changed.secret_name, changed.namespace, patch)
        return changed

    def remove(self, record: Record) -> None:
        """Forgets the revision."""
        reference = {"name": record.secret_name, "namespace": record.namespace}
        self._kube.delete({"apiVersion": "v1", "kind": "Secret", "metadata": reference})


def _secret(record: Record) -> Object:
    labels = {
        "name": record.name,
        "owner": "helm",
        "status": record.status,
        "version": str(record.revision),
        "modifiedAt": str(int(datetime.now(UTC).timestamp())),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": SECRET_TYPE,
        "metadata": {"name": record.secret_name, "namespace": record.namespace, "labels": labels},
        "stringData": {"release": _encode(record)},
    }


def _encode(record: Record) -> str:
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    release = {
        "name": record.name,
        "namespace": record.namespace,
        "version": record.revision,
        "config": record.values,
        "manifest": "".join(f"---\n{json.dumps(obj)}\n" for obj in record.objects),
        "hooks": [_hook(obj) for obj in record.hooks],
        "chart": {
            "metadata": {
                "apiVersion": "v2",
                "name": record.chart,
                "version": record.version,
                "appVersion": record.app_version,
            }
        },
        "info": {
            "first_deployed": now,
            "last_deployed": now,
            "deleted": "",
            "description": record.description,
            "status": record.status,
        },
    }
    return base64.b64encode(gzip.compress(json.dumps(release).encode())).decode()


def _hook(obj: Object) -> Object:
    meta = obj["metadata"]
    events = [each.strip() for each in str(dig(meta, "annotations", "helm.sh/hook", default="")).split(",")]
    return {"name": meta["name"], "kind": obj["kind"], "path": "", "manifest": json.dumps(obj), "events": events}


def _decode(secret: Mapping[str, Any]) -> Record:
    text = base64.b64decode(base64.b64decode(secret["data"]["release"]))
    release = json.loads(gzip.decompress(text))
    about = dig(release, "chart", "metadata", default={})
    return Record(
        name=release["name"],
        namespace=release["namespace"],
        revision=int(release["version"]),
        status=str(dig(release, "info", "status")),
        chart=str(about.get("name", "")),
        version=str(about.get("version", "")),
        values=release.get("config") or {},
        objects=_documents(release.get("manifest") or ""),
        description=str(dig(release, "info", "description", default="")),
        app_version=str(about.get("appVersion", "")),
        hooks=[hook for each in release.get("hooks") or [] for hook in _documents(each["manifest"])],
    )


def _documents(manifest: str) -> list[Object]:
    """The manifest's objects: ours are one JSON document per line, those a real helm wrote are YAML."""
    chunks = [line for line in manifest.splitlines() if line and line != "---"]
    if all(line.startswith("{") for line in chunks):
        return [json.loads(line) for line in chunks]
    return [document for document in yaml.safe_load_all(manifest) if document]
