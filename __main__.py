"""The program: load the settings, plan, refuse or deploy, export."""

import pulumi

from planner.plan import plan
from settings.load import from_pulumi
from stacks.deploy import deploy
from stacks.outputs import export
from stacks.refusal import accepted, refusing


def main() -> None:
    """Deploy the stack that Pulumi selected."""
    with refusing():
        loaded = from_pulumi(pulumi.Config("gpucluster"))
        planned = accepted(plan(loaded.settings))
    export(deploy(loaded, planned))


if __name__ == "__main__":
    main()
