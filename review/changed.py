"""Which stacks a change is about: each whose file it changes, and every one where it changes the program.

`python -m review.changed --base REVISION --deployed '["prod"]'` prints those of them that are deployed, as JSON.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from planner.faces.revision import RevisionError, commit, git
from planner.wording import bare
from settings.errors import SettingsError, meant
from settings.stackfile import parse

PROGRAM = (
    *("__main__.py", "Pulumi.yaml", "requirements.txt"),
    *("catalogue/", "components/", "monitoring/", "node/", "planner/", "policy/", "redfish/", "settings/"),
    *("slurm/", "stacks/", "sweep/"),
)
"""What every stack is made of, besides its file; `node/`, `redfish/` and `sweep/` run on nodes and in the account."""
_FILE = re.compile(r"Pulumi\.([A-Za-z0-9][A-Za-z0-9_.-]*)\.yaml")


def fork_point(root: Path, base: str) -> str:
    """The commit from which the tree left `base`: what came to the base since is no change of the tree's.

    Raises RevisionError where the two have none in common, as in a shallow clone.
    """
    start = commit(root, base)
    try:
        return git(root, "merge-base", start, "HEAD").strip()
    except RevisionError:
        raise RevisionError(
            f"BASE={bare(base)} and this tree have no commit in common: a shallow clone lacks it; type "
            "`git fetch --unshallow`"
        ) from None


def changed_paths(root: Path, revision: str) -> list[str]:
    """What differs between a commit and the working tree, new files that git does not ignore included."""
    known = git(root, "diff", "--name-only", "--no-renames", "-z", revision, "--").split("\0")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return sorted({path for path in (*known, *new) if path})


def stacks_here(root: Path) -> list[str]:
    """The stacks whose files lie in the tree."""
    return sorted(match[1] for path in root.glob("Pulumi.*.yaml") if (match := _FILE.fullmatch(path.name)))


def changed_stacks(root: Path, revision: str) -> list[str]:
    """The stacks to compare: those of changed files, which may be gone, those whose files name a changed one, such as a
    compiled pipeline or a Dockerfile, and all of the tree if the program changed.
    """
    paths = changed_paths(root, revision)
    touched = {match[1] for path in paths if (match := _FILE.fullmatch(path))}
    if any(path.startswith(PROGRAM) for path in paths):
        return sorted(touched | set(stacks_here(root)))
    naming = (each for each in stacks_here(root) if not set(paths).isdisjoint(_named(root / f"Pulumi.{each}.yaml")))
    return sorted(touched.union(naming))


def _named(file: Path) -> Iterator[str]:
    """The texts that stand in a stack file as values; none of a file that is none, of which the plan tells."""
    with suppress(SettingsError, OSError):
        waiting: list[Any] = [parse(file)]
        while waiting:
            match waiting.pop():
                case dict() as found:
                    waiting += found.values()
                case list() as found:
                    waiting += found
                case str() as text:
                    yield text


def asked(root: Path, tree: Path, stacks: list[str], base: str) -> list[str]:
    """The stacks that a person names, if each has a file in the tree or in the base. Raises RevisionError."""
    there = sorted({*stacks_here(root), *stacks_here(tree)})
    for name in stacks:
        if name not in there:
            raise RevisionError(
                f"Pulumi.{bare(name)}.yaml is neither in this tree nor in {bare(base)}, so there is nothing "
                f"to compare; {meant(name, there)}"
            )
    return stacks


def deployed(text: str) -> list[str]:
    """The names in a JSON list. Raises RevisionError for anything else."""
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RevisionError(f'STACKS={bare(text)} is not a JSON list of stacks; write it like ["dev", "prod"]')
    return names


def to_deploy(root: Path, base: str, names: Sequence[str], asked_for: str) -> list[str]:
    """Which stacks of `names` a push that followed `base` changes, or the one that was asked for.

    Every stack is among them where the base is not known, as in the first push of a branch. Raises RevisionError for a
    stack without a file, or one that nobody deploys: a new file alone, a fork's say, must not become a deployment.
    """
    here = stacks_here(root)
    for name in (*names, *([asked_for] if asked_for else ())):
        if name not in here:
            raise RevisionError(f"Pulumi.{bare(name)}.yaml is not in this tree; {meant(name, here)}")
    if asked_for:
        if asked_for not in names:
            raise RevisionError(
                f"Pulumi.{bare(asked_for)}.yaml is not deployed: add {bare(asked_for)} to the variable STACKS"
            )
        return [asked_for]
    if not base.strip("0"):
        return list(names)
    changed = changed_stacks(root, commit(root, base))
    return [name for name in names if name in changed]


def main(arguments: Sequence[str]) -> int:
    """Print the stacks to deploy as one line of JSON; 2 if the question is wrong."""
    parser = argparse.ArgumentParser(prog="python -m review.changed", allow_abbrev=False)
    parser.add_argument("--base", required=True, metavar="REVISION", help="what was deployed before")
    parser.add_argument("--deployed", required=True, metavar="JSON", help="the stacks that are deployed at all")
    parser.add_argument("--asked", default="", metavar="STACK", help="this one, whether it changed or not")
    options = parser.parse_args(arguments)
    try:
        print(json.dumps(to_deploy(Path(), options.base, deployed(options.deployed), options.asked)))
    except RevisionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
