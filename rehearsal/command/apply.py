"""`up`: start what is not there, recover what was interrupted, apply the stack, wait until it runs, show the table."""

import time
from collections.abc import Sequence

from rich.markup import escape

from rehearsal.command import ordering
from rehearsal.command.errors import CommandError
from rehearsal.command.session import Session, enter
from rehearsal.engine import events, state
from rehearsal.engine.ending import endings
from rehearsal.engine.locks import locks
from rehearsal.engine.recover import Recovery, recover
from rehearsal.engine.run import Outcome
from rehearsal.engine.table import recovery_table
from rehearsal.engine.view import ClusterView
from rehearsal.engine.watching import Watching
from rehearsal.particulars import Particulars
from rehearsal.toolchain import BuildError, needs, screen

WAIT_SECONDS = 180.0
STILL_SECONDS = 60.0
"""Without any change for so long nothing more will come: a kubelet's patience passes here 20 times as fast."""
LOOK_SECONDS = 1.0
QUIET_SECONDS = 240.0
"""By then an alert has ended that fired only while the stack came to be. Assumed."""
LOCKED = "the stack is currently locked by"
"""What Pulumi says where another engine was faster (pulumi, pkg/backend/diy, lock.go)."""


def up(session: Session, text: str) -> Outcome:
    """Apply the stack whose file holds `text`; raises CommandError if the engine fails."""
    console, meter = session.console, session.meter
    if session.replaced:
        console.print(f"  using generated secrets for {', '.join(session.replaced)}", highlight=False)
    for held in session.seed(text):
        console.print(f"  the account holds {held}", highlight=False)
    recover_if_needed(session)
    with meter.phase("preview"):
        console.print("preview")
        preview = session.engine.preview(watch=session.lines(steps=False))
    _require(preview)
    console.print(f"  {summary(preview)}", highlight=False)
    for sentence in endings(preview.events, session.program.loses):
        console.print(f"  {escape(sentence)}", style="bold red", highlight=False)
    build_for(session, preview)
    _alone(session)
    with meter.phase("update"):
        console.print("update")
        outcome = session.engine.up(watch=session.lines())
    if outcome.status and LOCKED in outcome.explain():
        # Pulumi's own advice, `pulumi cancel`, would take the lock from the one that works.
        _alone(session)
        raise CommandError("another command was working on the stack and has ended: try again.")
    _require(outcome)
    return outcome


def build_for(session: Session, preview: Outcome) -> None:
    """Build what the previewed stack needs and is not there yet, while nothing waits for it. Raises CommandError."""
    try:
        if not needs.OPTIONAL.lacking():
            return
        with session.meter.phase("tools of the stack"):
            needs.of(events.registered(preview.events)).provide(screen.on(session.console, "  "))
    except BuildError as error:
        raise CommandError(str(error)) from error


def recover_if_needed(session: Session) -> None:
    """Settle what a killed engine left. Raises CommandError if an engine still works on the stack."""
    engine = session.engine
    _alone(session)
    stale = locks(session.directory.backend, engine.stack)
    if not stale and not state.pending(engine.export()):
        return
    session.console.print("recover: the engine was killed while working on this stack", style="yellow")
    recovery = run_recovery(session)
    if not recovery.complete:
        raise CommandError(undecided(session.program, engine.stack))


def _alone(session: Session) -> None:
    """Raises CommandError if an engine works on the stack."""
    if pid := session.locked_by():
        raise CommandError(
            f"pulumi (pid {pid}) works on stack {session.engine.stack} now, started by another command: let it"
            f" finish, or interrupt it. Nothing was changed here."
        )


def undecided(program: Particulars, stack: str) -> str:
    """What to do about operations that a recovery cannot settle."""
    again = program.typed("recover", stack, "clear")
    return f"nothing was changed yet: resolve what the table lists, then `{again}`."


def run_recovery(session: Session, *, clear_rest: bool = False) -> Recovery:
    """Recover and print what was found."""
    enter(session.engine.env)
    with session.meter.phase("recover"):
        recovery = recover(session.engine, watch=session.lines(), clear_rest=clear_rest)
    session.console.print(recovery_table(recovery))
    return recovery


def wait_until_running(session: Session) -> tuple[list[ClusterView], list[str]]:
    """Wait until all that the program declared is there and as asked; returns what there is, and what is not.

    What the account has lost does not come by waiting, nor does what would run on it.
    """
    moved = time.monotonic()
    deadline = moved + WAIT_SECONDS
    said: list[str] = []
    guard = session.guard(lambda *_: None)
    with session.meter.phase("what was declared"):
        while True:
            began = time.monotonic()
            guard.look()
            gone, views = session.gone(), session.views()
            missing = gone + [sentence for view in views for sentence in view.unready()]
            now = time.monotonic()
            moved = moved if missing == said else now
            if gone or not missing or now > min(deadline, moved + STILL_SECONDS):
                return views, missing
            for sentence in missing:
                if sentence not in said:
                    session.console.print(f"  [dim]… {escape(sentence)}[/]", highlight=False)
            said = missing
            # At most half of the time goes into looking: the cluster comes to be on the same processors.
            time.sleep(max(LOOK_SECONDS, now - began))


def wait_until_quiet(session: Session, missing: Sequence[str]) -> tuple[list[Watching], list[str]]:
    """Wait until no alert fires that somebody is to act on; what watches, and a sentence for each that still does.

    Where somebody ordered a failure or a load alerts are what is expected, and nothing is waited for; nor is it where
    something is `missing`, of which they may tell.
    """
    deadline = time.monotonic() + (0.0 if missing else QUIET_SECONDS)
    said: list[str] = []
    guard = session.guard(lambda *_: None)
    with session.meter.phase("alerts"):
        while True:
            watched = session.watched()
            firing = [f"alert of {each.cluster} fires, {alert}" for each in watched for alert in each.loud]
            if not firing or ordering.present(session.directory):
                return watched, []
            if time.monotonic() > deadline:
                return watched, firing
            for sentence in firing:
                if sentence not in said:
                    session.console.print(f"  [dim]… {escape(sentence)}[/]", highlight=False)
            said = firing
            guard.look()
            time.sleep(LOOK_SECONDS)


def summary(outcome: Outcome) -> str:
    """The engine's counts in one line: `create 143, same 12`."""
    changes = outcome.record.changes
    return ", ".join(f"{change} {count}" for change, count in sorted(changes.items())) or "nothing"


def _require(outcome: Outcome) -> None:
    """Stop here if the engine failed; its errors were printed as they came, unless it never came to work."""
    took = f"after {outcome.seconds:.0f} s"
    if outcome.status < 0:
        raise CommandError(f"pulumi {outcome.operation} was killed {took} ({outcome.log} has its output): try again.")
    if outcome.status:
        reason = "" if outcome.record.errors() else f":\n{outcome.explain()}"
        raise CommandError(f"pulumi {outcome.operation} failed {took}{reason} (log: {outcome.log})")
