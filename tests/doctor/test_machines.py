"""Machines beside the plan; rehearsed ones are asked over a real SSH server in tests/rehearsed/hosts/test_doctor.py."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from doctor.machines import comparing
from doctor.machines.comparing import examine
from doctor.machines.gathering import named
from doctor.machines.reading import SCRIPT, Seen, UnreadError, parsed
from doctor.results import Result, Status
from planner.site import HostPlan, SitePlan
from tests.stacks.test_metal import planned, site
from tests.stacks.test_metal_presets import with_machines


def whole(host: HostPlan) -> Seen:
    """A machine that is what the plan says."""
    pool = planned().pools.get(str(host.pool))
    server = pool.server if pool else None
    gpu = [(server.gpu.product.replace("-", " "), "580.126.20")] * server.gpu_count if server and server.gpu else []
    return Seen(
        serial=host.serial,
        kernel="6.8.0-100-generic",
        memory_gib=int(server.memory_gib * 0.985) if server else 512,
        gpus=tuple(gpu),
        disks=dict.fromkeys(host.disks, ""),
        cards=frozenset(host.rails),
        ports=dict.fromkeys(host.rails, ("ACTIVE", 400)),
        nics=frozenset({host.management_nic} if host.management_nic else ()),
    )


def telling(**others: Seen | UnreadError) -> comparing.Ask:
    """Machines as planned, but those that say what a test has them say."""

    def ask(_: SitePlan, host: HostPlan, units: Sequence[str]) -> Seen:
        assert not units, "no machine of this stack is Slurm's"
        found = others.get(host.name.replace("-", "_"), whole(host))
        if isinstance(found, UnreadError):
            raise found
        return found

    return ask


def told(**others: Seen | UnreadError) -> list[Result]:
    """What is not as the plan has it."""
    return [each for each in examine(planned(), site(), telling(**others)) if each.status is not Status.OK]


def host(name: str) -> HostPlan:
    return next(each for each in site().hosts if each.name == name)


def test_a_site_as_planned_has_one_line_for_each_check() -> None:
    results = examine(planned(), site(), telling())
    assert [(each.status, each.check) for each in results] == [(Status.OK, check) for check in comparing.CHECKS]
    assert results[0].subject == "cp-1, cp-2, cp-3, dgx-01 and 13 more"


RAIL = "0000:40:00.0"
LOSSLESS = frozenset({"26:3", "3:on"})


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (LOSSLESS, None),
        (frozenset({"26:0", "3:on"}), "does not give DSCP 26 priority 3"),
        (frozenset({"26:3"}), "pauses no priority, not 3"),
        (frozenset({"26:3", "3:on", "4:on"}), "pauses 3 4, not 3"),
        (frozenset(), "does not give DSCP 26 priority 3"),
    ],
)
def test_cards_of_roce_are_compared_with_what_loses_no_packet_e04(classes: frozenset[str], words: str | None) -> None:
    whole_plan = planned()
    assert whole_plan.fabric is not None
    roce = replace(whole_plan, fabric=replace(whole_plan.fabric, kind="roce"))
    seen = {each.name: replace(whole(each), classes=dict.fromkeys(each.rails, LOSSLESS)) for each in site().hosts}
    seen["dgx-03"] = replace(seen["dgx-03"], classes=seen["dgx-03"].classes | {RAIL: classes})
    found = [
        each for each in examine(roce, site(), lambda _, host, __: seen[host.name]) if each.status is not Status.OK
    ]
    assert [(each.subject, each.check) for each in found] == ([("dgx-03", "rails")] if words else [])
    assert not words or f"the card of rail 1 ({RAIL}) {words}" == found[0].sentence


CASES: dict[str, tuple[Status, dict[str, Any], str]] = {
    "serial": (
        Status.FAIL,
        {"serial": "OTHER"},
        "another machine answers: OTHER, and the stack file says 1661923000403",
    ),
    "clock": (Status.FAIL, {"seconds_off": -90.0}, "its clock is more than 5 s behind"),
    "kernel": (Status.WARN, {"kernel": "6.8.0-99-generic"}, "it runs 6.8.0-99-generic, and most of its pool 6.8.0-100"),
    "memory": (Status.FAIL, {"memory_gib": 1891}, "it has 1891 GiB of memory, and a DGX H100 2048"),
    "gpus": (Status.FAIL, {"gpus": (("NVIDIA H100 80GB HBM3", "580"),) * 7}, "nvidia-smi shows 7 GPUs, and a DGX H100"),
    "disks": (Status.FAIL, {"disks": {}}, "there is no disk /dev/disk/by-path/pci-0000:06:00.0-nvme-1"),
    "rails": (Status.FAIL, {"cards": frozenset()}, "there is no card at 0000:18:00.0"),
    "nic": (Status.FAIL, {"nics": frozenset({"eno1"})}, "it has no interface ens6f0np0"),
}


@pytest.mark.parametrize("check", CASES)
def test_what_is_not_as_planned_is_named(check: str) -> None:
    status, changes, words = CASES[check]
    found = told(dgx_03=replace(whole(host("dgx-03")), **changes))
    assert {(each.check, each.subject) for each in found} == {(check, "dgx-03")}
    assert found[0].status is status
    assert words in found[0].sentence
    assert found[0].remedy


@pytest.mark.parametrize(
    ("port", "words"),
    [(("DOWN", 10), "is DOWN, not ACTIVE"), (("INIT", 400), "is INIT"), (("ACTIVE", 200), "runs at 200 Gb/s, not 400")],
)
def test_a_link_that_is_down_or_slow_is_named_by_its_rail(port: tuple[str, int], words: str) -> None:
    seen = whole(host("dgx-05"))
    (found,) = told(dgx_05=replace(seen, ports={**seen.ports, RAIL: port}))
    assert found.sentence.startswith(f"the link of rail 1 ({RAIL}) ")
    assert words in found.sentence


def test_an_interface_that_takes_less_than_the_fabric_is_named_by_its_rail_e19() -> None:
    """The MTU is the stack file's; an interface that a pod has is not seen, and not judged."""
    found = planned()
    assert found.fabric is not None
    wide = replace(found, fabric=replace(found.fabric, mtu=9000))
    machine = host("dgx-05")
    seen = replace(whole(machine), mtus={RAIL: 1500})
    (wrong,) = comparing._rails(wide, machine, seen)
    assert wrong.sentence == f"the interface of rail 1 ({RAIL}) has an MTU of 1500 bytes, not 9000"
    assert parsed(f"mtu {RAIL} 1500\nend\n", 0.0, 0.0).mtus == {RAIL: 1500}
    assert list(comparing._rails(wide, machine, replace(seen, mtus={RAIL: 9000}))) == []


def test_other_gpus_than_planned_and_two_drivers() -> None:
    other = (("NVIDIA H200", "580.126.20"),) * 8
    (found,) = told(dgx_01=replace(whole(host("dgx-01")), gpus=other))
    assert "its GPUs are NVIDIA-H200, and a DGX H100 has NVIDIA-H100-80GB-HBM3" in found.sentence
    name = whole(host("dgx-01")).gpus[0][0]
    mixed = (*((name, "580.1"),) * 7, (name, "570.2"))
    assert told(dgx_01=replace(whole(host("dgx-01")), gpus=mixed))[0].status is Status.WARN


def test_machines_with_one_reason_share_a_line_and_others_go_on() -> None:
    low = {name: replace(whole(host(name.replace("_", "-"))), memory_gib=1891) for name in ("dgx_02", "dgx_07")}
    found = told(**low, oss_1=UnreadError("it does not answer"), oss_2=UnreadError("it does not answer"))
    assert {(each.check, each.subject, each.status) for each in found} == {
        ("memory", "dgx-02, dgx-07", Status.FAIL),
        ("machine", "oss-1, oss-2", Status.UNKNOWN),
    }


def test_a_hall_that_does_not_answer_taught_nothing() -> None:
    silent = {each.name.replace("-", "_"): UnreadError("it does not answer") for each in site().hosts}
    results = examine(planned(), site(), telling(**silent))
    assert len(results) == 1
    assert comparing.nothing_answered(results)
    assert not comparing.nothing_answered(examine(planned(), site(), telling(dgx_01=silent["dgx_02"])))


def test_names_are_shortened() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named(list("abcdef")) == "a, b, c, d and 2 more"


def test_an_answer_without_lines_is_a_machine_of_which_nothing_is_known() -> None:
    assert parsed("end\n", 0.0, 0.0) == Seen()
    assert parsed("port 0000:18:00.0 ACTIVE\nend\n", 0.0, 0.0).ports == {}


def test_a_daemon_of_slurm_that_ended_is_told_and_up_does_not_start_it() -> None:
    found, its = with_machines("slurm-8n")
    asked: dict[str, Sequence[str]] = {}

    def ask(_: SitePlan, host: HostPlan, units: Sequence[str]) -> Seen:
        asked[host.name] = units
        return replace(whole(host), units={unit: "failed" if unit == "slurmctld" else "active" for unit in units})

    results = [each for each in examine(found, its, ask) if each.check == "daemons"]
    (ended,) = (each for each in results if each.status is Status.FAIL)
    assert (ended.subject, ended.sentence) == ("system-1, system-2", "slurmctld is failed")
    assert "systemctl start slurmctld" in str(ended.remedy)
    assert asked["system-3"] == ("munge", "mariadb", "slurmdbd")
    assert asked["training-1"] == ("munge", "slurmd")
    assert parsed("unit slurmd failed\nend\n", 0.0, 0.0).units == {"slurmd": "failed"}


def test_the_script_writes_nothing() -> None:
    text = SCRIPT.read_text()
    writing = (" >/", ">>", "rm ", "mv ", "tee", "systemctl s", "modprobe", "mount ", "mkdir", "apt", "-pm", "-lgc")
    assert not [word for word in writing if word in text]


@pytest.mark.parametrize(("clock", "off"), [(100, 0.0), (130, 0.0), (90, -10.0), (145, 5.0)])
def test_a_late_answer_is_no_clock_that_is_off(clock: int, off: float) -> None:
    """Asked at 100 and answered at 140: any time between them is right."""
    assert parsed(f"seconds {clock}\nend\n", 100.0, 140.0).seconds_off == off
