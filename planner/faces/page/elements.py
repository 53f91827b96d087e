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
