"""What lets the Lustre client of a node speak EFA, run with tools that write down how they are called (G05)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "node" / "lustre" / "efa.sh"
COUNTERS = SCRIPT.with_name("counters.sh")
ROUTE = "default via 10.0.0.1 dev ens5 proto dhcp src 10.0.0.9 metric 512"


def run(
    place: Path, devices: int, wanted: int, *, client: bool = True, route: str = ROUTE, lost: int = 0
) -> tuple[int, list[str]]:
    """Exit code and calls on a node with so many EFA devices, of which LNet takes all but the first `lost`."""
    calls = place / "calls"
    calls.touch()
    for tool in ("dnf", "modprobe"):
        stub(place, tool, f'echo "{tool} $*" >> {calls}')
    stub(place, "sleep", "true")
    stub(place, "lnetctl" if client else "lnetctl.packed", lnetctl(calls, lost))
    if not client:  # the package brings it
        stub(place, "dnf", f'echo "dnf $*" >> {calls}; mv {place}/lnetctl.packed {place}/lnetctl')
    stub(place, "ip", f'echo "{route}"' if route else "true")
    stub(place, "ls", "\n".join(f"echo rdmap{index:02}" for index in range(devices)) or "true")
    done = subprocess.run(
        ["/bin/bash", str(SCRIPT), str(wanted)],
        env={"PATH": f"{place}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stderr, file=sys.stderr)
    return done.returncode, calls.read_text().splitlines()


def lnetctl(calls: Path, lost: int) -> str:
    """It writes down what changes something, and shows the interfaces of EFA that it was given (Lustre manual)."""
    ni = r"        - nid: 10.0.0.9@efa\n          status: %s\n          interfaces:\n              0: rdmap0\n"
    return f"""if [ "$1 $2" != "net show" ]; then echo "lnetctl $*" >> {calls}; exit; fi
        printf 'net:\\n    - net type: efa\\n      local NI(s):\\n'
        for ((each = 0; each < $(grep -c 'net add --net efa' {calls}); each++)); do
            printf '{ni}' "$([ $each -lt {lost} ] && echo down || echo up)"
        done"""


def stub(place: Path, name: str, body: str) -> None:
    path = place / name
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def taken(calls: list[str]) -> list[str]:
    return [each.split()[6] for each in calls if each.startswith("lnetctl net add --net efa")]


@pytest.mark.parametrize(
    ("devices", "wanted", "chosen"),
    [
        (32, 8, ["00", "04", "08", "12", "16", "20", "24", "28"]),
        (16, 8, ["00", "02", "04", "06", "08", "10", "12", "14"]),
        (8, 8, ["00", "01", "02", "03", "04", "05", "06", "07"]),
        (4, 2, ["00", "02"]),
        (1, 1, ["00"]),
    ],
)
def test_devices_are_taken_at_even_distances(tmp_path: Path, devices: int, wanted: int, chosen: list[str]) -> None:
    code, calls = run(tmp_path, devices, wanted)
    assert code == 0
    assert taken(calls) == [f"rdmap{each}" for each in chosen]


def test_modules_come_before_networks_and_lustre_last(tmp_path: Path) -> None:
    """A module that is loaded once reads its options no more, and EFA is preferred before anything mounts."""
    _, calls = run(tmp_path, 1, 1)
    assert calls == [
        "modprobe lnet",
        "modprobe kefalnd ipif_name=ens5",
        "modprobe ksocklnd",
        "lnetctl lnet configure",
        "lnetctl net del --net tcp",
        "lnetctl net add --net tcp --if ens5",
        "lnetctl net add --net efa --if rdmap00 --peer-credits 32",
        "lnetctl set discovery 1",
        "lnetctl udsp add --src efa --priority 0",
        "modprobe lustre",
    ]


def test_the_client_is_installed_where_it_lacks(tmp_path: Path) -> None:
    code, calls = run(tmp_path, 1, 1, client=False)
    assert code == 0
    assert calls[0] == "dnf install -y lustre-client"


@pytest.mark.parametrize(("devices", "route"), [(0, ROUTE), (1, "")])
def test_a_node_that_cannot_speak_it_is_left_as_it_was(tmp_path: Path, devices: int, route: str) -> None:
    code, calls = run(tmp_path, devices, 1, route=route)
    assert code != 0
    assert calls == []


@pytest.mark.parametrize(("devices", "wanted", "lost", "up"), [(1, 2, 0, 1), (8, 8, 1, 7), (32, 8, 8, 0)])
def test_a_node_with_fewer_interfaces_than_it_was_asked_for_says_so_g05(
    tmp_path: Path, devices: int, wanted: int, lost: int, up: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its files are there over what is up: Lustre is loaded before anybody counts."""
    code, calls = run(tmp_path, devices, wanted, lost=lost)
    assert code != 0
    assert f"{up} of {wanted} EFA interfaces are up in LNet" in capfd.readouterr().err
    assert calls[-1] == "modprobe lustre"


@pytest.mark.parametrize("script", [SCRIPT, COUNTERS], ids=["efa", "counters"])
def test_shellcheck_finds_nothing(script: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: apt-get install shellcheck")
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
