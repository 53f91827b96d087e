"""The data files of played charts, one per chart, beside this module."""

import json
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "data"


def path(chart: str) -> Path:
    """Where the data of a chart lies, or would."""
    return DIRECTORY / f"{chart}.json"


def names() -> list[str]:
    """The charts that have data, sorted."""
    return sorted(each.stem for each in DIRECTORY.glob("*.json"))


def load(chart: str) -> dict[str, Any]:
    """The data of a chart. Raises FileNotFoundError."""
    found: dict[str, Any] = json.loads(path(chart).read_text())
    return found
