"""`preview`: what the tree would change, without an account: against what is applied, or against another revision."""

import contextlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from rehearsal import places, sites
from rehearsal.command import preflight
from rehearsal.command.apply import recover_if_needed, summary
from rehearsal.command.errors import CommandError
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, open_session
from rehearsal.engine.ending import endings
from rehearsal.engine.stackfile import StackFileError, stack_file
from rehearsal.engine.table import say


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a preview does besides printing: which policy packs judge it, and where the engine's event log goes.

    `tree` is the base where somebody has checked it out already, so that previews of several stacks share it.
    """

    packs: tuple[Path, ...] = ()
    events: Path | None = None
    tree: Path | None = None

    def check(self) -> None:
        """Before anything is started; raises CommandError."""
        for pack in self.packs:
            if not (pack / "PulumiPolicy.yaml").is_file():
                raise CommandError(f"{pack} has no policy pack: name a directory with a PulumiPolicy.yaml.")
        if self.events is not None and not self.events.absolute().parent.is_dir():
            raise CommandError(f"{self.events.parent} is not a directory: create it, or write the events elsewhere.")
        if self.tree is not None and not (self.tree / "Pulumi.yaml").is_file():
            raise CommandError(f"{self.tree} is no tree of a program: it has no Pulumi.yaml; leave out --base-tree.")

    @property
    def flags(self) -> list[str]:
        """For the engine."""
        return [word for pack in self.packs for word in ("--policy-pack", str(pack.absolute()))]


def preview(
    root: Path, stack: str, site: str, base: str | None, console: Console, meter: Meter, wanted: Wanted | None = None
) -> None:
    """Print the engine's diff. Without a base it is made on the running rehearsal `site`, or on an empty one."""
    wanted = wanted or Wanted()
    wanted.check()
    if base is not None:
        _against(root, stack, base, console, meter, wanted)
    elif sites.status(places.site(site, root).path).state is sites.State.RUNNING:
        session = open_session(site, root, stack, console, meter)
        recover_if_needed(session)
        _show(session, wanted)
    else:
        console.print(f"no rehearsal {site} runs: everything is new")
        with throw_away(f"preview-{stack}", root, stack, console, meter) as session:
            session.seed(stack_file(root, stack).read_text(), hosts=False)
            _show(session, wanted)


@contextlib.contextmanager
def throw_away(
    name: str, root: Path, stack: str, console: Console, meter: Meter, *, tree: Path | None = None
) -> Iterator[Session]:
    """A session on a site of its own that is gone afterwards, however this ends."""
    directory = places.site(name, root)
    try:
        yield open_session(name, root, stack, console, meter, tree=tree)
    finally:
        sites.stop(directory.path)
        shutil.rmtree(directory.path, ignore_errors=True)


def _against(root: Path, stack: str, base: str, console: Console, meter: Meter, wanted: Wanted) -> None:
    name = f"preview-{stack}"
    with _tree(root, base, wanted) as tree:
        try:
            text = stack_file(tree, stack).read_text()
        except StackFileError:
            console.print(f"{base} has no stack {stack}: everything is new")
            with throw_away(name, root, stack, console, meter) as session:
                session.seed(stack_file(root, stack).read_text())
                _show(session, wanted)
            return
        preflight.stack_file_readable(tree, stack)
        with throw_away(name, root, stack, console, meter, tree=tree) as session:
            session.seed(text)
            console.print(f"applying {base}")
            with meter.phase(f"update to {base}"):
                session.engine.up(watch=session.lines(steps=False)).require()
            ours = open_session(name, root, stack, console, meter)
            ours.seed(stack_file(root, stack).read_text())
            _show(ours, wanted)


@contextlib.contextmanager
def _tree(root: Path, base: str, wanted: Wanted) -> Iterator[Path]:
    """The base's tree: the one that was given, else one that is gone afterwards."""
    if wanted.tree is not None:
        yield wanted.tree
        return
    with tempfile.TemporaryDirectory(prefix="rehearsal-base-") as scratch:
        yield checkout(root, base, Path(scratch) / "tree")


def checkout(root: Path, revision: str, target: Path) -> Path:
    """The tree of a git revision below `target`, without touching the repository; raises CommandError.

    A link that leads out of the tree is left out.
    """
    archive = target.with_suffix(".tar")
    command = ["git", "-C", str(root), "archive", "--format=tar", "--output", str(archive), revision]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CommandError("comparing with a revision needs git: install it.") from error
    if done.returncode:
        raise CommandError(f"revision {places.bare(revision)} cannot be read from git: {done.stderr.strip()}")
    with tarfile.open(archive) as tar:
        tar.extractall(target, members=_within(tar, target), filter="data")
    archive.unlink()
    return target


def _within(tar: tarfile.TarFile, tree: Path) -> Iterator[tarfile.TarInfo]:
    """Its members but links that lead out of the tree, by an absolute path or by `..`: what they name is no revision's.

    Whatever else the filter "data" refuses stays refused. Source: Python's tarfile, "Extraction filters".
    """
    for member in tar:
        with contextlib.suppress(tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
            tarfile.data_filter(member, str(tree))
            yield member


def _show(session: Session, wanted: Wanted) -> None:
    with session.meter.phase("preview"):
        outcome = session.engine.preview("--diff", *wanted.flags, watch=session.lines(steps=False))
    if wanted.events is not None and outcome.events.exists():
        shutil.copyfile(outcome.events, wanted.events)
    if outcome.status:
        raise CommandError(f"pulumi preview failed:\n{outcome.explain()}")
    for sentence in endings(outcome.events, session.program.loses):
        session.console.print(sentence, style="bold red", markup=False, highlight=False)
    notes = {each.message: each.passing for each in outcome.record.diagnostics if each.severity == "info"}
    lines = (line for line in outcome.log.read_text().splitlines() if line.strip() not in notes)
    say(session.console, "\n".join(lines))
    told = [note for note, passing in notes.items() if not passing]
    for line in ("notes:", *(f"  {each}" for each in told)) if told else ():
        say(session.console, line, "dim")
    session.console.print(summary(outcome), highlight=False)
