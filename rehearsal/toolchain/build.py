"""Build what is missing of the tools into the cache, once per version and recipe."""

import contextlib
import json
import logging
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rehearsal import places
from rehearsal.processes import Process, StartError, last_lines
from rehearsal.toolchain import installed
from rehearsal.toolchain.families import FAMILIES
from rehearsal.toolchain.family import Edit, Family
from rehearsal.toolchain.go import BuildError, Go, Report, caches, find, locked
from rehearsal.toolchain.progress import Progress, Work

log = logging.getLogger(__name__)

AGAIN = "run `python -m rehearsal.toolchain` again: what is built stays built"


@dataclass(frozen=True)
class Tools:
    """Paths of binaries by name, such as `tools["kube-apiserver"]`; one that is not there yet is built when asked for.

    Asking raises KeyError for a binary of no family, and BuildError.
    """

    binaries: Mapping[str, Path]

    def __getitem__(self, name: str) -> Path:
        if name in self.binaries:
            return self.binaries[name]
        families = [family.name for family in FAMILIES.values() if name in family.packages]
        return ensure(families, log.info).binaries[name]

    def directories(self) -> list[Path]:
        """The directories that hold them, for PATH."""
        return list(dict.fromkeys(path.parent for path in self.binaries.values()))


def root() -> Path:
    """The directory in the cache that holds one directory per family, version and recipe."""
    return places.cache() / "toolchain"


def ensure(families: Iterable[str] = tuple(FAMILIES), report: Report = print) -> Tools:
    """The tools of the named families, building those that are missing, one after another.

    `report` gets one line per step, with a guess of the time that is left. Raises BuildError with the last lines of the
    build and the remedy; KeyError for a family that does not exist. Two callers at a time wait for each other.
    """
    wanted = [FAMILIES[name] for name in families]
    found: dict[str, Path] = {}
    if any(family.name == "pulumi" for family in wanted) and (pulumi := installed.pulumi(root(), report)):
        found["pulumi"] = pulumi
        wanted = [family for family in wanted if family.name != "pulumi"]
    if wanted:
        found |= _built(wanted, report)
    return Tools(found)


def missing(families: Iterable[str]) -> list[str]:
    """The families that are not built, of those named; asks for a Go, and so may install one."""
    go = find(log.info)
    return [name for name in families if not _directory(FAMILIES[name], go).is_dir()]


def _directory(family: Family, go: Go) -> Path:
    return root() / family.key(go.minor) / "bin"


def _built(wanted: list[Family], report: Report) -> dict[str, Path]:
    go = find(report)
    directories = {family.name: _directory(family, go) for family in wanted}
    if any(not directory.is_dir() for directory in directories.values()):
        with locked(root() / ".lock", lambda: report("waiting for another build of the tools to finish ...")):
            lacking = [family for family in wanted if not directories[family.name].is_dir()]
            _remove_leftovers()
            _check_disk(lacking, go)
            works = [
                Work(f"{binary} {family.version}", family.seconds[binary])
                for family in lacking
                for binary in family.packages
            ]
            progress = Progress(works, report)
            with _downloading(lacking[1:], go):
                for family in lacking:
                    _build(family, go, directories[family.name].parent, progress)
            if lacking:
                report(progress.summary())
    return {binary: directories[family.name] / binary for family in wanted for binary in family.packages}


def _build(family: Family, go: Go, target: Path, progress: Progress) -> None:
    with staged(target) as stage:
        (stage / "bin").mkdir()
        modfile = _edited(family, go, places.private_directory(stage / "scratch")) if family.edits else None
        for binary in family.packages:
            with progress.step():
                run_go(
                    f"building {binary} {family.version}",
                    family.command(go.binary, binary, stage / "bin" / binary, modfile),
                    go,
                    directory=family.directory,
                    scratch=stage / "scratch",
                )
        shutil.rmtree(stage / "scratch")


@contextmanager
def _downloading(families: list[Family], go: Go) -> Iterator[None]:
    """Fetch what these families will need while others compile: the network is idle then, and later the processors.

    A failure is not told: the build that needs the module meets it again and explains it.
    """
    ending = threading.Event()

    def fetch() -> None:
        for family in families:
            with tempfile.TemporaryDirectory(prefix="gpucluster-") as scratch, contextlib.suppress(StartError):
                listing: list[str | Path] = [go.binary, "list", "-deps", *family.packages.values()]
                process = Process("go list", listing, go.env, log=Path(scratch) / "log", cwd=family.directory)
                process.start()
                while process.wait(0.5) is None:
                    if ending.is_set():
                        process.stop()
                        return

    thread = threading.Thread(target=fetch, name="modules", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def _edited(family: Family, go: Go, scratch: Path) -> Path:
    """A module file that takes edited modules from copies (Go overlays no file of its module cache)."""
    lines = (family.directory / "go.mod").read_text().splitlines()
    for number, name in enumerate(dict.fromkeys(edit.module or family.module for edit in family.edits)):
        copy = scratch / f"source-{number}"
        copied(source(family, go, name), copy)
        for edit in family.edits:
            if (edit.module or family.module) == name:
                _apply(edit, copy, name)
        lines = [line for line in lines if not line.startswith(f"replace {name} =>")]
        lines.append(f"replace {name} => {copy}")
    module = scratch / "go.mod"
    module.write_text("\n".join([*lines, ""]))
    shutil.copyfile(family.directory / "go.sum", scratch / "go.sum")
    return module


def _apply(edit: Edit, copy: Path, module: str) -> None:
    text = (copy / edit.file).read_text()
    if text.count(edit.old) != 1:
        raise BuildError(f"{module}: {edit.file} no longer holds {edit.old.strip()!r} once")
    (copy / edit.file).write_text(text.replace(edit.old, edit.new))


def source(family: Family, go: Go, module: str | None = None) -> Path:
    """The directory of the family's module, or of another that it requires, in Go's module cache. Raises BuildError."""
    module = module or family.module
    download: list[str | Path] = [go.binary, "mod", "download", "-json", module]
    done = subprocess.run(download, cwd=family.directory, env=dict(go.env), capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"downloading {module} failed:\n{done.stderr.strip()}\n{_remedy(done.stderr)}")
    return Path(json.loads(done.stdout)["Dir"])


def copied(origin: Path, target: Path) -> None:
    """Copy a directory of the module cache, where directories too are read-only, into one that can be changed."""
    shutil.copytree(origin, target, copy_function=shutil.copyfile)
    for directory in (target, *(path for path in target.rglob("*") if path.is_dir())):
        directory.chmod(0o700)


def run_go(what: str, command: list[str | Path], go: Go, *, directory: Path, scratch: Path) -> None:
    """Run Go, or a tool that runs Go, in a module's directory; `scratch` holds its log and temporary files."""
    places.private_directory(scratch)
    env = {**go.env, "GOTMPDIR": str(scratch), "PATH": f"{go.binary.parent}{os.pathsep}{go.env.get('PATH', '')}"}
    process = Process("go", command, env, log=scratch / "log", cwd=directory)
    process.start()
    try:
        status = process.wait()
    finally:
        process.stop(grace=2)
    if status != 0:
        raise BuildError(f"{what} failed:\n{last_lines(scratch / 'log')}\n{_remedy(last_lines(scratch / 'log', 200))}")


def _remedy(said: str) -> str:
    if "no space left" in said:
        return f"The disk is full: free some space (`go clean -cache` helps), then {AGAIN}."
    if any(sign in said for sign in ("dial tcp", "proxyconnect", "i/o timeout", "no such host", "connection refused")):
        return f"Go's module proxy does not answer: check the network and `go env GOPROXY`, then {AGAIN}."
    if "checksum mismatch" in said or "missing go.sum entry" in said:
        return f"The module files do not fit together: restore go.mod and go.sum from the repository, then {AGAIN}."
    return f"If a process was killed, memory ran out: close something, then {AGAIN}."


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A directory beside `target` that becomes `target` in one step if all goes well, and vanishes otherwise."""
    places.private_directory(target.parent)
    stage = Path(tempfile.mkdtemp(dir=target.parent, prefix=".building-"))
    try:
        yield stage
        stage.rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _remove_leftovers() -> None:
    """What a killed build left; called with the lock held, so nobody is building."""
    for leftover in root().glob(".building-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _check_disk(lacking: list[Family], go: Go) -> None:
    """Refuse to begin what would end with a full disk; every place is asked for all, since they are mostly one disk."""
    needed = sum(family.disk for family in lacking)
    for place in (root(), *caches(go)):
        free = shutil.disk_usage(next(each for each in (place, *place.parents) if each.exists())).free / 2**30
        if free < needed:
            names = ", ".join(family.name for family in lacking)
            raise BuildError(
                f"building {names} takes up to {needed:.0f} GiB, but {free:.1f} GiB are free at {place}: "
                "make room, or point XDG_CACHE_HOME, GOCACHE and GOMODCACHE at another disk"
            )
