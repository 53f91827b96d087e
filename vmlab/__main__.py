"""`python -m vmlab --preset lab-vm --out build/vmlab`: a Vagrantfile, its provisioning, a Mininet topology.

Exit status: 0 if they are written, 1 if the stack is refused, 2 if the command is wrong.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from catalogue.echo import bare
from planner.metal_types import MetalPlan
from planner.named import UsageError, stack_or_preset, typed
from planner.plan import plan
from settings.errors import SettingsError
from settings.model import MetalSettings
from vmlab.machines import NoLabError, machines
from vmlab.network import topology
from vmlab.vagrant import vagrantfile

PROVISION = Path(__file__).parents[1] / "node" / "vmlab" / "provision.sh"


def main(arguments: Sequence[str]) -> int:
    """Write the files below the directory."""
    options = typed(arguments, "vmlab", "PRESET=lab-vm (or STACK=mine) [OUT=DIR]")
    try:
        texts = files(options.stack, options.preset)
        options.out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (options.out / name).write_text(text, encoding="utf-8")
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except (SettingsError, NoLabError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{bare(str(options.out))}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{options.out}: type: cd {options.out} && vagrant up --provider=libvirt (or virtualbox)")
    return 0


def files(stack: str | None, preset: str | None) -> dict[str, str]:
    """Texts by name. Raises UsageError, NoLabError, SettingsError."""
    settings = stack_or_preset(stack, preset)
    if not isinstance(settings, MetalSettings):
        raise UsageError("virtual machines stand for machines of your own, and this stack is on AWS")
    planned = plan(settings)
    if planned.errors or not isinstance(planned, MetalPlan):
        raise NoLabError("\n".join(map(str, planned.errors)))
    return {
        "Vagrantfile": vagrantfile(machines(settings, planned), settings.platform.management_cidr),
        "provision.sh": PROVISION.read_text(encoding="utf-8"),
        "network.py": topology(planned),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
