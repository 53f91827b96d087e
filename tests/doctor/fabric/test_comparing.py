"""What the doctor says of cables, from the recorded report with a change in it."""

import json
from functools import cache
from pathlib import Path

import pytest

from doctor.__main__ import main
from doctor.fabric.asking import SCRIPT, Reports, ask, told
from doctor.fabric.examination import examine
from doctor.machines.reading import Seen, Ssh, UnreadError
from doctor.results import Result, Status
from planner.metal_types import MetalPlan
from planner.site import HostPlan, SitePlan
from tests.doctor.test_machines import whole
from tests.planner.site import planned_site
from tests.stacks.test_metal import planned as committed
from tests.stacks.test_metal import site

from .test_discovered import DOWN, LINKS, REPORTS

ONE_SWITCH = {
    "pools.1.server": "DGX A100",
    "pools.1.count": 2,
    "training.runs.0.nodes": 2,
    "fabric.switch": "QM8700",
    "fabric.topology": "single",
    "fabric.storagePorts": 1,
}


@cache
def planned() -> MetalPlan:
    """What the recorded fabric was plugged by."""
    return planned_site(ONE_SWITCH)


def said(links: str, down: str | None = None) -> list[Result]:
    """What is not as planned; without a report of errors none is expected."""
    quiet = down or DOWN.replace("== 7", "== 2")
    return [each for each in examine(planned(), Reports(links, quiet)) if each.status is not Status.OK]


def test_a_fabric_as_planned_has_one_line() -> None:
    (found,) = examine(planned(), Reports(LINKS, DOWN.replace("== 7", "== 2")))
    assert (found.status, found.sentence) == (Status.OK, "17 of 17 cables are connected as planned")


def test_a_link_that_flaps_is_named_by_both_ends() -> None:
    (found,) = said(LINKS, DOWN)
    assert (found.status, found.check, found.subject) == (Status.WARN, "cable flapping", "training-0:1 - leaf-01:2")
    assert found.sentence.startswith("the link between training-0 card 1 and leaf-01 port 3 went down 7 times")


def test_cards_that_say_another_machine_are_swapped() -> None:
    """Two cards whose cables are exchanged: each of the two labels is told."""
    a, b = "training-0 mlx5_0", "training-1 mlx5_1"
    exchanged = LINKS.replace(a, "?").replace(b, a).replace("?", b)
    found = said(exchanged)
    assert [(each.status, each.check, each.subject) for each in found] == [
        (Status.FAIL, "cable swapped", "training-0:0 - leaf-01:1"),
        (Status.FAIL, "cable swapped", "training-1:1 - leaf-01:10"),
    ]
    fine = examine(planned(), Reports(exchanged, DOWN.replace("== 7", "== 2")))[-1]
    assert (fine.status, fine.sentence) == (Status.OK, "15 of 17 cables are connected as planned")
    assert found[0].sentence == (
        "training-0 card 0 leads to leaf-01 port 11 and leaf-01 port 2 leads to training-1 card 1"
    )


def test_a_rate_that_the_tool_cannot_name_is_unknown() -> None:
    (found,) = said(LINKS.replace("lid 4 4xHDR", "lid 4 4x???"))
    assert (found.status, found.check) == (Status.UNKNOWN, "cable unmeasured")


def test_the_slower_of_two_ends_counts() -> None:
    (found,) = said(LINKS.replace('"training-0 mlx5_0" lid 4 4xHDR', '"training-0 mlx5_0" lid 4 2xHDR'))
    assert found.sentence.endswith("runs at 2xHDR (100 Gb/s), not at 200 Gb/s")


def test_what_storage_runs_at_is_its_own() -> None:
    assert said(LINKS.replace('"storage-01 mlx5_0" lid 3 4xHDR', '"oss-1 mlx5_2" lid 3 4xEDR')) == []


def test_two_devices_with_one_name_are_told_and_nothing_else() -> None:
    (found,) = said(LINKS.replace("training-1 mlx5_6", "training-0 mlx5_6"))
    assert (found.status, found.check, found.subject) == (Status.FAIL, "cable twice", "training-0 card 4")


def test_a_switch_without_a_name_is_asked_for_by_its_guid() -> None:
    (found,) = said(LINKS.replace("MF0;leaf-01:MQM8700/U1", "Quantum Mellanox Technologies"))
    assert (found.check, found.subject) == ("cable absent", "leaf-01")
    assert "inventory.switches (0x0000000000200000 (Quantum Mellanox Technologies))" in str(found.remedy)


@pytest.mark.parametrize("name", ["leaf-01", "MF0;leaf-01:MQM8790/U1"])
def test_a_switch_is_called_by_a_name_map_or_by_itself(name: str) -> None:
    assert said(LINKS.replace("MF0;leaf-01:MQM8700/U1", name)) == []


def test_other_fabrics_and_unknown_cards() -> None:
    roce = {"fabric.kind": "roce", "fabric.switch": "SN5600", "fabric.subnetManager": None}
    assert examine(planned_site(roce), Reports(LINKS, DOWN)) == ()
    (found,) = examine(planned_site({"pools.1.server": "Dell PowerEdge XE8640"}), Reports(LINKS, DOWN))
    assert (found.status, "names of the RDMA devices" in found.sentence) == (Status.UNKNOWN, True)


def test_reports_that_cannot_be_read_are_unknown() -> None:
    (found,) = examine(planned(), Reports(LINKS[:-200], DOWN))
    assert (found.status, found.subject) == (Status.UNKNOWN, "ibnetdiscover")
    (found,) = examine(planned(), Reports(None, None, why="dgx-01: ibnetdiscover is not installed"))
    assert found.sentence == "dgx-01: ibnetdiscover is not installed"
    errors, fine = examine(planned(), Reports(LINKS, None, why="ibqueryerrors is not installed"))
    assert (errors.status, errors.sentence) == (Status.UNKNOWN, "ibqueryerrors is not installed")
    assert fine.status is Status.OK


MASTER = "sminfo: sm lid 4 sm guid 0x100005, activity count 150 priority 3 state 3 SMINFO_MASTER"


@pytest.mark.parametrize(
    ("reports", "status", "subject", "sentence"),
    [
        (Reports(LINKS, DOWN, MASTER), Status.OK, "training-0 mlx5_0", "is master, with priority 3"),
        (
            Reports(LINKS, DOWN, MASTER.replace("3 SMINFO_MASTER", "2 SMINFO_STANDBY")),
            Status.WARN,
            "training-0 mlx5_0",
            "is standby, with priority 3",
        ),
        (Reports(LINKS, DOWN, MASTER.replace("100005", "200000")), Status.OK, "MF0;leaf-01:MQM8700/U1", "is master"),
        (Reports(LINKS, DOWN, MASTER.replace("100005", "9")), Status.OK, "0x9", "is master"),
        (
            Reports(LINKS, DOWN, why="sminfo: sminfo: iberror: failed: query"),
            Status.FAIL,
            "fabric",
            "none answers (sminfo: sminfo: iberror: failed: query)",
        ),
    ],
)
def test_the_subnet_manager_is_named(reports: Reports, status: Status, subject: str, sentence: str) -> None:
    (found,) = (each for each in examine(planned(), reports) if each.check == "subnet-manager")
    assert (found.status, found.subject) == (status, subject)
    assert found.sentence.startswith(sentence)


def script_of(links: str | None, down: str | None, *why: str) -> str:
    """What the script prints of reports."""
    lines = [f"link {line}" for line in (links or "").splitlines()] + [
        f"down {line}" for line in (down or "").splitlines()
    ]
    return "\n".join([*lines, *(f"why {each}" for each in why), "end\n"])


def test_the_next_machine_is_asked_where_one_knows_nothing() -> None:
    asked: list[str] = []

    def run(_: SitePlan, host: HostPlan, text: str, seconds: float) -> str:
        asked.append(host.name)
        assert text == SCRIPT.read_text()
        if host.name == "dgx-01":
            raise UnreadError("it does not answer")
        if host.name == "dgx-02":
            return script_of(None, None, "ibnetdiscover is not installed")
        return script_of(LINKS, DOWN)

    hosts = site().of_pool("training")
    reports = ask(site(), hosts, run)
    assert asked == ["dgx-01", "dgx-02", "dgx-03"]
    assert (reports.links, reports.down) == (LINKS, DOWN)
    silent = ask(site(), hosts[:2], run)
    assert silent.links is None
    assert silent.why == "dgx-01: it does not answer; dgx-02: ibnetdiscover is not installed"
    assert told("end\n") == Reports(None, None)


def test_the_script_only_reads() -> None:
    text = SCRIPT.read_text()
    assert not [word for word in ("ibqueryerrors -", "perfquery", "ibportstate", "-k", "-K", "opensm") if word in text]


def test_the_command_reads_saved_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of another fabric: every machine and switch of the stack is absent, by its name and rack."""
    words = ["--stack", "metal", "--fabric", str(REPORTS / "links.txt"), "--errors", str(REPORTS / "down.txt")]
    assert main([*words, "--format", "json"]) == 1
    results = json.loads(capsys.readouterr().out)["results"]
    absent = {each["subject"]: each["sentence"] for each in results if each["check"] == "cable absent"}
    assert len(absent) == 8 + committed_switches()
    assert absent["dgx-01"] == "dgx-01 (rack r1 unit 2) is not on the fabric, and none of its 8 cables"
    assert main(["--stack", "metal", "--fabric", str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["--stack", "lab", "--fabric", words[3]]) in (1, 2)


def test_the_command_asks_machines_and_then_one_of_them_for_the_fabric(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where machines do not answer, none is asked for the fabric."""
    asked: list[str] = []

    def run(_: Ssh, __: SitePlan, host: HostPlan, script: str, seconds: float = 60.0) -> str:
        asked.append(host.name)
        return script_of(None, None, "ibnetdiscover is not installed")

    monkeypatch.setattr(Ssh, "ask", lambda _, __, host, ___: whole(host))
    monkeypatch.setattr(Ssh, "run", run)
    assert main(["--stack", "metal"]) == 0
    assert asked == ["dgx-01", "dgx-02", "dgx-03"]
    assert "ibnetdiscover is not installed" in capsys.readouterr().out

    def silent(*_: object) -> Seen:
        raise UnreadError("it does not answer")

    asked.clear()
    monkeypatch.setattr(Ssh, "ask", silent)
    assert main(["--stack", "metal"]) == 3
    assert asked == []


def committed_switches() -> int:
    fabric = committed().fabric
    assert fabric is not None
    return fabric.growth.day_one.switches
