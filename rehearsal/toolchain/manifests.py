"""Vendors' manifests and programs in Python, as they lie in the Go modules that binaries are built from: go.sum vouches
for them.
"""

import hashlib
import shutil
from pathlib import Path

from rehearsal import places
from rehearsal.toolchain import go
from rehearsal.toolchain.build import copied, source
from rehearsal.toolchain.families import FAMILIES, SOURCES
from rehearsal.toolchain.family import Family


def manifest(family: str, path: str, module: str | None = None) -> Path:
    """A file of a family's module, or of another that it requires, as its vendor's repository has it at that tag.

    It is copied into the cache on first use. Raises BuildError if the module cannot be had, FileNotFoundError if it has
    no such file.
    """
    row, place = _place(family, module)
    target = place / path
    if not target.is_file():
        with go.locked(places.private_directory(target.parent) / ".lock"):
            partial = target.with_suffix(".partial")
            shutil.copyfile(source(row, go.find(lambda _: None), module) / path, partial)
            partial.replace(target)
    return target


def tree(family: str, *directories: str) -> Path:
    """Where these directories of a family's module lie, as `manifest` has a file of it. Raises BuildError."""
    row, place = _place(family)
    for each in directories:
        with go.locked(places.private_directory(place) / ".lock"):
            if not (place / each).is_dir():
                partial = place / f".{each}.partial"
                shutil.rmtree(partial, ignore_errors=True)
                copied(source(row, go.find(lambda _: None)) / each, partial)
                partial.rename(place / each)
    return place


def _place(family: str, module: str | None = None) -> tuple[Family, Path]:
    """A family, and where files of its module, or of another that it requires, are kept."""
    row = {**FAMILIES, **SOURCES}[family]
    digest = hashlib.sha256((row.directory / "go.sum").read_bytes()).hexdigest()[:12]
    name = (module or family).rpartition("/")[2]
    return row, places.cache() / "manifests" / f"{name}-{row.version}-{digest}"
