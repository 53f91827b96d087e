"""`python -m slurm --stack metal --out build/slurm`: a stack's Slurm as files.

Exit status: 0 if they are written, 1 if the stack is refused, 2 if the command is wrong.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from catalogue.echo import bare
from planner.metal_types import MetalPlan
from planner.named import UsageError, stack_or_preset, typed
from planner.plan import plan
from planner.slurm import NoSlurmError, plan_slurm
from settings.errors import SettingsError
from settings.model import MetalSettings
from slurm.bundle import files, left_out, mode


def main(arguments: Sequence[str]) -> int:
    """Write the files below the directory."""
    options = typed(arguments, "slurm", "STACK=metal (or PRESET=slurm-8n) [OUT=DIR]")
    try:
        settings = stack_or_preset(options.stack, options.preset)
        if not isinstance(settings, MetalSettings):
            raise UsageError(
                "Slurm is written for machines of your own; on AWS take ParallelCluster or PCS (docs/how-to/slurm.md)"
            )
        planned = plan(settings)
        if planned.errors or not isinstance(planned, MetalPlan):
            print("\n".join(map(str, planned.errors)), file=sys.stderr)
            return 1
        slurm = plan_slurm(settings, planned)
        count = write(options.out, files(options.preset or options.stack, planned, slurm))
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except (SettingsError, NoSlurmError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{bare(str(options.out))}: {error.strerror}", file=sys.stderr)
        return 2
    print(
        f"{options.out}: {count} files for {', '.join(head.name for head in slurm.heads)} and the machines of "
        f"{', '.join(each.pool for each in slurm.nodes)}"
    )
    for sentence in left_out(planned, slurm):
        print(f"not here: {sentence}")
    return 0


def write(out: Path, texts: Mapping[str, str]) -> int:
    """Write texts below a directory, scripts executable, what gets a password for its owner alone."""
    for path, text in texts.items():
        file = out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode(path))
    return len(texts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
