"""lctl(8) and lfs(1) of a Lustre client: parameters while the file system is mounted, layouts of directories.

Words and statuses: lustre-release, lustre/utils/lustre_param.c (a pattern that meets nothing: "error: set_param:
param_path 'X': No such file or directory", 2), lustre/utils/lfs.c; lustre/osc/lproc_osc.c (max_pages_per_rpc is at most
4096), lustre/llite/lproc_llite.c (what a file reads ahead is at most what all do: ERANGE). A layout is of the file
system, and here of the machine that was told it.
"""

from __future__ import annotations

from typing import Any

from rehearsal.metal.tools.machine import absent, called, complain, lasting, until_boot, version

DEFAULTS = {
    "osc.*.max_pages_per_rpc": 256,
    "osc.*.max_rpcs_in_flight": 8,
    "llite.*.max_read_ahead_mb": 256,
    "llite.*.max_read_ahead_per_file_mb": 64,
}
MOST_PAGES = 4096
READ_AHEAD, PER_FILE = "llite.*.max_read_ahead_mb", "llite.*.max_read_ahead_per_file_mb"


def main(name: str, words: list[str]) -> int:
    """One call."""
    if not version("lustre-client-modules"):
        return absent(name)
    called(name, words)
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
