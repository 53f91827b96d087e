"""`python -m review.drift --stack prod --out DIR`: what stands in the account and is not what the stack file says.

Runs `pulumi preview --refresh`, which reads the account and changes nothing, and writes DIR/STACK.md, the text of an
issue; empty if nothing differs. Exit status: 0 looked, whatever was found; 1 the preview failed; 2 wrong usage.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from review.blocks import Block, Rank, fitted
from review.changed import stacks_here
from review.comment import FOOTER
from review.compared import Compared
from review.diff import diff_blocks, whole
from review.losses import losses
from review.post import DRIFT, LIMIT
from review.preview import Preview, PreviewError, read
from review.words import counted
from settings.errors import meant


def drift(stack: str, seen: Preview, where: str) -> str:
    """The issue's text, empty if nothing differs; `where` says where everything is."""
    if not seen.changes:
        return ""
    shown = Compared(stack=stack, before=None, after=None, preview=seen)
    first = (
        f"`{stack}` is not what `Pulumi.{stack}.yaml` says: {counted(len(seen.changes), 'resource')} would be changed "
        "back by the next `pulumi up`. Either somebody changed the account by hand, or something was merged and not "
        "applied."
    )
    head = Block(rank=Rank.DECISION, lines=[DRIFT.format(stack=stack), first])
    return fitted([head, losses(shown), *diff_blocks(shown)], LIMIT - FOOTER, where)


def looked(stack: str, log: Path) -> subprocess.CompletedProcess[str]:
    """The preview by the `pulumi` on PATH, whose event log goes to `log`."""
    words = ["pulumi", "preview", "--refresh", "--non-interactive", "--stack", stack, "--event-log", str(log)]
    environment = {**os.environ, "PULUMI_DEBUG_COMMANDS": "true"}  # it unlocks --event-log
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def main(arguments: Sequence[str]) -> int:
    """Look at one stack."""
    parser = argparse.ArgumentParser(prog="python -m review.drift", allow_abbrev=False)
    parser.add_argument("--stack", required=True, help="the stack to look at")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="write STACK.md and STACK.diff there")
    parser.add_argument(
        "--whole", default="the run's artifact", metavar="TEXT", help="link to the complete output, as Markdown"
    )
    options = parser.parse_args(arguments)
    stack: str = options.stack
    if stack not in (here := stacks_here(Path())):
        print(f"error: Pulumi.{stack}.yaml is not in this tree; {meant(stack, here)}", file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="gpucluster-drift-") as scratch:
        log = Path(scratch) / "events.jsonl"
        try:
            done = looked(stack, log)
            seen = read(log.read_text(encoding="utf-8").splitlines()) if log.exists() else Preview(errors=("no log",))
        except FileNotFoundError:
            print("error: `pulumi` is not on PATH: install it as for any deployment", file=sys.stderr)
            return 2
        except PreviewError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    if done.returncode or seen.errors:
        print(f"error: the preview of {stack} failed:\n{done.stderr or done.stdout}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{stack}.md").write_text(drift(stack, seen, options.whole), encoding="utf-8")
    (options.out / f"{stack}.diff").write_text(
        whole(Compared(stack=stack, before=None, after=None, preview=seen)), encoding="utf-8"
    )
    print(f"{stack}: {counted(len(seen.changes), 'resource')} differ{'s' if len(seen.changes) < 2 else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
