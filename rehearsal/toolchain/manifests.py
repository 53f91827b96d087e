"""Vendors' published manifests, as they lie in the Go modules that binaries are built from: go.sum vouches for them."""

import hashlib
import shutil
from pathlib import Path

from rehearsal import places
from rehearsal.toolchain import go
from rehearsal.toolchain.build import source
from rehearsal.toolchain.families import FAMILIES, SOURCES


def manifest(family: str, path: str, module: str | None = None) -> Path:
    """A file of a family's module, or of another that it requires, as its vendor's repository has it at that tag.

    It is copied into the cache on first use. Raises BuildError if the module cannot be had, FileNotFoundError if it has
    no such file.
    """
    row = {**FAMILIES, **SOURCES}[family]
    digest = hashlib.sha256((row.directory / "go.sum").read_bytes()).hexdigest()[:12]
    name = (module or family).rpartition("/")[2]
    target = places.cache() / "manifests" / f"{name}-{row.version}-{digest}" / path
    if not target.is_file():
        with go.locked(places.private_directory(target.parent) / ".lock"):
            partial = target.with_suffix(".partial")
            shutil.copyfile(source(row, go.find(lambda _: None), module) / path, partial)
            partial.replace(target)
    return target
