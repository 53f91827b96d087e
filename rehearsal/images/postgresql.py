"""PostgreSQL's image by the real server, on what lies on the pod's volume, and real clients of it in other pods.

The entry point is played: docker-library/postgres, docker-entrypoint.sh (an empty directory becomes a database of
POSTGRES_USER, who has a password, else it ends; with a database in it nothing is made; the server is stopped by
SIGINT, as its Dockerfile's STOPSIGNAL says). Changed are the address to listen on, and what makes a database last
longer than its machine. Every client is asked for its password, on loopback too, where all of them are here.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.cluster.router import NoHostError, NoRouteError
from rehearsal.kubelet.images import unknown
from rehearsal.kubelet.process import FILES, RealProcess, free_host
from rehearsal.kubelet.program import Exit, Launch, LaunchError, Program
from rehearsal.toolchain.pythons import postgresql

PORT, PROBE_SECONDS = 5432, 30
"""A probe has more time than in life, as a machine that is busy may need it."""

ENTRY = f"""\
set -eu
: "${{PGDATA:={FILES}/var/lib/postgresql/data}}" "${{POSTGRES_USER:=postgres}}"
export PGDATA
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${{POSTGRES_PASSWORD:-}}" ]; then
    echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
    exit 1
  fi
  printf %s "$POSTGRES_PASSWORD" > "$TMPDIR/password"
  initdb --username="$POSTGRES_USER" --pwfile="$TMPDIR/password" --auth=scram-sha-256 --no-locale --encoding=UTF8 \\
    --no-sync > /dev/null
  rm "$TMPDIR/password"
  if [ "${{POSTGRES_DB:=$POSTGRES_USER}}" != postgres ]; then
    echo "create database \\"$POSTGRES_DB\\"" | postgres --single postgres > /dev/null
  fi
fi
rm -f "$PGDATA/postmaster.pid"
exec postgres -c listen_addresses="$1" -c port="$2" -c unix_socket_directories= -c fsync=off -c shared_buffers=16MB
"""
"""A lock of an earlier run names a process that has ended: in a container it would be this one, the first."""
_OTHER = ("--user", "--map-user=1", "--map-group=1")
"""A namespace of the kernel's in which root is another user, whom the machine must know: PostgreSQL refuses root."""
_SERVER = re.compile(r"(?:@|--host=)(?P<host>[\w.-]+)(?::| --port=)(?P<port>\d+)")


def run(launch: Launch) -> Program:
    """The server, unless the container is to run another program."""
    return Server(launch) if launch.argv in ([], ["postgres"]) else unknown(launch)


def environment() -> dict[str, str]:
    """PATH with PostgreSQL's programs before all others. Raises BuildError."""
    return {"PATH": f"{postgresql()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


class Server(RealProcess):
    """On an address of its own, at the port that its clients name. Probes by exec are real: pg_isready asks it."""

    def __init__(self, launch: Launch) -> None:
        port = int(launch.env.get("PGPORT", PORT))
        self._own = free_host([port])
        shell = ["sh", "-c", ENTRY, "postgres", self._own, str(port)]
        words = ["unshare", *_OTHER, *shell] if os.geteuid() == 0 else shell
        binary = shutil.which(words[0])
        if binary is None:
            raise LaunchError(f"{words[0]} is not on this machine: PostgreSQL does not run as root")
        super().__init__(launch, Path(binary), words[1:], {port: port}, environment(), host=self._own)

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        command = [str(word) for word in (probe.get("exec") or {}).get("command") or []]
        if not command or Path(command[0]).name != "pg_isready":
            return super().refuses(probe, port, now)
        asked = [word.replace(places.LOOPBACK, self._own) for word in command[1:]]
        try:
            done = subprocess.run([postgresql() / "pg_isready", *asked], capture_output=True, timeout=PROBE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"command timed out: {command}"
        return None if done.returncode == 0 else done.stdout.decode(errors="replace").strip()

    def leaves(self) -> bool:
        self._process.ask(signal.SIGINT)
        return super().leaves()


class Client(RealProcess):
    """A process that speaks with the PostgreSQL that its words name, HOST:PORT or `--host=HOST --port=PORT`, or else
    `server` in such words. libpq knows no proxy: it is told an address (PostgreSQL documentation, libpq, Environment
    Variables, PGHOSTADDR) that leads there, by `variable`. Where nobody answers it is refused, and a name that is none
    stays one that cannot be parsed.
    """

    def __init__(
        self,
        launch: Launch,
        binary: Path,
        argv: Sequence[str],
        ports: Mapping[int, int],
        env: Mapping[str, str],
        *,
        server: str = "",
        variable: str = "PGHOSTADDR",
        own_words: bool = False,
    ) -> None:
        with contextlib.ExitStack() as led:
            found = _SERVER.search(server or " ".join(argv))
            address = {variable: _led(launch, found["host"], int(found["port"]), led.callback)} if found else {}
            super().__init__(launch, binary, argv, ports, {**env, **address}, own_words=own_words)
            self._led = led.pop_all()

    def exited(self, now: float) -> Exit | None:
        found = super().exited(now)
        if found is not None:
            self._led.close()
        return found

    def stop(self) -> None:
        super().stop()
        self._led.close()


def _led(launch: Launch, name: str, port: int, ends: Callable[[Callable[[], None]], object]) -> str:
    """The address that leads a process to its server."""
    own = free_host([port])
    try:
        ends(launch.world.proxy.lead((own, port), name if "." in name else f"{name}.{launch.namespace}", port))
    except NoHostError:
        return name
    except NoRouteError as error:
        launch.log(str(error))
    return own
