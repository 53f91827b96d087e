"""Previews of stacks by the rehearsal, run as a person runs it: `make preview STACK=... BASE=...`."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from review.compared import Compared
from review.preview import PreviewError, read

PACK = Path("policy/pack")
SECONDS = 3_600.0
"""The most that one stack may take: its base is applied first."""

Say = Callable[[str], None]


def previewed(root: Path, stack: Compared, revision: str, tree: Path, say: Say) -> Compared:
    """The stack with what the engine says of it. Where none can be made, `unseen` says why. In `tree` the revision
    lies checked out, for all stacks.

    A stack whose settings or plan are refused is not tried: the program refuses it before it registers anything.
    """
    if why := _why_not(stack):
        return replace(stack, unseen=why)
    began = time.monotonic()
    say(f"previewing {stack.stack}")
    with TemporaryDirectory(prefix="gpucluster-review-") as scratch:
        log = Path(scratch) / "events.jsonl"
        words = [sys.executable, "-m", "rehearsal", "preview", "--stack", stack.stack, "--base", revision]
        done = _run([*words, "--base-tree", str(tree), "--events", str(log), *_packs(root)], root)
        say(f"previewed {stack.stack} in {time.monotonic() - began:.0f} s")
        if not log.exists():
            return replace(stack, unseen=f"There is no preview: {_last(done)}")
        try:
            seen = read(log.read_text(encoding="utf-8").splitlines())
        except PreviewError as error:
            return replace(stack, unseen=f"There is no preview: {error}.")
    return replace(stack, preview=seen, unseen="")


def _why_not(stack: Compared) -> str:
    if stack.after is None:
        return "A stack without a file is not previewed."
    if stack.refused:
        return "A stack that is refused is not previewed."
    if stack.before and (stack.before.problems or stack.before.errors):
        return "The base itself is refused, so there is nothing to preview against."
    return ""


def _packs(root: Path) -> Sequence[str]:
    """The policies, if their environment was made (`make pack`)."""
    return ("--policy-pack", str(PACK)) if (root / PACK / ".venv" / "bin" / "python").exists() else ()


def _run(words: Sequence[str], root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """What a command complained of last."""
    lines = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ") if lines else f"the rehearsal ended with status {done.returncode}"
