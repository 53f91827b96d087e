"""What keeps munged and Slurm's daemons from running, and what asks them: mariadb(1), sacctmgr(1), scontrol(1).

Sources: munge, src/munged/conf.c (the key's owner, mode and length); Slurm, src/slurmdbd/read_config.c (slurmdbd.conf
is the daemon's user's alone), src/slurmctld/controller.c (a host that no SlurmctldHost names; StateSaveLocation),
src/slurmd/slurmd/slurmd.c (a host that no NodeName names), src/interfaces/gpu.c (NVML without its plugin); Debian, its
unit files (ConditionPathExists), and its packages' scripts (users, munge's first key).
"""

import os
import pathlib
import pwd
import re
import sys

from rehearsal.metal.tools.machine import absent, called, complain, lasting, until_boot, version

ETC = pathlib.Path("/etc/slurm")
KEY = pathlib.Path("/etc/munge/munge.key")
LEAST_KEY = 32
PACKAGES = {
    "munge.service": "munge",
    "mariadb.service": "mariadb-server",
    "slurmdbd.service": "slurmdbd",
    "slurmctld.service": "slurmctld",
    "slurmd.service": "slurmd",
}
NEEDED = dict.fromkeys(("slurmctld.service", "slurmd.service"), ETC / "slurm.conf")
NEEDED |= {"slurmdbd.service": ETC / "slurmdbd.conf"}
"""What a unit is skipped without, though `systemctl start` then succeeds (systemd.unit(5), ConditionPathExists=)."""
USERS = {"munge": ("munge", 112), "slurm": ("slurm-client slurmd slurmctld slurmdbd", 64030)}
USERS |= {"mysql": ("mariadb-server", 113)}


def main(name: str, words: list[str]) -> int:
    """One call."""
    package = {"mariadb": "mariadb-server"}.get(name, "slurm-client")
    if not version(package):
        return absent(name)
    called(name, words)
    if name == "mariadb":
        return _mariadb(sys.stdin.read())
    if name == "scontrol":
        return _ping()
    return _accounts([word for word in words if not word.startswith("-")])


def installed(packages: list[str]) -> None:
    """What their scripts make: users, and a key of munge's that no other machine has."""
    for user, (names, number) in USERS.items():
        if set(names.split()) & set(packages) and not _there(user):
            for file, line in (
                ("passwd", f"{user}:x:{number}:{number}::/:/usr/sbin/nologin"),
                ("group", f"{user}:x:{number}:"),
            ):
                with pathlib.Path("/etc", file).open("a") as lines:
                    lines.write(f"{line}\n")
    if "munge" in packages and not KEY.exists():
        KEY.parent.mkdir(mode=0o700, exist_ok=True)
        KEY.write_bytes(os.urandom(128))
        KEY.chmod(0o400)
        for path in (KEY, KEY.parent):
            _give(path, "munge")


def _there(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _give(path: pathlib.Path, user: str) -> None:
    found = pwd.getpwnam(user)
    os.chown(path, found.pw_uid, found.pw_gid)


def ended(unit: str) -> str:
    """Why a unit's daemon does not run though it was started; empty if it does."""
    if unit in NEEDED and not NEEDED[unit].exists():
        return f"ConditionPathExists={NEEDED[unit]} was not met"
    looks = {
        "munge.service": _munged,
        "slurmdbd.service": _slurmdbd,
        "slurmctld.service": _slurmctld,
        "slurmd.service": _slurmd,
    }
    return looks[unit]() if unit in looks else ""


def _munged() -> str:
    if not KEY.exists():
        return f'Failed to find keyfile "{KEY}"'
    about = KEY.stat()
    if about.st_uid != pwd.getpwnam("munge").pw_uid or about.st_mode & 0o077:
        return f'Keyfile is insecure: "{KEY}" should be owned by UID of munge, and for it alone'
    return "" if about.st_size >= LEAST_KEY else f'Keyfile "{KEY}" must be at least {LEAST_KEY} bytes'


def _slurmdbd() -> str:
    about, conf = NEEDED["slurmdbd.service"].stat(), _values("slurmdbd.conf")
    if about.st_uid != pwd.getpwnam("slurm").pw_uid or about.st_mode & 0o777 != 0o600:
        return f"slurmdbd.conf file {NEEDED['slurmdbd.service']} should be 600 and owned by slurm"
    if conf["DbdHost"] != [os.uname().nodename]:
        return f"This host not configured to run SlurmDBD (({os.uname().nodename}) != {conf['DbdHost'][0]})"
    with lasting() as state:
        known = state.get("accounting_password")
    if not _runs("mariadb.service") or [known] != conf["StoragePass"]:
        return "mysql_real_connect failed: 1045 Access denied for user 'slurm'@'localhost'"
    return _no_munge()


def _slurmctld() -> str:
    conf, host = _values("slurm.conf"), os.uname().nodename
    if host not in [each.partition("(")[0] for each in conf["SlurmctldHost"]]:
        return f"This host ({host}/{host}) not a valid controller"
    state = pathlib.Path(conf["StateSaveLocation"][0])
    if not state.is_dir() or state.stat().st_uid != pwd.getpwnam("slurm").pw_uid:
        return f"Incorrect permissions on state save loc: {state}"
    return _no_munge()


def _slurmd() -> str:
    conf, host = _values("slurm.conf"), os.uname().nodename
    if host not in [each.partition(" ")[0] for each in conf["NodeName"]]:
        return f"Unable to determine this slurmd's NodeName ({host})"
    gres = ETC / "gres.conf"
    if "AutoDetect=nvml" in (gres.read_text() if gres.exists() else "") and not version("slurm-wlm-nvml-plugin"):
        return "We were configured with nvml functionality, but that lib wasn't found on the system."
    return _no_munge()


def _no_munge() -> str:
    return "" if _runs("munge.service") else "Munge encode failed: Failed to access /run/munge/munge.socket.2"


def _runs(unit: str) -> bool:
    with until_boot() as state:
        return unit in state.get("active", {})


def _values(name: str) -> dict[str, list[str]]:
    """A file's values by key, each as often as it stands there."""
    found: dict[str, list[str]] = {}
    for line in (ETC / name).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def _mariadb(words: str) -> int:
    if not _runs("mariadb.service"):
        return complain(
            "ERROR 2002 (HY000): Can't connect to local server through socket '/run/mysqld/mysqld.sock' (2)", 1
        )
    with lasting() as state:
        for password in re.findall(r"ALTER USER slurm@localhost IDENTIFIED BY '([^']*)'", words):
            state["accounting_password"] = password
    return 0


def _ping() -> int:
    """What `scontrol ping` prints; of other controllers this machine knows nothing, and calls them DOWN."""
    for name, host in zip(("primary", "backup"), _values("slurm.conf")["SlurmctldHost"], strict=False):
        own = host.partition("(")[0]
        up = own == os.uname().nodename and _runs("slurmctld.service")
        print(f"Slurmctld({name}) at {own} is {'UP' if up else 'DOWN'}")
    return 0


def _accounts(words: list[str]) -> int:
    """`add KIND NAME ...`, `modify KIND NAME set ...`, `show KIND [NAME] format=...`: of names alone."""
    if problem := _no_munge():
        return complain(f"sacctmgr: error: {problem}", 1)
    verb, kind, *rest = words
    names = [word for word in rest if "=" not in word]
    with lasting() as state:
        known: list[str] = state.setdefault("accounts", {}).setdefault(kind, [])
        if verb == "add":
            if names[0] in known:
                print(" Nothing new added.")
                return 1
            known.append(names[0])
        if verb == "show":
            print("\n".join(each for each in known if not names or each in names))
        if verb == "modify" and names[0] not in known:
            return complain(" Nothing modified", 1)
    return 0
