"""One stack before a change and after it."""

from dataclasses import dataclass

from planner.faces.difference import Difference, Side, differing
from planner.faces.revision import Told
from review.preview import Preview


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A stack as the base plans it and as the tree does, None where the one or the other has no such stack file.

    Without a preview, `unseen` says why there is none.
    """

    stack: str
    before: Told | None
    after: Told | None
    preview: Preview | None = None
    unseen: str = ""

    @property
    def file(self) -> str:
        """The stack file's name."""
        return f"Pulumi.{self.stack}.yaml"

    @property
    def refused(self) -> bool:
        """Whether the tree's stack cannot be deployed: its settings or its plan say so."""
        return bool(self.after and (self.after.problems or self.after.errors))

    @property
    def difference(self) -> Difference:
        """What changes in numbers and findings; from nothing where no stack was, or none that could be planned."""
        return differing(_side(self.before), _side(self.after))


def _side(told: Told | None) -> Side:
    return Side(numbers=told.numbers if told else {}, findings=told.findings if told else ())
