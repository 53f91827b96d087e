"""`up`: start what is not there, recover what was interrupted, apply the stack, wait until it runs, show the table."""

import time

from rehearsal.command.errors import CommandError
from rehearsal.command.session import Session, enter
from rehearsal.engine import state
from rehearsal.engine.locks import locks
from rehearsal.engine.recover import Recovery, recover
from rehearsal.engine.run import Outcome
from rehearsal.engine.table import recovery_table
from rehearsal.engine.view import ClusterView

WAIT_SECONDS = 180.0
LOOK_SECONDS = 1.0


def up(session: Session, text: str) -> Outcome:
    """Apply the stack whose file holds `text`; raises CommandError if the engine fails."""
    console, meter = session.console, session.meter
    if session.replaced:
        console.print(f"  generated secrets stand in for {', '.join(session.replaced)}", highlight=False)
    for held in session.seed(text):
        console.print(f"  the account holds {held}", highlight=False)
    recover_if_needed(session)
    with meter.phase("preview"):
        console.print("preview")
        preview = session.engine.preview(watch=session.lines(steps=False))
    _require(preview)
    console.print(f"  {summary(preview)}", highlight=False)
    with meter.phase("update"):
        console.print("update")
        outcome = session.engine.up(watch=session.lines())
    _require(outcome)
    return outcome


def recover_if_needed(session: Session) -> None:
    """Settle what a killed engine left. Raises CommandError if an engine still works on the stack."""
    engine = session.engine
    if pid := session.locked_by():
        raise CommandError(f"pulumi (pid {pid}) works on stack {engine.stack} now: let it end, or interrupt it.")
    stale = locks(session.directory.backend, engine.stack)
    if not stale and not state.pending(engine.export()):
        return
    session.console.print("recover: the engine was killed while it worked on this stack", style="yellow")
    recovery = run_recovery(session)
    if not recovery.complete:
        raise CommandError(undecided(engine.stack))


def undecided(stack: str) -> str:
    """What to do about operations that a recovery cannot settle."""
    return f"nothing was settled yet: deal with what the table leaves, then `make recover STACK={stack} CLEAR=1`."


def run_recovery(session: Session, *, clear_rest: bool = False) -> Recovery:
    """Recover and print what was found."""
    enter(session.engine.env)
    with session.meter.phase("recover"):
        recovery = recover(session.engine, watch=session.lines(), clear_rest=clear_rest)
    session.console.print(recovery_table(recovery))
    return recovery


def wait_until_running(session: Session) -> tuple[list[ClusterView], list[str]]:
    """Wait until every node, gang and service runs as asked; returns what there is and what is not as asked."""
    deadline = time.monotonic() + WAIT_SECONDS
    said: list[str] = []
    with session.meter.phase("gangs and services"):
        while True:
            views = session.views()
            missing = [sentence for view in views for sentence in view.unready()]
            if not missing or time.monotonic() > deadline:
                return views, missing
            for sentence in missing:
                if sentence not in said:
                    session.console.print(f"  [dim]… {sentence}[/]", highlight=False)
            said = missing
            time.sleep(LOOK_SECONDS)


def summary(outcome: Outcome) -> str:
    """The engine's counts in one line: `create 143, same 12`."""
    changes = outcome.record.changes
    return ", ".join(f"{change} {count}" for change, count in sorted(changes.items())) or "nothing"


def _require(outcome: Outcome) -> None:
    """Stop here if the engine failed; its errors were printed as they came, unless it never came to work."""
    took = f"after {outcome.seconds:.0f} s"
    if outcome.status < 0:
        raise CommandError(f"pulumi {outcome.operation} was killed {took} ({outcome.log} has its words): try again.")
    if outcome.status:
        reason = "" if outcome.record.errors() else f":\n{outcome.explain()}"
        raise CommandError(f"pulumi {outcome.operation} failed {took}{reason} (log: {outcome.log})")
