"""The long-lived process of a site: one AWS account, the control planes of its clusters, and its racked hosts.

`start`, `status` and `stop` are for the command; `python -m rehearsal.supervisor --dir DIR --root ROOT` is the process
itself. All its children die with it, however it ends, and it ends when the AWS stand-in does: the account lives there.
"""

import argparse
import datetime
import enum
import fcntl
import gc
import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import urllib3

from rehearsal import keys, particulars, places, toolchain
from rehearsal.eks.keeper import INTERVAL, Cloud, Clusters
from rehearsal.images.table import known
from rehearsal.kubelet.images import Images
from rehearsal.places import SiteDirectory
from rehearsal.processes import Identity, Process, StartError, last_lines
from rehearsal.racks.keeper import HallKeeper

log = logging.getLogger(__name__)

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


class Supervisor:
    """The process: owns the AWS stand-in and, through `Clusters`, everything else."""

    def __init__(self, place: SiteDirectory, images: Images) -> None:
        self._place = place
        self._images = images
        self._ending = threading.Event()

    def end(self, *_: object) -> None:
        """Begin to stop; also a signal handler."""
        self._ending.set()

    def run(self) -> int:
        """Serve until told to end. Returns the exit status; 1 if the account died, whose reason is then recorded."""
        tools = toolchain.ensure(toolchain.BASE, log.info)
        cloud_process, cloud = self._start_cloud()
        clusters = Clusters(cloud, self._place.clusters, self._place.logs, tools, self._images)
        hall = HallKeeper(self._place, cloud.account, tools, self._images)
        try:
            self._record(cloud_process, cloud)
            log.info("the account answers at %s", cloud.url)
            while not self._ending.wait(INTERVAL):
                if not cloud_process.running():
                    reason = f"the AWS stand-in ended with status {cloud_process.exit_status()}"
                    log.error("%s:\n%s", reason, cloud_process.last_words())
                    self._record(cloud_process, cloud, ended=reason)
                    return 1
                self._reconcile(clusters)
                hall.reconcile()
        finally:
            log.info("stopping")
            hall.stop()
            clusters.stop()
            cloud_process.stop()
        self._place.record.unlink(missing_ok=True)
        return 0

    def _reconcile(self, clusters: Clusters) -> None:
        try:
            clusters.reconcile()
        except urllib3.exceptions.HTTPError as error:
            log.warning("the account does not answer: %s", error)

    def _start_cloud(self) -> tuple[Process, Cloud]:
        port_file = self._place.path / "cloud.port"
        port_file.unlink(missing_ok=True)
        # A fixed port below the range for outgoing connections, because provider inputs in the state name it.
        options = ["--port", str(places.free_port()), "--port-file", str(port_file)]
        options += ["--keys", str(self._place.keys)]
        argv = [sys.executable, "-m", "rehearsal.cloud", *options]
        process = Process("cloud", argv, log=self._place.log("cloud"), cwd=places.CODE)
        process.start()
        while not port_file.exists():
            if not process.running():
                raise StartError(f"the AWS stand-in ended:\n{process.last_words()}")
            if self._ending.wait(0.05):
                process.stop()
                raise StartError("told to end while starting")
        url = f"http://{places.LOOPBACK}:{int(port_file.read_text())}"
        return process, Cloud(keys.Account(url, keys.read(self._place.keys)))

    def _record(self, process: Process, cloud: Cloud, ended: str | None = None) -> None:
        supervisor = Identity.from_record(places.read_json(self._place.lock))
        if supervisor is None or process.identity is None:
            raise StartError(f"{self._place.lock} was changed while the supervisor started: start the rehearsal again")
        value = {
            "supervisor": supervisor.record(),
            "cloud": {"url": cloud.url, **process.identity.record()},
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }
        places.write_json(self._place.record, value | ({"ended": ended} if ended else {}))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m rehearsal.supervisor", description="Serve one rehearsal.")
    parser.add_argument("--dir", type=Path, required=True, help="the site's directory")
    parser.add_argument("--root", type=Path, required=True, help="the program's directory")
    options = parser.parse_args(arguments)
    gc.freeze()  # what is imported never becomes garbage
    place = SiteDirectory(options.dir.absolute()).create()
    keys.make(place.keys)
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    with place.lock.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.error("another supervisor serves %s: stop it first", place.path)  # noqa: TRY400 - no traceback wanted
            return 1
        _sign(lock)
        try:
            program = particulars.load(options.root)
            supervisor = Supervisor(place, known(program.images, program.absent))
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, supervisor.end)
            return supervisor.run()
        except (StartError, toolchain.BuildError, particulars.ParticularsError, keys.KeysError) as error:
            log.error("%s", error)  # noqa: TRY400
            return 1
        finally:
            lock.truncate(0)


def _sign(lock: TextIO) -> None:
    """Write who holds the lock into it. The file is never removed: that would let two processes hold "the" lock."""
    lock.truncate(0)
    own = Identity.of(os.getpid())
    lock.write(json.dumps(own and own.record()))
    lock.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
