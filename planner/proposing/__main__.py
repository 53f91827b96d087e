"""`python -m planner.proposing`: what to rent or buy, from the question in the environment (MODEL, SERVE and the rest).

Exit status: 0 if something fits, 1 if nothing does (the nearest is shown), 2 if the question is wrong.
"""

import os
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from rich.console import Console

from catalogue.echo import bare, echo
from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from planner.proposing.best import Answer, Search
from planner.proposing.question import QuestionError, asked
from planner.proposing.stack import text
from planner.proposing.table import answer_text


def main(words: Mapping[str, str], catalogue: Catalogue = SHIPPED, today: date | None = None) -> int:
    """Answer, and write the stack file that is picked."""
    try:
        question = asked(words, catalogue.models)
        search = Search(question, catalogue, today or date.today())
        answer = search.answer()
        Console(width=None if sys.stdout.isatty() else 120).print(answer_text(question, answer))
        if words.get("OUT"):
            _write(Path(words["OUT"]), words.get("PICK") or "1", search, answer)
    except QuestionError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if answer.fits else 1


def _write(file: Path, pick: str, search: Search, answer: Answer) -> None:
    if not pick.isdigit() or not 1 <= int(pick) <= len(answer.shown):
        raise QuestionError(f"PICK is {echo(pick)}: type one of 1 to {len(answer.shown)}")
    if file.exists():
        raise QuestionError(f"{bare(file)} already exists; choose another name for OUT")
    proposal = answer.shown[int(pick) - 1].proposal
    offer = proposal.candidate.offer
    why = f"Proposed: {proposal.candidate.nodes} x {offer.hardware}, {offer.capacity}."
    try:
        file.write_text(text(search.final(proposal), why), encoding="utf-8")
    except OSError as error:
        raise QuestionError(f"OUT is {bare(file)}: {error.strerror}") from None
    print(f"{file}; next: make plan STACK={file.stem.removeprefix('Pulumi.')}")


if __name__ == "__main__":
    sys.exit(main(os.environ))
