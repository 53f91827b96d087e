"""`python -m rehearsal.toolchain [FAMILY ...]`: build the tools (all, or some families) and all CRDs, list them."""

import sys

from rich.console import Console
from rich.table import Table

from rehearsal.toolchain.build import ensure
from rehearsal.toolchain.definitions import SETS, crds
from rehearsal.toolchain.families import FAMILIES
from rehearsal.toolchain.go import BuildError


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        print(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}", file=sys.stderr)
        return 2
    table = Table("what", "version", "size", "where")
    try:
        tools = ensure(names or FAMILIES)
        for family in FAMILIES.values():
            for binary in family.packages:
                if binary in tools.binaries:
                    path = tools[binary]
                    version = path.parents[1].name.rpartition("-")[0].removeprefix(f"{family.name}-")
                    table.add_row(binary, version, f"{path.stat().st_size / 2**20:.0f} MiB", str(path.parent))
        for name in () if names else SETS:
            files = crds(name)
            table.add_row(f"CRDs of {name}", SETS[name].version, f"{len(files)} files", str(files[0].parent))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
