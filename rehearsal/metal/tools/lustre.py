"""lctl(8) and lfs(1): LNet's networks, parameters of a client while the file system is mounted, layouts of directories.

Words and statuses: lustre-release, lustre/utils/lustre_param.c (a pattern that meets nothing: "error: set_param:
param_path 'X': No such file or directory", 2), lustre/utils/lfs.c; lustre/osc/lproc_osc.c (max_pages_per_rpc is at most
4096), lustre/llite/lproc_llite.c (what a file reads ahead is at most what all do: ERANGE). A layout is of the file
system, and here of the machine that was told it. LNet: Lustre operations manual, "LNet Module Parameters" (networks are
read when the module is loaded; without the option it is tcp on the first interface); lnet/utils/portals.c ("LNET
configure error %d"). o2ib needs a card with RDMA below the interface.
"""

from __future__ import annotations

import pathlib
import re
import time

from rehearsal.metal.tools.machine import absent, called, complain, facts, lasting, until_boot, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULTS = {
    "osc.*.max_pages_per_rpc": 256,
    "osc.*.max_rpcs_in_flight": 8,
    "llite.*.max_read_ahead_mb": 256,
    "llite.*.max_read_ahead_per_file_mb": 64,
}
MOST_PAGES = 4096
OF = {"obdfilter": "ost", "mdt": "mdt"}
"""By kind of device, how the datasets of its targets begin."""
_TIME = "\nsnapshot_time             {seconds}.590578 secs.nsecs\n"
VALUES = {
    "stats": f"{_TIME}read_bytes                {{seconds}} samples [bytes] 4096 1048576 {{read}}",
    "md_stats": f"{_TIME}open                      {{seconds}} samples [usecs] 12 480 {{read}} {{read}}",
    "kbytestotal": "61440000000",
    "kbytesavail": "36864000000",
}
"""Of a target as they are shown (Lustre operations manual, "Lustre Parameters")."""
READ_AHEAD, PER_FILE = "llite.*.max_read_ahead_mb", "llite.*.max_read_ahead_per_file_mb"


def main(name: str, words: list[str]) -> int:
    """One call."""
    if not version("lustre-client-modules") and not version("lustre-server-utils"):
        return absent(name)
    called(name, words)
    if name == "lctl" and words == ["network", "up"]:
        return _up()
    if name == "lctl" and words == ["list_nids"]:
        found = nids(up=False)
        print("\n".join(found))
        return 0 if found else complain("IOC_LIBCFS_GET_NI error 100: Network is down", 1)
    if name == "lctl" and words[:1] == ["get_param"]:
        return max([_shown(pattern) for pattern in words[1:]], default=0)
    if name == "lctl":
        return _set(words[1:]) if words[:1] == ["set_param"] else complain(f"{words[0]}: not played here", 1)
    return _layout(words)


def _set(pairs: list[str]) -> int:
    with until_boot() as state:
        mounted = any(unit.endswith(".mount") and each.get("Type") == "lustre" for unit, each in _active(state))
        known = state.setdefault("lustre", dict(DEFAULTS))
        for pair in pairs:
            path, _, value = pair.partition("=")
            if not mounted or path not in DEFAULTS:
                shown = path.replace(".", "/")
                return complain(f"error: set_param: param_path '{shown}': No such file or directory", 2)
            number = int(value)
            if (path.endswith("max_pages_per_rpc") and number > MOST_PAGES) or (
                path == PER_FILE and number > known[READ_AHEAD]
            ):
                return complain(f"error: set_param: setting {path}={value}: Numerical result out of range", 34)
            known[path] = number
            print(f"{path}={value}")
    return 0


def _shown(pattern: str) -> int:
    """A parameter of the targets that are mounted here. They are quiet: an OST reads a MB each second."""
    from rehearsal.metal.tools import zfs

    kind, _, parameter = pattern.split(".")
    with until_boot() as state:
        sources = [str(each["What"]).partition("/") for _, each in _active(state) if each.get("Type") == "lustre"]
    datasets = [((zfs.here(pool) or {}).get("datasets", {}).get(inside), inside) for pool, _, inside in sources]
    found = [each["name"] for each, inside in datasets if each and inside.startswith(OF[kind])]
    seconds = int(time.time())
    for target in found:
        print(f"{kind}.{target}.{parameter}={VALUES[parameter].format(seconds=seconds, read=seconds * 10**6)}")
    shown = pattern.replace(".", "/")
    return 0 if found else complain(f"error: get_param: param_path '{shown}': No such file or directory", 2)


def _active(state: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(state.get("active", {}).items())


def _layout(words: list[str]) -> int:
    path = words[-1]
    with until_boot() as state:
        here = [each for unit, each in _active(state) if unit.endswith(".mount") and each.get("Type") == "lustre"]
    if not any(each.get("Where") == path for each in here):
        return complain(f"lfs {words[0]}: {path} is not on a Lustre filesystem: Inappropriate ioctl for device", 25)
    with lasting() as state:
        layouts = state.setdefault("layouts", {})
        if words[0] == "getstripe":
            print(layouts.get(path, 1))
        else:
            layouts[path] = int(words[words.index("--stripe-count") + 1])
    return 0


def loaded() -> None:
    """LNet's module is loaded: its options are what they are now."""
    words = [
        each
        for file in sorted(pathlib.Path("/etc/modprobe.d").glob("*.conf"))
        for each in file.read_text().splitlines()
    ]
    options = [found[1] for each in words if (found := re.search(r'^options lnet .*networks="([^"]*)"', each))]
    with until_boot() as state:
        state["lnet"] = {"networks": options[-1] if options else "tcp(eth0)"}


def nids(*, up: bool = True) -> list[str]:
    """The machine's names in LNet, which a mount brings up; none where it is down."""
    with until_boot() as state:
        lnet = state.get("lnet", {})
    if up and "nids" not in lnet:
        _up()
        return nids(up=False)
    return list(lnet.get("nids", []))


def _up() -> int:
    with until_boot() as state:
        networks = state.get("lnet", {}).get("networks")
    if networks is None:
        return complain("LNET configure error 19: No such device", 19)
    found = []
    for network, interfaces in re.findall(r"([a-z0-9]+)\(([^)]*)\)", networks):
        for interface in interfaces.split(","):
            address = _address(interface)
            rdma = any(each["name"] == interface and each["infiniband"] for each in facts()["cards"])
            if not address or (network.startswith("o2ib") and not rdma):
                return complain("LNET configure error 100: Network is down", 100)
            found.append(f"{address}@{network}")
    with until_boot() as state:
        state["lnet"]["nids"] = found
    print("LNET configured")
    return 0


def _address(interface: str) -> str:
    import subprocess

    told = subprocess.run(
        ["ip", "-o", "-4", "address", "show", "dev", interface], capture_output=True, text=True, check=False
    )
    found = re.search(r"inet ([0-9.]+)", told.stdout)
    return found[1] if found else ""
