"""The long-lived process of a site: one AWS account, the control planes of its clusters, and its racked hosts.

`rehearsal.sites` starts it, as `python -m rehearsal.supervisor --dir DIR --root ROOT`. All its children die with it,
however it ends, and it ends when the AWS stand-in does: the account lives there.
"""

import argparse
import datetime
import fcntl
import gc
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TextIO

import urllib3

from rehearsal import keys, particulars, places, toolchain
from rehearsal.eks.keeper import INTERVAL, Cloud, Clusters
from rehearsal.images.table import known
from rehearsal.kubelet.images import Images
from rehearsal.places import SiteDirectory
from rehearsal.processes import Identity, Process, StartError
from rehearsal.racks.keeper import HallKeeper

log = logging.getLogger(__name__)


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
