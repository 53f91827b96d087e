"""What the doctor says of the fabric: each cable that is not as planned is one result."""

import re
from collections.abc import Iterator, Mapping

from doctor.fabric.asking import Reports
from doctor.fabric.comparing import Finding, Kind, compare
from doctor.fabric.counters import times_down
from doctor.fabric.discovered import At, Discovery, parsed
from doctor.fabric.refused import RefusedError
from doctor.results import Result, Status
from planner.fabric.cables import Wired, wired
from planner.fabric.plan import compute_cards, on_fabric
from planner.metal_types import MetalPlan

STATUS = {
    Kind.ABSENT: Status.FAIL,
    Kind.MISSING: Status.FAIL,
    Kind.SWAPPED: Status.FAIL,
    Kind.SLOW: Status.FAIL,
    Kind.TWICE: Status.FAIL,
    Kind.CROSSED: Status.WARN,
    Kind.FLAPPING: Status.WARN,
    Kind.EXTRA: Status.WARN,
    Kind.UNMEASURED: Status.UNKNOWN,
}
"""A gang fails or is slow where a path is another than planned; what only misleads the next person is a warning."""

_MANAGER = re.compile(
    r"^sminfo: sm lid \d+ sm guid 0x(?P<guid>[0-9a-f]+), activity count \d+ priority (?P<priority>\d+) state \d+ "
    r"(?P<state>\S+)$",
    re.MULTILINE,
)
"""Source: infiniband-diags (rdma-core), sminfo.c."""

_INSTALL = "install infiniband-diags on machines of the fabric, and check that a subnet manager runs (sminfo)"


def examine(plan: MetalPlan, reports: Reports) -> tuple[Result, ...]:
    """The cables of an InfiniBand fabric beside the reports; nothing for another fabric."""
    if plan.fabric is None or plan.fabric.kind != "infiniband":
        return ()
    nameless = [pool for pool in on_fabric(plan.pools.values()) if not all(each.hcas for each in compute_cards(pool))]
    if nameless:
        sentence = (
            f"the names of the RDMA devices of {nameless[0].hardware} are not known, so its cards cannot be told apart"
        )
        remedy = "copy the server to gpucluster:catalogue.servers and add hcas, as ibdev2netdev shows them"
        return (_unknown(nameless[0].name, sentence, remedy),)
    if reports.links is None:
        return (_unknown("ibnetdiscover", reports.why or "no report", _INSTALL),)
    planned = wired(plan, plan.fabric)
    try:
        found = parsed(reports.links)
    except RefusedError as error:
        return (_unknown("ibnetdiscover", str(error), "run it again to its end: sudo ibnetdiscover > FILE"),)
    return tuple(_results(planned, found, reports))


def _manager(reports: Reports, found: Discovery) -> Iterator[Result]:
    """The subnet manager as sminfo(8) names it. Nothing where nobody asked: a fabric that was discovered by itself."""
    said = _MANAGER.search(reports.manager or "")
    if said is not None:
        at = found.port_guids.get(int(said["guid"], 16))
        device = found.devices.get(at.guid if at else int(said["guid"], 16))
        where = device.description if device else f"0x{said['guid']}"
        master = said["state"] == "SMINFO_MASTER"
        yield Result(
            check="subnet-manager",
            status=Status.OK if master else Status.WARN,
            subject=where,
            sentence=f"is {said['state'].removeprefix('SMINFO_').lower()}, with priority {said['priority']}",
            remedy=None if master else "one subnet manager must be master: check priorities and logs of opensm or UFM",
        )
    elif "sminfo: " in reports.why:
        sentence = f"none answers ({reports.why})"
        remedy = "start the one that the stack file names (fabric.subnetManager); until then ports stay in INIT"
        yield Result(check="subnet-manager", status=Status.FAIL, subject="fabric", sentence=sentence, remedy=remedy)


def _results(planned: Wired, found: Discovery, reports: Reports) -> Iterator[Result]:
    yield from _manager(reports, found)
    down: Mapping[At, int] = {}
    try:
        if reports.down is None:
            raise RefusedError(reports.why or "there are no error counters of the links")
        down = times_down(reports.down, found)
    except RefusedError as error:
        yield _unknown("ibqueryerrors", str(error), "save them as well: sudo ibqueryerrors > FILE (ERRORS=FILE)")
    findings = compare(planned, found, down)
    yield from map(_result, findings)
    wrong = {each.about for each in findings}
    gone = {each.about for each in findings if each.kind is Kind.ABSENT}
    if any(each.kind is Kind.TWICE for each in findings):
        return
    fine = [
        each for each in planned.cables if each.label not in wrong and not {each.low.device, each.high.device} & gone
    ]
    if fine:
        sentence = f"{len(fine)} of {len(planned.cables)} cables are connected as planned"
        yield Result(check="cable", status=Status.OK, subject="compute fabric", sentence=sentence)


def _result(finding: Finding) -> Result:
    return Result(
        check=f"cable {finding.kind}",
        status=STATUS[finding.kind],
        subject=finding.about,
        sentence=finding.sentence,
        remedy=finding.remedy,
    )


def _unknown(subject: str, sentence: str, remedy: str) -> Result:
    return Result(check="cable", status=Status.UNKNOWN, subject=subject, sentence=sentence, remedy=remedy)
