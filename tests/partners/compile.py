"""`python -m tests.partners.compile WORDS`: node/pipelines/pretraining.py, by the Python that has its library."""

import os
import sys
from pathlib import Path

from tests.partners import KFP

SCRIPT = str(Path(__file__).parents[2] / "node" / "pipelines" / "pretraining.py")

if __name__ == "__main__":
    # Standard output is a file's, or nobody's: what is installed first is said beside it.
    python = str(KFP.python(lambda said: print(said, file=sys.stderr)))
    os.execv(python, [python, SCRIPT, *sys.argv[1:]])  # noqa: S606 - the words are this program's caller's
