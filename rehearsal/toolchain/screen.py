"""Reports of a build on a console."""

from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rehearsal.toolchain.go import Report


def on(console: Console, indent: str = "") -> Report:
    """Lines, and on a terminal the step under way as one that keeps itself up to date."""
    return Terminal(console, indent) if console.is_terminal else Lines(console, indent)


class Lines:
    """One line per step, for a log."""

    def __init__(self, console: Console, indent: str) -> None:
        self._console, self._indent = console, indent

    def __call__(self, line: str) -> None:
        self._console.print(f"{self._indent}{line}", highlight=False, markup=False, soft_wrap=True)


class Terminal(Lines):
    """Lines that stay, below them the one that changes."""

    def following(self, now: Callable[[], str]) -> Live:
        """Shows what `now` says, twice a second, as long as the context is open."""
        return Live(
            get_renderable=lambda: Text(f"{self._indent}{now()}", no_wrap=True, overflow="ellipsis"),
            console=self._console,
            refresh_per_second=2,
            transient=True,
        )
