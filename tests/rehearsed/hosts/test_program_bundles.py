"""What the program sends to a machine of the committed stack, on such a machine: every concern is done, and once."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from rehearsal.metal.hall import Hall
from rehearsal.metal.host import Host
from rehearsal.metal.machine import Card, Drive
from rehearsal.tests.inside.account import until
from rehearsed import machines
from stacks.metal_lustre import RATES_PORT
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.stacks.lustre_stack import told_of, with_lustre
from tests.stacks.test_metal import machines as commands

from .conftest import Rack
from .racks import over_ssh, prepare

INVENTORY: dict[str, Any] = stack_config("metal")["gpucluster:inventory"]
DGX: dict[str, Any] = INVENTORY["hosts"][1]


def text(command: str, *but: str) -> str:
    """The bundle that the program sends, without the concerns that need a cluster around."""
    whole = str(graph_of("metal").one(command).inputs["stdin"])
    before, call = whole.rstrip().rsplit("\n", 1)
    return "\n".join((before, " ".join(word for word in call.split() if word not in but), ""))


def drive(index: int, place: str) -> Drive:
    """A drive under the name that the inventory has for it."""
    return Drive(f"nvme{index}n1", 3840, f"NVME{index}", path=place.rpartition("/")[2])


def as_racked(rack: Rack) -> Host:
    """The first DGX of the stack file, as a supplier delivers it."""
    return rack(
        serial=DGX["serials"][0],
        drives=(
            Drive("sda", 1920, "BOOT1", "ext4", "/"),
            *(drive(index, place) for index, place in enumerate(DGX["disks"], 1)),
        ),
        cards=tuple(Card(pci, f"ibp{index}s0") for index, pci in enumerate(DGX["rails"])),
        packages={"nvidia-fabricmanager-580": "580.126.20-1", "doca-ofed": "3.4.1", "lustre-client-modules": "2.16.1"},
    )


def test_the_programs_bundle_prepares_its_machine_and_changes_nothing_the_second_time(hall: Hall, rack: Rack) -> None:
    host, bundle = as_racked(rack), text("pool-training-dgx-01-prepared", "join", "shared-files", "lustre-client")
    first = prepare(hall, host, bundle)
    assert first.status == 0, first.lines
    assert [name for name, said in first.lines.items() if said.startswith("changed: ")], first.lines
    assert prepare(hall, host, bundle).all_ok()


def test_the_programs_bundle_leaves_another_machine_alone(hall: Hall, rack: Rack) -> None:
    """The serial number decides before anything is changed."""
    stranger = rack(serial="SOMEBODY-ELSE")
    said = prepare(hall, stranger, text("pool-training-dgx-01-prepared", "join"))
    assert said.status == 1
    assert list(said.lines) == ["checks"]
    assert f"has serial SOMEBODY-ELSE and the stack file says {DGX['serials'][0]}" in said.lines["checks"]


FIRST = ("mds-1", "mds-2", "oss-1", "oss-2", "dgx-01")


@pytest.fixture
def lustre(hall: Hall) -> Iterator[dict[str, Host]]:
    """Machines of the stack with its own Lustre, under their own names and addresses."""
    found = {each.name: each for each in machines.machines(yaml.safe_dump({"config": with_lustre()}))}
    hall.rack([found[name] for name in FIRST])
    yield {name: hall.hosts[name] for name in FIRST}
    for name in FIRST:
        hall.hosts[name].power_off()


@pytest.mark.scale
@pytest.mark.engine
def test_the_programs_bundles_make_a_file_system_that_a_node_mounts(hall: Hall, lustre: dict[str, Host]) -> None:
    """Its servers tell what their targets do: the script itself, by what lctl says there (X05)."""
    graph = run_program(told_of(with_lustre()), stack="metal")
    wanted = {"packages", "lnet", "lustre-server", "lustre-rates", "shared-files"}
    for name, host in lustre.items():
        whole = str(commands(graph)[name].inputs["stdin"])
        before, call = whole.rstrip().rsplit("\n", 1)
        text = "\n".join((before, " ".join(["run_concerns", *(word for word in call.split() if word in wanted)]), ""))
        login = {"user": host.machine.user}
        first = prepare(hall, host, text, command="sudo -n bash -s", **login)
        assert first.status == 0, (name, first.lines)
        assert prepare(hall, host, text, command="sudo -n bash -s", **login).all_ok(), name
    formatted = [call for host in lustre.values() for call in host.calls() if call[0] == "mkfs.lustre"]
    assert len(formatted) == 1 + 2 + 4
    for name, told in {"mds-1": 'operation="metadata"', "oss-1": "fullest_target_ratio"}.items():
        host = lustre[name]
        url = f"http://{host.machine.address}:{RATES_PORT}/metrics"
        asks = f"import urllib.request; print(urllib.request.urlopen('{url}').read().decode())"

        def tells() -> bool:
            said = over_ssh(hall, host, f'python3 -c "{asks}"', user=host.machine.user).stdout  # noqa: B023 - at once
            return 'shared_files_up{file_system="shared"} 1' in said and told in said  # noqa: B023

        until(tells, 120, f"{name} tells")
