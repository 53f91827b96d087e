"""The state's files, looked at before the engine is: it says of a damaged one neither which it is nor what lies beside.

Layout (pulumi, pkg/backend/diy: state.go, backupStack; snapshot.go): `.pulumi/stacks/<project>/<stack>.json`, beside it
`<stack>.json.bak`, which each write leaves, and `.pulumi/backups/<project>/<stack>/<stack>.<nanoseconds>.json`.
"""

import datetime
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import places

STACKS, BACKUPS = Path(".pulumi/stacks"), Path(".pulumi/backups")


class StateError(Exception):
    """A state that cannot be used as it is; the text names the file, what is wrong, and what can be done."""


@dataclass(frozen=True)
class Backup:
    """An older state of a stack that can be read."""

    path: Path
    resources: int

    @property
    def words(self) -> str:
        """When it was written, and how much it holds."""
        when = datetime.datetime.fromtimestamp(self.path.stat().st_mtime, datetime.UTC)
        return f"{self.path} of {when:%Y-%m-%d %H:%M:%S} UTC with {self.resources} resources"


def files(backend: Path) -> list[Path]:
    """The state file of every stack, of whatever project."""
    return sorted((backend / STACKS).glob("*/*.json"))


def read(path: Path) -> dict[str, Any]:
    """What a state file holds. Raises StateError that names the file."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise StateError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        size = path.stat().st_size
        raise StateError(f"{path} is damaged ({error if size else 'it is empty'}; {size} bytes)") from None
    if not isinstance(found, dict) or "version" not in found:
        raise StateError(f"{path} is damaged (it is JSON, but no state of Pulumi's)")
    return found


def check(backend: Path, restore: str, end: str) -> None:
    """Raises StateError for the first state file that is damaged: the engine reads all of them for any command.

    `restore` and `end` are what a person types to go on from the newest backup, and to end without the state.
    """
    for path in files(backend):
        try:
            read(path)
        except StateError as error:
            last = next(backups(path), None)
            ways = [f"`{restore}` goes on from {last.words}"] if last else ["no backup of it can be read"]
            raise StateError(f"{error}. {'; '.join([*ways, f'`{end}` ends the rehearsal without it'])}.") from None


def restored(backend: Path) -> list[str]:
    """Put the newest backup in the place of each damaged state file, which is kept beside it; what was done.

    Raises StateError where there is no backup.
    """
    done = []
    for path in files(backend):
        try:
            read(path)
        except StateError as error:
            last = next(backups(path), None)
            if last is None:
                raise StateError(f"{error}, and no backup of it can be read") from None
            kept = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
            content = last.path.read_bytes()
            path.rename(kept)
            places.write(path, content)
            done.append(f"{path} is {last.words} again; the damaged one is {kept}")
    return done


def backups(path: Path) -> Iterator[Backup]:
    """The readable older states of the stack whose state file is `path`, the newest first."""
    kept = path.parents[3] / BACKUPS / path.parent.name / path.stem
    found = [path.with_name(f"{path.name}.bak"), *kept.glob(f"{path.stem}.*.json")]
    for each in sorted((each for each in found if each.exists()), key=lambda each: each.stat().st_mtime, reverse=True):
        try:
            document = read(each)
        except StateError:
            continue
        latest = (document.get("checkpoint") or {}).get("latest") or {}
        yield Backup(each, len(latest.get("resources") or ()))
