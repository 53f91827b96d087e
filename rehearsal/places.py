"""Where rehearsal keeps things, and how it writes what other processes read.

Two roots, both outside the program's directory (so `git status` stays empty):

* the *cache* (`$XDG_CACHE_HOME`, else `~/.cache`, plus `gpucluster`): built tools, generated CRDs; safe to delete;
* the *state* (`$GPUCLUSTER_HOME`, else `$XDG_STATE_HOME`, else `~/.local/state`, plus `gpucluster`): one directory per
  rehearsal ("site"), below a hash of the path of the program's root, so that two programs or checkouts never meet.
"""

import contextlib
import hashlib
import json
import os
import random
import socket
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CODE = Path(__file__).resolve().parent.parent
"""The directory that holds the package `rehearsal`. Its own processes work there, so that they find it."""
LOOPBACK = "127.0.0.1"
HALLS = "hall"
"""In the place of a region: where a cluster lies that racked hosts have made of themselves."""


def cache() -> Path:
    """The cache's root; absolute, not necessarily there yet."""
    return _base("XDG_CACHE_HOME", ".cache") / "gpucluster"


def state() -> Path:
    """The state's root; absolute, not necessarily there yet."""
    home = os.environ.get("GPUCLUSTER_HOME")
    base = Path(home).expanduser().absolute() if home else _base("XDG_STATE_HOME", ".local/state")
    return base / "gpucluster"


def _base(variable: str, default: str) -> Path:
    # The XDG base directory specification: a relative path is to be ignored.
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / default


@dataclass(frozen=True)
class SiteDirectory:
    """One site's directory: the paths below it, by role."""

    path: Path

    @property
    def record(self) -> Path:
        """The file that says who runs and where the cloud answers; it is there as long as everything answers."""
        return self.path / "site.json"

    @property
    def lock(self) -> Path:
        """Held by the running supervisor: two can never serve one site."""
        return self.path / "supervisor.lock"

    @property
    def keys(self) -> Path:
        """What whoever asks this site's account must know."""
        return self.path / "keys.json"

    @property
    def pulumi(self) -> Path:
        """PULUMI_HOME."""
        return self.path / "pulumi"

    @property
    def backend(self) -> Path:
        """Pulumi's file backend."""
        return self.path / "backend"

    @property
    def stacks(self) -> Path:
        """Private copies of stack files, with generated secrets."""
        return self.path / "stacks"

    @property
    def clusters(self) -> Path:
        """One directory per cluster: `<region>/<name>`, and `hall/<name>` of racked hosts."""
        return self.path / "clusters"

    @property
    def hall(self) -> Path:
        """The racked hosts: who is ordered, their keys, the record for others."""
        return self.path / "hall"

    @property
    def logs(self) -> Path:
        """One log per process."""
        return self.path / "log"

    def log(self, process: str) -> Path:
        return self.logs / f"{process}.log"

    def cluster(self, region: str, name: str) -> Path:
        return self.clusters / region / name

    def create(self) -> "SiteDirectory":
        """Make the directory and those below it, for the owner only. Raises PlaceError if it is somebody else's."""
        for path in (*self._above(), self.path, self.logs, self.pulumi, self.backend, self.stacks, self.clusters):
            own_directory(path)
        return self

    def _above(self) -> tuple[Path, ...]:
        """The directories of the state that this one lies in."""
        root = state()
        return (root, self.path.parent) if self.path.parent.parent == root else ()


class PlaceError(Exception):
    """A directory that somebody else may have prepared; the text says which and what to do."""


_LONGEST = 80


def bare(text: str) -> str:
    """A word that somebody typed as a sentence repeats it: control characters escaped, cut at 80 characters."""
    escaped = repr(text)[1:-1]
    return escaped if len(escaped) <= _LONGEST else f"{escaped[: _LONGEST - 3]}..."


def site(name: str, root: Path) -> SiteDirectory:
    """The directory of the site `name` of the program at `root`.

    Raises ValueError for a name that is no single path segment, or longer than a file's may be.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name or len(name) > _LONGEST:
        raise ValueError(f"a rehearsal cannot be named '{bare(name)}': use a stack's name, such as dev")
    return SiteDirectory(sites(root) / name)


def sites(root: Path) -> Path:
    """The directory that holds all sites of the program at `root`."""
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
    return state() / digest


def private_directory(path: Path) -> Path:
    """Make `path` and its missing parents, readable by the owner only."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def own_directory(path: Path) -> Path:
    """Make `path` for its owner only, or check that an existing one is. Raises PlaceError if others could change it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if path.is_symlink() or found.st_uid != os.geteuid():
            raise PlaceError(
                f"{path} belongs to uid {found.st_uid} or is a link, so a rehearsal's files there would not be"
                f" private: remove it, or set GPUCLUSTER_HOME to a directory of yours"
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(handle, 0o700)
    finally:
        os.close(handle)
    return path


def write(path: Path, content: bytes | str, mode: int = 0o600) -> None:
    """Replace `path` in one step: a reader sees the old content or the new, never a part of it."""
    private_directory(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            os.fchmod(file.fileno(), mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON in one step, readable by the owner only."""
    write(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def read_json(path: Path) -> Any | None:
    """The JSON in `path`; None if there is no such file or it is not JSON (a torn write by something else)."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def free_port() -> int:
    """A TCP port on loopback that nothing listens on now.

    The port lies below the kernel's range for outgoing connections where there is room, so that a server stopped for
    a moment finds its port still free. Another process may take it first: whoever starts a server retries with another.
    """
    first, last = 15_000, _first_outgoing_port() - 1
    if last - first >= 1_000:
        for _ in range(100):
            port = random.SystemRandom().randint(first, last)
            if _bindable(port):
                return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _first_outgoing_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
