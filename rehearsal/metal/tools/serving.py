"""Every tool of a host in one process, which has imported them all once and forks for each call.

A tool's program names its own process. Whoever answers takes over what that one was started with: streams
(pidfd_getfd(2)), directory, environment, umask, words. Where it may not, the program starts an interpreter itself.
"""

import ctypes
import importlib
import os
import pathlib
import signal
import socket
import sys
import traceback

from rehearsal.metal.tools import machine

PORT = 1
_GETFD = 438
"""The number of pidfd_getfd, the same on every architecture (Linux, include/uapi/asm-generic/unistd.h)."""


def main(_name: str, _words: list[str]) -> int:
    """Answer calls until the host is off."""
    here = pathlib.Path(__file__)
    for each in here.parent.glob("*.py"):
        importlib.import_module(f"rehearsal.metal.tools.{each.stem}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.create_server(("127.0.0.1", PORT), backlog=128)
    while True:
        caller, _ = server.accept()
        if os.fork() == 0:
            try:
                _answer(caller)
            finally:
                os._exit(1)
        caller.close()


def _answer(caller: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    lines = caller.makefile("rw")
    pid, module, name = lines.readline().split()
    words = _become(int(pid))
    print("taken", file=lines, flush=True)
    print(_called(module, name, words), file=lines, flush=True)


def _become(pid: int) -> list[str]:
    """Take the place of a process; the words that it was called with. Raises OSError where it may not be seen."""
    handle, libc = os.pidfd_open(pid), ctypes.CDLL(None, use_errno=True)
    for number in range(3):
        theirs = libc.syscall(_GETFD, handle, number, 0)
        if theirs < 0:
            raise OSError(ctypes.get_errno(), f"stream {number} of process {pid}")
        os.dup2(theirs, number)
        os.close(theirs)
    place = pathlib.Path("/proc", str(pid))
    os.environb.clear()
    for each in place.joinpath("environ").read_bytes().split(b"\0")[:-1]:
        key, _, value = each.partition(b"=")
        os.environb[key] = value
    os.chdir(place / "cwd")
    os.umask(int(place.joinpath("status").read_text().partition("\nUmask:")[2].split()[0], 8))
    machine.caller = pid
    return [os.fsdecode(each) for each in place.joinpath("cmdline").read_bytes().split(b"\0")[2:-1]]


def _called(module: str, name: str, words: list[str]) -> int:
    """The exit status of a call, as that of an interpreter of its own."""
    try:
        status = importlib.import_module(f"rehearsal.metal.tools.{module}").main(name, words)
        sys.stdout.flush()
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
        status = 1
    return int(status or 0)
