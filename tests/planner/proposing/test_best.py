"""Proposals: the best of what a small catalogue has, each a stack file that plans; the command."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from catalogue.model_types import Model
from catalogue.models import MODELS
from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.communication.group import Cluster
from planner.interconnect import cluster_of
from planner.plan import plan
from planner.proposing import best as best_module
from planner.proposing import candidates as candidates_module
from planner.proposing.__main__ import main
from planner.proposing.best import Proposal, Search, missed
from planner.proposing.layouts import Space, shapes, timed
from planner.proposing.question import Serving, Training, asked
from planner.proposing.stack import text
from settings.load import from_sections
from tests.planner.stacks import TODAY, planned, sections_in

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
        found = plan(from_sections(sections_in(config)), catalogue=catalogue, today=TODAY)
        assert not found.errors, [str(error) for error in found.errors]
        assert found.totals.gpus == each.proposal.candidate.gpus
        for run in found.runs.values():
            assert run.forecast is not None
            assert run.forecast.days == pytest.approx(each.proposal.days)
            assert run.training is not None
            assert run.training.memory.fits_surely


@pytest.mark.parametrize("limits", [{"DAYS": "0.05"}, {"DAYS": "0.2", "BUDGET": "100"}])
def test_nothing_fits_and_the_nearest_is_told(limits: dict[str, str]) -> None:
    """A17: with a hundredth of the days nothing is left; the nearest is the one that misses the limits least, of all
    that there are: where money is what lacks, few nodes that take far longer are."""
    question, search = searched({**TRAIN, **limits}, reduced())
    _, endless = searched({**TRAIN, "DAYS": "3650", "BUDGET": ""}, reduced())
    answer = search.answer()
    assert not answer.fits
    first = answer.shown[0].proposal
    least = missed(question.limits, first.days, first.usd)
    assert least > 1
    planned_ = (endless.planned(each) for each in endless.candidates)
    assert all(least <= missed(question.limits, each.days, each.usd) * (1 + 1e-9) for each in planned_ if each)


def test_a_step_less_and_a_step_more_stand_beside() -> None:
    """A17: fewer nodes take longer, more are sooner; the first node has nothing below."""
    _, search = searched(TRAIN, reduced())
    for each in search.answer().shown:
        days = each.proposal.days
        assert (each.less is None) is (each.proposal.candidate.nodes == min(COUNTS))
        for step, longer in ((each.less, True), (each.more, False)):
            if step is not None and step.found is not None:
                assert (step.found.days > days) is longer


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "say what to train"),
        ({"MODEL": "llama-3-8b", "SERVE": "llama-3-8b"}, "say what to train"),
        ({**TRAIN, "MODEL": "llama-3-80b"}, "the catalogue has no model 'llama-3-80b'"),
        ({**TRAIN, "TOKENS": ""}, "TOKENS is missing"),
        ({**TRAIN, "TOKENS": "-5"}, "TOKENS is '-5'"),
        ({**TRAIN, "DAYS": "nan"}, "DAYS is 'nan'"),
        ({**TRAIN, "REGION": "mars-1"}, "there is no region 'mars-1'"),
        ({**SERVE, "PROMPT": "8000", "ANSWER": "900"}, "lower PROMPT or ANSWER"),
        ({**SERVE, "RPS": "1e99"}, "RPS is '1e99'"),
    ],
)
def test_a_wrong_question_is_told_what_to_type(
    words: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A08: a sentence on stderr and status 2."""
    assert main(words, reduced(), TODAY) == 2
    assert said in capsys.readouterr().err


def test_a_proposal_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A17: OUT is written with PICK's proposal, and a file that is there is left alone."""
    file = tmp_path / "Pulumi.mine.yaml"
    words = {**SERVE, "OUT": str(file), "PICK": "2"}
    assert main(words, reduced(), TODAY) == 0
    printed = capsys.readouterr().out
    assert "more nodes" in printed
    assert "limited by" in printed
    written = file.read_text(encoding="utf-8")
    assert "gpucluster:serving:" in written
    assert "# replace" in written
    assert main(words, reduced(), TODAY) == 2
    assert "already exists" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == written
    assert main({**words, "OUT": str(tmp_path / "nowhere" / "Pulumi.mine.yaml")}, reduced(), TODAY) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_what_does_not_fit_ends_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    """A17: the nearest miss and by how much."""
    assert main({**TRAIN, "BUDGET": "100"}, reduced(), TODAY) == 1
    out = capsys.readouterr().out
    assert "nothing fits" in out
    assert "USD over the budget" in " ".join(out.split())


def test_a_block_that_ends_too_soon_for_fewer_nodes_says_its_days(capsys: pytest.CaptureFixture[str]) -> None:
    """A17, PF10: 2 x 10^12 tokens take two p5e.48xlarge 100 days and one of them more than the 182 of a block."""
    words = {**TRAIN, "TOKENS": "2e12", "DAYS": "200", "BUDGET": "9e6"}
    assert main(words, reduced(types=("p5e.48xlarge",)), TODAY) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "memory, or the 182 days of a block: fewer nodes are too small" in said


def test_words_that_make_exports_empty_are_as_if_nobody_said_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A08: `make propose SERVE=... RPS=10 TTFT=1` leaves PROMPT and the rest empty in the environment."""
    empty = dict.fromkeys(("MODEL", "PROMPT", "ANSWER", "BUDGET", "REGION", "SPOT", "OUT", "PICK"), "")
    assert main({**empty, **SERVE}, reduced(), TODAY) == 0
    assert "best of" in capsys.readouterr().out


def cluster(instance: str) -> Cluster:
    """Nodes of an instance type as a training pool has them."""
    found = cluster_of(planned("prod", {"pools.1.instanceType": instance}).pools["training"])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("model", "instance"),
    [("llama-3-8b", "p5.48xlarge"), ("llama-3-70b", "p4d.24xlarge"), ("gpt-oss-20b", "p5.48xlarge")],
)
def test_no_layout_is_faster_than_the_one_that_is_found(model: str, instance: str) -> None:
    """C04 to C08: every layout of the space timed on 1, 3 and 8 nodes; the bounds of few nodes hold for more."""
    row: Model = MODELS[model]
    nodes = cluster(instance)
    every = shapes(row, nodes.gpu, 8, 4096)
    space = Space(every, row, nodes)
    for count in (1, 3, 8):
        found = space.fastest(8 * count)
        rates = [one.step.tokens_per_s for shape in every if (one := timed(shape, row, nodes, 8 * count))]
        assert (found is None) is (not rates), count
        if found:
            assert found.step.tokens_per_s == pytest.approx(max(rates), rel=1e-9), count


def test_layouts_that_are_told_can_be_typed() -> None:
    """C05: the degrees multiply up to the GPUs, for every size that is tried."""
    row, nodes = MODELS["llama-3-8b"], cluster("p5.48xlarge")
    space = Space(shapes(row, nodes.gpu, 8, 8192), row, nodes)
    for count in (1, 2, 6):
        found = space.fastest(8 * count)
        assert found is not None
        assert found.layout.world == 8 * count
        assert found.step.tokens == found.job.micro_batch * found.job.accumulation * found.layout.data * 8192
