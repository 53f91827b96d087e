"""The command line of rehearsal: arguments, signals, and errors as sentences."""

import argparse
import contextlib
import errno
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rehearsal import places
from rehearsal.command import commands, mending, ordering
from rehearsal.command.errors import CommandError
from rehearsal.engine.run import EngineError
from rehearsal.engine.stackfile import StackFileError, program_root
from rehearsal.kubelet import faults
from rehearsal.particulars import ParticularsError

INTERRUPTED = 130
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def console() -> int:
    """The installed command `rehearse`, after which the process ends."""
    return main(sys.argv[1:], last=True)


def main(arguments: Sequence[str], *, last: bool = False) -> int:
    """Run one command; returns the exit status (0 fine, 1 failed, 130 interrupted). With `last` the process ends with
    it.
    """
    options = parser().parse_args(arguments)
    with _ended_by_signals(last=last):
        try:
            options.root = program_root(options.root)
            status: int = options.run(options)
        except KeyboardInterrupt:
            return INTERRUPTED
        except (CommandError, EngineError, StackFileError, ParticularsError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            print(
                f"error: the disk is full ({error.strerror}): free some space below {places.state()}, or set"
                f" GPUCLUSTER_HOME "
                "to a directory on another disk, then run the same command again.",
                file=sys.stderr,
            )
            return 1
    return status


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser(prog="rehearse", description="Apply a stack of a Pulumi program offline.")
    sub = top.add_subparsers(required=True, metavar="COMMAND")
    up = _command(sub, "up", commands.up, "apply the stack and leave it running")
    _stack(up)
    _verbose(up)
    down = _command(sub, "down", commands.down, "destroy the stack, prove that nothing is left, stop everything")
    _stack(down)
    status = _command(sub, "status", commands.status, "what runs: processes, nodes, gangs, services")
    _stack(status)
    kubectl = _command(sub, "kubectl", commands.kubectl, "run kubectl as the cluster's administrator")
    _stack(kubectl)
    kubectl.add_argument("--cluster", help="the EKS cluster's name, if there are several")
    kubectl.add_argument("words", nargs=argparse.REMAINDER, help="-- and kubectl's own arguments")
    rehearse = _command(sub, "rehearse", commands.rehearse, "up, assertions, a preview without changes, down")
    _stack(rehearse)
    _verbose(rehearse)
    recover = _command(sub, "recover", mending.recover, "clean up after a killed engine; also on a real stack")
    _stack(recover)
    recover.add_argument("--real", action="store_true", help="the stack of your own backend and account")
    recover.add_argument(
        "--yes", action="store_true", help="with --real: do not ask whether an engine is working on it"
    )
    recover.add_argument("--clear", action="store_true", help="also clear resources whose state cannot be determined")
    recover.add_argument("--restore", action="store_true", help="first replace a damaged state with its newest backup")
    refresh = _command(sub, "refresh", mending.refresh, "show drift, and write it to the state")
    _stack(refresh)
    refresh.add_argument("--yes", action="store_true", help="do not ask")
    preview = _command(sub, "preview", commands.preview, "what the tree would change")
    _stack(preview)
    preview.add_argument("--base", help="a git revision to compare the tree with")
    preview.add_argument(
        "--base-tree", type=Path, metavar="DIR", help="the revision's tree, where it is checked out already"
    )
    preview.add_argument("--events", type=Path, metavar="FILE", help="write the engine's event log there, for programs")
    preview.add_argument(
        *("--policy-pack",), type=Path, action="append", default=[], metavar="DIR", help="check these policies"
    )
    load = _command(sub, "load", ordering.load, "send requests to a Service of the running rehearsal")
    _stack(load)
    load.add_argument("service", help="its name, or namespace/name")
    load.add_argument("--rps", type=_rate, required=True, help="requests a second; 0 stops the load")
    load.add_argument("--seconds", type=_rate, default=600.0, help="for how long (default: 600)")
    fail = _command(sub, "fail", ordering.fail, "inject a fault into a node of the running rehearsal")
    _stack(fail)
    fail.add_argument("node", help="the node's name")
    fail.add_argument("kind", choices=list(faults.KINDS), help="what fails")
    fail.add_argument("--gpu", type=int, default=0, help="which GPU, of those that fail alone (default: 0)")
    fail.add_argument("--target", help="a device, or for oom namespace/pod/container")
    heal = _command(sub, "heal", ordering.heal, "clear the faults of a node")
    _stack(heal)
    heal.add_argument("node", help="the node's name")
    heal.add_argument("kind", nargs="?", choices=list(faults.KINDS), help="one kind only (default: all)")
    return top


def _name(text: str) -> str:
    """The name of a stack or a site, for argparse."""
    try:
        places.site(text, Path())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _rate(text: str) -> float:
    """A number that is not negative, for argparse."""
    with contextlib.suppress(ValueError):
        found = float(text)
        if 0 <= found < float("inf"):
            return found
    raise argparse.ArgumentTypeError(f"{places.bare(text)} is not a number of 0 or more, such as 20 or 0.5")


def _command(
    sub: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, run: commands.Run, help: str
) -> argparse.ArgumentParser:
    command = sub.add_parser(name, help=help, description=help)
    command.set_defaults(run=run)
    return command


def _stack(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stack", type=_name, default="dev", help="the stack's name (default: dev)")
    command.add_argument("--site", type=_name, help="the rehearsal's name (default: the stack's)")
    command.add_argument("--root", type=Path, default=Path(), help="the program's directory (default: the current one)")


def _verbose(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also list every resource type, simulated image and phase at the end",
    )


@contextlib.contextmanager
def _ended_by_signals(*, last: bool) -> Iterator[None]:
    """Ctrl-C, a request to end and a closed terminal are one thing: what runs is ended in order.

    A command that is the `last` of its process and ignores them on the way out goes on to: Python has still to end, and
    a signal then would take the place of the status.
    """

    def interrupt(number: int, _: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if not (last and signal.getsignal(number) is signal.SIG_IGN):
                signal.signal(number, handler)
