"""What the text of a plan is laid out with: tables, facts, bars. Everything prints at 80 columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

MARGIN = 2

_STYLES = ("cyan", "green", "yellow", "magenta", "blue", "red", "white")
_FREE, _END = ".", "|"
_UNBROKEN = 13
"""Columns no wider than this are never wrapped, so that a narrow screen breaks sentences before names."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a memory, in decimal GB. The bar writes it with the first letter of its name."""

    name: str
    gb: float

    @property
    def letter(self) -> str:
        """What the part is drawn with."""
        return self.name[0]


def section(title: str, *below: RenderableType) -> RenderableType:
    """A heading and what stands below it."""
    return Group(Text(title, "bold"), *(Padding(each, (0, 0, 0, MARGIN), expand=False) for each in below), Text())


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], whole: Sequence[int] = ()) -> RenderableType:
    """A table. Columns of numbers stand at the right; empty ones are left out, those of `whole` never wrapped."""
    lines = [[_cell(value) for value in row] for row in rows]
    shown = [index for index in range(len(headings)) if any(line[index] for line in lines)]
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index in shown:
        cells = (line[index].replace(",", "").replace(".", "", 1) for line in lines)
        numeric = all(not cell or cell.isdigit() for cell in cells)
        longest = max(len(cell) for cell in (headings[index], *(line[index] for line in lines)))
        grid.add_column(
            headings[index],
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=longest <= _UNBROKEN or index in whole,
        )
    for line in lines:
        grid.add_row(*(Text(line[index]) for index in shown))
    return grid


def facts(rows: Iterable[tuple[str, str | None]]) -> RenderableType:
    """Names and what they are, one under the other; without those that are None."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            grid.add_row(Text(name), Text(value))
    return grid


def bar(parts: Sequence[Part], capacity_gb: float, width: int) -> Text:
    """Memory by part over `width` characters, the rest dotted. What does not fit runs past the mark of the capacity."""
    shown = [part for part in parts if part.gb > 0]
    used = sum(part.gb for part in shown)
    scale = max(capacity_gb, used) / width
    ends, end = [0], 0.0
    for part in shown:
        end += part.gb
        ends.append(round(end / scale))
    text = Text()
    for index, part in enumerate(shown):
        text.append(part.letter * (ends[index + 1] - ends[index]), _STYLES[index % len(_STYLES)])
    text.append(_FREE * (width - ends[-1]), "dim")
    if used <= capacity_gb:
        return text + Text(_END)
    mark = round(capacity_gb / scale)
    return text[:mark] + Text(_END, "bold red") + text[mark:]


def legend(parts: Sequence[Part]) -> Text:
    """The parts with their letters and sizes."""
    shown = [part for part in parts if part.gb > 0]
    text = Text()
    for index, part in enumerate(shown):
        text.append(", " if index else "")
        text.append(part.letter, _STYLES[index % len(_STYLES)])
        text.append(f"{part.name[1:]} {part.gb:.1f}")
    return text


def quantity(value: float) -> str:
    """A number with thousands apart and no more places than it has; at most two."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _cell(value: object) -> str:
    if value is None:
        return ""
    return quantity(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
