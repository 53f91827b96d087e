"""Another account of this machine: `nobody`, which tests become by themselves as root, else by sudo."""

import pwd
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

NOBODY = "nobody"
BY_SUDO = ("sudo", "-n", "-u", NOBODY, "--")
NEITHER = "`sudo -n -u nobody` is refused here, or starts no Python that this account may read"


def uid() -> int:
    """The number of the account."""
    return pwd.getpwnam(NOBODY).pw_uid


@cache
def python(*before: str) -> tuple[str, ...]:
    """A Python without packages that `nobody` can start behind these words; nothing where there is none.

    One below somebody's home cannot be read by others, as on GitHub's runners; the system's own can.
    """
    for each in (str(Path(sys.executable).resolve()), "/usr/bin/python3"):
        words = (*before, each, "-I", "-S", "-c")
        try:
            if subprocess.run([*words, "pass"], capture_output=True, check=False, cwd="/", timeout=30).returncode == 0:
                return words
        except OSError:
            continue
    return ()


def run(program: str, *arguments: str, by_sudo: bool) -> subprocess.CompletedProcess[str] | None:
    """What a program prints as the other account; None where sudo lets these tests not become it. Without `by_sudo`
    only root may ask.
    """
    if not by_sudo:
        return _done([sys.executable, "-I", "-S", "-c", _LEAVE + program, str(uid()), *arguments])
    words = python(*BY_SUDO)
    return _done([*words, "import sys; del sys.argv[1]\n" + program, str(uid()), *arguments]) if words else None


_LEAVE = """
import encodings.idna, os, sys
number = int(sys.argv.pop(1))
os.setgroups([])
os.setgid(number)
os.setuid(number)
"""
"""The module is read while it can be: afterwards an interpreter below root's home is closed."""


def _done(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, cwd="/", check=False, timeout=60)
