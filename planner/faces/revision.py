"""A stack as another revision of this repository plans it: with that revision's catalogue, rules and stack file."""

import inspect
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from catalogue.echo import bare
from planner.faces import told
from planner.findings import Finding, Severity

PLANS = ("catalogue", "monitoring", "planner", "settings", "requirements.txt")
"""What a plan is made by, besides its stack file."""
_SECONDS = 120.0


class RevisionError(Exception):
    """A revision that cannot be read or planned; the message says what to type."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a stack file's plan comes to. With `problems`, sentences about its settings, nothing else is known.

    `numbers` are by path below their subject, `pools`, `runs`, `services` and `quotas` by name; money is in USD.
    """

    problems: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    services: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quotas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    usd_per_hour: float = 0.0
    usd_to_buy: float | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that stop a deployment."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR and each.waiver is None)


def told_here(file: Path, today: date | None = None) -> Told:
    """The plan of a stack file by the code that runs. Raises RevisionError if the file cannot be read."""
    try:
        return _read(json.loads(json.dumps(told.told(file, today))))
    except OSError as error:
        raise RevisionError(f"{bare(file)}: {error.strerror}") from None


def told_at(root: Path, tree: Path, names: Sequence[str], revision: str) -> dict[str, Told]:
    """The plans of stack files of `revision`, which lies in `tree`, by its own code; those that it lacks are left out.

    Where the working tree at `root` plans by the same code, that is used: to load it again takes a second. Raises
    RevisionError.
    """
    there = [name for name in names if (tree / name).is_file()]
    if not there:
        return {}
    if _plans_alike(root, revision):
        return {name: told_here(tree / name) for name in there}
    done = subprocess.run(
        [sys.executable, "-", *there],
        input=inspect.getsource(told),
        cwd=tree,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise RevisionError(
            f"{bare(revision)} cannot be planned by its own code ({said}): compare with a later revision"
        )
    return {name: _read(data) for name, data in json.loads(done.stdout).items()}


def _plans_alike(root: Path, revision: str) -> bool:
    """Whether nothing of what plans differs between a revision and the working tree."""
    changed = git(root, "diff", "--name-only", revision, "--", *PLANS)
    return not changed and not git(root, "ls-files", "--others", "--exclude-standard", "--", *PLANS)


def _read(data: Mapping[str, Any]) -> Told:
    if data["problems"]:
        return Told(problems=tuple(data["problems"]))
    return Told(
        numbers=data["numbers"],
        findings=tuple(Finding(**{**each, "severity": Severity(each["severity"])}) for each in data["findings"]),
        pools=data["pools"],
        runs=data["runs"],
        services=data["services"],
        quotas=data["quotas"],
        usd_per_hour=data["usdPerHour"],
        usd_to_buy=data["usdToBuy"],
    )


def commit(root: Path, revision: str) -> str:
    """The commit that a name stands for. Raises RevisionError if there is none of that name."""
    if revision.startswith("-"):
        raise RevisionError(
            f"BASE={bare(revision)} is not a revision; type a branch, a tag or a commit, such as BASE=main"
        )
    try:
        done = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except RevisionError:
        raise RevisionError(
            f"BASE={bare(revision)} is no revision of this repository: fetch it "
            f"(`git fetch origin {bare(revision)}`), or type a branch, a tag or a commit that `git log` shows"
        ) from None
    return done.strip()


@contextmanager
def checked_out(root: Path, revision: str) -> Iterator[Path]:
    """The tree of a revision in a directory that is gone afterwards; the repository is not touched.

    A link that leads out of the tree is left out.
    """
    with TemporaryDirectory(prefix="gpucluster-base-") as scratch:
        archive, tree = Path(scratch) / "base.tar", Path(scratch) / "tree"
        git(root, "archive", "--format=tar", f"--output={archive}", commit(root, revision))
        with tarfile.open(archive) as tar:
            tar.extractall(tree, members=_within(tar, tree), filter="data")
        archive.unlink()
        yield tree


def _within(tar: tarfile.TarFile, tree: Path) -> Iterator[tarfile.TarInfo]:
    """Its members but links that lead out of the tree, by an absolute path or by `..`: what they name is no revision's.

    Whatever else the filter "data" refuses stays refused. Source: Python's tarfile, "Extraction filters".
    """
    for member in tar:
        with suppress(tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
            tarfile.data_filter(member, str(tree))
            yield member


def git(root: Path, *words: str) -> str:
    """What git prints. Raises RevisionError with what it complains of."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RevisionError("comparing with a revision needs git: install it") from None
    if done.returncode:
        raise RevisionError(f"git {words[0]}: {done.stderr.strip() or 'found nothing'}")
    return done.stdout
