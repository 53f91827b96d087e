"""Stacks and presets by name, as commands take them: their settings, and their sections as they are written."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalogue.echo import bare, echo
from planner.faces.assignments import Assignment, assigned
from settings.errors import SettingsError, meant, written
from settings.load import from_file, from_sections, on_its_preset, sections_in
from settings.model import AwsSettings, MetalSettings
from settings.presets import preset_names

_PRESET = "preset"
_OWNER = {"example": True, "lifecycle": {"owner": "nobody", "costCentre": "none"}}
"""What a preset leaves to the stack file; alone it is an example."""

_NO_KEY = (": is not a key;", ": belongs to platform.kind")


class UsageError(Exception):
    """A command names a stack, a preset or an option that does not exist; the message says what to type."""


def typed(arguments: Sequence[str], target: str, usage: str) -> argparse.Namespace:
    """`stack` or `preset`, and the directory `out`, as they were typed for a target of make."""
    parser = argparse.ArgumentParser(prog=f"make {target}", usage=f"make {target} {usage}")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--stack")
    what.add_argument("--preset")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args(arguments)


def stack_or_preset(stack: str | None, preset: str | None) -> AwsSettings | MetalSettings:
    """Raises UsageError for a name that there is not, and SettingsError for a file that says what cannot be."""
    return (of_preset(preset) if preset is not None else of_stack(str(stack)))[1]


def of_stack(name: str) -> tuple[str, AwsSettings | MetalSettings, dict[str, Any]]:
    """The stack's name, its settings, and its sections as they are written."""
    file = Path(f"Pulumi.{name}.yaml")
    try:
        return name, from_file(file), sections_in(file)
    except FileNotFoundError:
        raise UsageError(f"there is no {bare(file)} in this directory; {meant(name, _stacks())}") from None
    except OSError as error:
        raise UsageError(f"{bare(file)}: {error.strerror}") from None


def _stacks() -> list[str]:
    """The stacks whose files are in this directory."""
    return sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in Path().glob("Pulumi.*.yaml"))


def either(name: str) -> tuple[str, AwsSettings | MetalSettings, dict[str, Any]]:
    """A stack, or else a preset, of that name."""
    if name in _stacks():
        return of_stack(name)
    if name in preset_names():
        return of_preset(name)
    raise UsageError(f"there is no stack and no preset {echo(name)}; {meant(name, [*_stacks(), *preset_names()])}")


def of_preset(name: str) -> tuple[str, AwsSettings | MetalSettings, dict[str, Any]]:
    """A preset as if a stack file said nothing else."""
    if name not in preset_names():
        raise UsageError(f"there is no preset {echo(name)}; {meant(name, preset_names())}")
    sections = {_PRESET: name, **_OWNER}
    return f"preset {name}", from_sections(sections), sections


def changed(sections: Mapping[str, Any], changes: Sequence[Assignment]) -> AwsSettings | MetalSettings:
    """The settings with the assignments made, also to what the preset says. UsageError for a path without a key."""
    about_preset = [change for change in changes if change.path == (_PRESET,)]
    others = [change for change in changes if change not in about_preset]
    try:
        return from_sections(assigned(on_its_preset(assigned(sections, about_preset)), others))
    except SettingsError as error:
        steps = [change.path[: depth + 1] for change in changes for depth in range(len(change.path))]
        about = tuple(f"{written(path)}{said}" for path in steps for said in _NO_KEY)
        if unknown := [problem for problem in error.problems if problem.startswith(about)]:
            raise UsageError("\n".join(unknown)) from None
        raise
