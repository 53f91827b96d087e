"""Commands as a person types them: what a line of the docs, run by a shell and make, hands to a Python module."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

ROOT = Path(__file__).parents[1]

_PYTHON = f"""#!{sys.executable}
import json, os, sys
if sys.argv[1] == "-c":
    os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])
print(json.dumps(sys.argv[1:]))
sys.exit(os.environ.get("REFUSING") in sys.argv)
"""


def handed(line: str, refusing: str = "") -> list[list[str]]:
    """The arguments of each Python that a shell's line starts by make; make itself is the real one.

    No environment is made, even if requirements are newer. The module `refusing` ends as one that refuses something.

    Raises CalledProcessError where the line fails.
    """
    # What make is told by a make above it would be told to the tested one, too.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    for name in ("STACK", "SITE", "SET", "ARGS", "FORMAT", "TABLE", "OUT", "AGAINST", "PRESET", "EXPLAIN", "BASE"):
        env.pop(name, None)
    env["REFUSING"] = refusing
    words = f'make() {{ command make --old-file=setup VENV={_instead_of_the_environment()} "$@"; }}; {line}'
    done = subprocess.run(
        ["bash", "-c", words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    return [json.loads(each) for each in done.stdout.splitlines() if each.startswith("[")]


@cache
def _instead_of_the_environment() -> Path:
    """A directory with a `python` that says what it was asked."""
    directory = Path(mkdtemp(prefix="typed-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    python = directory / "python"
    python.write_text(_PYTHON, encoding="utf-8")
    python.chmod(0o755)
    return directory
