"""A stack file as it is with the shipped preset that it builds on, from the preset's own file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

PRESETS = Path(__file__).resolve().parents[1] / "settings" / "presets"
PREFIX = "gpucluster:"


def parsed(text: str) -> Any:
    """What a file says, by the parser in C: one `up` asks it of a stack file two dozen times. Raises YAMLError."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


def whole(text: str) -> str:
    """The stack file with the sections of its preset below its own; as it stands where it names none."""
    try:
        document = parsed(text)
    except yaml.YAMLError:
        return text
    config = document.get("config") if isinstance(document, dict) else None
    name = config.get(f"{PREFIX}preset") if isinstance(config, dict) else None
    file = PRESETS / f"{name}.yaml"
    if not isinstance(config, dict) or not isinstance(name, str) or file not in PRESETS.iterdir():
        return text
    shipped = {f"{PREFIX}{key}": value for key, value in parsed(file.read_text(encoding="utf-8")).items()}
    return yaml.safe_dump({**document, "config": _over(shipped, config)}, sort_keys=False)


def _over(below: Any, above: Any) -> Any:
    """Mappings key by key, all else as it stands above."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{key: _over(below[key], value) if key in below else value for key, value in above.items()}}
