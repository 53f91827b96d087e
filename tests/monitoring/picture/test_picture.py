"""Pictures of dashboards: what is drawn of what a Prometheus answers, and files that a Grafana can import."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from monitoring.dashboards.model import Bounds, Dashboard, Panel, Query, Section, Unit, Variable
from monitoring.picture.__main__ import main
from monitoring.picture.data import NoAnswerError, Prometheus, Stretch, answers, interpolated
from monitoring.picture.page import page
from monitoring.picture.units import written
from rehearsal.testing.answering import Asked, Said, answering
from tests.monitoring.dashboards.boards import boards

NOW = 1_800_000_000.0
HOUR = Stretch(start=NOW - 3600, end=NOW)
Rows = Sequence[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]


@dataclass
class Told:
    """A source that answers every query alike, and remembers them."""

    rows: Rows = ()
    over_time: list[str] = field(default_factory=list)
    now: list[str] = field(default_factory=list)

    def ask(self, expr: str, _stretch: Stretch) -> Rows:
        self.over_time.append(expr)
        return self.rows

    def ask_now(self, expr: str, _stretch: Stretch) -> Rows:
        self.now.append(expr)
        return [(labels, points[-1:]) for labels, points in self.rows]


def points(*values: float, step: float = 15) -> list[tuple[float, float]]:
    return [(HOUR.start + index * step, value) for index, value in enumerate(values)]


def panel(**changes: Any) -> Panel:
    known: dict[str, Any] = {
        "title": "Heat",
        "description": "It is hot.",
        "unit": Unit.CELSIUS,
        "queries": [Query('heat{node=~"$node"}', "{{node}} hot")],
    }
    return Panel(**{**known, **changes})


def drawn(*panels: Panel, rows: Rows) -> str:
    sections = [Section(title="All", panels=panels)]
    variables = [Variable(name="node", label="node", metric="heat")]
    board = Dashboard(
        uid="heat", title="Heat", description="How warm.", sections=sections, variables=variables, hours=1
    )
    return page(board, Told(rows), NOW)


A, B = {"node": "a"}, {"node": "b"}


def test_variables_stand_at_all_and_rates_span_several_scrapes() -> None:
    assert interpolated('rate(x{node=~"$node"}[$__rate_interval])', HOUR, ["node"]) == 'rate(x{node=~".+"}[120s])'
    week = Stretch(start=NOW - 7 * 86_400, end=NOW)
    assert week.step == 2520
    assert interpolated("rate(x[$__rate_interval])", week) == "rate(x[2550s])"


def test_curves_are_asked_over_time_and_numbers_for_now() -> None:
    told = Told([(A, points(1, 2, 3))])
    (curve,) = answers(panel(), told, HOUR, ["node"])
    assert (curve.name, curve.last, len(curve.points)) == ("a hot", 3, 3)
    (number,) = answers(panel(kind="stat"), told, HOUR, ["node"])
    assert len(number.points) == 1
    assert (told.over_time, told.now) == (['heat{node=~".+"}'], ['heat{node=~".+"}'])


def test_a_curve_ends_where_data_is_missing() -> None:
    gap = [*points(50, 51, 52), (HOUR.start + 1800, 60.0), (HOUR.start + 1815, 61.0)]
    assert len(re.findall(r'class="curve s0"', drawn(panel(), rows=[(A, gap)]))) == 2
    assert len(re.findall(r'class="curve s0"', drawn(panel(), rows=[(A, points(50, 51, 52))]))) == 1


def test_the_axis_is_the_panels_and_holds_what_is_drawn() -> None:
    fixed = drawn(panel(most=100), rows=[(A, points(50, 60))])
    assert ">100 °C<" in fixed
    assert ">0 °C<" in fixed
    beyond = drawn(panel(most=100), rows=[(A, points(50, 130))])
    assert ">200 °C<" in beyond


def test_no_label_of_the_axis_is_cut_off() -> None:
    """Each ends before the axis, and has some six pixels for a letter."""
    picture = drawn(panel(unit=Unit.TOKENS_PER_USD), rows=[(A, points(0, 400_000))])
    found = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*tokens/USD)<', picture)
    assert [said for _, said in found] == [f"{each} tokens/USD" for each in ("0", "100k", "200k", "300k", "400k")]
    assert min(float(end) - 6 * len(said) for end, said in found) >= 0


def heights(picture: str) -> list[float]:
    """The last point of every curve, from the top."""
    return [float(each) for each in re.findall(r' ([\d.]+)" class="curve', picture)]


def test_stacked_series_stand_on_each_other() -> None:
    low, high = heights(drawn(panel(stacked=True), rows=[(A, points(10, 10)), (B, points(10, 10))]))
    same, again = heights(drawn(panel(), rows=[(A, points(10, 10)), (B, points(10, 10))]))
    assert high < low
    assert same == again


def test_what_to_compare_with_is_dashed_and_bounds_are_lines() -> None:
    queries = [*panel().queries, Query("vector(80)", "limit", reference=True)]
    picture = drawn(panel(queries=queries, bounds=Bounds(warn=85, bad=95), most=100), rows=[(A, points(50, 60))])
    assert picture.count('class="reference"') == 1
    assert 'class="bound warning"' in picture
    assert 'class="bound error"' in picture
    assert "limit  60 °C" in picture


def test_a_number_has_the_colour_of_its_bounds() -> None:
    def colour(value: float, bounds: Bounds) -> str:
        picture = drawn(panel(kind="stat", bounds=bounds), rows=[(A, points(value))])
        return str(re.findall(r'<b class="(\w+)"', picture)[0])

    assert [colour(value, Bounds(warn=5, bad=9)) for value in (4.9, 5, 9)] == ["good", "warning", "error"]
    below = Bounds(warn=9, bad=5, below=True)
    assert [colour(value, below) for value in (4.9, 5, 9)] == ["error", "warning", "good"]


def test_bars_are_as_long_as_their_values() -> None:
    picture = drawn(panel(kind="bargauge", most=100), rows=[(A, points(100)), (B, points(25))])
    whole, quarter = (float(each) for each in re.findall(r'width="([\d.]+)"[^>]*class="fill', picture))
    assert quarter == pytest.approx(whole / 4, abs=0.1)


def test_an_empty_panel_says_whether_that_is_good() -> None:
    assert "No data" in drawn(panel(), rows=[])
    assert "No data" not in drawn(panel(nothing="none"), rows=[])


def test_names_from_outside_are_text() -> None:
    assert "<script>" not in drawn(panel(), rows=[({"node": "<script>alert(1)</script>"}, points(50, 51))])


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.4567, Unit.PART, "45.7%"),
        (400e9, Unit.BYTES_PER_SECOND, "400 GB/s"),
        (0, Unit.BYTES_PER_SECOND, "0 B/s"),
        (700, Unit.WATT, "700 W"),
        (22_400, Unit.WATT, "22.4 kW"),
        (0.03, Unit.SECONDS, "30 ms"),
        (90, Unit.SECONDS, "1.5 min"),
        (5400, Unit.SECONDS, "1.5 h"),
        (2_000_000, Unit.SECONDS, "23.1 d"),
        (30, Unit.MILLISECONDS, "30 ms"),
        (560.5, Unit.USD_PER_HOUR, "560 USD/h"),
        (2140, Unit.USD, "$2.14k"),
        (51_900, Unit.TOKENS_PER_SECOND, "51.9k tokens/s"),
        (1.98e9, Unit.HERTZ, "1.98 GHz"),
        (86.3, Unit.CELSIUS, "86.3 °C"),
        (1234, Unit.COUNT, "1.23k"),
        (0.02, Unit.PER_SECOND, "0.02 /s"),
    ],
)
def test_values_are_written_as_grafana_does(value: float, unit: Unit, said: str) -> None:
    assert written(value, unit) == said


def test_decimals_are_kept() -> None:
    assert written(268.0912, Unit.USD_PER_HOUR, 2) == "268.09 USD/h"


def test_every_unit_can_be_written() -> None:
    assert all(written(12.5, unit) for unit in Unit)


def api(request: Asked) -> Said:
    """Prometheus' HTTP API, as its documentation has it: ranges, instants, errors."""
    address = urlsplit(request.path)
    asked = {key: values[0] for key, values in parse_qs(address.query).items()}
    if asked["query"] == "(":
        return Said({"status": "error", "errorType": "bad_data", "error": "1:2: parse error: unclosed"}, 400)
    if address.path == "/api/v1/query":
        row: dict[str, Any] = {"value": [float(asked["time"]), "7"]}
    else:
        row = {"values": [[float(asked["start"]), "1"], [float(asked["end"]), "NaN"]]}
    return Said({"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"node": "a"}, **row}]}})


@pytest.fixture
def server() -> Iterator[str]:
    with answering(api) as where:
        yield f"http://{where}"


def test_a_prometheus_answers(server: str) -> None:
    source = Prometheus(url=server)
    assert source.ask("up", HOUR) == [({"node": "a"}, [(HOUR.start, 1.0)])]
    assert source.ask_now("up", HOUR) == [({"node": "a"}, [(NOW, 7.0)])]


def test_a_prometheus_that_refuses_or_is_not_there_is_named(server: str) -> None:
    with pytest.raises(NoAnswerError, match=r"refuses '\(': 1:2: parse error: unclosed"):
        Prometheus(url=server).ask("(", HOUR)
    with pytest.raises(NoAnswerError, match=r"no Prometheus answers at http://127\.0\.0\.1:1:"):
        Prometheus(url="http://127.0.0.1:1").ask("up", HOUR)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy("Pulumi.prod.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_prometheus_there_are_files_for_a_grafana(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "prod", "--out", "out"]) == 0
    assert capsys.readouterr().out.count("\n") == 8
    made = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in (tree / "out").iterdir()}
    assert made == {f"{each.uid}.json": json.loads(json.dumps(each.json())) for each in boards("prod").values()}


def test_with_a_prometheus_there_are_pages_too(tree: Path, server: str) -> None:
    assert main(["--stack", "prod", "--out", "out", "--prometheus", f"{server}/"]) == 0
    pages = sorted((tree / "out").glob("*.html"))
    assert len(pages) == 8
    assert all("Content-Security-Policy" in path.read_text(encoding="utf-8") for path in pages)


def test_all_show_the_hours_that_are_asked_for(tree: Path) -> None:
    assert main(["--stack", "prod", "--out", "out", "--hours", "2"]) == 0
    shown = {json.loads(path.read_text(encoding="utf-8"))["time"]["from"] for path in (tree / "out").iterdir()}
    assert shown == {"now-2h"}
    for word in ("0", "-1", "2.5", "many", "8785"):
        with pytest.raises(SystemExit):
            main(["--stack", "prod", "--out", "out", f"--hours={word}"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stack", "nowhere", "--out", "out"], "Pulumi.nowhere.yaml"),
        (["--stack", "prod", "--out", "out", "--prometheus", "http://127.0.0.1:1"], "no Prometheus answers"),
    ],
)
def test_what_cannot_be_had_is_said(
    tree: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(arguments) == 1
    assert said in capsys.readouterr().err


def test_every_panel_of_every_board_can_be_drawn() -> None:
    rows: Rows = [({"node": "a", "pool": "training"}, points(0.1, 0.2, 0.3)), (B, points(5.0, 9e9))]
    for board in boards("prod").values():
        picture = page(board, Told(rows), NOW)
        assert picture.count('class="panel"') == len(list(board.panels()))
        assert "No data" not in picture


def test_a_board_shows_its_own_hours() -> None:
    seen: set[tuple[float, float]] = set()

    class Watched(Told):
        def ask(self, _expr: str, stretch: Stretch) -> Rows:
            seen.add((stretch.start, stretch.end))
            return ()

    page(boards("prod")["cost"], Watched(), NOW)
    assert seen == {(NOW - 7 * 24 * 3600, NOW)}
