"""HTML and SVG elements. Every text and every value of an attribute is escaped here, and nowhere else."""

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta", "br"})
_UNPRINTABLE = {code: "�" for code in range(32) if chr(code) not in "\t\n"}


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | int | float | None


def element(name: str, /, *children: Child, **attributes: Child) -> Markup:
    """An element. Children that are no markup are escaped; attributes that are None are left out.

    Attributes are written with `-` for `_`, and without an underscore at the end: class_="x", data_count=3.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    opening = f"<{name}{written}>"
    return Markup(opening if name in _VOID else f"{opening}{together(children)}</{name}>")


def together(children: Iterable[Child]) -> Markup:
    """Several pieces one after the other."""
    return Markup(
        "".join(child if isinstance(child, Markup) else _escaped(child) for child in children if child is not None)
    )


def _escaped(value: Child) -> str:
    return escape(str(value), quote=True).translate(_UNPRINTABLE)


def section(id_: str, title: str, *children: Child) -> Markup:
    """A part of the page with its heading."""
    heading = element("h2", title, id=f"{id_}-heading")
    return element("section", heading, *children, id=id_, aria_labelledby=f"{id_}-heading")


def facts(rows: Iterable[tuple[str, str | None]]) -> Markup:
    """Names and what they are; without those that are None."""
    return element(
        "dl",
        *(together((element("dt", name), element("dd", value))) for name, value in rows if value is not None),
    )


def table(
    caption: str, headings: Iterable[str], rows: Iterable[Iterable[Child]], numeric: Iterable[int] = ()
) -> Markup:
    """A table that scrolls by itself where it is too wide. `numeric` are the columns that stand at the right."""
    right = set(numeric)

    def cells(tag: str, row: Iterable[Child], **more: Child) -> Markup:
        return element(
            "tr",
            *(
                element(tag, cell, class_="number" if index in right else None, **more)
                for index, cell in enumerate(row)
            ),
        )

    head = element("thead", cells("th", headings, scope="col"))
    body = element("tbody", *(cells("td", row) for row in rows))
    whole = element("table", element("caption", caption), head, body)
    return scrolling(whole, caption)


def scrolling(content: Markup, label: str) -> Markup:
    """Content that may be wider than the page, and then scrolls inside, with the keyboard too."""
    return element("div", content, class_="scroll", role="region", tabindex="0", aria_label=label)


def folded(summary: Child, *children: Child, opened: bool = False) -> Markup:
    """What is shown when a person asks for it."""
    return element("details", element("summary", summary), *children, open="" if opened else None)


def drawing(
    id_: str, title: str, description: str, size: tuple[float, float], *children: Child, **more: Child
) -> Markup:
    """An SVG drawing with the words for those who do not see it. `size` is width and height of its coordinates."""
    return element(
        "svg",
        element("title", title, id=f"{id_}-title"),
        element("desc", description, id=f"{id_}-desc"),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        role="img",
        aria_labelledby=f"{id_}-title {id_}-desc",
        **more,
    )


def label(x: float, y: float, text: Child, anchor: str = "middle", **more: Child) -> Markup:
    """Words in a drawing."""
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **more)


def box(x: float, y: float, width: float, height: float, *children: Child, **more: Child) -> Markup:
    """A rectangle; a `title` among its children is its tooltip."""
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
    return element("rect", *children, **place, **more)


def line(x1: float, y1: float, x2: float, y2: float, **more: Child) -> Markup:
    """A straight line."""
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", **more)


COLOURS = Markup("""
:root { color-scheme: light dark; --paper: #fff; --on: #fff; --ink: #1b2330; --soft: #556070;
  --rule: #ccd3dc; --raised: #f3f5f8; --shade: #8896a6; --error: #b3261e; --warning: #855300; --good: #1b6e3c;
  --c0: #2f6db5; --c1: #257a60; --c2: #a8611c; --c3: #8659b3; --c4: #b84a62; --c5: #5f7d2b; --c6: #6b7684; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #12161c; --on: #10141a; --ink: #e6eaf0;
  --soft: #a3adba; --rule: #3a434f; --raised: #1b2129; --shade: #6d7a89;
  --error: #ff9a92; --warning: #f0b95c; --good: #7fd6a0;
  --c0: #5c9be6; --c1: #4fb596; --c2: #dd9a55; --c3: #ab86d8; --c4: #dd7a8f; --c5: #93b557; --c6: #8e99a8; } }
""")

DRAWINGS = Markup("""
svg { font: 11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
svg text { fill: var(--ink); } svg text.soft { fill: var(--soft); } svg text.on { fill: var(--on); }
.c0 { fill: var(--c0); } .c1 { fill: var(--c1); } .c2 { fill: var(--c2); } .c3 { fill: var(--c3); }
.c4 { fill: var(--c4); } .c5 { fill: var(--c5); } .c6 { fill: var(--c6); }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); } .s3 { stroke: var(--c3); }
.s4 { stroke: var(--c4); } .s5 { stroke: var(--c5); } .s6 { stroke: var(--c6); }
.link { stroke-opacity: .45; } .curve { fill: none; stroke-width: 2; } .axis { stroke: var(--soft); }
.grid { stroke: var(--rule); } .frame { fill: none; stroke: var(--soft); } .free { fill: var(--raised); }
.mark { stroke-width: 1.5; } .mark.odd { stroke-dasharray: 5 4; } .limit { stroke: var(--error); stroke-width: 2; }
.band { fill-opacity: .18; } .exposed { fill: var(--paper); fill-opacity: .55; }
.spread { stroke: var(--ink); stroke-width: 1.5; }
""")

PAGE = Markup("""
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: .2rem 0; font-size: 1.6rem; } h2 { margin: 2rem 0 .6rem; font-size: 1.25rem; }
h3 { margin: 1.2rem 0 .4rem; font-size: 1.05rem; }
h2 { border-bottom: 1px solid var(--rule); }
.verdict { font-weight: 600; } .verdict.good, .good { color: var(--good); }
.verdict.bad, .error { color: var(--error); }
.warning { color: var(--warning); } .soft { color: var(--soft); }
.totals { display: flex; flex-wrap: wrap; gap: .6rem; margin: .8rem 0; padding: 0; list-style: none; }
.totals li { padding: .4rem .9rem; background: var(--raised); border-radius: .4rem; }
.totals b { display: block; font-size: 1.3rem; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; min-width: 0; }
table { border-collapse: collapse; width: max-content; max-width: 64rem; font-size: .9rem; overflow-wrap: normal; }
caption { text-align: left; white-space: nowrap; color: var(--soft); padding: .2rem 0; }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.scroll { overflow-x: auto; margin: .6rem 0; --under: var(--paper); background-repeat: no-repeat;
  background-attachment: local, local, scroll, scroll; background-size: 2rem 100%, 2rem 100%, .5rem 100%, .5rem 100%;
  background-position: left, right, left, right; background-image:
  linear-gradient(to right, var(--under) 50%, transparent), linear-gradient(to left, var(--under) 50%, transparent),
  linear-gradient(to right, var(--shade), transparent), linear-gradient(to left, var(--shade), transparent); }
details .scroll { --under: var(--raised); }
details { margin: .5rem 0; padding: .5rem .8rem; background: var(--raised); border-radius: .4rem; }
summary { cursor: pointer; }
.badge { font-weight: 700; margin-right: .5rem; } td b { white-space: nowrap; }
.rule { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
figure { margin: .6rem 0; } figcaption { color: var(--soft); font-size: .9rem; }
.wide svg { display: block; width: 100%; min-width: 40rem; height: auto; }
.chart { max-width: 36rem; } .chart > svg, .bar > svg { display: block; width: 100%; height: auto; }
.bar > svg { height: 1.8rem; }
.racks { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-end; }
.racks figure { width: 9rem; margin: 0; } .racks figure > svg { display: block; width: 100%; height: auto; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .3rem 0; padding: 0; list-style: none;
  font-size: .9rem; }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .4em; vertical-align: -.05em; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; } .racks figure { width: 47%; }
  .racks { gap: .6rem; } #changes td:first-child { max-width: 11rem; overflow-wrap: anywhere; }
  #changes td.number { max-width: 6.5rem; white-space: normal; } }
@media print { :root { font-size: 11px; --ink: #000; --soft: #444; --rule: #bbb; }
  body { max-width: none; padding: 0; font-size: 1rem; } .scroll { overflow: visible; background: none; }
  .wide svg { min-width: 0; } figure, tr { break-inside: avoid; } h2, h3, summary { break-after: avoid; }
  caption, .legend { break-after: avoid; }
  details::details-content { content-visibility: visible; height: auto; } details { padding: 0; background: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
""")

SERIES = 7
"""Colours there are, as classes c0 to c6 and s0 to s6."""
