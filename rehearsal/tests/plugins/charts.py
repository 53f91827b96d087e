"""Chart directories that tests make."""

from collections.abc import Mapping
from pathlib import Path


def written(directory: Path, files: Mapping[str, str]) -> Path:
    """The directory with these files in it, and no others from before."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory
