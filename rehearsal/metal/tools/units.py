"""systemctl(1) and systemd-detect-virt(1): units that are files or come with packages, and whether they run.

Exit statuses: systemctl(1): is-active 3, is-enabled 1, a unit that is not loaded 5 (start) or 4 (status); `.boot` is
ours: what a boot does from files, in the order of After=. A unit's own commands are run when it starts: a oneshot that
fails, fails the start.
"""

from __future__ import annotations

import os

from rehearsal.metal.tools.machine import called, complain, facts, lasting, until_boot, version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ETC = "/etc/systemd/system"
OF_PACKAGES = {
    "containerd.service": "containerd.io",
    "kubelet.service": "kubelet",
    "chrony.service": "chrony",
    "nvidia-persistenced.service": "nvidia-driver",
    "nvidia-fabricmanager.service": "nvidia-fabricmanager",
    "docker.service": "docker.io",
    "nfs-kernel-server.service": "nfs-kernel-server",
}
WANTS = "multi-user.target.wants"


def main(name: str, words: list[str]) -> int:
    """One call."""
    if name == "systemd-detect-virt":
        virtual = bool(facts()["virtual"])
        if "--quiet" not in words:
            print("kvm" if virtual else "none")
        return 0 if virtual else 1
    if words == [".boot"]:
        return _boot()
    called(name, words)
    flags = [word for word in words if word.startswith("-")]
    verb, *units = [word for word in words if not word.startswith("-")]
    if verb == "daemon-reload":
        return _reload()
    if verb == "show":
        return _show(words)
    return max([_one(verb, _full(unit), flags) for unit in units], default=0)


def _full(unit: str) -> str:
    return unit if "." in unit else f"{unit}.service"


def _one(verb: str, unit: str, flags: list[str]) -> int:
    if verb == "is-active":
        return _said(_active(unit), "active", "inactive", flags, 3)
    if verb == "is-enabled":
        return _said(_enabled(unit), "enabled", "disabled", flags, 1)
    if not _known(unit):
        return complain(f"Failed to {verb} {unit}: Unit {unit} not found.", 5 if verb in ("start", "restart") else 1)
    if verb in ("enable", "disable"):
        link, file = f"{ETC}/{WANTS}/{unit}", f"{ETC}/{unit}"
        os.makedirs(f"{ETC}/{WANTS}", exist_ok=True)
        if _enabled(unit):
            os.unlink(link)
        if verb == "enable":
            os.symlink(file if os.path.exists(file) else f"/usr/lib/systemd/system/{unit}", link)
        now = "--now" in flags
        return _start(unit) if verb == "enable" and now else _stop(unit) if now else 0
    if verb == "stop":
        return _stop(unit)
    if verb == "start" and _active(unit):
        return 0
    return _start(unit)


def _said(yes: bool, first: str, second: str, flags: list[str], status: int) -> int:
    if "--quiet" not in flags and "-q" not in flags:
        print(first if yes else second)
    return 0 if yes else status


def _known(unit: str) -> bool:
    if os.path.isfile(f"{ETC}/{unit}"):
        return True
    package = OF_PACKAGES.get(unit)
    if package is None:
        from rehearsal.metal.tools import slurm

        return bool(version(slurm.PACKAGES.get(unit, "")))
    if package == "nvidia-driver":
        return bool((facts().get("gpu") or {}).get("driver"))
    with lasting() as state:
        return any(each.startswith(package) for each in state.get("packages", {}))


def _enabled(unit: str) -> bool:
    return os.path.islink(f"{ETC}/{WANTS}/{unit}")


def _active(unit: str) -> bool:
    with until_boot() as state:
        return unit in state.get("active", {})


def _reload() -> int:
    """Units are read anew: what a running unit has, it has until it is started again."""
    with until_boot() as state:
        state["loaded"] = {
            name: _text(f"{place}/{name}")
            for place, _, names in os.walk(ETC)
            for name in names
            if os.path.isfile(f"{place}/{name}")
        }
    return 0


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _start(unit: str) -> int:
    from rehearsal.metal.tools import drives, kernel, slurm

    settings = _settings(unit)
    problem = _requirement(settings) or _problem(unit)
    if not problem:
        for command in settings.get("ExecStart", []):
            if settings.get("Type", "simple") == "simple":
                settings["MainPID"] = kernel.begin(command, f"/var/log/{unit}.log")
            elif status := kernel.run(command):
                problem = f"the control process exited with error code (status {status})"
    # Its daemon is a process that ends later, of which `start` knows nothing.
    why = "" if problem else slurm.ended(unit)
    if why:
        with open(f"/var/log/{unit}.log", "w") as file:
            file.write(f"{why}\n")
    with until_boot() as state:
        active = state.setdefault("active", {})
        active.pop(unit, None)
        if not problem and not why:
            active[unit] = settings
    if problem:
        return complain(
            f"Job for {unit} failed because {problem}.\n"
            f'See "systemctl status {unit}" and "journalctl -xeu {unit}" for details.',
            1,
        )
    if unit.endswith(".mount"):
        drives.remember_mount(settings)
    return 0


def _requirement(settings: dict[str, Any]) -> str:
    """Units that are required are started first (systemd.unit(5), Requires=); why one of them cannot be."""
    for each in str(settings.get("Requires", "")).split():
        if not _active(each) and (not _known(each) or _start(each)):
            return f"a dependency job failed ({each})"
    return ""


def _stop(unit: str) -> int:
    """A unit that requires this one is stopped before it."""
    import contextlib
    import signal

    from rehearsal.metal.tools import drives, kernel, nfs

    with until_boot() as state:
        active = dict(state.get("active", {}))
    for each, settings in active.items():
        if unit in str(settings.get("Requires", "")).split():
            _stop(each)
    with until_boot() as state:
        settings = state.get("active", {}).pop(unit, {})
    if unit == "nfs-kernel-server.service":
        nfs.withdraw()
    for command in settings.get("ExecStop", []):
        kernel.run(command)
    if settings.get("MainPID"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(settings["MainPID"], signal.SIGKILL)
    if unit.endswith(".mount"):
        drives.forget_mount(settings)
    return 0


def _problem(unit: str) -> str:
    """What keeps a daemon from starting."""
    from rehearsal.metal.tools import drives, nfs

    if unit == "containerd.service":
        return _containerd()
    if unit == "nfs-kernel-server.service":
        return nfs.export()
    if unit == "nvidia-fabricmanager.service" and not (facts().get("gpu") or {}).get("nvswitch"):
        return "the control process exited with error code (NV_WARN_NOTHING_TO_DO: no NVSwitch devices)"
    if unit.endswith(".mount"):
        return drives.mount_problem(_settings(unit))
    return ""


def _containerd() -> str:
    """containerd ends over a file that is no TOML, or of a version that it does not know (containerd
    cmd/containerd/server/config).
    """
    import tomllib

    path = "/etc/containerd/config.toml"
    if not os.path.exists(path):
        return ""
    try:
        version = tomllib.loads(_text(path)).get("version", 1)
    except tomllib.TOMLDecodeError as error:
        return f"the control process exited with error code (failed to load TOML: {error})"
    return "" if version in (1, 2, 3) else f"the control process exited with error code (unsupported version {version})"


def _settings(unit: str) -> dict[str, Any]:
    """The unit's file and its drop-ins, later ones over earlier; commands are lists."""
    found: dict[str, Any] = {}
    place = f"{ETC}/{unit}.d"
    drop_ins = sorted(os.listdir(place)) if os.path.isdir(place) else []
    for path in [f"{ETC}/{unit}", *(f"{place}/{each}" for each in drop_ins if each.endswith(".conf"))]:
        if not os.path.isfile(path):
            continue
        for line in _text(path).splitlines():
            key, equals, value = line.partition("=")
            if not equals or line.startswith(("#", "[")):
                continue
            if key in ("ExecStart", "ExecStop"):
                found.setdefault(key, []).append(value)
            else:
                found[key] = value
    return found


def _show(words: list[str]) -> int:
    """`show -p NAME... [--value] UNIT`: what is known of the unit, and what its process was started with."""
    asked = [words[place + 1] for place, word in enumerate(words) if word == "-p"]
    (unit,) = [_full(word) for word in words[1:] if not word.startswith("-") and word not in asked]
    with until_boot() as state:
        running = state.get("active", {}).get(unit)
    settings = running if running is not None else _settings(unit)
    known = {
        "ActiveState": "inactive" if running is None else "active",
        "UnitFileState": "enabled" if _enabled(unit) else "disabled" if _known(unit) else "",
        "LimitMEMLOCK": "8388608",
        **settings,
    }
    for name in asked:
        print(known.get(name, "") if "--value" in words else f"{name}={known.get(name, '')}")
    return 0


def _boot() -> int:
    from rehearsal.metal.tools import drives, firmware, kernel, pci

    drives.boot()
    firmware.boot()
    kernel.boot()
    pci.boot()
    _reload()
    names = sorted(os.listdir(f"{ETC}/{WANTS}")) if os.path.isdir(f"{ETC}/{WANTS}") else []
    begun: list[str] = []

    def begin(unit: str) -> None:
        if unit in names and unit not in begun:
            begun.append(unit)
            for each in str(_settings(unit).get("After", "")).split():
                begin(each)
            if not _active(unit):
                _start(unit)

    for unit in names:
        begin(unit)
    return 0
