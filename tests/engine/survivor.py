"""One site for what is killed, frozen and throttled."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.engine import state
from rehearsal.engine.locks import locks

from .leaks import CommandLines, forms, secret_values
from .rehearsed import COMMAND_SECONDS, Rehearsed, command

NAME = "survivor"


@dataclass
class Survivor:
    """The site, the directory its state lies in, and every command line that was seen while it worked."""

    site: Rehearsed
    home: Path
    seen: CommandLines
    said: list[str] = field(default_factory=list)
    """What the commands printed."""
    secrets: dict[bytes, str] = field(default_factory=dict)
    """What must never be seen in clear -> whose it is; known once the stack was applied."""
    whole: bool = False
    """Whether the stack is applied and nothing was done to it since."""

    def command(self, word: str, *options: str, seconds: float = COMMAND_SECONDS) -> subprocess.CompletedProcess[str]:
        """`python -m rehearsal WORD` for this site, as a person types it."""
        which = ("--site", NAME, "--stack", self.site.stack, "--root", str(self.site.tree.root))
        done = command(self.home, word, *which, *options, seconds=seconds)
        self.said.append(done.stdout)
        return done

    def interrupted(self) -> list[state.Pending]:
        """The operations that were under way when the engine died."""
        return state.pending(self.site.session.engine.export())

    def locked(self) -> bool:
        """Whether a lock lies on the stack, held or left behind."""
        return bool(locks(self.site.directory.backend, self.site.stack))

    def converge(self) -> None:
        """Bring the stack to what its file says, whatever was done to it before."""
        if self.whole:
            return
        if self.locked() or self.interrupted():
            done = self.command("recover")
            assert done.returncode == 0, done.stdout
        self.site.up().require()
        self.applied()

    def applied(self) -> None:
        """To be called when an `up` has succeeded."""
        self.site.settled()
        self.secrets |= forms(secret_values(self.site.session.engine))
        self.whole = True
