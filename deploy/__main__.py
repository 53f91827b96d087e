"""`python -m deploy up --stack prod`: `pulumi up`, and where it fails the component and the next step of each error.

What is not known here goes to the Pulumi CLI, which is at the terminal as ever: `--yes`, `--diff`, `--policy-pack`. The
exit code is the CLI's, 2 where there is none. Needs Python alone, and the CLI.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.advice import WRITES_EVENTS, advice


def main(arguments: Sequence[str]) -> int:
    """Run the engine, and explain."""
    parser = argparse.ArgumentParser(prog="python -m deploy", description=__doc__, allow_abbrev=False)
    parser.add_argument("operation", choices=("up", "destroy"))
    parser.add_argument("--stack", required=True, help="the stack")
    options, rest = parser.parse_known_args(arguments)
    with TemporaryDirectory(prefix="gpucluster-deploy-") as scratch:
        log = Path(scratch) / "events.jsonl"
        try:
            status = run(["pulumi", options.operation, "--stack", options.stack, "--event-log", str(log), *rest])
        except FileNotFoundError:
            print("error: pulumi is not on PATH: install the Pulumi CLI", file=sys.stderr)
            return 2
        for line in advice(log, options.stack) if status else ():
            print(line, file=sys.stderr)
    return status


def run(words: Sequence[str]) -> int:
    """The exit code of a command at this terminal. A Ctrl-C reaches it too, and how it ends is its own decision: an
    engine that is killed leaves its lock.
    """
    environment = {**os.environ, **WRITES_EVENTS}
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.Popen(words, env=environment).wait()
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
