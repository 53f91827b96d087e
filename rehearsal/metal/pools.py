"""ZFS pools of a hall. They lie on drives, which more than one machine may reach: no host can keep them for itself.

Words and rules: OpenZFS cmd/zpool/zpool_main.c (do_import, zpool_do_create), module/zfs/spa.c (spa_activity_check):
with `multihost` on, a pool that another machine has is refused whatever is forced; zpoolprops(7): a pool that was not
exported is taken by another machine only with -f.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.metal.machine import Machine

Boot = Callable[[str], str]
"""The boot that a host is in, by its name; empty where it is off."""
Answer = dict[str, str]


@dataclass
class Pool:
    """A pool: its drives as ENCLOSURE/SERIAL, the host that used it last and its boot (empty: exported), and the
    properties of its datasets. `born` numbers pools, as their guid does.
    """

    name: str
    drives: frozenset[str]
    multihost: bool
    born: int
    host: str = ""
    boot: str = ""
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)


class Pools:
    """Every pool that was made in the hall."""

    def __init__(self, boot: Boot) -> None:
        self._boot, self._pools, self._lock = boot, list[Pool](), threading.Lock()

    def asked(self, machine: Machine, question: Mapping[str, str]) -> Answer:
        """The answer to one question of a host's zpool, mkfs.lustre or lsblk."""
        with self._lock:
            verbs: Mapping[str, Callable[[str, Mapping[str, str]], Answer]] = {
                "create": self._create,
                "import": self._import,
                "export": self._export,
                "here": self._here,
                "on": self._on,
                "write": self._write,
            }
            return verbs[question["verb"]](machine.name, question)

    def here(self, host: str, name: str) -> Pool | None:
        """The pool of that name that the host has imported since it booted."""
        boot = self._boot(host)
        return next(
            (each for each in self._pools if each.name == name and (each.host, each.boot) == (host, boot)), None
        )

    def _create(self, host: str, question: Mapping[str, str]) -> Answer:
        drives = frozenset(json.loads(question["drives"]))
        if taken := next((each for each in self._pools if each.drives & drives), None):
            return {"error": f"a device is part of active pool '{taken.name}'"}
        if self.here(host, question["name"]):
            return {"error": f"cannot create '{question['name']}': pool already exists"}
        made = Pool(question["name"], drives, question["multihost"] == "on", len(self._pools))
        made.host, made.boot = host, self._boot(host)
        self._pools.append(made)
        return {}

    def _import(self, host: str, question: Mapping[str, str]) -> Answer:
        name, seen = question["name"], set(json.loads(question["drives"]))
        refused = f"cannot import '{name}': "
        if self.here(host, name):
            return {"error": f"{refused}a pool with that name already exists"}
        found = next((each for each in self._pools if each.name == name and each.drives <= seen), None)
        if found is None:
            return {"error": f"{refused}no such pool available"}
        strange = found.host not in ("", host) and found.boot != ""
        alive = strange and self._boot(found.host) == found.boot
        if alive and found.multihost:
            return {"error": f"{refused}pool is imported on {found.host}. Export the pool on the other system"}
        if strange and question["force"] != "yes":
            said = f"pool was previously in use from another system.\nLast accessed by {found.host}"
            return {"error": f"{refused}{said}\nThe pool can be imported, use 'zpool import -f' to import the pool."}
        found.host, found.boot = host, self._boot(host)
        return {}

    def _export(self, host: str, question: Mapping[str, str]) -> Answer:
        found = self.here(host, question["name"])
        if found is None:
            return {"error": f"cannot open '{question['name']}': no such pool"}
        found.boot = ""
        return {}

    def _here(self, host: str, question: Mapping[str, str]) -> Answer:
        """The datasets of an imported pool, and its number; nothing where it is not imported."""
        found = self.here(host, question["name"])
        return {"born": str(found.born), "datasets": json.dumps(found.datasets)} if found else {}

    def _on(self, _: str, question: Mapping[str, str]) -> Answer:
        """The pool that a drive is part of, imported or not."""
        found = next((each.name for each in self._pools if question["drive"] in each.drives), "")
        return {"name": found}

    def _write(self, host: str, question: Mapping[str, str]) -> Answer:
        pool, _, dataset = question["dataset"].partition("/")
        found = self.here(host, pool)
        if found is None:
            return {"error": f"cannot open '{pool}': no such pool"}
        found.datasets.setdefault(dataset, {}).update(json.loads(question["properties"]))
        return {}
