"""Rows that a site adds."""

from collections.abc import Iterable

from planner.draft import Draft, rule
from planner.findings import Observation


@rule(
    "B01",
    formula="a row's like and names are in the catalogue, and every field has a value",
    source="Definition of the stack file (catalogue)",
)
def site_row(draft: Draft) -> Iterable[Observation]:
    """A site's own rows are complete, and name rows that exist."""
    for path, sentence in draft.site_problems:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        what, _, remedy = sentence.partition("; ")
        yield Observation(
            path=f"catalogue{''.join(steps)}", sentence=what, remedy=remedy, subject=".".join(map(str, path))
        )
