"""The doctor asks rehearsed machines by the real ssh, over a real SSH server, and leaves them as they are."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from doctor.machines import comparing
from doctor.machines.comparing import examine
from doctor.machines.reading import Ssh
from doctor.results import Status
from planner.site import SitePlan
from rehearsal.metal.hall import Hall
from rehearsal.metal.lacking import missing
from rehearsal.metal.machine import Card, Gpu, Machine
from rehearsed.machines import machines
from tests.doctor.test_machines import RAIL, host
from tests.graph.stackfiles import ROOT
from tests.stacks.test_metal import planned, site

pytestmark = pytest.mark.engine

LACKING = missing()
LESS = {"dgx-01": 1920, "dgx-02": 1920}
"""GiB of memory where a module is missing."""


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hall, SitePlan]]:
    """Five machines of the committed stack, two with a module of memory less, one slow link and one down."""
    if LACKING:
        pytest.skip(LACKING)
    chosen = ("cp-1", "dgx-01", "dgx-02", "dgx-03", "dgx-04")
    delivered = {each.name: each for each in machines((ROOT / "Pulumi.metal.yaml").read_text())}
    racked = [replace(delivered[name], memory_gib=LESS.get(name, delivered[name].memory_gib)) for name in chosen]
    racked[3] = linked(racked[3], {RAIL: 200, "0000:4f:00.0": 0})
    made = Hall(tmp_path_factory.mktemp("hall"))
    made.start()
    made.rack(racked)
    hosts = [replace(host(name), host_key=" ".join(made.hosts[name].keys.public.split()[:2])) for name in chosen]
    yield made, replace(site(), hosts=tuple(hosts))
    made.stop()


def linked(machine: Machine, rates: dict[str, int]) -> Machine:
    """The machine with other links at these cards."""

    def card(each: Card) -> Card:
        return replace(each, gbit_per_s=rates.get(each.pci, each.gbit_per_s))

    return replace(machine, cards=tuple(card(each) for each in machine.cards))


def test_rehearsed_machines_are_asked_over_ssh_and_left_as_they_are(hall: tuple[Hall, SitePlan]) -> None:
    made, where = hall
    ssh = Ssh(made.keys.private, made.record.enter())
    results = [each for each in examine(planned(), where, ssh.ask) if each.status is not Status.OK]
    assert {(each.check, each.subject, each.sentence) for each in results} == {
        ("memory", "dgx-01, dgx-02", "it has 1891 GiB of memory, and a DGX H100 2048"),
        ("rails", "dgx-03", f"the link of rail 1 ({RAIL}) runs at 200 Gb/s, not 400"),
        ("rails", "dgx-03", "the link of rail 2 (0000:4f:00.0) is DOWN, not ACTIVE"),
    }
    for each in made.hosts.values():
        assert {call[0] for call in each.calls()} <= {"nvidia-smi", "lsblk", "uname", "systemctl"}
        assert not (each.disk / "var/lib/gpucluster").exists()


def test_another_host_key_another_person_and_a_machine_that_is_off(hall: tuple[Hall, SitePlan]) -> None:
    made, where = hall
    others = [replace(each, host_key=where.hosts[0].host_key) for each in where.hosts[1:2]]
    ssh = Ssh(made.keys.private, made.record.enter())
    (found,) = examine(planned(), replace(where, hosts=tuple(others)), ssh.ask)
    assert (found.status, found.sentence) == (Status.UNKNOWN, "its host key differs from the stack file's")
    stranger = Ssh(made.hosts["cp-1"].keys.private, made.record.enter())
    (found,) = examine(planned(), replace(where, hosts=where.hosts[:2]), stranger.ask)
    assert (found.subject, found.sentence) == ("cp-1, dgx-01", "it rejects this SSH key")
    made.hosts["dgx-04"].power_off()
    begun = time.monotonic()
    results = examine(planned(), replace(where, hosts=where.hosts[4:]), ssh.ask)
    assert [each.sentence for each in results] == ["it does not answer"]
    assert comparing.nothing_answered(results)
    assert time.monotonic() - begun < 40


def test_a_machine_without_its_driver_and_another_serial(hall: tuple[Hall, SitePlan]) -> None:
    made, where = hall
    made.hosts["dgx-02"].change(gpu=Gpu("NVIDIA H100 80GB HBM3", 8, "", 200, 700, 1980).__dict__)
    named_otherwise = replace(where.hosts[2], serial="1661923000999")
    ssh = Ssh(made.keys.private, made.record.enter())
    found = {
        each.check: each.sentence for each in examine(planned(), replace(where, hosts=(named_otherwise,)), ssh.ask)
    }
    assert found["gpus"] == "nvidia-smi shows 0 GPUs, and a DGX H100 has 8"
    assert found["serial"] == "another machine answers: 1661923000402, and the stack file says 1661923000999"
