"""``python -m rehearsal.plugins.language [flags] ENGINE_ADDRESS``: the Python language host, started by the engine."""

import sys

from rehearsal.plugins.language.host import serve


def main() -> int:
    """Serves until the engine dismisses the host; 2 without the engine's address."""
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(addresses) != 1:
        print("the language host is started by pulumi, with the engine's address as its argument", file=sys.stderr)
        return 2
    serve(addresses[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
