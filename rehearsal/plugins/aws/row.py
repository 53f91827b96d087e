"""One row of the table: all that the plugin knows of a resource type beyond the SDK's and the API's own models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rehearsal.plugins.aws.shapes import Names

if TYPE_CHECKING:
    from rehearsal.plugins.aws.object import Object

MINUTE = 60.0
PROPAGATION = 2 * MINUTE  # how long the provider allows IAM and new objects to become visible (propagationTimeout)
FIELD = re.compile(r"{(\w+)}")
IDEMPOTENT = ("put_", "set_", "attach_", "describe_", "rotate_")
"""How calls begin that say the same however often they are made, or ask only. A secret's schedule is one: set again,
it rotates nothing at once."""


def words(text: str) -> tuple[str, ...]:
    """Property names and paths, written as one string."""
    return tuple(text.split())


@dataclass(frozen=True)
class Autoname:
    """The input that is made up from the resource's name when the program leaves it out."""

    input: str = "name"
    limit: int = 255
    prefix: str = ""
    lower: bool = False


@dataclass(frozen=True)
class Wait:
    """Until when an object is not ready: ``status`` is a JMESPath into the description, ``why`` one to the reasons."""

    status: str = "status"
    done: tuple[str, ...] = ("ACTIVE",)
    failed: tuple[str, ...] = ("CREATE_FAILED", "DELETE_FAILED", "FAILED")
    why: str = ""


@dataclass(frozen=True)
class Tags:
    """How a service keeps tags beyond what its create call takes."""

    write: Callable[[Object, Mapping[str, str], list[str]], None]
    """(object, tags to set, keys to remove)"""
    read: Callable[[Object], Mapping[str, str]] | None = None
    """None: the description holds them."""
    ec2_type: str = ""
    """The ResourceType in TagSpecifications."""


@dataclass(frozen=True)
class Change:
    """What a follow-up has to bring about: ``first`` right after create (or again, after a create that half failed)."""

    first: bool
    old: Mapping[str, Any] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()

    def touches(self, *names: str) -> bool:
        """Whether one of these inputs has to be sent."""
        return self.first or not self.keys.isdisjoint(names)


Followup = Callable[["Object", Change], None]


@dataclass(frozen=True, kw_only=True)
class Row:
    """How one resource type is kept. Calls are written ``operation -> JMESPath into the reply``."""

    service: str = ""
    """Of the calls; left out, it is the token's."""
    create: str
    read: str | Callable[[Object], Any]
    """A call, or a function that returns the description or None."""
    delete: str | Callable[[Object], None] = ""
    """Left out, it is the call that deletes what ``create`` creates, puts or sets."""
    id: str | Callable[[Object], str]
    """Template over the inputs and the created object's members."""
    key: Mapping[str, str] = field(default_factory=dict)
    """Request member -> template, for the calls that read, update and delete one object. Where it is left out, ``{X}``
    as the id is the members ``X`` and ``Xs``."""
    listing: str = ""
    """The call that lists such objects, to find one whose id AWS makes up; left out, it is ``read`` without its [0]."""
    unique: tuple[str, ...] = ()
    """The inputs by which one of them is found; left out, it is the tags."""
    imports: str = ""
    """Template of the id that import takes where it is another one."""
    arn: str = ""
    """Template; EC2 builds all of its own alike."""
    names: Names = field(default_factory=dict)
    inside: str = ""
    """The request member, and member of the description, that holds most inputs."""
    autoname: Autoname | None = None
    prefix: str = "namePrefix"
    """The input that asks for a made-up name with a given beginning."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    """Inputs that are JSON documents."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Request members that create always sends."""
    before: Callable[[Object], None] | None = None
    """What to look at before create; raises CallError."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Reshapes inputs into what ``create`` and ``updates`` take; must cope with missing ones."""
    apart: tuple[str, ...] = ()
    """Inputs that create does not send; ``after`` does."""
    later: tuple[str, ...] = ()
    """Inputs that create sends and ``after`` can change."""
    local: tuple[str, ...] = ()
    """Inputs that AWS never sees; they steer the plugin."""
    unseen: tuple[str, ...] = ()
    """Inputs that AWS never tells again."""
    force_new: tuple[str, ...] = ()
    """Dotted paths whose change replaces the object; ``*``: all but tags."""
    also_new: Callable[[Mapping[str, Any], Mapping[str, Any]], set[str]] | None = None
    """Further inputs that force a new object for these old and new inputs."""
    computed: tuple[str, ...] = ()
    """Inputs that AWS fills in if the program does not; leaving one out later changes nothing."""
    sets: tuple[str, ...] = ()
    """Lists whose order means nothing."""
    updates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(operation, the inputs it sends)"""
    after: Followup | None = None
    """Calls after create, and on update."""
    look: Callable[[Object, Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Further properties, by their SDK names, for a description."""
    bumps: tuple[str, ...] = ()
    """Outputs that any change but one of tags renews."""
    wait: Wait | None = None
    gone: str = ""
    """JMESPath into the description that is true once the object counts as deleted."""
    lingers: bool = False
    """Whether deleting takes time: wait until it cannot be read any longer."""
    busy: tuple[str, ...] = ()
    """Patterns of the errors on delete that pass when other objects are gone."""
    unready: tuple[str, ...] = ()
    """Patterns of the errors on create that pass when what it needs has become visible: those that the provider tries
    again, and no others."""
    delete_first: bool = False
    once: bool = False
    """Whether AWS refuses to make it again, though the call's name is that of one that says the same every time."""
    tags: Tags | None = None
    timeouts: tuple[float, float, float] = (20 * MINUTE, 20 * MINUTE, 20 * MINUTE)
    """Seconds for create, update and delete, as in the provider's documentation."""

    def __post_init__(self) -> None:
        only = FIELD.fullmatch(self.id) if isinstance(self.id, str) else None
        if only and not self.key:
            object.__setattr__(self, "key", {only[1]: self.id, f"{only[1]}s": self.id})
        if not self.delete:
            object.__setattr__(self, "delete", f"delete_{self.creates.partition('_')[2]}")
        if self.service == "ec2" and self.tags and not self.arn:
            object.__setattr__(self, "arn", f"arn:{{partition}}:ec2:{{region}}:{{account}}:{self.tags.ec2_type}/{{id}}")

    @property
    def creates(self) -> str:
        """The operation that creates."""
        return self.create.partition(" -> ")[0]

    @property
    def repeatable(self) -> bool:
        """Whether creating the object again changes nothing."""
        return self.create.startswith(IDEMPOTENT) and not self.once

    @property
    def named_by(self) -> frozenset[str]:
        """What tells one object from another of its type: inputs, where the program chooses its name."""
        return frozenset(name for template in self.key.values() for name in FIELD.findall(template))
