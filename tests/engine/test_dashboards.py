"""Dashboards on a real Prometheus: exporters' words, the recording rules, the panels' queries (X08, V02, B19).

A panel that asks for a label which a rule drops, or joins what does not join, is empty; here it fails.
"""

import socket
from collections.abc import Iterator

import pytest

from monitoring.dashboards import dashboards
from monitoring.dashboards.model import Dashboard, Panel
from monitoring.limits import Limits, MachineLimits, PoolLimits, RunLimits, ServiceLimits
from monitoring.picture.data import Prometheus, Series, Stretch, answers
from monitoring.recording import recorded
from planner.references import references
from rehearsal import toolchain
from tests.monitoring.exporters import CAME_BACK, FELL, LOST_STEPS, STEP_S, exporters
from tests.monitoring.history import prometheus
from tests.planner.stacks import planned

pytestmark = pytest.mark.engine

RUN, SERVICE, HOURS = "llama-3-70b-pretrain", "llama-3-70b", 3.5
PLAN = references(planned("prod", {"monitoring.fileSystem": True}))
BOARDS = {each.uid.removeprefix("gpucluster-"): each for each in dashboards(PLAN)}
LIMITS = Limits(
    pools=(PoolLimits(name="training", gpus_per_node=8),),
    machines=(MachineLimits(pool="training", power_supplies=6, inlet_c=30),),
    runs=(RunLimits(name=RUN, pool="training", nodes=4, tokens_per_s=58_313, mfu=0.449, checkpoint_s=5400),),
    services=(ServiceLimits(name=SERVICE, most=2),),
)
SILENT = {
    "Packets dropped a second",
    "Congestion marks (RoCE)",
    "Interfaces without a link",
    "Ethernet errors a second",
}
"""Nothing of that is wrong with the cluster that is told of."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, float]]:
    """A Prometheus that knows some hours of a cluster, and when they end."""
    built = toolchain.ensure(["prometheus"])
    tools = {name: built[name] for name in ("prometheus", "promtool")}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rules = [rule.document() for group in recorded(LIMITS) for rule in group.rules if group.interval != "1h"]
    said = exporters(RUN, SERVICE, hours=HOURS)
    with prometheus(tools, tmp_path_factory.mktemp("prometheus"), port, said, rules, HOURS) as (url, end):
        yield Prometheus(url=url), end


def found(asked: tuple[Prometheus, float], board: Dashboard, panel: Panel) -> list[Series]:
    source, end = asked
    names = [variable.name for variable in board.variables]
    return answers(panel, source, Stretch(start=end - HOURS * 3600, end=end), names)


def newest(asked: tuple[Prometheus, float], board: str, title: str) -> dict[str, float]:
    """The newest value of each series of a panel."""
    (panel,) = [each for each in BOARDS[board].panels() if each.title.startswith(title)]
    return {each.name: each.last for each in found(asked, BOARDS[board], panel)}


@pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))
def test_every_panel_and_every_line_has_data(asked: tuple[Prometheus, float], board: Dashboard) -> None:
    for panel in board.panels():
        series = found(asked, board, panel)
        measured = [each for each in series if not each.reference]
        assert bool(measured) == (panel.title not in SILENT), panel.title
        assert any(query.reference for query in panel.queries) == any(each.reference for each in series), panel.title
        assert all(each.name.strip() == each.name and each.name for each in series), panel.title
        assert len({each.name for each in series}) == len(series), panel.title


def test_every_choice_has_values(asked: tuple[Prometheus, float]) -> None:
    source, end = asked
    for board in BOARDS.values():
        for variable in board.variables:
            rows = source.ask_now(variable.metric.replace("$pool", ".*"), Stretch(start=end - 60, end=end))
            assert [labels for labels, _ in rows if labels.get(variable.label)], (board.uid, variable.name)


def test_lost_time_is_the_time_away_and_the_work_done_again_v02(asked: tuple[Prometheus, float]) -> None:
    """Kokolis et al. 2024: productive time over the time that the run had."""
    lost_s = CAME_BACK - FELL + LOST_STEPS * STEP_S
    gpus = PLAN.runs[RUN].gpus
    assert newest(asked, "run", "Lost GPU hours")[RUN] == pytest.approx(gpus * lost_s / 3600, rel=0.1)
    assert newest(asked, "run", "Effective")[RUN] == pytest.approx(1 - lost_s / (HOURS * 3600), abs=0.03)


def test_a_gpu_costs_what_its_pool_does(asked: tuple[Prometheus, float]) -> None:
    """Four nodes of eight GPUs train, and two replicas share the GPUs of one that serves."""
    training, inference = (PLAN.pools[name].usd_per_gpu_hour or 0 for name in ("training", "inference"))
    usd = {"training": 32 * training, "inference": 8 * inference}
    assert newest(asked, "cost", "By namespace") == pytest.approx(usd, rel=1e-4)
    assert newest(asked, "cost", "By run") == pytest.approx({RUN: usd["training"]}, rel=1e-4)
    assert newest(asked, "cost", "By service") == pytest.approx({SERVICE: usd["inference"]}, rel=1e-4)


def test_the_sick_are_named(asked: tuple[Prometheus, float]) -> None:
    """The hottest GPU, the one with an uncorrectable error, the node whose rail is down."""
    assert max(newest(asked, "pool", "Hottest"), key=newest(asked, "pool", "Hottest").__getitem__) == "train-2 GPU 5"
    assert set(newest(asked, "pool", "Memory errors")) == {"train-3 GPU 1"}
    assert newest(asked, "fabric", "Links that are down") == {"train-1": 1}
    assert newest(asked, "fabric", "Imbalance")["train-1"] == pytest.approx(1)
