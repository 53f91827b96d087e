"""A family of tools: binaries built from one Go module file, and how."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MODULES = Path(__file__).resolve().parent / "modules"
# Nobody debugs these binaries, and a fifth of the compiler's time goes into what a debugger would read.
FLAGS = ("-trimpath", "-gcflags=all=-dwarf=false")
STRIP = "-s -w"
CONTROL_PLANE = "control plane"


@dataclass(frozen=True)
class Edit:
    """One line of a module's `file` that is built differently: `old`, which must stand there once, becomes `new`.

    The module is the family's own, or another one that it requires.
    """

    file: str
    old: str
    new: str
    module: str | None = None


@dataclass(frozen=True)
class Family:
    """Binaries built from one module file.

    `packages` maps a binary's name to its Go package; `module` is the required module that carries `version`; `tags`
    and `ldflags` are the linker's; `edits` change the module's source for the build. `disk` is what a build with empty
    Go caches leaves on the disk, in GiB; `seconds` is what each binary takes then on two cores, built in the table's
    order.

    `serves` says what for; `wanted_by` names what in a stack needs it (`image:NAME` for the last part of a container's
    image, `chart:NAME`, `*` for any; `definitions` for any CRDs to generate); empty means that every rehearsal does.
    """

    name: str
    version: str
    module: str
    packages: Mapping[str, str]
    disk: float
    seconds: Mapping[str, float] = field(default_factory=dict)
    serves: str = CONTROL_PLANE
    wanted_by: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    ldflags: str = STRIP
    edits: tuple[Edit, ...] = ()
    directory: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", MODULES / self.name)

    def command(self, go: Path, binary: str, output: Path, modfile: Path | None = None) -> list[str | Path]:
        """The command line that builds one binary, perhaps by another module file; to be run in `directory`."""
        tags = ["-tags", ",".join(self.tags)] if self.tags else []
        edited: list[str | Path] = ["-modfile", modfile] if modfile else []
        return [go, "build", *FLAGS, *tags, *edited, "-ldflags", self.ldflags, "-o", output, self.packages[binary]]

    def key(self, go_minor: str) -> str:
        """The name of its directory in the cache: changes with anything that changes the binaries."""
        edits = [[edit.file, edit.old, edit.new, *([edit.module] if edit.module else [])] for edit in self.edits]
        recipe = [dict(self.packages), self.tags, self.ldflags, FLAGS, go_minor, *edits]
        return f"{self.name}-{self.version}-{digest(self.directory, recipe)}"


def digest(module: Path, recipe: object) -> str:
    """Twelve hex digits of a module's go.mod and go.sum, of its own programs, and of how it is used."""
    content = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode())
    for path in (module / "go.mod", module / "go.sum", *sorted(module.glob("*.go"))):
        content.update(path.read_bytes())
    return content.hexdigest()[:12]
