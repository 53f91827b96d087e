"""The settings that a command names: of a stack's file in this directory, or of a shipped preset as it is."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from catalogue.echo import bare, echo
from settings.errors import meant
from settings.load import from_file, from_sections
from settings.model import AwsSettings, MetalSettings
from settings.presets import preset_names

OWNER = {"example": True, "lifecycle": {"owner": "nobody", "costCentre": "none"}}
"""What a preset leaves to the stack file; alone it is an example."""


class UnknownStackError(Exception):
    """There is no such stack or preset, or not one for this; the message says what to type."""


def typed(arguments: Sequence[str], target: str, usage: str) -> argparse.Namespace:
    """`stack` or `preset`, and the directory `out`, as they were typed for a target of make."""
    parser = argparse.ArgumentParser(prog=f"make {target}", usage=f"make {target} {usage}")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--stack")
    what.add_argument("--preset")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(arguments)


def stack_or_preset(stack: str | None, preset: str | None) -> AwsSettings | MetalSettings:
    """Raises UnknownStackError, and SettingsError for a file that says what cannot be."""
    if preset is not None:
        if preset not in preset_names():
            raise UnknownStackError(f"there is no preset {echo(preset)}; {meant(preset, preset_names())}")
        return from_sections({"preset": preset, **OWNER})
    file = Path(f"Pulumi.{stack}.yaml")
    if not file.is_file():
        there = sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in Path().glob("Pulumi.*.yaml"))
        raise UnknownStackError(f"there is no {bare(str(file))} in this directory; {meant(str(stack), there)}")
    return from_file(file)
