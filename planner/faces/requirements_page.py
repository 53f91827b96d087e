"""The page that counts the requirements by letter and state, from the table beside it."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, get_args

from planner.faces.codes_page import REQUIREMENTS

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "requirements.csv"
State = Literal["done", "partly", "refused", "not"]
STATES: tuple[State, ...] = get_args(State)

_HEAD = """# Requirements

Written by `make reference` from [requirements.csv](requirements.csv). The ids are the requirements that this program
was designed against, as [corrected](corrections.csv). Each row of the table says what it is about, where the program
does it, and the test that proves it.

| state | means |
|---|---|
| done | the program does it, and the named test fails without it |
| partly | a part is missing, which the note names |
| refused | left out on purpose; the note says why |
| not | nobody has built it |

| | about | done | partly | refused | not | all |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the table. `where` are paths of the repository and keys of a stack file; `test` is path::name."""

    id: str
    subject: str
    state: str
    where: tuple[str, ...]
    test: str
    note: str

    @property
    def letters(self) -> str:
        """What the id begins with."""
        return self.id[:-2]


def rows() -> tuple[Row, ...]:
    """The table, in order. Raises ValueError where its columns are others."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        heading, *lines = csv.reader(file)
    if heading != ["id", "subject", "state", "where", "test", "note"]:
        raise ValueError(f"{TABLE.name} has the columns {', '.join(heading)}")
    return tuple(
        Row(
            id=id_,
            subject=subject,
            state=state,
            where=tuple(filter(None, where.split("; "))),
            test=test,
            note=note,
        )
        for id_, subject, state, where, test, note in lines
    )


def page() -> str:
    """The counts, and the rows that are not done."""
    table = rows()
    by_letters = {letters: list(found) for letters, found in groupby(table, key=lambda row: row.letters)}
    lines = [_counts(f"{letters} | {REQUIREMENTS[letters]}", found) for letters, found in by_letters.items()]
    lines.append(_counts("| all", list(table)))
    missing = _notes("What is missing", [row for row in table if row.state in ("partly", "not")])
    left_out = _notes("What is left out on purpose", [row for row in table if row.state == "refused"])
    return "\n".join((_HEAD.rstrip("\n"), *lines, *missing, *left_out, ""))


def _notes(title: str, found: list[Row]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| | about | state | note |", "|---|---|---|---|")
    yield from (f"| {row.id} | {row.subject} | {row.state} | {row.note} |" for row in found)


def _counts(title: str, found: list[Row]) -> str:
    counts = Counter(row.state for row in found)
    return f"| {title} | {' | '.join(str(counts[state]) for state in STATES)} | {len(found)} |"
