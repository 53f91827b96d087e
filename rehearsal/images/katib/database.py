"""MySQL's image as far as Katib uses it, and Katib's own service before it (cmd/db-manager/v1beta1/main.go).

Rows lie on the volume of the data directory: they are there as long as the volume is, whichever pod has it. MySQL's own
image: root's password is that of its environment, and it makes the database that MYSQL_DATABASE names.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.cluster.pages import texts
from rehearsal.images.katib.asking import Method, RefusedError, methods
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.images import unknown
from rehearsal.kubelet.program import TIME_SCALE, Exit, Launch, Program, failed
from rehearsal.kubelet.services import reachable

PORT, MANAGER_PORT = 3306, 6789
STARTS, CONNECT_SECONDS, LOOK_SECONDS = 10.0, 60.0, 0.5
"""Seconds that MySQL makes its files (assumed), and that the service waits for it (defaultConnectTimeout)."""

Rows = list[tuple[str, str, str]]
_kept: dict[tuple[int, str], Rows] = {}
"""Rows (trial, metric, value) by cluster and volume."""
_servers: dict[tuple[int, str, str], MySql] = {}
"""The servers that run, by cluster, namespace and pod."""


def mysql(launch: Launch) -> Program:
    """The server, where it is told a password and a database; else as any image that nobody knows."""
    if "MYSQL_DATABASE" not in launch.env:
        return unknown(launch)
    if not launch.env.get("MYSQL_ROOT_PASSWORD") and launch.env.get("MYSQL_ALLOW_EMPTY_PASSWORD") != "true":
        return failed(launch, "Database is uninitialized and password option is not specified")
    return MySql(launch)


class MySql(Answering):
    """Takes statements of root on the rows of its volume, and pings by exec once it listens."""

    def __init__(self, launch: Launch) -> None:
        mount = launch.mount_of("/var/lib/mysql")
        volume = mount.volume if mount else f"pod:{launch.pod['metadata']['uid']}:"
        self._rows, self._lock = _kept.setdefault((id(launch.world), volume), []), threading.Lock()
        self._database, self._password = launch.env["MYSQL_DATABASE"], launch.env.get("MYSQL_ROOT_PASSWORD", "")
        self._key = (id(launch.world), launch.namespace, launch.pod_name)
        _servers[self._key] = self
        super().__init__(launch, {PORT: texts({})}, launch.now + STARTS / TIME_SCALE)

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        if (probe.get("exec") or {}).get("command", [""])[0] == "mysqladmin":
            return None if self.listens(PORT, now) else "mysqladmin: connect to server at '127.0.0.1' failed"
        return super().refuses(probe, port, now)

    def connect(self, password: str, database: str) -> None:
        """Raises RefusedError in MySQL's words."""
        if password != self._password:
            raise RefusedError("Error 1045 (28000): Access denied for user 'root'", unavailable=True)
        if database != self._database:
            raise RefusedError(f"Error 1049 (42000): Unknown database '{database}'", unavailable=True)

    def select(self, trial: str, metric: str | None) -> list[tuple[str, str]]:
        """Metrics and values of a trial, in the order in which they came."""
        with self._lock:
            return [(name, value) for owner, name, value in self._rows if owner == trial and metric in (None, "", name)]

    def insert(self, trial: str, rows: Iterable[tuple[str, str]]) -> None:
        """More of them."""
        with self._lock:
            self._rows.extend((trial, metric, value) for metric, value in rows)

    def remove(self, trial: str) -> None:
        """None any more."""
        with self._lock:
            self._rows[:] = [row for row in self._rows if row[0] != trial]

    def stop(self) -> None:
        if _servers.get(self._key) is self:
            del _servers[self._key]
        super().stop()


def manager(launch: Launch) -> Program:
    """Katib's service, if it is told which database it has."""
    if launch.env.get("DB_NAME") != "mysql":
        return failed(launch, "DB_NAME env is not set. Exiting", 255)
    return Manager(launch)


class Manager(Answering):
    """Connects first, and ends where it cannot in time; then it answers, and is well as long as the database is."""

    def __init__(self, launch: Launch) -> None:
        env = launch.env
        self._service = env.get("KATIB_MYSQL_DB_HOST", "katib-mysql")
        self._who = (env.get("DB_PASSWORD", ""), env.get("KATIB_MYSQL_DB_DATABASE", "katib"))
        self._until, self._connected = launch.now + CONNECT_SECONDS, threading.Event()
        self._task = f"db-manager {launch.namespace}/{launch.pod_name} {launch.now}"
        known: dict[str, Method] = {
            "ReportObservationLog": self._report,
            "GetObservationLog": lambda asked: {"log": self._server().select(asked["trial"], asked.get("metric"))},
            "DeleteObservationLog": self._remove,
        }
        super().__init__(launch, {MANAGER_PORT: methods(known)})
        launch.world.tasks.run(self._task, self._connect)

    def _server(self) -> MySql:
        """The server behind the Service, to which one connects as root. Raises RefusedError."""
        world, where = self._launch.world, self._launch.namespace
        listening = world.backends.accepts
        try:
            ways = reachable(world.kube, where, self._service, listening)
        except (ApiError, Unreachable) as error:
            raise RefusedError(str(error), unavailable=True) from error
        found = [server for key, server in _servers.items() if key[:2] == (id(world), where)]
        if not all(way.ok for way in ways) or not found:
            raise RefusedError(ways[0].why, unavailable=True)
        found[0].connect(*self._who)
        return found[0]

    def _report(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._server().insert(asked["trial"], [(metric, value) for metric, value in asked["log"]])
        return {}

    def _remove(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._server().remove(asked["trial"])
        return {}

    def _accepting(self) -> bool:
        return self._connected.is_set()

    def _connect(self) -> float | None:
        try:
            self._server()
        except RefusedError as error:
            self._launch.log(f"Ping to Katib db failed: {error}")
            return LOOK_SECONDS
        self._connected.set()
        self._launch.wake()
        return None

    def exited(self, now: float) -> Exit | None:
        if self._connected.is_set() or now <= self._until:
            return None
        return Exit(255, "Failed to open db connection: Timeout waiting for DB conn successfully opened.")

    def listens(self, port: int, now: float) -> bool:
        return self._connected.is_set() and super().listens(port, now)

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        if probe.get("grpc") and self._connected.is_set():
            try:
                self._server()
            except RefusedError as error:
                return f"Failed to execute `SELECT 1` probe: {error}"
            return None
        return super().refuses(probe, port, now)

    def next_change(self, now: float) -> float | None:
        return None if self._connected.is_set() else min(self._until, now + LOOK_SECONDS)

    def stop(self) -> None:
        self._launch.world.tasks.cancel(self._task)
        super().stop()
