"""Proposals: the best of what a small catalogue has, each a stack file that plans."""

from dataclasses import replace

import pytest
import yaml

from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.plan import plan
from planner.proposing import best as best_module
from planner.proposing import candidates as candidates_module
from planner.proposing.best import Proposal, Search, missed
from planner.proposing.question import Serving, Training, asked
from planner.proposing.stack import text
from settings.load import from_sections
from tests.planner.stacks import TODAY

COUNTS = (1, 2, 4, 8)
TYPES = ("p5.48xlarge", "p5en.48xlarge", "p4d.24xlarge", "g6e.12xlarge")
TRAIN = {"MODEL": "llama-3-8b", "TOKENS": "1e11", "DAYS": "30", "BUDGET": "200000"}
SERVE = {"SERVE": "llama-3-8b", "RPS": "40", "TTFT": "1"}


@pytest.fixture(autouse=True)
def _few_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates_module, "COUNTS", COUNTS)


def reduced(servers: tuple[str, ...] = (), types: tuple[str, ...] = TYPES) -> Catalogue:
    """A few instance types and servers; system nodes are of neither kind of GPU."""
    instances = {name: row for name, row in SHIPPED.instances.items() if name in types or row.gpu is None}
    rows = {name: row for name, row in SHIPPED.servers.items() if name in servers or row.gpu is None}
    return replace(SHIPPED, instances=instances, servers=rows)


def searched(words: dict[str, str], catalogue: Catalogue) -> tuple[Training | Serving, Search]:
    """The question and its search."""
    question = asked(words, SHIPPED.models)
    return question, Search(question, catalogue, TODAY)


@pytest.mark.parametrize(
    "words",
    [
        TRAIN,
        {**TRAIN, "DAYS": "4"},
        {**TRAIN, "BUDGET": "40000"},
        {**TRAIN, "SPOT": "1"},
        {**TRAIN, "MODEL": "llama-3-70b", "TOKENS": "2e10"},
        SERVE,
        {**SERVE, "TTFT": "0.2", "RPS": "7"},
    ],
)
def test_no_better_plan_is_found_by_trying_all(words: dict[str, str]) -> None:
    """A17: the proposals are the cheapest of every candidate planned whole, one of each hardware and capacity."""
    question, search = searched(words, reduced())
    answer = search.answer()
    within: dict[tuple[str, str], Proposal] = {}
    for candidate in search.candidates:
        found = Search.planned(search, candidate)
        if found is None or missed(question.limits, found.days, found.usd) > 1:
            continue
        key = (candidate.offer.hardware, candidate.offer.capacity)
        if key not in within or found.usd < within[key].usd:
            within[key] = found
    cheapest = sorted(one.usd for one in within.values())[: best_module.SHOWN]
    assert answer.fits is bool(cheapest)
    if cheapest:
        assert [each.proposal.usd for each in answer.shown] == pytest.approx(cheapest)


def test_an_estimate_is_never_above_the_plan() -> None:
    """A17: what candidates are ordered by is the least that they can take, or a cheaper one would be missed."""
    for words in (TRAIN, SERVE):
        _, search = searched(words, reduced())
        for candidate in search.candidates:
            if (found := search.planned(candidate)) is not None:
                assert candidate.usd <= found.usd * (1 + 1e-9)
                assert candidate.days <= found.days * (1 + 1e-9)


@pytest.mark.parametrize(
    ("words", "servers", "types"),
    [(TRAIN, (), TYPES), (SERVE, (), TYPES), ({**TRAIN, "BUDGET": "9e6"}, ("DGX H100", "DGX B200"), ())],
)
def test_proposals_are_stack_files_that_plan(
    words: dict[str, str], servers: tuple[str, ...], types: tuple[str, ...]
) -> None:
    """A17: what is written out is read back, plans without an error, and comes to what was said."""
    catalogue = reduced(servers, types)
    _, search = searched(words, catalogue)
    answer = search.answer()
    assert answer.fits
    for each in answer.shown:
        config = yaml.safe_load(text(search.final(each.proposal), "why"))["config"]
        sections = {key.partition(":")[2]: value for key, value in config.items() if key.startswith("gpucluster:")}
        found = plan(from_sections(sections), catalogue=catalogue, today=TODAY)
        assert not found.errors, [str(error) for error in found.errors]
        assert found.totals.gpus == each.proposal.candidate.gpus
        for run in found.runs.values():
            assert run.forecast is not None
            assert run.forecast.days == pytest.approx(each.proposal.days)
            assert run.training is not None
            assert run.training.memory.fits_surely


def test_nothing_fits_and_the_nearest_is_told() -> None:
    """A17: with a hundredth of the days nothing is left; the nearest is the one that misses the limits least."""
    question, search = searched({**TRAIN, "DAYS": "0.05"}, reduced())
    answer = search.answer()
    assert not answer.fits
    first = answer.shown[0].proposal
    least = missed(question.limits, first.days, first.usd)
    assert least > 1
    assert all(least <= missed(question.limits, each.days, each.usd) * (1 + 1e-9) for each in search.candidates)


def test_a_step_less_and_a_step_more_stand_beside() -> None:
    """A17: fewer nodes take longer, more are sooner; the first node has nothing below."""
    _, search = searched(TRAIN, reduced())
    for each in search.answer().shown:
        days = each.proposal.days
        assert (each.less is None) is (each.proposal.candidate.nodes == min(COUNTS))
        for step, longer in ((each.less, True), (each.more, False)):
            if step is not None and step.found is not None:
                assert (step.found.days > days) is longer
