"""`python -m planner.image_check --stack prod FILE`: whether a Dockerfile makes an image that the stack's runs can use.

Exit status: 0 if runs can use the image, 1 if it is refused, 2 if the command is wrong. `--base` prints the image that
ours is built on, by digest.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from catalogue.images import DIGESTS, TRAINER_BASE, is_pinned, pinned
from planner.dockerfiles import DockerfileError, refusals
from planner.plan import draft
from planner.rules.dockerfiles import ARGUMENTS, needs
from settings.errors import SettingsError
from settings.load import from_file


def _base() -> str:
    if not is_pinned(TRAINER_BASE, DIGESTS):
        raise DockerfileError(f"{TRAINER_BASE} has no digest; run make pin-images where its registry answers")
    return pinned(TRAINER_BASE, DIGESTS)


def main(arguments: Sequence[str]) -> int:
    """Say what is wrong with a Dockerfile, or which base ours has."""
    parser = argparse.ArgumentParser(prog="python -m planner.image_check")
    parser.add_argument("--base", action="store_true", help="print the base of our own image, by digest")
    parser.add_argument("--stack", default="dev")
    parser.add_argument("file", nargs="?", type=Path, default=Path("images/trainer/Dockerfile"))
    options = parser.parse_args(arguments)
    try:
        if options.base:
            print(_base())
            return 0
        drafted = draft(from_file(Path(f"Pulumi.{options.stack}.yaml")))
        text = options.file.read_text(encoding="utf-8")
        said = refusals(text, needs(drafted), drafted.catalogue.images, ARGUMENTS)
    except DockerfileError as error:
        print(error if options.base else f"{options.file}:{error}", file=sys.stderr)
        return 1
    except (SettingsError, OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    for each in said:
        print(f"{options.file}:{each}", file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
