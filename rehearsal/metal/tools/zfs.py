"""zpool(8) and zgenhostid(8), and what lsblk shows of drives that are part of a pool. Pools are the hall's to keep.

Words and statuses: OpenZFS cmd/zpool/zpool_main.c (2 for usage, 1 for all else), cmd/zpool/zpool_vdev.c (what is on a
device; raidz2 takes three devices, raidz3 four, a mirror two), cmd/zgenhostid.c (1 where /etc/hostid is there).
"""

from __future__ import annotations

import itertools
import json
import os

from rehearsal.metal.tools import drives
from rehearsal.metal.tools.machine import absent, ask, called, complain, facts, until_boot, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOSTID = "/etc/hostid"
FEWEST = {"mirror": 2, "raidz1": 2, "raidz2": 3, "raidz3": 4}


def main(name: str, words: list[str]) -> int:
    """One call."""
    if not version("zfsutils-linux"):
        return absent(name)
    called(name, words)
    if name == "zgenhostid":
        return _hostid()
    verb, options, plain = words[0], _options(words[1:]), _plain(words[1:])
    if verb == "create":
        return _create(plain[0], plain[1:], options)
    if verb == "list":
        return 0 if here(plain[0]) else complain(f"cannot open '{plain[0]}': no such pool", 1)
    with until_boot() as state:
        mounted = [str(each.get("What", "")) for each in state.get("active", {}).values()]
    if verb == "export" and any(each.startswith(f"{plain[0]}/") for each in mounted):
        return complain(f"cannot export '{plain[0]}': pool is busy", 1)
    question = {"kind": "zfs", "verb": verb, "name": plain[0]}
    if verb == "import":
        question |= {"force": "yes" if "-f" in words else "no", "drives": json.dumps(_seen())}
    return _told(ask(question))


def here(pool: str) -> dict[str, Any] | None:
    """A pool that is imported: its number and its datasets."""
    found = ask({"kind": "zfs", "verb": "here", "name": pool})
    return {"born": found["born"], "datasets": json.loads(found["datasets"])} if found else None


def pool_of(device: str) -> str:
    """The pool that a drive is part of; empty if none."""
    it = drives.drive(device)
    if it is None or not version("zfsutils-linux"):
        return ""
    return ask({"kind": "zfs", "verb": "on", "drive": identity(it)})["name"]


def identity(it: dict[str, Any]) -> str:
    """A drive, wherever it is looked at from: those of an enclosure are the same for each machine that reaches it."""
    return f"{it.get('enclosure') or facts()['name']}/{it['serial']}"


def write(dataset: str, properties: dict[str, Any]) -> None:
    """Give a dataset properties."""
    ask({"kind": "zfs", "verb": "write", "dataset": dataset, "properties": json.dumps(properties)})


def _seen() -> list[str]:
    return [identity(each) for each in facts()["drives"]]


def _told(answer: dict[str, str]) -> int:
    return complain(answer["error"], 1) if "error" in answer else 0


def _options(words: list[str]) -> dict[str, str]:
    pairs = [after for word, after in itertools.pairwise(words) if word in ("-o", "-O") and "=" in after]
    return dict(pair.split("=", 1) for pair in pairs)


def _plain(words: list[str]) -> list[str]:
    found, skip = [], False
    for word in words:
        if skip or word.startswith("-"):
            skip = word in ("-o", "-O", "-d")
            continue
        found.append(word)
    return found


def _hostid() -> int:
    if os.path.exists(HOSTID):
        return complain(f"{HOSTID}: File exists", 1)
    with open(HOSTID, "wb") as file:
        file.write(os.urandom(4))
    return 0


def _create(name: str, vdevs: list[str], options: dict[str, str]) -> int:
    devices = [word for word in vdevs if word.startswith("/")]
    kind, members = "", 0
    for word in [*vdevs, "end"]:
        if word.startswith("/"):
            members += 1
            continue
        if kind and members < FEWEST[kind]:
            return complain(f"invalid vdev specification: {kind} requires at least {FEWEST[kind]} devices", 1)
        kind, members = word, 0
    for device in devices:
        it = drives.drive(device)
        if it is None:
            return complain(f"cannot resolve path '{device}'", 1)
        held = it["mounted"] or pool_of(device) or drives.content(device)
        if held:
            lines = f"invalid vdev specification\nuse '-f' to override the following errors:\n{device} contains {held}"
            return complain(lines, 1)
    if options.get("multihost") == "on" and not os.path.exists(HOSTID):
        return complain(f"cannot create '{name}': multihost needs a hostid, set one with zgenhostid(8)", 1)
    identities = [identity(it) for device in devices if (it := drives.drive(device))]
    question = {"kind": "zfs", "verb": "create", "name": name, "drives": json.dumps(identities)}
    return _told(ask({**question, "multihost": options.get("multihost", "off")}))
