"""`python -m review --base main`: what the tree changes against a revision, as the Markdown of one comment.

Exit status: 0 if it was made, also of a stack that is refused (the comment says so), 2 if the command is wrong.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from planner.faces.revision import RevisionError, checked_out, told_at, told_here
from review.changed import asked, changed_stacks, fork_point
from review.comment import comment
from review.compared import Compared
from review.diff import whole
from review.rehearsed import previewed

PLAN_ONLY = "Compared by plan only: a preview also shows what is replaced and which workloads restart."

WHOLE = "`make review` with `OUT=DIR` writes them"


def main(arguments: Sequence[str]) -> int:
    """Print the comment, and write it with the whole diffs where `--out` says."""
    options = _parser().parse_args(arguments)
    root: Path = options.root
    try:
        if not options.base:
            raise RevisionError("there is nothing to compare with: name a revision, such as `make review BASE=main`")
        base = fork_point(root, options.base)
        with checked_out(root, base) as tree:
            names = asked(root, tree, options.stack, options.base) or changed_stacks(root, base)
            stacks = compared(root, tree, names, base)
            if not options.plan_only:
                stacks = [previewed(root, each, base, tree, _say) for each in stacks]
        text = comment(stacks, base=f"{options.base} ({base[:10]})", whole=options.whole)
        if options.out is not None:
            _save(options.out, text, stacks)
    except (RevisionError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(text, end="")
    return 0


def compared(root: Path, tree: Path, names: Sequence[str], base: str) -> list[Compared]:
    """Stacks by the base's own plan, which lies in `tree`, and by the working tree's."""
    files = {name: f"Pulumi.{name}.yaml" for name in names}
    before = told_at(root, tree, list(files.values()), base)
    return [
        Compared(
            stack=name,
            before=before.get(file),
            after=told_here(root / file) if (root / file).is_file() else None,
            unseen=PLAN_ONLY,
        )
        for name, file in files.items()
    ]


def _say(sentence: str) -> None:
    """Progress goes beside the comment."""
    print(sentence, file=sys.stderr, flush=True)


def _save(out: Path, text: str, stacks: Sequence[Compared]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "comment.md").write_text(text, encoding="utf-8")
    for each in stacks:
        (out / f"{each.stack}.diff").write_text(whole(each), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m review", description="What the tree changes, as one comment.", allow_abbrev=False
    )
    parser.add_argument("--base", metavar="REVISION", help="the branch, tag or commit to compare with")
    parser.add_argument("--stack", action="append", default=[], help="a stack (default: those that change)")
    parser.add_argument("--plan-only", action="store_true", help="compare plans, without applying and previewing")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write comment.md and whole diffs there too")
    parser.add_argument("--whole", default=WHOLE, metavar="TEXT", help="link to the complete output, as Markdown")
    parser.add_argument("--root", type=Path, default=Path(), help="the program (default: where you are)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
