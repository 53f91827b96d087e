"""A site by its directory, for the command: whether it runs, how to start it, and how to stop it.

Its long-lived process is `rehearsal.supervisor`, which writes the record that is read here.
"""

import enum
import os
import shutil
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import keys, places
from rehearsal.places import SiteDirectory
from rehearsal.processes import Identity, Process, StartError, last_lines

START_TIMEOUT = 180.0
STOP_GRACE = 60.0
# Variables that lead to accounts and clusters of the user's own.
OWN = ("AWS_", "KUBE", "PULUMI_")


class State(enum.Enum):
    """What became of a site."""

    ABSENT = "absent"
    STARTING = "starting"
    RUNNING = "running"
    DEAD = "dead"


@dataclass(frozen=True)
class Site:
    """A site that runs: where its account answers and which processes it consists of."""

    directory: SiteDirectory
    cloud_url: str
    supervisor: Identity
    cloud: Identity
    created: str

    @property
    def account(self) -> keys.Account:
        """The account with the keys that it asks for. Raises KeysError."""
        return keys.Account(self.cloud_url, keys.read(self.directory.keys))


@dataclass(frozen=True)
class Status:
    """What a site's record says, compared with the processes there are; `reason` is a sentence."""

    state: State
    reason: str
    site: Site | None = None


def status(directory: Path) -> Status:
    """Whether the site in `directory` runs, and if not, what became of it."""
    place = SiteDirectory(directory)
    record = places.read_json(place.record)
    site = _site(place, record)
    if site is None or record is None:
        starting = Identity.from_record(places.read_json(place.lock))
        if starting is not None and starting.alive():
            return Status(State.STARTING, f"the supervisor (pid {starting.pid}) is starting")
        return Status(State.ABSENT, "no rehearsal runs here")
    if ended := record.get("ended"):
        return Status(State.DEAD, str(ended), site)
    for role, identity in (("supervisor", site.supervisor), ("AWS stand-in", site.cloud)):
        if not identity.of_this_boot():
            return Status(State.DEAD, "the machine was restarted since the rehearsal was started", site)
        if not identity.alive():
            reused = ", and its pid belongs to another process now" if Identity.of(identity.pid) else ""
            return Status(State.DEAD, f"the {role} (pid {identity.pid}) ended unexpectedly{reused}", site)
    return Status(State.RUNNING, f"running since {site.created}", site)


def start(directory: Path, root: Path) -> Site:
    """Start the site in `directory` for the program at `root`, detached, and wait until its account answers.

    Returns the one that runs, if one does.

    Whatever a site that died left is removed first. Nothing of the user's own accounts and clusters is handed on.
    Raises StartError with the last lines of the log; nothing is left running then.
    """
    now = status(directory)
    if now.state is State.RUNNING and now.site is not None:
        return now.site
    if now.state is State.STARTING:
        raise StartError(f"{now.reason} for another command: wait for that one, or stop it")
    stop(directory)
    place = SiteDirectory(directory)
    shutil.rmtree(place.logs, ignore_errors=True)
    shutil.rmtree(place.clusters, ignore_errors=True)
    place.create()
    argv = [sys.executable, "-m", "rehearsal.supervisor", "--dir", str(directory), "--root", str(root)]
    env = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    process = Process("supervisor", argv, env, log=place.log("supervisor"), cwd=places.CODE, survives=True)
    process.start()
    try:
        return _await_start(place, process)
    except BaseException:
        process.stop(STOP_GRACE)
        raise


def _await_start(place: SiteDirectory, process: Process) -> Site:
    deadline = time.monotonic() + START_TIMEOUT
    pause = threading.Event()
    while True:
        now = status(place.path)
        if now.state is State.RUNNING and now.site is not None:
            return now.site
        if not process.running():
            raise StartError(f"the rehearsal's supervisor ended:\n{process.last_words()}")
        if time.monotonic() > deadline:
            words = "\n".join(filter(None, (process.last_words(), last_lines(place.log("cloud")))))
            why = f":\n{words}" if words else ": the machine may be busy; run the same command again"
            raise StartError(f"the rehearsal's AWS account does not answer after {START_TIMEOUT:.0f} s{why}")
        pause.wait(0.05)


def stop(directory: Path) -> bool:
    """Stop the site in `directory` and everything it started; True if it ran. What a dead site left is removed."""
    place = SiteDirectory(directory)
    record = places.read_json(place.record) or {}
    starting = Identity.from_record(places.read_json(place.lock))
    identities = [Identity.from_record(record.get("supervisor")), starting, Identity.from_record(record.get("cloud"))]
    ran = [identity.stop(STOP_GRACE) for identity in identities if identity is not None]
    place.record.unlink(missing_ok=True)
    return any(ran)


def _site(place: SiteDirectory, record: Any) -> Site | None:
    if not isinstance(record, dict) or not isinstance(record.get("cloud"), dict):
        return None
    supervisor, cloud = Identity.from_record(record.get("supervisor")), Identity.from_record(record["cloud"])
    if supervisor is None or cloud is None:
        return None
    return Site(place, str(record["cloud"].get("url")), supervisor, cloud, str(record.get("created")))
