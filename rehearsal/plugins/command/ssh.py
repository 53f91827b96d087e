"""One SSH session to a rehearsed host by the machine's own OpenSSH client, with what can go wrong in Go's words.

Source: pulumi/pulumi-command 1.2.1, provider/pkg/provider/remote/connection.go: `hostKey` is the only key that is
believed, and without it every key is; dialling, the handshake included, is tried again `dialErrorLimit` times (10, -1
without end), after 0.1 s and each time half as long again, at most 5 s (pulumi sdk/go/common/util/retry). The words are
those of net.Dial and golang.org/x/crypto/ssh.

A host is reached from its hall only, which has a network of its own. Without a hall nothing but loopback is dialled: a
stack file names real servers.
"""

import ipaddress
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.metal.record import HALL, Record
from rehearsal.plugins.servicer import OwnWordsError

FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 0.1, 1.5, 5.0
# Go's keep-alive probes give a connection up after some minutes of silence, here it is 15 s.
ALIVE_SECONDS, ALIVE_COUNT = 5, 3
_EXIT = re.compile(r"^debug1: Exit status (\d+)", re.MULTILINE)
_AUTHENTICATED = re.compile(r"^Authenticated to ", re.MULTILINE)
_WORDS = (
    ("Connection refused", "dial tcp {at}: connect: connection refused"),
    ("No route to host", "dial tcp {at}: connect: no route to host"),
    ("Network is unreachable", "dial tcp {at}: connect: network is unreachable"),
    ("timed out", "dial tcp {at}: i/o timeout"),
    ("Host key verification failed", "ssh: handshake failed: ssh: host key mismatch"),
    ("no matching host key type", "ssh: handshake failed: ssh: host key mismatch"),
    (
        "Permission denied",
        "ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods "
        "remain",
    ),
    ("error in libcrypto", "ssh: no key found"),
    ("invalid format", "ssh: no key found"),
)


@dataclass(frozen=True)
class Dialled:
    """What a session brought; `status` is None where the connection ended before the command did."""

    status: int | None
    stdout: str
    stderr: str


def hall() -> Record | None:
    """The hall that this process' environment names; None without one."""
    path = os.environ.get(HALL)
    return Record.read(Path(path)) if path else None


class Session:
    """One connection to one host."""

    def __init__(self, hall: Record | None, connection: Mapping[str, Any], cancelled: threading.Event) -> None:
        self._hall, self._connection, self._cancelled = hall, connection, cancelled

    @property
    def endpoint(self) -> str:
        return f"{self._connection['host']}:{int(self._connection['port'])}"

    def run(self, command: str, stdin: str) -> Dialled:
        """Dial, run the command with `stdin`, and wait for its end. Raises OwnWordsError if there is no way in."""
        self._may_dial()
        limit, pause, tries = int(self._connection["dialErrorLimit"]), FIRST_PAUSE, 0
        with tempfile.TemporaryDirectory(prefix="ssh-") as scratch:
            while True:
                outcome = self._once(Path(scratch), command, stdin)
                if isinstance(outcome, Dialled):
                    return outcome
                if -1 < limit < tries + 1:
                    raise OwnWordsError(f"after {tries} failed attempts: {outcome}")
                tries += 1
                if self._cancelled.wait(pause):
                    raise OwnWordsError("context canceled")
                pause = min(pause * GROWTH, LONGEST_PAUSE)

    def _may_dial(self) -> None:
        if self._hall is None and not _loopback(str(self._connection["host"])):
            raise OwnWordsError(f"{self.endpoint} is not dialled: this rehearsal has no hosts, and knows no other way")

    def _once(self, scratch: Path, command: str, stdin: str) -> Dialled | str:
        """The session, or in words why it could not begin."""
        log = scratch / "log"
        log.unlink(missing_ok=True)
        argv = [*(self._hall.enter() if self._hall else ()), *self._client(scratch, log), "--", command]
        done = subprocess.run(argv, input=stdin.encode(), capture_output=True, check=False)
        said = log.read_text(errors="replace") if log.exists() else done.stderr.decode(errors="replace")
        if not _AUTHENTICATED.search(said):
            return self._why(said)
        status = _EXIT.search(said)
        return Dialled(
            int(status[1]) if status else None,
            done.stdout.decode(errors="replace"),
            done.stderr.decode(errors="replace"),
        )

    def _client(self, scratch: Path, log: Path) -> list[str]:
        it = self._connection
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": str(int(it["perDialTimeout"])),
            "ControlPath": "none",
            "GlobalKnownHostsFile": "none",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": str(self._identity(scratch)),
            "LogLevel": "DEBUG1",
            "PreferredAuthentications": "publickey",
            "ServerAliveCountMax": str(ALIVE_COUNT),
            "ServerAliveInterval": str(ALIVE_SECONDS),
            **self._host_key(scratch),
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return [
            "ssh",
            "-F",
            "none",
            "-T",
            "-E",
            str(log),
            *words,
            "-p",
            str(int(it["port"])),
            f"{it['user']}@{it['host']}",
        ]

    def _identity(self, scratch: Path) -> Path:
        path = scratch / "identity"
        places.write(path, str(self._connection.get("privateKey") or "").rstrip("\n") + "\n")
        return path

    def _host_key(self, scratch: Path) -> dict[str, str]:
        """The one key to believe: of a host whose private key is its owner's, the one that stands in for it."""
        named = self._connection.get("hostKey")
        if named is None:
            return {"StrictHostKeyChecking": "no", "UserKnownHostsFile": "none"}
        words = str(named).split()
        if len(words) < 2:
            raise OwnWordsError("failed to parse host key: ssh: no key found")
        kind, key = self._hall.stand_in(words[0], words[1]) if self._hall else (words[0], words[1])
        known = scratch / "known"
        host, port = self._connection["host"], int(self._connection["port"])
        places.write(known, f"{host if port == 22 else f'[{host}]:{port}'} {kind} {key}\n")
        return {"StrictHostKeyChecking": "yes", "UserKnownHostsFile": str(known), "HostKeyAlgorithms": kind}

    def _why(self, said: str) -> str:
        for mark, words in _WORDS:
            if mark in said:
                return words.format(at=self.endpoint)
        plain = [line for line in said.splitlines() if line and not line.startswith("debug1: ")]
        return plain[-1] if plain else f"dial tcp {self.endpoint}: the SSH client ended without a word"


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
