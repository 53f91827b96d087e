"""The tools of a rehearsal: real upstream binaries, built from Go's module proxy, and CRDs from the same sources.

`ensure()` builds what is missing into the cache and returns the paths; `crds()` generates and returns CRD files.
"""

from rehearsal.toolchain.build import Tools, ensure
from rehearsal.toolchain.definitions import crds
from rehearsal.toolchain.go import BuildError

__all__ = ["BuildError", "Tools", "crds", "ensure"]
