"""The commands themselves, each from parsed arguments to an exit status."""

import argparse
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from rich.console import Console

from rehearsal import particulars, places, sites, toolchain
from rehearsal.cluster.layout import CURL, PROXY
from rehearsal.command import apply, asked, difference, ordering, preflight, removal
from rehearsal.command.contents import absent, failed, kubeconfigs, shown, views, watched
from rehearsal.command.errors import CommandError, StateLostError
from rehearsal.command.meter import Meter
from rehearsal.command.session import Session, forget, open_session
from rehearsal.engine.run import EngineError
from rehearsal.engine.stackfile import stack_file
from rehearsal.engine.table import closing, cluster_tables, console, phases_table, say
from rehearsal.engine.view import ClusterView
from rehearsal.engine.watching import Watching
from rehearsal.racks import keeper as racks

Run = Callable[[argparse.Namespace], int]


def up(options: argparse.Namespace) -> int:
    """Apply the stack and leave it running; 1 if something does not run in the end."""
    root = options.root
    preflight.check(root, options.stack)
    preflight.hosts(root, options.stack)
    name = options.site or options.stack
    screen, meter = console(), Meter()
    with _nothing_left(places.site(name, root), screen):
        session = open_session(name, root, options.stack, screen, meter)
        outcome = apply.up(session, stack_file(root, options.stack).read_text())
        seen, missing = apply.wait_until_running(session)
        shows = session.shown()
        watching, firing = apply.wait_until_quiet(session, missing)
    screen.print(closing(outcome.record.by_type(), seen, meter.phases, whole=options.verbose))
    _show(screen, shows)
    _point(screen, watching, session.program, options.stack)
    status = _complain(screen, seen, missing + firing)
    _next(screen, session.program, options)
    return status


def down(options: argparse.Namespace) -> int:
    """Destroy the stack, prove that nothing is left, stop everything."""
    root, name = options.root, options.site or options.stack
    screen, meter = console(), Meter()
    directory = places.site(name, root)
    now = sites.status(directory.path)
    if now.state is not sites.State.RUNNING:
        if directory.path.exists() and now.state is sites.State.DEAD:
            forget(directory, now.reason, screen)
        sites.stop(directory.path)
        shutil.rmtree(directory.path, ignore_errors=True)
        screen.print(f"zero left: no rehearsal {name} runs", style="green")
        return 0
    preflight.check(root, options.stack)
    with _nothing_left(directory, screen):
        try:
            _remove(open_session(name, root, options.stack, screen, meter))
        except StateLostError as error:
            return _end_without_state(directory, str(error), screen)
    screen.print(phases_table(meter.phases))
    return 0


def _end_without_state(directory: places.SiteDirectory, reason: str, screen: Console) -> int:
    """Stop a site whose stack cannot be destroyed in order: all that it made lives in it."""
    say(screen, reason, "yellow")
    sites.stop(directory.path)
    shutil.rmtree(directory.path, ignore_errors=True)
    say(
        screen,
        "the rehearsal ends without its state: account and clusters existed only in it, so nothing is left, but an"
        " ordered destroy was not proven",
    )
    return 0


def rehearse(options: argparse.Namespace) -> int:
    """Apply the stack on a site of its own, assert that it runs and is stable, take it away."""
    root = options.root
    preflight.check(root, options.stack)
    preflight.hosts(root, options.stack)
    screen, meter = console(), Meter()
    name = options.site or f"rehearse-{options.stack}"
    with _nothing_left(places.site(name, root), screen):
        try:
            session = open_session(name, root, options.stack, screen, meter)
            outcome = apply.up(session, stack_file(root, options.stack).read_text())
            seen, missing = apply.wait_until_running(session)
            shows = session.shown(now=not missing)
            missing += [each.sentence for each in shows if each.wrong]
            missing += apply.wait_until_quiet(session, missing)[1]
            problems = [*missing, *_unstable(session), *_outlived(session)]
            _remove(session)
        except (CommandError, EngineError) as error:
            raise CommandError(f"{error}{_again(options)}") from error
        finally:
            sites.stop(places.site(name, root).path)
    screen.print(closing(outcome.record.by_type(), seen, meter.phases, whole=options.verbose))
    _show(screen, shows)
    _complain(screen, seen, [])
    if problems:
        raise CommandError(f"stack {options.stack} was applied, but {'; '.join(problems)}.{_again(options)}")
    return 0


def _again(options: argparse.Namespace) -> str:
    """Where a rehearsal that failed can be looked at: its own site is gone."""
    typed = particulars.load(options.root).typed("up", options.stack)
    return f"\nNothing is left running: `{typed}` repeats it and leaves it running for inspection."


def preview(options: argparse.Namespace) -> int:
    """Print what the tree would change."""
    root = options.root
    preflight.check(root, options.stack)
    wanted = difference.Wanted(packs=tuple(options.policy_pack), events=options.events, tree=options.base_tree)
    difference.preview(root, options.stack, options.site or options.stack, options.base, console(), Meter(), wanted)
    return 0


def status(options: argparse.Namespace) -> int:
    """Print what runs; 1 if nothing does, or if something declared is not there or not as asked."""
    name = options.site or options.stack
    directory, screen, program = places.site(name, options.root), console(), particulars.load(options.root)
    now = sites.status(directory.path)
    screen.print(f"{name}: {now.state.value}, {now.reason}", highlight=False)
    if now.state is not sites.State.RUNNING or now.site is None:
        return 1
    say(screen, f"AWS at {now.site.cloud_url}, logs in {directory.logs}")
    for label, path in kubeconfigs(directory).items():
        say(screen, f"cluster {label}: kubeconfig {path}")
        if (proxy := path.with_name(PROXY)).exists():
            ask = f"curl -K {proxy.with_name(CURL)} http://SERVICE.NAMESPACE:PORT/"
            say(screen, f"cluster {label}: its Services and pods answer to `{ask}`")
    for sentence in racks.shown(directory):
        say(screen, sentence)
    for sentence in ordering.present(directory):
        say(screen, sentence, "yellow")
    seen = views(directory, program)
    for table in (each for cluster in seen for each in cluster_tables(cluster)):
        screen.print(table)
    _show(screen, shown(directory, program, now.site.account))
    for sentence in failed(directory, program):
        say(screen, sentence, "yellow")
    _point(screen, watched(directory), program, options.stack)
    lost = absent(now.site, program, options.stack)
    return _complain(screen, seen, lost + [sentence for cluster in seen for sentence in cluster.unready()])


def _show(screen: Console, shows: Iterable[particulars.Shown]) -> None:
    """Say what the clusters have to show beside what runs in them."""
    for each in shows:
        style = "yellow" if each.wrong else "green"
        say(screen, each.sentence, style)


def _point(screen: Console, found: Iterable[Watching], program: particulars.Particulars, stack: str) -> None:
    """Say where to look: Prometheus, what the program shows of it, and the alerts that reach people now."""
    for each in found:
        lines = [f"Prometheus of {each.cluster}: curl -K {each.proxy.with_name(CURL)} {each.prometheus}/api/v1/targets"]
        lines += program.looks(stack, each.prometheus, f"$(cat {each.proxy})")
        for line in lines:
            say(screen, line)
        style = "green" if each.alerts == [] else "yellow"
        for line in (each.state, *(f"  {alert}" for alert in each.alerts or ())):
            say(screen, line, style)


def _next(screen: Console, program: particulars.Particulars, options: argparse.Namespace) -> None:
    """What a person types next."""
    words = [program.typed(command, options.stack) for command in ("status", "kubectl", "preview", "down")]
    verbose = program.typed("up", options.stack, "verbose")
    more = "" if options.verbose else f"; `{verbose}` lists every type, simulated image and phase"
    say(screen, f"next: {', '.join(f'`{each}`' for each in words)}{more}")


def _complain(screen: Console, seen: Iterable[ClusterView], missing: Sequence[str]) -> int:
    """Say what is not as asked, and what nothing here proves; the exit status."""
    for sentence in (sentence for cluster in seen for sentence in cluster.unproven):
        say(screen, sentence, "yellow")
    for sentence in missing:
        say(screen, sentence, "red")
    return 1 if missing else 0


def kubectl(options: argparse.Namespace) -> int:
    """Become kubectl, as the cluster's administrator; does not return if all is well."""
    name = options.site or options.stack
    there = kubeconfigs(places.site(name, options.root))
    wanted = {label: path for label, path in there.items() if options.cluster in {None, label.partition("/")[2]}}
    if not wanted:
        up = particulars.load(options.root).typed("up", options.stack)
        raise CommandError(f"rehearsal {name} has no such cluster: `{up}` makes one.")
    if len(wanted) > 1:
        raise CommandError(f"rehearsal {name} has the clusters {', '.join(wanted)}: choose one with --cluster.")
    try:
        binary = toolchain.ensure(["kubernetes"], report=lambda line: print(line, file=sys.stderr))["kubectl"]
    except toolchain.BuildError as error:
        raise CommandError(str(error)) from error
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if asked.answered(words, next(iter(wanted.values()))):
        return 0
    env = os.environ | {"KUBECONFIG": str(next(iter(wanted.values())))}
    return os.execve(binary, ["kubectl", *words], env)  # noqa: S606 - kubectl takes this process's place: its terminal, its status


def _remove(session: Session) -> None:
    """Destroy, prove, stop: the site is stopped also if something is left, and its directory kept to look into."""
    removal.destroy(session)
    try:
        removal.prove_empty(session)
    except CommandError:
        sites.stop(session.directory.path)
        raise
    session.stop()


def _unstable(session: Session) -> list[str]:
    """A second preview must find nothing to do."""
    with session.meter.phase("preview again"):
        session.console.print("second preview: must show no changes")
        outcome = session.engine.preview("--expect-no-changes", watch=session.lines(steps=False))
    changed = [f"{op} {token} {name}" for op, token, name in outcome.record.operations()]
    if changed:
        return [f"the second preview shows changes: {', '.join(changed)}"]
    return [f"the second preview fails: {outcome.explain()}"] if outcome.status else []


def _outlived(session: Session) -> Sequence[str]:
    """A stack that ends by itself does so before it is taken away; what remains of it then has to be destroyed too."""
    text = stack_file(session.engine.root, session.engine.stack).read_text()
    with session.meter.phase("its own end"):
        return session.program.outlive(text, session.site.account, partial(say, session.console))


@contextlib.contextmanager
def _nothing_left(directory: places.SiteDirectory, screen: Console) -> Iterator[None]:
    """On an interrupt end the site too: nothing is left running, and the next `up` starts clean."""
    try:
        yield
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C would swallow what is said below
        screen.print("interrupted: stopping everything", style="yellow")
        sites.stop(directory.path)
        shutil.rmtree(directory.path, ignore_errors=True)
        screen.print(f"nothing is left running; the next `up` starts {directory.path.name} clean")
        raise
