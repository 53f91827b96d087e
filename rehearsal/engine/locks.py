"""The locks of a file backend: `.pulumi/locks/organization/<project>/<stack>/<id>.json` (pulumi pkg/backend/diy)."""

import json
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Lock:
    """One lock and the process that took it."""

    path: Path
    pid: int
    host: str

    def held(self) -> bool:
        """Whether the engine that took it may still be at work: it ran elsewhere, or a `pulumi` has its pid."""
        if self.host != socket.gethostname():
            return True
        try:
            return "pulumi" in Path(f"/proc/{self.pid}/comm").read_text()
        except OSError:
            return False


def locks(backend: Path, stack: str) -> list[Lock]:
    """The locks on a stack of any project in this backend; one that cannot be read counts as left behind."""
    found = []
    for path in sorted(backend.glob(f".pulumi/locks/*/*/{stack}/*.json")):
        try:
            content = json.loads(path.read_text())
            found.append(Lock(path, int(content["pid"]), str(content["hostname"])))
        except (OSError, ValueError, KeyError):
            found.append(Lock(path, 0, socket.gethostname()))
    return found
