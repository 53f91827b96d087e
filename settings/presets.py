"""Shipped stacks that a stack file builds on: `preset: NAME`, and whatever the file says besides."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PRESETS = Path(__file__).with_name("presets")


def preset_names() -> list[str]:
    """The shipped presets."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def preset(name: str) -> dict[str, Any]:
    """The sections of a shipped preset. Raises KeyError if there is none of that name."""
    from settings.stackfile import parse

    if name not in preset_names():
        raise KeyError(name)
    return parse(PRESETS / f"{name}.yaml")


def merged(below: Any, above: Any) -> Any:
    """`above` laid over `below`: mappings key by key, everything else (lists too) replaced as a whole."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{key: merged(below[key], value) if key in below else value for key, value in above.items()}}
