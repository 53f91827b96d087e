"""systemctl(1) and systemd-detect-virt(1): units that are files or come with packages, and whether they run.

Exit statuses: systemctl(1): is-active 3, is-enabled 1, a unit that is not loaded 5 (start) or 4 (status); `.boot` is
ours: what a boot does from files, in the order of After=. A unit's own commands are run when it starts: a oneshot that
fails, fails the start.
"""

import contextlib
import os
import pathlib
import signal
from typing import Any

from rehearsal.metal.tools import drives, firmware, kernel, nfs, pci, slurm
from rehearsal.metal.tools.machine import called, complain, facts, lasting, until_boot, version

ETC = pathlib.Path("/etc/systemd/system")
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
        return _show(units[0], words)
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
        link = ETC / WANTS / unit
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        if verb == "enable":
            link.symlink_to(ETC / unit if (ETC / unit).exists() else f"/usr/lib/systemd/system/{unit}")
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
    if (ETC / unit).is_file():
        return True
    if unit in slurm.PACKAGES:
        return bool(version(slurm.PACKAGES[unit]))
    package = OF_PACKAGES.get(unit)
    if package == "nvidia-driver":
        return bool((facts().get("gpu") or {}).get("driver"))
    with lasting() as state:
        return package is not None and any(each.startswith(package) for each in state.get("packages", {}))


def _enabled(unit: str) -> bool:
    return (ETC / WANTS / unit).is_symlink()


def _active(unit: str) -> bool:
    with until_boot() as state:
        return unit in state.get("active", {})


def _reload() -> int:
    """Units are read anew: what a running unit has, it has until it is started again."""
    with until_boot() as state:
        state["loaded"] = {each.name: each.read_text() for each in ETC.rglob("*") if each.is_file()}
    return 0


def _start(unit: str) -> int:
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
        pathlib.Path("/var/log", f"{unit}.log").write_text(f"{why}\n")
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

    path = pathlib.Path("/etc/containerd/config.toml")
    if not path.exists():
        return ""
    try:
        version = tomllib.loads(path.read_text()).get("version", 1)
    except tomllib.TOMLDecodeError as error:
        return f"the control process exited with error code (failed to load TOML: {error})"
    return "" if version in (1, 2, 3) else f"the control process exited with error code (unsupported version {version})"


def _settings(unit: str) -> dict[str, Any]:
    """The unit's file and its drop-ins, later ones over earlier; commands are lists."""
    found: dict[str, Any] = {}
    for path in [ETC / unit, *sorted((ETC / f"{unit}.d").glob("*.conf"))]:
        if not path.is_file():
            continue
        for line in path.read_text().splitlines():
            key, equals, value = line.partition("=")
            if not equals or line.startswith(("#", "[")):
                continue
            if key in ("ExecStart", "ExecStop"):
                found.setdefault(key, []).append(value)
            else:
                found[key] = value
    return found


def _show(unit: str, words: list[str]) -> int:
    """`show UNIT -p NAME --value`: what the running process was started with."""
    name = words[words.index("-p") + 1] if "-p" in words else ""
    unit = _full(
        unit if unit != name else next(word for word in words[1:] if not word.startswith("-") and word != name)
    )
    with until_boot() as state:
        running = state.get("active", {}).get(unit)
    value = (running if running is not None else _settings(unit)).get(name, "8388608" if name == "LimitMEMLOCK" else "")
    print(value if "--value" in words else f"{name}={value}")
    return 0


def _boot() -> int:
    drives.boot()
    firmware.boot()
    kernel.boot()
    pci.boot()
    _reload()
    names = sorted(each.name for each in (ETC / WANTS).glob("*")) if (ETC / WANTS).is_dir() else []
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
