"""The tools of a rehearsal: real upstream binaries, built from Go's module proxy, and CRDs from the same sources.

`ensure()` builds what is missing of the named families (default: all) into the cache and returns the paths; `crds()`
generates and returns CRD files; `needs.of()` tells what the resources of a stack need of both.
"""

from rehearsal.toolchain.build import Tools, ensure
from rehearsal.toolchain.definitions import crds
from rehearsal.toolchain.families import BASE
from rehearsal.toolchain.go import BuildError

__all__ = ["BASE", "BuildError", "Tools", "crds", "ensure"]
