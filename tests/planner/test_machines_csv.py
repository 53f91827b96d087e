"""Lists of machines as suppliers send them."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from planner.machines_csv import ListError, machines
from settings.load import from_sections
from tests.planner.stacks import ROOT, sections

KEYS = [f"ssh-ed25519 {letter * 68}" for letter in "ABC"]
LIST = f"""Hostname;Pool;Management IP;Host Key;Service Tag;iDRAC;Rack;Unit;Colour
CP-1;system;10.20.0.11;{KEYS[0]};JQ7K01;10.20.4.11;r1;U40;grey
cp-2;system;10.20.0.12;{KEYS[1]};JQ7K02;10.20.4.12;r2;40;grey

cp-3;system;10.20.0.13;{KEYS[2]};JQ7K03;;;;
"""


def test_a_suppliers_list_becomes_an_inventory() -> None:
    """What it writes is what a stack file takes."""
    found, strange = machines(LIST)
    assert strange == ["Colour"]
    assert found[0] == {
        "name": "cp-1",
        "pool": "system",
        "address": "10.20.0.11",
        "hostKeys": [KEYS[0]],
        "serials": ["JQ7K01"],
        "bmc": "10.20.4.11",
        "racks": "r1",
        "units": [40],
    }
    told = sections("metal")
    told["inventory"]["hosts"] = [*found, *told["inventory"]["hosts"][1:]]
    inventory = from_sections(told).inventory  # type: ignore[union-attr]
    assert inventory is not None
    assert [member.address for _, member in inventory.members()][:3] == ["10.20.0.11", "10.20.0.12", "10.20.0.13"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the list is empty"),
        ("name,address\na,10.0.0.1\n", "no column is hostKeys; the first line has name, address"),
        ("name,address,host key\na,10.0.0.1\n", "line 2 has 2 cells and the first line 3"),
        ("name,address,host key\na,,k\n", "line 2: address is empty"),
        ("name,address,ip,host key\n", "two columns are address"),
        ("name,address,host key,unit\na,10.0.0.1,k,top\n", "line 2: unit is top; write its number"),
    ],
)
def test_a_list_that_says_too_little_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ListError, match=said):
        machines(text)


def test_the_command_prints_entries_and_names_what_it_left_out(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("\ufeff" + LIST, encoding="utf-8")
    command = [sys.executable, "-m", "planner.machines_csv"]
    done = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "left out: Colour\n")
    assert len(yaml.safe_load(done.stdout)["hosts"]) == 3
    lost = subprocess.run([*command, "nowhere.csv"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert lost.returncode == 1
    assert lost.stderr.startswith("error: nowhere.csv: ")
