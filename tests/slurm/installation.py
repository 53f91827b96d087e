"""Slurm itself in a directory: munged, slurmctld, and slurmdbd with MariaDB, on the loopback with ports of their own.

Only what names a place is changed in the files: hosts, ports, users, directories. The rest is read as it was written.
"""

import getpass
import os
import random
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from slurm.__main__ import write

NEEDED = {"slurmctld": "slurm-wlm", "munged": "munge", "slurmdbd": "slurmdbd", "mariadbd": "mariadb-server"}
"""Programs, and the Debian packages that have them."""

HERE = {
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "PrologFlags": "Alloc",
    "JobAcctGatherType": "jobacct_gather/none",
}
"""What of slurm.conf a machine of these tests has not: eight of them share one kernel."""

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
_PATIENCE_S = 60


def lacking() -> str | None:
    """What to install before Slurm can be asked, None if all is there."""
    missing = sorted({package for program, package in NEEDED.items() if shutil.which(program, path=PATH) is None})
    return f"Slurm is not installed: apt-get install {' '.join(missing)}" if missing else None


class Installation:
    """A controller that runs. Commands ask it as an administrator does."""

    def __init__(self, root: Path) -> None:
        self.root, self.etc = root, root / "etc"
        self.user = getpass.getuser()

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words, env=self.environment(), cwd=self.root, capture_output=True, text=True, timeout=120, check=False
        )
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self.etc}/bin:{PATH}", "SLURM_CONF": str(self.etc / "slurm.conf")}

    def machines(self, names: Sequence[str], stack: ExitStack, gpus: str) -> None:
        """Start slurmd for machines that are not there: each says of itself what slurm.conf says of it.

        What needs a machine of its own (control groups, the driver) is left out of their copy of the files.
        """
        theirs = self.root / "machine"
        shutil.copytree(self.etc, theirs)
        moved(theirs / "slurm.conf", HERE)
        kind, _, count = gpus.partition(":")
        for number in range(int(count)):
            (self.root / f"gpu{number}").touch()
        (theirs / "gres.conf").write_text(f"Name=gpu Type={kind} File={self.root}/gpu[0-{int(count) - 1}]\n")
        for name in names:
            (self.root / "spool" / name).mkdir()
            words = ["env", f"SLURM_CONF={theirs}/slurm.conf", "slurmd", "-D", "-N", name]
            started(self, stack, f"slurmd-{name}", words, lambda: True)
        until = time.monotonic() + _PATIENCE_S
        while len(self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout.split()) < len(names):
            assert time.monotonic() < until, self.run("sinfo", "-N", "-o", "%N %T %E").stdout
            time.sleep(0.3)

    def log(self, name: str) -> str:
        """What a daemon has written."""
        return (self.root / f"{name}.log").read_text(encoding="utf-8", errors="replace")


@contextmanager
def installed(root: Path, files: Mapping[str, str]) -> Iterator[Installation]:
    """The files of a bundle, with the daemons that read them; all of it ends with the block."""
    here = Installation(root)
    names = ("controller", "slurmd", "accounts", "database")
    ports = {name: port for port, name in enumerate(names, start=free_ports(len(names)))}
    write(here.etc, files)
    for name in ("state", "spool", "run"):
        (root / name).mkdir()
    moved(here.etc / "slurm.conf", places(root, ports))
    moved(here.etc / "slurmdbd.conf", places_of_accounts(root, ports))
    with ExitStack() as stack:
        _munge(here, stack)
        _database(here, ports["database"], stack)
        started(here, stack, "slurmdbd", ["slurmdbd", "-D"], lambda: _answers(ports["accounts"]))
        here.run("sacctmgr", "-i", "add", "cluster", _cluster(files["slurm.conf"]))
        started(
            here,
            stack,
            "slurmctld",
            ["slurmctld", "-D"],
            lambda: here.run("scontrol", "ping", check=False).stdout.find("is UP") > 0,
        )
        yield here


def places(root: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """Keys of slurm.conf that say where something is, as it is here."""
    return {
        "SlurmctldHost": f"{socket.gethostname()}(127.0.0.1)",
        "SlurmUser": getpass.getuser(),
        "StateSaveLocation": str(root / "state"),
        "SlurmdSpoolDir": str(root / "spool" / "%n"),
        "SlurmctldLogFile": str(root / "slurmctld.log"),
        "SlurmdLogFile": str(root / "slurmd-%n.log"),
        "SlurmctldPidFile": str(root / "run" / "slurmctld.pid"),
        "SlurmdPidFile": str(root / "run" / "slurmd-%n.pid"),
        "AccountingStorageHost": "127.0.0.1",
        "AccountingStoragePort": str(ports["accounts"]),
        "Prolog": str(root / "etc" / "gpucluster" / "prolog.sh"),
        "Epilog": str(root / "etc" / "gpucluster" / "epilog.sh"),
        "HealthCheckProgram": str(root / "etc" / "gpucluster" / "health.sh"),
        "+SlurmctldPort": str(ports["controller"]),
        "+SlurmdPort": str(ports["slurmd"]),
        "+AuthInfo": f"socket={root}/run/munge.socket",
        # Machines of these tests are as large as slurm.conf says, whatever they find.
        "+SlurmdParameters": "config_overrides",
        # With munge, the socket by which slurmdbd is asked (man page slurm.conf).
        "+AccountingStoragePass": f"{root}/run/munge.socket",
    }


def places_of_accounts(root: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """The same of slurmdbd.conf."""
    return {
        "DbdHost": "localhost",
        "DbdPort": str(ports["accounts"]),
        "SlurmUser": getpass.getuser(),
        "LogFile": str(root / "slurmdbd.log"),
        "PidFile": str(root / "run" / "slurmdbd.pid"),
        "StorageHost": "127.0.0.1",
        "StoragePass": "here-and-now",
        "+StoragePort": str(ports["database"]),
        "+AuthInfo": f"socket={root}/run/munge.socket",
    }


def moved(file: Path, values: Mapping[str, str]) -> None:
    """Replace the values of keys, each once however often it stands there; `+` before a key adds it."""
    lines, told = [], set()
    for line in file.read_text(encoding="utf-8").splitlines():
        key = line.partition("=")[0]
        if key not in values:
            lines.append(line)
        elif key not in told:
            lines.append(f"{key}={values[key]}")
            told.add(key)
    lines = [_on_loopback(line, number) for number, line in enumerate(lines)]
    missing = {key for key in values if not key.startswith("+")} - told
    assert not missing, f"{file.name} has no {', '.join(sorted(missing))}"
    lines = [f"{key[1:]}={value}" for key, value in values.items() if key.startswith("+")] + lines
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _on_loopback(line: str, number: int) -> str:
    """Machines whose names nothing resolves are on the loopback, each with a port of its own."""
    found = re.match(r"NodeName=(\S+?)(\[(\d+)-(\d+)\])? (?!NodeAddr)", line)
    if found is None:
        return line
    count = int(found[4]) - int(found[3]) + 1 if found[2] else 1
    first = free_ports(count)
    several = (f"127.1.{number % 256}.[1-{count}]", f"[{first}-{first + count - 1}]")
    address, port = several if found[2] else (f"127.1.{number % 256}.1", str(first))
    return f"{line[: found.end()]}NodeAddr={address} Port={port} {line[found.end() :]}"


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody has, below those that the kernel gives to who asks for any."""
    while True:
        first = random.randrange(20_000, 32_000)  # noqa: S311 - no secret
        if all(_free(port) for port in range(first, first + count)):
            return first


def _free(port: int) -> bool:
    with socket.socket() as bound:
        return bound.connect_ex(("127.0.0.1", port)) != 0


def started(here: Installation, stack: ExitStack, name: str, words: Sequence[str], ready: Callable[[], bool]) -> None:
    """Run a daemon until the block ends, and go on when it is ready."""
    with (here.root / f"{name}.out").open("wb") as out:
        process = subprocess.Popen(words, env=here.environment(), cwd=here.root, stdout=out, stderr=out)
    stack.callback(_stopped, process)
    until = time.monotonic() + _PATIENCE_S
    while not ready():
        said = (here.root / f"{name}.out").read_text(encoding="utf-8", errors="replace")
        assert process.poll() is None, f"{name} does not start: {said[-3000:]}"
        assert time.monotonic() < until, f"{name} is not ready: {said[-3000:]}"
        time.sleep(0.2)


def _stopped(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _munge(here: Installation, stack: ExitStack) -> None:
    """A key of this run's own; munged is told to bear with a directory that others may write to."""
    run = here.root / "run"
    key = here.root / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    places = {
        "key-file": key,
        "socket": run / "munge.socket",
        "pid-file": run / "munge.pid",
        "log-file": run / "munge.log",
        "seed-file": run / "munge.seed",
    }
    words = [
        "munged",
        "--foreground",
        "--force",
        "--num-threads=2",
        *(f"--{key}={value}" for key, value in places.items()),
    ]
    started(here, stack, "munged", words, (run / "munge.socket").exists)


def _database(here: Installation, port: int, stack: ExitStack) -> None:
    data, run = here.root / "data", here.root / "run"
    user = getpass.getuser()
    here.run(
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={data}",
        f"--user={user}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    )
    words = [
        "mariadbd",
        "--no-defaults",
        f"--datadir={data}",
        f"--user={user}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        f"--socket={run}/db.socket",
        f"--pid-file={run}/db.pid",
        "--innodb-buffer-pool-size=32M",
    ]
    started(here, stack, "mariadbd", words, lambda: _answers(port))
    mine = [f"slurm@'{host}'" for host in ("127.0.0.1", "localhost")]
    sql = "".join(
        f"CREATE USER {each} IDENTIFIED BY 'here-and-now'; GRANT ALL ON slurm_acct_db.* TO {each};" for each in mine
    )
    here.run("mariadb", "--no-defaults", f"--socket={run}/db.socket", "--user=root", "-e", sql)


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def _cluster(text: str) -> str:
    found = re.search(r"^ClusterName=(\S+)$", text, re.MULTILINE)
    assert found is not None
    return found[1]
