"""The form of a case: one change of a recorded stack, and what a rule says about it."""

from dataclasses import dataclass

from tests.graph.changes import Change


@dataclass(frozen=True, slots=True)
class Case:
    """A change and its rule. `said` is a part of the sentence; None where the change is right too.

    `preview` is off where the mistake is in a value that a first preview does not know.
    """

    rule: str
    change: Change
    said: str | None
    preview: bool = True
    stack: str = "prod"

    def __str__(self) -> str:
        return f"{self.rule}-{self.said or 'right'}".replace(" ", "_")
