"""What a person sees while the engine works: one line per finished step, errors in full, and signs of life."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape

from rehearsal.engine.events import QUIET, Diagnostic, Record, Step
from rehearsal.engine.hints import is_noise
from rehearsal.engine.remedies import remedy
from rehearsal.engine.waits import Waits, told

SILENCE_SECONDS = 15.0
_MOST = 4
"""Steps that are told of at once."""
SIGNS = {
    "create": ("+", "green"),
    "update": ("~", "yellow"),
    "delete": ("-", "red"),
    "replace": ("±", "magenta"),
    "create-replacement": ("+", "magenta"),
    "delete-replaced": ("-", "magenta"),
    "import": ("=", "cyan"),
}


class Lines:
    """A watcher for `Engine` that prints to a console. `waits` looks at what the clusters' objects wait for."""

    def __init__(self, console: Console, *, steps: bool = True, waits: Callable[[], Waits] | None = None) -> None:
        self._console = console
        self._waits = waits or dict
        self._steps = steps
        self._spoke = time.monotonic()

    def __call__(self, seen: Step | Diagnostic | None, record: Record) -> None:
        if isinstance(seen, Diagnostic):
            self._diagnostic(seen)
        elif isinstance(seen, Step):
            self._step(seen)
        elif time.monotonic() - self._spoke > SILENCE_SECONDS:
            self._sign_of_life(record)

    def _say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self._console.print(text, highlight=False, soft_wrap=True)

    def _diagnostic(self, diagnostic: Diagnostic) -> None:
        if is_noise(diagnostic):
            return
        if diagnostic.severity in {"error", "warning"}:
            colour = "red" if diagnostic.severity == "error" else "yellow"
            self._say(f"  [{colour}]{diagnostic.severity}:[/] {escape(str(diagnostic))}")
            if sentence := remedy(diagnostic.message):
                self._say(f"    {escape(sentence)}")
        elif diagnostic.severity == "info#err":
            self._say(f"  {escape(diagnostic.message)}")

    def _step(self, step: Step) -> None:
        if step.seconds is None or step.op in QUIET or step.component or not self._steps:
            return
        sign, colour = SIGNS.get(step.op, ("*", "white"))
        failed = " [red]failed[/]" if step.failed else ""
        self._say(f"  [{colour}]{sign}[/] {escape(step.urn.label)}{failed} [dim]{step.seconds:.1f} s[/]")

    def _sign_of_life(self, record: Record) -> None:
        waiting = sorted((step for step in record.running() if not step.component), key=lambda step: step.started)
        now, known = time.monotonic(), self._waits() if waiting else {}
        names = [f"{each.urn.label}{told(each, known)} ({now - each.started:.0f} s)" for each in waiting[:_MOST]]
        more = f" and {len(waiting) - _MOST} more" if len(waiting) > _MOST else ""
        self._say(f"  [dim]… {escape(', '.join(names) or 'the program is running')}{more}[/]")
