"""The plan's cable list plugged into ibsim, swept by the real opensm, and read back by the real tools of
infiniband-diags: the doctor names what a fault changed, and nothing else.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from doctor.fabric.asking import SCRIPT, Reports, told
from doctor.fabric.examination import examine
from doctor.results import Result, Status
from planner.fabric.lossless import PARTITION
from planner.faces.lists import cables
from planner.metal_types import MetalPlan
from tests.planner.site import planned_site
from tests.planner.stacks import planned_metal
from tests.rehearsed.fabric.net import Device, Net, Plug
from tests.rehearsed.fabric.plugged import plugged
from tests.rehearsed.fabric.running import missing, swept

pytestmark = [pytest.mark.engine, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

SWITCH, SERVER = "QM8700", "DGX A100"
RACKED = {
    "pools.1.server": SERVER,
    "pools.1.maxCount": 8,
    "fabric.switch": SWITCH,
    "inventory.switches": [
        {"name": "leaf-r[0-7]-01", "racks": "r[1-4]", "units": [36, 37]},
        {"name": "spine-[01-04]", "racks": "r[1-4]", "units": [38]},
    ],
}
"""The committed stack with cards and switches of the fastest generation that ibsim 0.10 knows, HDR."""


@cache
def racked() -> MetalPlan:
    return planned_metal(RACKED)


@cache
def of_nodes(count: int) -> MetalPlan:
    return planned_site({"pools.1.server": SERVER, "pools.1.count": count, "fabric.switch": SWITCH})


def net(plan: MetalPlan) -> Net:
    """The fabric as whoever plugs by the cable list leaves it."""
    return plugged(cables(plan) or "", switch=SWITCH, server=SERVER)


def looked_at(plan: MetalPlan, fabric: Net, directory: Path) -> tuple[Result, ...]:
    with swept(fabric, directory) as there:
        reports = Reports(there.discovered(), there.errors())
    return examine(plan, reports)


@pytest.mark.parametrize("nodes", [8, 32, 64])
def test_a_fabric_plugged_by_the_list_is_as_planned(nodes: int, tmp_path: Path) -> None:
    plan = of_nodes(nodes)
    assert plan.fabric is not None
    count = plan.fabric.growth.day_one.cables
    (found,) = looked_at(plan, net(plan), tmp_path)
    assert (found.status, found.sentence) == (Status.OK, f"{count} of {count} cables are connected as planned")


def index(fabric: Net, one: str, port: int = 1) -> int:
    """Where the cable of a device's port is in the list."""
    return next(at for at, each in enumerate(fabric.plugs) if (each.one, each.one_port) == (one, port))


def changed(fabric: Net, at: int, **values: object) -> Net:
    plugs = list(fabric.plugs)
    plugs[at] = plugs[at]._replace(**values)  # type: ignore[arg-type]
    return replace(fabric, plugs=tuple(plugs))


def exchanged(fabric: Net, one: int, other: int) -> Net:
    """Two cables whose upper ends are in each other's ports."""
    a, b = fabric.plugs[one], fabric.plugs[other]
    fabric = changed(fabric, one, other=b.other, other_port=b.other_port)
    return changed(fabric, other, other=a.other, other_port=a.other_port)


def without(fabric: Net, *gone: int) -> Net:
    return replace(fabric, plugs=tuple(each for at, each in enumerate(fabric.plugs) if at not in gone))


def off(fabric: Net, device: str) -> Net:
    """A switch without power, with the port of its own behind it."""
    return less(fabric, {device, f"{device}-sharp"})


def machine_off(fabric: Net, machine: str) -> Net:
    return less(fabric, {f"{machine}-card-{number}" for number in range(8)})


def less(fabric: Net, gone: set[str]) -> Net:
    return replace(
        fabric,
        devices=tuple(each for each in fabric.devices if each.name not in gone),
        plugs=tuple(each for each in fabric.plugs if not {each.one, each.other} & gone),
    )


FAULTS: dict[str, tuple[Callable[[Net], Net], list[tuple[str, str, str]]]] = {
    "swapped between rails": (
        lambda fabric: exchanged(fabric, index(fabric, "dgx-03-card-1"), index(fabric, "dgx-03-card-2")),
        [
            (
                "cable swapped",
                "dgx-03:1 - leaf-r1-01:2",
                "dgx-03 card 1 (rack r2 unit 2) leads to leaf-r2-01 port 3 (rack r2 unit 36) and "
                "leaf-r1-01 port 3 (rack r1 unit 37) leads to dgx-03 card 2 (rack r2 unit 2)",
            ),
            (
                "cable swapped",
                "dgx-03:2 - leaf-r2-01:2",
                "dgx-03 card 2 (rack r2 unit 2) leads to leaf-r1-01 port 3 (rack r1 unit 37) and "
                "leaf-r2-01 port 3 (rack r2 unit 36) leads to dgx-03 card 1 (rack r2 unit 2)",
            ),
        ],
    ),
    "crossed between two switches": (
        lambda fabric: exchanged(fabric, index(fabric, "leaf-r0-01", 21), index(fabric, "leaf-r0-01", 25)),
        [
            (
                "cable crossed",
                "leaf-r0-01:20 - spine-01:0",
                "leaf-r0-01 port 21 (rack r1 unit 36) leads to spine-01 port 2 (rack r1 unit 38) and spine-01 port 1 "
                "(rack r1 unit 38) leads to leaf-r0-01 port 25 (rack r1 unit 36): the same two devices by other ports",
            ),
            (
                "cable crossed",
                "leaf-r0-01:24 - spine-01:1",
                "leaf-r0-01 port 25 (rack r1 unit 36) leads to spine-01 port 1 (rack r1 unit 38) and spine-01 port 2 "
                "(rack r1 unit 38) leads to leaf-r0-01 port 21 (rack r1 unit 36): the same two devices by other ports",
            ),
        ],
    ),
    "missing": (
        lambda fabric: without(fabric, index(fabric, "dgx-08-card-7")),
        [
            (
                "cable missing",
                "dgx-08:7 - leaf-r7-01:7",
                "no link between dgx-08 card 7 (rack r4 unit 10) and leaf-r7-01 port 8 (rack r4 unit 37)",
            )
        ],
    ),
    "down": (
        lambda fabric: replace(fabric, down=(("leaf-r5-01", 22),)),
        [
            (
                "cable missing",
                "leaf-r5-01:21 - spine-02:25",
                "no link between leaf-r5-01 port 22 (rack r3 unit 37) and spine-02 port 26 (rack r2 unit 38)",
            )
        ],
    ),
    "into a port that is free": (
        lambda fabric: changed(fabric, index(fabric, "dgx-01-card-0"), other_port=17),
        [
            (
                "cable crossed",
                "dgx-01:0 - leaf-r0-01:0",
                "dgx-01 card 0 (rack r1 unit 2) leads to leaf-r0-01 port 17 (rack r1 unit 36) and leaf-r0-01 port 1 "
                "(rack r1 unit 36) leads nowhere: the same two devices by other ports",
            )
        ],
    ),
    "lanes lost": (
        lambda fabric: changed(fabric, index(fabric, "dgx-02-card-4"), lanes=1),
        [
            (
                "cable slow",
                "dgx-02:4 - leaf-r4-01:1",
                "the link between dgx-02 card 4 (rack r1 unit 10) and leaf-r4-01 port 2 (rack r3 unit 36) runs at "
                "1xHDR (50 Gb/s), not at 200 Gb/s",
            )
        ],
    ),
    "of a generation before": (
        lambda fabric: changed(fabric, index(fabric, "leaf-r6-01", 40), speed="EDR"),
        [
            (
                "cable slow",
                "leaf-r6-01:39 - spine-04:34",
                "the link between leaf-r6-01 port 40 (rack r4 unit 36) and spine-04 port 35 (rack r4 unit 38) runs at "
                "4xEDR (100 Gb/s), not at 200 Gb/s",
            )
        ],
    ),
    "flapping": (
        lambda fabric: replace(fabric, downed={("dgx-04-card-6", 1): 3, ("leaf-r0-01", 1): 2}),
        [
            (
                "cable flapping",
                "dgx-04:6 - leaf-r6-01:3",
                "the link between dgx-04 card 6 (rack r2 unit 10) and leaf-r6-01 port 4 (rack r4 unit 36) went down "
                "3 times since its counters were cleared",
            )
        ],
    ),
    "a cable too many": (
        lambda fabric: replace(fabric, plugs=(*fabric.plugs, Plug("leaf-r0-01", 15, "leaf-r1-01", 16))),
        [
            (
                "cable extra",
                "leaf-r0-01 port 15 (rack r1 unit 36) - leaf-r1-01 port 16 (rack r1 unit 37)",
                "a cable that the plan does not have",
            )
        ],
    ),
    "a machine too many": (
        lambda fabric: replace(
            fabric,
            devices=(*fabric.devices, Device("guest", "guest-1 mlx5_0")),
            plugs=(*fabric.plugs, Plug("guest", 1, "leaf-r3-01", 12)),
        ),
        [
            (
                "cable extra",
                "port 1 of guest-1 mlx5_0 (GUID) - leaf-r3-01 port 12 (rack r2 unit 37)",
                "a cable that the plan does not have",
            )
        ],
    ),
    "a switch that is off": (
        lambda fabric: off(fabric, "spine-03"),
        [
            (
                "cable absent",
                "spine-03",
                "spine-03 (rack r3 unit 38) is not on the fabric, and none of its 40 cables",
            )
        ],
    ),
    "a machine that is off": (
        lambda fabric: machine_off(fabric, "dgx-05"),
        [("cable absent", "dgx-05", "dgx-05 (rack r3 unit 2) is not on the fabric, and none of its 8 cables")],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named_by_both_ends_label_and_rack(fault: str, tmp_path: Path) -> None:
    broken, expected = FAULTS[fault]
    found = [each for each in looked_at(racked(), broken(net(racked())), tmp_path) if each.status is not Status.OK]
    said = [(each.check, _without_guids(each.subject), each.sentence) for each in found]
    assert sorted(said) == sorted(expected)
    assert all(each.remedy for each in found)


def _without_guids(text: str) -> str:
    """ibsim numbers devices as it reads them."""
    before, mark, behind = text.partition("(0x")
    return f"{before}(GUID){behind.partition(')')[2]}" if mark else text


@pytest.mark.parametrize(("line", "mtu"), [(PARTITION, "0x85"), (PARTITION.replace("mtu=5", "mtu=4"), "0x84")])
def test_opensm_gives_the_default_partition_the_mtu_of_the_checklist(line: str, mtu: str, tmp_path: Path) -> None:
    """E19: IBA 1.3, table 210: 5 is 4096 bytes, below a selector that says exactly."""
    with swept(net(racked()), tmp_path, partitions=line) as there:
        groups = there.run(["saquery", "-g"]).stdout
        log = (tmp_path / "opensm.log").read_text()
    assert re.findall(r"Mtu\.+(0x\w+)", groups) == [mtu], groups
    assert "parse" not in log.lower()


def test_the_script_that_a_machine_runs_brings_both_reports(tmp_path: Path) -> None:
    """As root's shell runs it over SSH, with one link that flaps."""
    fabric = replace(net(racked()), downed={("leaf-r2-01", 1): 9})
    with swept(fabric, tmp_path) as there:
        done = there.run(["bash", "-s"], SCRIPT.read_text())
    assert done.stdout.endswith("end\n")
    reports = told(done.stdout)
    assert reports.why == ""
    manager, flapping, fine = examine(racked(), reports)
    assert (manager.check, manager.status, manager.sentence) == (
        "subnet-manager",
        Status.OK,
        "is master, with priority 0",
    )
    assert (flapping.check, flapping.subject) == ("cable flapping", "dgx-01:2 - leaf-r2-01:0")
    assert fine.status is Status.OK


def test_a_fabric_without_a_subnet_manager_is_told_so(tmp_path: Path) -> None:
    """The cables are all there, and no port is of use."""
    with swept(net(racked()), tmp_path, manager=False) as there:
        done = there.run(["bash", "-s"], SCRIPT.read_text())
    results = examine(racked(), told(done.stdout))
    (failed,) = (each for each in results if each.status is Status.FAIL)
    assert failed.check == "subnet-manager"
    assert failed.sentence.startswith("none answers (sminfo: ")
    assert results[-1].sentence.endswith("cables are connected as planned")


@pytest.mark.parametrize("nodes", [32, 64])
def test_faults_of_a_large_fabric_are_named_and_nothing_else(nodes: int, tmp_path: Path) -> None:
    """Several at once, in the last group of leaves, where a mistake by one group would show."""
    plan, last = of_nodes(nodes), nodes - 1
    fabric = net(plan)
    fabric = exchanged(fabric, index(fabric, f"training-{last}-card-0"), index(fabric, f"training-{last - 1}-card-3"))
    fabric = changed(fabric, index(fabric, f"training-{last}-card-5"), lanes=2)
    fabric = without(fabric, index(fabric, f"training-{last}-card-6"), index(fabric, "leaf-r0-02", 40))
    fabric = replace(fabric, down=(("training-0-card-7", 1),))
    found = [each for each in looked_at(plan, fabric, tmp_path) if each.status is not Status.OK]
    group, place = divmod(last, 20)
    assert sorted((each.check, each.subject.partition(" - ")[0]) for each in found) == sorted(
        [
            ("cable swapped", f"training-{last}:0"),
            ("cable swapped", f"training-{last - 1}:3"),
            ("cable slow", f"training-{last}:5"),
            ("cable missing", f"training-{last}:6"),
            ("cable missing", "leaf-r0-02:39"),
            ("cable missing", "training-0:7"),
        ]
    )
    slow = next(each for each in found if each.check == "cable slow")
    assert slow.subject == f"training-{last}:5 - leaf-r5-{group + 1:02}:{place}"
