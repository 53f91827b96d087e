"""mkfs.lustre(8), tunefs.lustre(8) with --dryrun, and mount.lustre(8) of targets on ZFS.

Words and statuses: lustre-release, lustre/utils/mkfs_lustre.c (EINVAL 22 for options that do not go together, 1 for a
value that is none, ENODEV 19 for tunefs of what is not Lustre's), lustre/utils/mount_utils_zfs.c (no index by itself;
the dataset of a pool that is not there cannot be made; properties `lustre:…`). One that was formatted is refused
without --reformat. A target that never registered has a colon in its name.
"""

from __future__ import annotations

import re

from rehearsal.metal.tools import kernel, zfs
from rehearsal.metal.tools.lustre import nids
from rehearsal.metal.tools.machine import absent, ask, called, complain, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EINVAL, ENODEV, EEXIST = 22, 19, 17
MOST_NAME = 8


def main(name: str, words: list[str]) -> int:
    """One call."""
    if not version("lustre-server-utils"):
        return absent(name)
    called(name, words)
    if name == "tunefs.lustre":
        return _tune(words)
    flags = {word for word in words if "=" not in word}
    said = [tuple(word[2:].split("=", 1)) for word in words if "=" in word]
    return _make(words[-1], flags, said)


def _make(dataset: str, flags: set[str], said: list[tuple[str, ...]]) -> int:
    values = {key: [each[1] for each in said if each[0] == key] for key in {each[0] for each in said}}
    kinds = [kind for kind in ("mgs", "mdt", "ost") if f"--{kind}" in flags]
    if problem := _wrong(kinds, values):
        return complain(problem[1], problem[0])
    pool, _, inside = dataset.partition("/")
    found = zfs.here(pool)
    if not inside or found is None:
        return complain(
            f"mkfs.lustre FATAL: Unable to create filesystem {dataset} (1)\nmkfs.lustre FATAL: mkfs failed 1", 1
        )
    if found["datasets"].get(inside, {}).get("name") and "--reformat" not in flags:
        said_of_it = "was previously formatted for lustre. Use --reformat to reformat it"
        return complain(f"mkfs.lustre FATAL: Device {dataset} {said_of_it}, or tunefs.lustre to modify.", EEXIST)
    fsname, index = values.get("fsname", [""])[0], int(values.get("index", ["0"])[0], 0)
    nodes = {"mgsnode": ":".join(values.get("mgsnode", [])), "failover.node": ":".join(values.get("servicenode", []))}
    label = "MGS" if kinds == ["mgs"] else f"{fsname}-{kinds[-1].upper()}{index:04x}"
    made = {"name": label, "fsname": fsname, "index": index, "first": True, **nodes}
    times = found["datasets"].get(inside, {}).get("formatted", 0)
    zfs.write(dataset, {**made, "formatted": times + 1})
    return 0


def _wrong(kinds: list[str], values: dict[str, list[str]]) -> tuple[int, str] | None:
    """What mkfs.lustre refuses, in the order in which it looks."""
    if values.get("backfstype") != ["zfs"]:
        return 1, "mkfs.lustre: invalid backend filesystem type (this host's mkfs.lustre was built for ZFS)"
    for name in values.get("fsname", []):
        if not 1 <= len(name) <= MOST_NAME:
            return 1, f"mkfs.lustre: filesystem name must be 1-{MOST_NAME} chars"
        if wrong := re.search(r"[^A-Za-z0-9_-]", name):
            return 1, f"mkfs.lustre: char '{wrong[0]}' not allowed in filesystem name"
    if not kinds:
        return EINVAL, "mkfs.lustre FATAL: must set target type: MDT,OST,MGS"
    if "ost" in kinds and len(kinds) > 1:
        return EINVAL, "mkfs.lustre FATAL: OST type is exclusive with MDT,MGS"
    if "mgs" not in kinds and not values.get("mgsnode"):
        return EINVAL, f"mkfs.lustre FATAL: Must specify {'--mgs or ' if 'mdt' in kinds else ''}--mgsnode"
    if kinds != ["mgs"] and not values.get("fsname"):
        return EINVAL, "mkfs.lustre FATAL: Must specify --fsname for MDT/OST device"
    if "ost" in kinds and not values.get("index"):
        return EINVAL, "mkfs.lustre FATAL: The target index must be specified with --index"
    return None


def _tune(words: list[str]) -> int:
    if "--dryrun" not in words:
        return complain("tunefs.lustre: only --dryrun is played here", 1)
    held = _target(words[-1])
    if held is None:
        return complain(f"tunefs.lustre FATAL: Device {words[-1]} has not been formatted with mkfs.lustre", ENODEV)
    parameters = " ".join(f"{key}={held[key]}" for key in ("mgsnode", "failover.node") if held[key])
    index = "unassigned" if held["name"] == "MGS" else held["index"]
    print("checking for existing Lustre data: found\n\n   Read previous values:")
    print(f"Target:     {held['name']}\nIndex:      {index}\nLustre FS:  {held['fsname']}\nMount type: zfs")
    print(f"Flags:      0x62\nPersistent mount opts: \nParameters: {parameters}\n\nexiting before disk write.")
    return 0


def _target(dataset: str) -> dict[str, Any] | None:
    pool, _, inside = dataset.partition("/")
    found = zfs.here(pool)
    if found is None or not found["datasets"].get(inside, {}).get("name"):
        return None
    return {**found["datasets"][inside], "pool": found["born"]}


def start(dataset: str) -> str:
    """Mount a target; why it does not start, empty where it does."""
    if kernel.main("modprobe", ["lustre"]):
        return "mount.lustre: unknown file system type lustre"
    held = _target(dataset)
    if held is None:
        return f"mount.lustre: {dataset} has not been formatted with mkfs.lustre or the backend is not supported"
    own = nids()
    if not own:
        return f"mount.lustre: mount {dataset} failed: Network is down"
    question = {
        "kind": "lustre",
        "verb": "start",
        "name": held["name"],
        "pool": held["pool"],
        "fsname": held["fsname"],
        "mgs": held["mgsnode"],
        "nids": " ".join(own),
        "first": "yes" if held["first"] else "no",
    }
    answer = ask(question)
    if "error" in answer:
        return f"mount.lustre: mount {dataset} failed: {answer['error']}"
    zfs.write(dataset, {"first": False})
    return ""


def stop(dataset: str) -> None:
    """Unmount a target."""
    held = _target(dataset)
    if held is not None:
        ask({"kind": "lustre", "verb": "stop", "name": held["name"], "pool": held["pool"]})
