"""Which files lie on which volume, by name and size: enough to know whether a program finds what it opens."""

import json
import posixpath
import threading
from pathlib import Path

BUCKETS = "s3:"
KEPT = ("csi:", "local:", BUCKETS)


class Contents:
    """Files by volume key. Volumes of file systems and disks are remembered in a file, as they outlive pods.

    Keys: `csi:<driver>:<file system or disk id>`, `pod:<uid>:<volume>`, `host:<node>:<path>`, `local:<path>`
    of what machines mount by themselves, each of them the same, and `s3:<endpoint>/<bucket>` of a store that is not
    AWS'.
    """

    def __init__(self, record: Path) -> None:
        self._record = record
        self._files: dict[str, dict[str, int]] = json.loads(record.read_text()) if record.exists() else {}
        self._real: dict[tuple[str, str], Path] = {}
        self._lock = threading.Lock()

    def add(self, volume: str, files: dict[str, int]) -> None:
        """Files with their sizes in bytes, by path from the root of the volume."""
        with self._lock:
            held = self._files.setdefault(volume, {})
            held.update({_clean(path): size for path, size in files.items()})
            self._save()

    def bring(self, volume: str, path: str, file: Path) -> None:
        """A file with what is in it, for processes that read it; it is remembered as long as we run."""
        with self._lock:
            self._real[volume, _clean(path)] = file
        self.add(volume, {path: file.stat().st_size})

    def real(self, volume: str, path: str) -> Path | None:
        """What is in a file, where more than its size is known."""
        with self._lock:
            return self._real.get((volume, _clean(path)))

    def under(self, volume: str, path: str) -> dict[str, int]:
        """The files at or below a path."""
        clean = _clean(path)
        with self._lock:
            held = self._files.get(volume, {})
            return {name: size for name, size in held.items() if clean in ("", name) or name.startswith(clean + "/")}

    def volumes(self, prefix: str) -> list[str]:
        """The keys that begin so, of empty volumes too."""
        with self._lock:
            return [volume for volume in self._files if volume.startswith(prefix)]

    def forget(self, prefix: str) -> None:
        """Drops the volumes whose key begins so: a pod or a node has gone."""
        with self._lock:
            for volume in [volume for volume in self._files if volume.startswith(prefix)]:
                del self._files[volume]
            self._real = {key: file for key, file in self._real.items() if not key[0].startswith(prefix)}

    def _save(self) -> None:
        kept = {volume: files for volume, files in self._files.items() if volume.startswith(KEPT)}
        partial = self._record.with_suffix(".partial")
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(kept))
        partial.replace(self._record)


def _clean(path: str) -> str:
    return posixpath.normpath("/" + path).strip("/")
