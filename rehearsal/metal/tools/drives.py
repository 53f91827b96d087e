"""lsblk(8), wipefs(8), blkid(8), mdadm(8), mkfs.xfs(8), and mounting: drives as they were racked, arrays and what lies
on them.

Words and statuses: blkid -p ends with 2 where it finds nothing; mkfs.xfs with 1 on a device that carries something,
unless -f; mdadm --create with 2 on a device that is busy; mdadm --detail with 1 without the array.
"""

from __future__ import annotations

import os

from rehearsal.metal.tools import kernel, lustre, lustre_server, nfs, zfs
from rehearsal.metal.tools.machine import ask, called, complain, facts, lasting, until_boot, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(name: str, words: list[str]) -> int:
    """One call."""
    if name == "df":
        return _df()
    called(name, words)
    device = words[-1]
    if name == "mdadm":
        return _mdadm(words)
    if name == "lsblk":
        return _lsblk(device, words)
    if name == "wipefs" and "--all" in words:
        return _wipe(device)
    if name == "mkfs.xfs":
        return _format(device, "-f" in words, words[words.index("-L") + 1] if "-L" in words else "")
    held = content(device)
    if not held:
        return 0 if name == "wipefs" else 2
    print(held)
    return 0


def drive(device: str) -> dict[str, Any] | None:
    """The drive's facts, by its name in /dev or below /dev/disk/by-id."""
    for each in facts()["drives"]:
        if device in names(each):
            found: dict[str, Any] = each
            return found
    return None


def names(each: dict[str, Any]) -> list[str]:
    """The names that udev gives a drive: the kernel's, by its serial number, by its place."""
    known = each["path"] if "/" in each["path"] else f"by-path/{each['path']}"
    path = [f"/dev/disk/{known}"] if each["path"] else []
    own = [] if "/" in each["serial"] else [f"/dev/disk/by-id/nvme-{each['serial']}"]
    return [f"/dev/{each['name']}", *own, *path]


def boot() -> None:
    """The drives appear, each a file that says whose it is."""
    for each in facts()["drives"]:
        first, *others = names(each)
        with open(first, "w") as file:
            file.write(each["serial"])
        for name in others:
            os.makedirs(os.path.dirname(name), exist_ok=True)
            os.symlink(first, name)


def content(device: str) -> str:
    """What lies on a drive or an array. A drive of a pool has a table of partitions, as zpool makes it."""
    if zfs.pool_of(device):
        return "gpt"
    with lasting() as state:
        if device in state.get("arrays", {}):
            return str(state["arrays"][device].get("holds", ""))
        for array in state.get("arrays", {}).values():
            if _name(device) in array["drives"]:
                return "linux_raid_member"
        if _name(device) in state.get("wiped", []):
            return ""
    return str((drive(device) or {}).get("holds", ""))


def _name(device: str) -> str:
    return str((drive(device) or {}).get("name", device))


def empty() -> list[dict[str, Any]]:
    """Drives that carry nothing and are mounted nowhere."""
    return [each for each in facts()["drives"] if not each["mounted"] and not content(names(each)[0])]


def _wipe(device: str) -> int:
    """All that blkid would find goes; on a drive that is in use nothing does."""
    it = drive(device)
    if it is None or it["mounted"] or content(device) in ("linux_raid_member", "gpt"):
        return complain(f"wipefs: error: {device}: probing initialization failed: Device or resource busy", 1)
    with lasting() as state:
        state.setdefault("wiped", []).append(it["name"])
    return 0


def _lsblk(device: str, words: list[str]) -> int:
    """`-n -r -o COLUMN,... DEVICE`: the drive, and what is made of it."""
    it = drive(device)
    if it is None:
        return complain(f"lsblk: {device}: not a block device", 32)
    with lasting() as state:
        arrays = [path for path, each in state.get("arrays", {}).items() if it["name"] in each["drives"]]
    with until_boot() as state:
        mounted = {each["what"]: each["where"] for each in state.get("mounts", [])}
    rows = [{"TYPE": "disk"}]
    if it["mounted"]:
        rows.append({"TYPE": "part", "MOUNTPOINTS": it["mounted"]})
    elif pool := zfs.pool_of(device):
        rows += [{"TYPE": "part", "FSTYPE": "zfs_member", "LABEL": pool}, {"TYPE": "part"}]
    rows += [{"TYPE": "raid0", "MOUNTPOINTS": mounted.get(each, "")} for each in arrays]
    columns = words[words.index("-o") + 1].split(",")
    print("\n".join(" ".join(row.get(each, "") for each in columns) for row in rows))
    return 0


def _df() -> int:
    """df(1) with `--output=avail -B1G` for the system's drive, nine tenths of which are free until it is filled.

    The files that a host really has lie in memory: where those have no room, the drive has none.
    """
    room = os.statvfs("/var")
    sizes = [each["gb"] for each in facts()["drives"] if each["mounted"] == "/"]
    free = (sizes or [480])[0] * 10**9 * 9 // 10 // 2**30
    print(f"Avail\n{free if room.f_bavail * room.f_frsize > 2**20 else 0}")
    return 0


def _mdadm(words: list[str]) -> int:
    if "--detail" in words:
        with lasting() as state:
            array = state.get("arrays", {}).get(words[-1])
        if array is None:
            return complain(f"mdadm: cannot open {words[-1]}: No such file or directory", 1)
        print(f"MD_LEVEL=raid0\nMD_DEVICES={len(array['drives'])}\nMD_NAME={array['name']}")
        return 0
    path = words[words.index("--create") + 1]
    chosen = [word for word in words if drive(word) is not None]
    wanted = int(next(word for word in words if word.startswith("--raid-devices=")).partition("=")[2])
    if len(chosen) != wanted:
        return complain("mdadm: You haven't given enough devices (real or missing) to create this array", 2)
    for word in chosen:
        if content(word) == "linux_raid_member" or (drive(word) or {}).get("mounted"):
            return complain(f"mdadm: cannot open {word}: Device or resource busy", 2)
    with lasting() as state:
        name = next((word.partition("=")[2] for word in words if word.startswith("--name=")), "")
        state.setdefault("arrays", {})[path] = {"drives": sorted(map(_name, chosen)), "holds": "", "name": name}
    print(f"mdadm: array {path} started.")
    return 0


def _format(device: str, force: bool, label: str) -> int:
    if content(device) and not force:
        return complain(
            f"mkfs.xfs: {device} appears to contain an existing filesystem ({content(device)}).\n"
            "mkfs.xfs: Use the -f option to force overwrite.",
            1,
        )
    with lasting() as state:
        array = state.get("arrays", {}).get(device)
        if array is None:
            return complain(f"mkfs.xfs: cannot open {device}: No such file or directory", 1)
        array.update(holds="xfs", label=label)
        array["formatted"] = array.get("formatted", 0) + 1
    return 0


def _source(settings: dict[str, Any]) -> str | None:
    """The array behind a mount unit's What=, which may name it by its label."""
    what = str(settings.get("What", ""))
    with lasting() as state:
        for path, each in state.get("arrays", {}).items():
            if what == path or (each.get("label") and what == f"/dev/disk/by-label/{each['label']}"):
                return str(path)
    return None


def mount_problem(settings: dict[str, Any]) -> str:
    """Why a mount unit cannot start: a helper or a module that is missing, or what is to be mounted is not there."""
    kind, what = str(settings.get("Type")), str(settings.get("What"))
    if kind == "nfs":
        if not version("nfs-common"):
            return "the mount process exited with error code (need mount.nfs: bad option)"
        return "" if what in facts()["file_systems"] else nfs.mount(what)
    if kind == "lustre":
        return lustre_server.start(what) if ":/" not in what else _client(what)
    if kind == "none":
        return "" if os.path.isdir(what) else f"the mount process exited with error code ({what} does not exist)"
    path = _source(settings)
    if path is None:
        return f"a dependency job failed ({settings.get('What')} does not appear)"
    if content(path) != settings.get("Type"):
        return "the mount process exited with error code (wrong fs type, bad option, bad superblock)"
    return "" if os.path.isdir(str(settings.get("Where"))) else "its mount point cannot be made"


def _client(source: str) -> str:
    """A mount of Lustre, served by somebody else or by hosts of the hall. mount(2) loads its module."""
    if kernel.main("modprobe", ["lustre"]):
        return "mount.lustre: unknown file system type lustre"
    if source in facts()["file_systems"]:
        return ""
    answer = ask({"kind": "lustre", "verb": "mount", "source": source, "nids": " ".join(lustre.nids())})
    return f"mount.lustre: mount {source} failed: {answer['error']}" if "error" in answer else ""


def remember_mount(settings: dict[str, Any]) -> None:
    """The unit's mount is there until it stops or the machine boots."""
    with until_boot() as state:
        state.setdefault("mounts", []).append({"what": _source(settings), "where": settings.get("Where")})


def forget_mount(settings: dict[str, Any]) -> None:
    """The unit's mount is gone."""
    what = str(settings.get("What", ""))
    if settings.get("Type") == "lustre" and ":/" not in what:
        lustre_server.stop(what)
    with until_boot() as state:
        state["mounts"] = [each for each in state.get("mounts", []) if each["where"] != settings.get("Where")]
