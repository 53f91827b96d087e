"""`python -m tests.graph STACK`: the rules of policy/ over what a stack's program registers, without an engine.

The program runs as it does in the tests of this directory: its monitor records, and no secret of the stack is needed.
Ends with 1 if a rule is broken, or if the program refuses its settings.
"""

import gc

# The process ends before its garbage matters, and looking for it takes a tenth of its time.
gc.disable()

import sys  # noqa: E402

from policy import RULES  # noqa: E402
from policy.report import report  # noqa: E402
from policy.rule import violations  # noqa: E402
from tests.graph.stackfiles import ROOT, told  # noqa: E402


def main(arguments: list[str]) -> int:
    """Print what breaks a rule."""
    if len(arguments) != 1 or not (ROOT / f"Pulumi.{arguments[0]}.yaml").is_file():
        names = ", ".join(sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml")))
        print(f"usage: make policy STACK=<name>; there are {names}", file=sys.stderr)
        return 2
    (stack,) = arguments
    found = violations(told(stack), RULES)
    print(report(found, RULES, stack))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
