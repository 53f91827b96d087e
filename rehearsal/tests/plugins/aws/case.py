"""What a case says of one type of the table: how it is made, changed in place, replaced and imported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import State

Inputs = dict[str, Any]
TAGGED: tuple[Inputs, Mapping[str, str]] = ({"tags": {"x": "y"}}, {"tags": "add", "tagsAll.x": "add"})
"""A change of a tag, and the diff that it shows."""


@dataclass(frozen=True)
class Case:
    """``changes``: inputs that an update brings and the diff it shows; ``replaces``: inputs that need a new object."""

    type: str
    inputs: Callable[[World], Inputs]
    changes: Inputs | Callable[[World], Inputs] = field(default_factory=dict)
    diff: Mapping[str, str] = field(default_factory=dict)
    replaces: Inputs | Callable[[World], Inputs] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()
    import_id: Callable[[State], str] = lambda state: state.id
    stays: bool = False
    """Whether something remains to be read after delete: S3 has no bucket without these."""
    outputs: tuple[str, ...] = ("arn",)
    """Outputs that must be there beyond the inputs."""
    refused: Mapping[str, Inputs] = field(default_factory=dict)
    """What AWS says (a pattern) to inputs that are changed so."""
    fill: Callable[[Callable[[str], Any], State], object] | None = None
    """Puts something in, with a client by service, that keeps AWS from deleting the object."""
    force: Inputs = field(default_factory=dict)
    """The input that deletes the content as well; without it the refusal names it."""

    def resolved(self, what: Inputs | Callable[[World], Inputs], world: World) -> Inputs:
        """Inputs that may depend on the world."""
        return what(world) if callable(what) else what
