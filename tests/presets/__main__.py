"""Rehearse shipped stacks and presets, one after the other, and write what they came to into docs/rehearsal.md.

Exit status 1 if one of them does not pass: what is wrong is printed, and its row says so, and how far it came.
"""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from tests.presets import stacks, table
from tests.presets.rehearsing import RehearsalError, rehearsed


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.presets", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="stacks and presets (default: all)")
    parser.add_argument("--within", type=float, default=3600, metavar="SECONDS", help="for each (default: 3600)")
    options = parser.parse_args(arguments)
    names = options.names or stacks.NAMES
    if strange := set(names) - set(stacks.NAMES):
        parser.error(f"no shipped stack or preset is called {', '.join(sorted(strange))}")
    screen, failed = Console(), []
    for name in names:
        screen.print(f"{name}", style="bold")
        try:
            table.write({name: table.row(rehearsed(name, screen, options.within))})
        except RehearsalError as error:
            screen.print(str(error), style="red", markup=False, soft_wrap=True)
            table.write({name: table.failed(name, str(error), error.came)})
            failed.append(name)
    if failed:
        screen.print(f"do not pass: {', '.join(failed)}", style="red")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
