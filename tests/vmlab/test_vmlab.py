"""The lab of virtual machines, read by the tools that it is for: Ruby, Vagrant, Mininet; and held against the plan."""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import networkx
import pytest

from planner.metal_types import MetalPlan
from planner.plan import plan
from settings.load import from_sections
from settings.model import MetalSettings
from tests.stacks.test_metal_presets import inventory
from vmlab.__main__ import PROVISION, files, main
from vmlab.machines import NoLabError, machines
from vmlab.network import cables

OWNER = {"example": True, "lifecycle": {"owner": "ml-platform", "costCentre": "research"}}
WITH_MININET = "/usr/bin/python3"
"""Debian's own Python, which Debian's Mininet is installed for."""

READ = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("network", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
topo = module.topos["planned"]()
print(json.dumps({
    "devices": {name: topo.nodeInfo(name)["device"] for name in topo.nodes()},
    "links": [[info["node1"], info["port1"], info["node2"], info["port2"]] for _, _, info in topo.links(withInfo=True)],
}))
"""


def planned(preset: str, **sections: object) -> tuple[MetalSettings, MetalPlan]:
    settings = from_sections({"preset": preset, **OWNER, **sections})
    assert isinstance(settings, MetalSettings)
    found = plan(settings)
    assert isinstance(found, MetalPlan)
    return settings, found


def needs(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: apt-get install {package}")
    return found


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    assert main(["--preset", "lab-vm", "--out", str(tmp_path / "lab")]) == 0
    return tmp_path / "lab"


def test_the_machines_are_those_of_the_lab() -> None:
    """Z08, Z14, F10: a head, two that compute and one with the files, on the network of the host alone."""
    found = machines(*planned("lab-vm"))
    assert [(each.name, each.role) for each in found] == [
        ("storage-node", "storage"),
        ("mgmt-node", "mgmt"),
        ("compute-node-1", "compute"),
        ("compute-node-2", "compute"),
    ]
    assert [each.address for each in found] == [f"192.168.56.{number}" for number in (10, 11, 12, 13)]


def test_an_inventory_names_them() -> None:
    named = inventory("lab-vm")
    found = machines(*planned("lab-vm", inventory=named))
    addresses = {host["name"]: host["address"] for host in named["hosts"]}
    assert [each.role for each in found] == ["storage", "mgmt", "compute", "compute"]
    assert all(addresses[each.name] == each.address for each in found)


def test_too_many_for_a_computer_are_refused() -> None:
    with pytest.raises(NoLabError, match="take preset lab-vm"):
        machines(*planned("h100-64n"))


def test_ruby_and_vagrant_read_the_file(lab: Path, tmp_path: Path) -> None:
    done = subprocess.run([needs("ruby", "ruby"), "-c", str(lab / "Vagrantfile")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    own = {**os.environ, "VAGRANT_HOME": str(tmp_path / "vagrant"), "HOME": str(tmp_path)}
    words = [needs("vagrant", "vagrant"), "validate", "--ignore-provider"]
    said = subprocess.run(words, cwd=lab, env=own, capture_output=True, text=True, timeout=120, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "validated successfully" in said.stdout
    for name in ("storage-node", "mgmt-node", "compute-node-1", "compute-node-2"):
        assert f"{name}: Ignoring provider config" in said.stdout


def test_a_broken_file_is_seen(lab: Path) -> None:
    text = (lab / "Vagrantfile").read_text(encoding="utf-8").replace("MACHINES.each do", "MACHINES.each", 1)
    (lab / "Vagrantfile").write_text(text, encoding="utf-8")
    words = [needs("ruby", "ruby"), "-c", str(lab / "Vagrantfile")]
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("preset", ["lab-vm", "slurm-8n", "full", "h200-32n"])
def test_mininet_builds_the_planned_network(preset: str, tmp_path: Path) -> None:
    """F12: the graph of its Topo is that of the plan's cables, parallel ones and their switches' ports included."""
    if subprocess.run([WITH_MININET, "-c", "import mininet"], capture_output=True, check=False).returncode:
        pytest.skip("Mininet is not installed: apt-get install mininet")
    _, whole = planned(preset)
    script = tmp_path / "network.py"
    from vmlab.network import topology

    script.write_text(topology(whole), encoding="utf-8")
    done = subprocess.run([WITH_MININET, "-c", READ, str(script)], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    device = said["devices"]
    built, wanted = networkx.MultiGraph(), networkx.MultiGraph()
    built.add_edges_from((device[low], device[high]) for low, _, high, _ in said["links"])
    wanted.add_edges_from((link.low, link.high) for link in cables(whole))
    assert Counter(map(frozenset, built.edges())) == Counter(map(frozenset, wanted.edges()))
    assert networkx.number_connected_components(built) == networkx.number_connected_components(wanted)
    ports = {(device[high], port) for _, _, high, port in said["links"]}
    assert ports == {(link.high, link.high_port + 1) for link in cables(whole)}
    ends = [
        (name, port)
        for low, low_port, high, high_port in said["links"]
        for name, port in ((low, low_port), (high, high_port))
    ]
    assert len(ends) == len(set(ends)), "two cables in one port"


def test_provisioning_is_shell_that_shellcheck_passes() -> None:
    done = subprocess.run(
        [needs("shellcheck", "shellcheck"), str(PROVISION)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_a_stack_on_aws_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--preset", "lab-cloud", "--out", str(tmp_path / "lab")]) == 2
    assert "this stack is on AWS" in capsys.readouterr().err
    assert main(["--preset", "h100-64n", "--out", str(tmp_path / "lab")]) == 1
    assert set(files(None, "lab-vm")) == {"Vagrantfile", "provision.sh", "network.py"}
