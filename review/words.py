"""Numbers and foreign text as Markdown has them."""

import re

_MENTION = re.compile(r"(?<![\w`])@(?=[A-Za-z0-9])")
_NO_WIDTH = "&#8203;"


def plain(text: object) -> str:
    """Text as itself: no table cell, tag, picture, link or mention comes of it."""
    words = " ".join(str(text).split())
    for mark in ("\\", "|", "<", "*", "_", "`", "[", "]", "!"):
        words = words.replace(mark, {"<": "&lt;"}.get(mark, f"\\{mark}"))
    return _MENTION.sub(f"@{_NO_WIDTH}", words)


def code(text: object) -> str:
    """Text in a code span, which may stand in a table."""
    words = " ".join(str(text).split()).replace("|", "\\|")
    fence = "``" if "`" in words else "`"
    pad = " " if fence == "``" else ""
    return f"{fence}{pad}{words}{pad}{fence}" if words else ""


def usd(amount: float) -> str:
    """Money as a reviewer reads it: cents below ten dollars, none above."""
    return f"USD {amount:,.2f}" if abs(amount) < 9.995 else f"USD {amount:,.0f}"


def gain(amount: float, per: str = "") -> str:
    """A difference of money with its sign, `same` of less than a cent."""
    if abs(amount) < 0.005:
        return "same price"
    return f"{'+' if amount > 0 else '-'}{usd(abs(amount))}{per}"


def value(number: object) -> str:
    """A number of the plan, None where it was not there."""
    if number is None:
        return ""
    if isinstance(number, list | tuple):
        return " to ".join(value(each) for each in number)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return plain(number)
    return f"{number:,}" if isinstance(number, int) else f"{number:,.10g}"


def step(before: object, after: object) -> str:
    """How much more or less a number is."""
    numbers = [each for each in (before, after) if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) < 2:
        return "new" if before is None else "gone" if after is None else ""
    return f"{round(numbers[1] - numbers[0], 6):+,.10g}"


def counted(number: int, noun: str) -> str:
    """So many of something: 1 node, 2 nodes, no node."""
    return f"{number:,} {noun}" if number == 1 else f"no {noun}" if not number else f"{number:,} {noun}s"
