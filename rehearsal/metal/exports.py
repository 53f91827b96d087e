"""NFS between the hosts of a hall: who exports which directories to whom, and what a client gets to mount.

Source: exports(5) (a client is a network in CIDR), nfs-utils, utils/mount/network.c and stropts.c: a server that is
away is waited for until the mount times out, a directory that is not exported is "access denied by server".
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from rehearsal.metal.machine import Machine
from rehearsal.metal.pools import Answer, Boot


@dataclass(frozen=True)
class _Served:
    """What a host exports since it booted: networks by directory."""

    host: str
    boot: str
    directories: Mapping[str, list[str]]


class Exports:
    """What is exported in the hall, by the server's address."""

    def __init__(self, boot: Boot) -> None:
        self._boot, self._served, self._lock = boot, dict[str, _Served](), threading.Lock()

    def asked(self, machine: Machine, question: Mapping[str, str]) -> Answer:
        """The answer to one question of a host's exportfs or mount.nfs."""
        with self._lock:
            if question["verb"] == "mount":
                return self._mount(machine, question["source"])
            given = json.loads(question["directories"])
            self._served[machine.address] = _Served(machine.name, self._boot(machine.name), given)
            return {}

    def _mount(self, machine: Machine, source: str) -> Answer:
        server, _, directory = source.partition(":")
        found = self._served.get(server)
        if found is None or self._boot(found.host) != found.boot or not found.directories:
            return {"error": "mount.nfs: Connection timed out"}
        networks = [network for path, given in found.directories.items() if directory == path for network in given]
        if not any(IPv4Address(machine.address) in IPv4Network(network) for network in networks):
            return {"error": f"mount.nfs: access denied by server while mounting {source}"}
        return {}
