"""What puts a stack right: what a killed engine left, a damaged state, and what was changed behind the stack's back."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from rehearsal import particulars, places, sites
from rehearsal.command import apply, preflight
from rehearsal.command.errors import CommandError
from rehearsal.command.meter import Meter
from rehearsal.command.session import open_session
from rehearsal.engine import stored
from rehearsal.engine.events import short_type
from rehearsal.engine.recover import recover as recover_stack
from rehearsal.engine.run import Engine
from rehearsal.engine.table import console, recovery_table, say


def recover(options: argparse.Namespace) -> int:
    """Settle what a killed engine left; 1 if something needs a decision."""
    root = options.root
    preflight.stack_file_readable(root, options.stack)
    screen, meter = console(), Meter()
    if options.real:
        return _recover_real(root, options, screen)
    name = options.site or options.stack
    now = sites.status(places.site(name, root).path)
    if now.state is not sites.State.RUNNING:
        typed = particulars.load(root).typed
        raise CommandError(
            f"no rehearsal {name} runs ({now.reason}), so there is nothing to recover: `{typed('up', options.stack)}` "
            f"starts one; for the real stack of your own account: `{typed('recover', options.stack, 'real')}`."
        )
    if options.restore:
        _restore(places.site(name, root), screen)
    session = open_session(name, root, options.stack, screen, meter)
    if pid := session.locked_by():
        raise CommandError(f"pulumi (pid {pid}) is working on stack {options.stack}: let it finish, or interrupt it.")
    if apply.run_recovery(session, clear_rest=options.clear).complete:
        return 0
    raise CommandError(apply.undecided(session.program, options.stack))


def refresh(options: argparse.Namespace) -> int:
    """Show what was changed behind the stack's back; once a person says yes, take it into the state.

    The program's own wishes stay as they are: the next `up` makes again what is gone, and takes back what was changed.
    """
    root, name, screen = options.root, options.site or options.stack, console()
    preflight.stack_file_readable(root, options.stack)
    now, typed = sites.status(places.site(name, root).path), particulars.load(root).typed
    if now.state is not sites.State.RUNNING:
        raise CommandError(f"no rehearsal {name} runs ({now.reason}): `{typed('up', options.stack)}` starts one.")
    session = open_session(name, root, options.stack, screen, Meter())
    apply.recover_if_needed(session)
    screen.print("refresh: differences from the state; nothing is changed yet")
    shown = session.engine.refresh("--preview-only", watch=session.lines()).require()
    changed = shown.record.operations()
    for operation, token, resource in changed:
        say(screen, f"  {operation} {short_type(token)} {resource}")
    if not changed:
        screen.print("no drift")
        return 0
    if not options.yes and not (sys.stdin.isatty() and input("Write this to the state? yes or no: ") == "yes"):
        screen.print(f"nothing was done: `{typed('refresh', options.stack, 'yes')}` writes it to the state")
        return 1
    session.engine.refresh(watch=session.lines(steps=False)).require()
    screen.print(f"written to the state; `{typed('up', options.stack)}` restores what the program declares")
    return 0


def _restore(directory: places.SiteDirectory, screen: Console) -> None:
    """Put backups in the place of damaged state files."""
    try:
        done = stored.restored(directory.backend)
    except stored.StateError as error:
        raise CommandError(str(error)) from error
    for sentence in done or ["no state file is damaged: nothing was replaced"]:
        say(screen, sentence)


def _recover_real(root: Path, options: argparse.Namespace, screen: Console) -> int:
    cli, stack = shutil.which("pulumi"), options.stack
    if cli is None:
        raise CommandError("`pulumi` is not on PATH: install it as for any real deployment.")
    question = f"This frees the lock of {stack}. If no pulumi is working on it anywhere, type its name: "
    if not options.yes and input(question) != stack:
        raise CommandError("nothing was done.")
    with tempfile.TemporaryDirectory(prefix="rehearsal-recover-") as logs:
        found = recover_stack(Engine(Path(cli), os.environ, root, stack, Path(logs)), clear_rest=options.clear)
    screen.print(recovery_table(found))
    if not found.complete:
        raise CommandError(apply.undecided(particulars.load(root), stack))
    return 0
