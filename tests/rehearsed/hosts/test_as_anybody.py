"""Machines are rehearsed by whoever has a range of ids, too: tried as such a user where root runs the tests."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import sys
from pathlib import Path
from rehearsal.metal.hall import Hall
from tests.rehearsed.hosts.bundles import bundle
from tests.rehearsed.hosts.racks import gpu_node, over_ssh, prepare
hall = Hall(Path(sys.argv[1]) / "hall")
hall.start()
try:
    hall.rack([gpu_node("anybodys", "10.20.0.1", user="ops")])
    host = hall.hosts["anybodys"]
    print(over_ssh(hall, host, "id -un; sudo id -un", user="ops").stdout.split())
    for _ in range(2):
        done = prepare(hall, host, bundle(("bmc-network", "swap")), command="sudo bash -s", user="ops")
        print(done.status, done.all_ok())
finally:
    hall.stop()
"""


def anybody() -> pwd.struct_passwd | None:
    """Somebody who has a range of ids."""
    ranges = Path("/etc/subuid")
    names = {line.partition(":")[0] for line in ranges.read_text().splitlines()} if ranges.exists() else set()
    return next((each for each in pwd.getpwall() if each.pw_name in names and each.pw_uid), None)


def test_a_user_with_a_range_of_ids_rehearses_a_machine() -> None:
    """One who logs in and is root by sudo there; what scripts install lies below /usr/local."""
    user = anybody()
    if os.geteuid() or user is None or shutil.which("newuidmap") is None:
        pytest.skip("all tests of this directory try it where no root runs them; here nobody else has a range of ids")
    found = (each for each in (sys.executable, "/usr/bin/python3.11", "/usr/bin/python3.12") if may(user, each))
    if (python := next(found, None)) is None:
        pytest.skip(f"{user.pw_name} may not run {sys.executable}")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    # What pytest makes is root's alone.
    with tempfile.TemporaryDirectory(prefix="gpucluster-hall-") as place:
        os.chown(place, user.pw_uid, user.pw_gid)
        env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": place, "PYTHONPATH": f"{ROOT}:{packages}"}
        argv = [*as_user(user), python, "-B", "-c", SCRIPT, place]
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines() == ["['ops', 'root']", "0 False", "0 True"], done.stderr


def as_user(user: pwd.struct_passwd) -> list[str]:
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]


def may(user: pwd.struct_passwd, program: str) -> bool:
    return subprocess.run([*as_user(user), "test", "-x", program], check=False).returncode == 0
