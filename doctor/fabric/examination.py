"""What the doctor says of the fabric: each cable that is not as planned is one result."""

from __future__ import annotations

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

_INSTALL = "install infiniband-diags on machines of the fabric, and see that a subnet manager runs (sminfo)"


def examine(plan: MetalPlan, reports: Reports) -> tuple[Result, ...]:
    """The cables of an InfiniBand fabric beside the reports; nothing for another fabric."""
    if plan.fabric is None or plan.fabric.kind != "infiniband":
        return ()
    nameless = [pool for pool in on_fabric(plan.pools.values()) if not all(each.hcas for each in compute_cards(pool))]
    if nameless:
        sentence = (
            f"the names of the RDMA devices of {nameless[0].hardware} are not known, so no card is told from another"
        )
        remedy = "add hcas, as ibdev2netdev shows them, to a row of your own (catalogue.servers)"
        return (_unknown(nameless[0].name, sentence, remedy),)
    if reports.links is None:
        return (_unknown("ibnetdiscover", reports.why or "no report", _INSTALL),)
    planned = wired(plan, plan.fabric)
    try:
        found = parsed(reports.links)
    except RefusedError as error:
        return (_unknown("ibnetdiscover", str(error), "run it again to its end: sudo ibnetdiscover > FILE"),)
    return tuple(_results(planned, found, reports))


def _results(planned: Wired, found: Discovery, reports: Reports) -> Iterator[Result]:
    down: Mapping[At, int] = {}
    try:
        if reports.down is None:
            raise RefusedError(reports.why or "there is no report of how often links went down")
        down = times_down(reports.down, found)
    except RefusedError as error:
        yield _unknown("ibqueryerrors", str(error), "save one beside it: sudo ibqueryerrors > FILE (ERRORS=FILE)")
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
        sentence = f"{len(fine)} of {len(planned.cables)} cables are where the plan has them"
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
