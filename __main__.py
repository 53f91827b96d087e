"""The program: load the settings, plan, refuse or deploy, export."""

import atexit
import gc

# Nothing of what is imported and registered becomes garbage, and looking for it costs a third of the program's time,
# at its end a fifth of what is left.
gc.set_threshold(100_000, 50, 50)
atexit.register(gc.freeze)

import pulumi  # noqa: E402

from planner.plan import plan  # noqa: E402
from settings.load import from_pulumi  # noqa: E402
from stacks.deploy import deploy  # noqa: E402
from stacks.outputs import export  # noqa: E402
from stacks.refusal import accepted, refusing  # noqa: E402


def main() -> None:
    """Deploy the stack that Pulumi selected."""
    with refusing():
        loaded = from_pulumi(pulumi.Config("gpucluster"))
        planned = accepted(plan(loaded.settings), loaded.config)
        export(deploy(planned, loaded.config))


if __name__ == "__main__":
    main()
