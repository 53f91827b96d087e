"""node/host/rails.sh: the MTU of the fabric's interfaces, at once and at each boot (E19)."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "node" / "host" / "rails.sh"
STUBS = """
set -u
ip() { echo "ip $*"; [ "${REFUSED:-no}" = no ]; }
fail() { echo "fail: $1"; exit 1; }
"""


def said(commands: str, **told: str) -> str:
    """What the functions of the script print."""
    env = {"PATH": "/usr/bin:/bin", **told}
    done = subprocess.run(
        ["bash", "-c", f"{STUBS}\n. {SCRIPT}\n{commands}"], env=env, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


@pytest.mark.parametrize(("mtu", "rule"), [("9000", ', ATTR{mtu}="9000"'), ("", "")])
def test_a_rule_gives_the_device_its_name_and_mtu_at_each_boot(mtu: str, rule: str) -> None:
    found = said("rails_rules", GPUCLUSTER_RAILS="0000:18:00.0=rail0", GPUCLUSTER_RAIL_MTU=mtu)
    assert found == f'SUBSYSTEM=="net", ACTION=="add", KERNELS=="0000:18:00.0", NAME="rail0"{rule}'


@pytest.mark.parametrize(("mtu", "calls"), [("9000", "ip link set dev rail0 mtu 9000"), ("1500", ""), ("", "")])
def test_a_device_gets_it_at_once_where_it_has_another(tmp_path: Path, mtu: str, calls: str) -> None:
    (tmp_path / "mtu").write_text("1500\n")
    assert said(f"rails_widen rail0 {tmp_path}/mtu", GPUCLUSTER_RAIL_MTU=mtu) == calls


def test_a_card_that_takes_it_not_is_named(tmp_path: Path) -> None:
    (tmp_path / "mtu").write_text("1500\n")
    found = said(f"rails_widen rail0 {tmp_path}/mtu", GPUCLUSTER_RAIL_MTU="9216", REFUSED="yes")
    assert "fail: rail0 takes no MTU of 9216 bytes" in found
