"""A dashboard as a page, its panels where Grafana would put them."""

from collections.abc import Iterator, Sequence

from monitoring.dashboards.model import COLUMNS, Dashboard, Panel
from monitoring.picture.data import Source, Stretch, answers
from monitoring.picture.draw import drawn
from planner.faces.page.elements import COLOURS, DRAWINGS, PAGE, Markup, element

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_COLUMN, _ROW, _GAP = 58, 30, 8
_WIDTH = COLUMNS * _COLUMN
_TITLE, _LEGEND, _PADDING = 24, 46, 16

_STYLE = Markup(
    """
body { max-width: none; width: WIDTHpx; padding: 0 16px 16px; } h1 { margin: 0; }
.board { display: grid; grid-template-columns: repeat(24, 1fr); gap: 8px; }
.board h2 { grid-column: 1 / -1; margin: .8rem 0 0; font-size: 1.05rem; }
.panel { background: var(--raised); border-radius: .3rem; padding: 4px 8px; overflow: hidden; position: relative; }
.panel h3 { margin: 0 0 2px; font-size: .82rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.panel .legend { font-size: .7rem; line-height: 1.25; max-height: 45px; overflow: hidden; margin: 2px 0; gap: 0 .9rem; }
.panel svg { display: block; } .none { color: var(--soft); text-align: center; margin-top: 2rem; }
.stat { display: flex; flex-wrap: wrap; justify-content: center; align-items: center; height: 70%; gap: .2rem 1.2rem; }
.stat b { font-size: 1.7rem; } .stat b.good { color: var(--good); }
.swatch { background: currentColor; } .swatch.c0 { color: var(--c0); } .swatch.c1 { color: var(--c1); }
.swatch.c2 { color: var(--c2); } .swatch.c3 { color: var(--c3); } .swatch.c4 { color: var(--c4); }
.swatch.c5 { color: var(--c5); } .swatch.c6 { color: var(--c6); }
.dashes { display: inline-block; width: 1.4em; border-top: 2px dashed var(--ink); margin-right: .4em;
  vertical-align: .25em; }
.reference { fill: none; stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 8 6; }
.bound { stroke-width: 1.2; } .bound.warning { stroke: var(--warning); } .bound.error { stroke: var(--error); }
.fill.good { fill: var(--good); } .fill.warning { fill: var(--warning); } .fill.error { fill: var(--error); }
""".replace("WIDTH", str(_WIDTH + 32))
)


def page(dashboard: Dashboard, source: Source, now: float) -> str:
    """The whole page, of what `source` answers for the hours that the dashboard shows at first."""
    stretch = Stretch(start=now - dashboard.hours * 3600, end=now)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", dashboard.title),
        element("style", COLOURS, DRAWINGS, PAGE, _STYLE),
    )
    body = element(
        "body",
        element("h1", dashboard.title),
        element("p", dashboard.description, class_="soft"),
        element("main", *_placed(dashboard, source, stretch), class_="board"),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _placed(dashboard: Dashboard, source: Source, stretch: Stretch) -> Iterator[Markup]:
    """Headings and panels in the places of the JSON, so that what is looked at is what Grafana shows."""
    panels = dashboard.panels()
    names = [variable.name for variable in dashboard.variables]
    for place in dashboard.json()["panels"]:
        grid = place["gridPos"]
        row = grid["y"] + 1
        if place["type"] == "row":
            yield element("h2", place["title"], style=f"grid-row: {row}")
            continue
        yield _panel(next(panels), place["id"], grid, source, stretch, names)


def _panel(
    panel: Panel, id_: int, grid: dict[str, int], source: Source, stretch: Stretch, variables: Sequence[str]
) -> Markup:
    width = grid["w"] * _COLUMN - _GAP - _PADDING
    height = grid["h"] * (_ROW + _GAP) - _GAP - _TITLE - _PADDING
    inside = (width, height - _LEGEND) if panel.kind == "timeseries" else (width, height)
    return element(
        "section",
        element("h3", panel.title, title=panel.description),
        drawn(f"p{id_}", panel, answers(panel, source, stretch, variables), stretch, inside),
        class_="panel",
        style=f"grid-column: {grid['x'] + 1} / span {grid['w']}; grid-row: {grid['y'] + 1} / span {grid['h']}; "
        f"height: {grid['h'] * (_ROW + _GAP) - _GAP}px",
    )
