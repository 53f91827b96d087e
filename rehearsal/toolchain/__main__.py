"""`python -m rehearsal.toolchain [FAMILY ...]`: build the tools (all, or some families) and all CRDs, list them."""

import sys

from rich.console import Console
from rich.table import Table

from rehearsal.toolchain import screen
from rehearsal.toolchain.build import ensure
from rehearsal.toolchain.definitions import SETS, crds
from rehearsal.toolchain.families import FAMILIES
from rehearsal.toolchain.go import BuildError
from rehearsal.toolchain.pythons import PYTHONS


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        print(f"no such family: {', '.join(unknown)}; there are {', '.join(FAMILIES)}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table("what", "serves", "version", "size", "where")
    report = screen.on(console)
    try:
        tools = ensure(names or FAMILIES, report)
        for family in FAMILIES.values():
            for binary in family.packages:
                if binary in tools.binaries:
                    path = tools[binary]
                    version = path.parents[1].name.rpartition("-")[0].removeprefix(f"{family.name}-")
                    size = f"{path.stat().st_size / 2**20:.0f} MiB"
                    table.add_row(binary, family.serves, version, size, str(path.parent))
        for name in () if names else SETS:
            files = crds(name, report)
            where = str(files[0].parent)
            table.add_row(f"CRDs of {name}", "definitions", SETS[name].version, f"{len(files)} files", where)
        for name in () if names else PYTHONS:
            where = str(PYTHONS[name].python(report).parent)
            table.add_row(name, "tracking", PYTHONS[name].directory.name.rpartition("-")[2], "", where)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
