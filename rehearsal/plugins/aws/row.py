"""One row of the table: all that the plugin knows of a resource type beyond the SDK's and the API's own models."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..servicer import PluginError
from .account import Account, CallError, Deadline
from .shapes import Names

MINUTE = 60.0
PROPAGATION = 2 * MINUTE  # how long the provider allows IAM and new objects to become visible (propagationTimeout)
EC2_ARN = "arn:{partition}:ec2:{region}:{account}:"  # what comes before kind and id of an object of EC2


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

    service: str
    create: str
    read: str | Callable[[Object], Any]
    """A call, or a function that returns the description or None."""
    delete: str | Callable[[Object], None]
    key: Mapping[str, str]
    """Request member -> template, for the calls that read, update and delete one object."""
    id: str | Callable[[Object], str]
    """Template over the inputs and the created object's members."""
    imports: str = ""
    """Template of the id that import takes where it is another one."""
    arn: str = ""
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
    """Patterns of the errors on create that pass when new roles have become visible."""
    delete_first: bool = False
    tags: Tags | None = None
    timeouts: tuple[float, float, float] = (20 * MINUTE, 20 * MINUTE, 20 * MINUTE)
    """Seconds for create, update and delete, as in the provider's documentation."""


@dataclass
class Object:
    """One resource in one operation."""

    account: Account
    row: Row
    token: str
    inputs: dict[str, Any]
    deadline: Deadline
    id: str = ""
    known: dict[str, Any] = field(default_factory=dict)
    """Members of the created or described object, or parts of the id; templates see them."""

    @property
    def region(self) -> str:
        """The resource's own region, or the provider's."""
        return str(self.inputs.get("region") or self.account.region)

    def call(self, operation: str, **parameters: Any) -> Any:
        """A call to the row's service in the resource's region."""
        return self.account.call(self.row.service, operation, parameters, self.region)

    def search(self, call: str, **parameters: Any) -> Any:
        """What ``operation -> JMESPath`` finds."""
        return self.account.search(self.row.service, call, parameters, self.region)

    def fill(self, template: str) -> str:
        """A template with the values of this object; raises PluginError if one is missing."""
        account = self.account
        values = {
            "account": account.id,
            "partition": account.partition,
            "region": self.region,
            "id": self.id,
            **self.known,
            **{name: value for name, value in self.inputs.items() if value is not None},
        }
        missing = [name for name in re.findall(r"{(\w+)}", template) if name not in values]
        if missing:
            raise PluginError(f"cannot tell which object is meant: no {', '.join(missing)} in id {self.id!r} or inputs")
        return re.sub(r"{(\w+)}", lambda found: str(values[found[1]]), template)

    def keys(self) -> dict[str, str]:
        """The request members that name this object."""
        return {member: self.fill(template) for member, template in self.row.key.items()}

    def learn(self, id: str) -> None:
        """Takes the id apart: by the import template if it fits, else by the id's own."""
        self.id = id
        for template in (self.row.imports, self.row.id if isinstance(self.row.id, str) else ""):
            if template and (parts := parse(template, id)) is not None:
                self.known.update(parts)
                return

    def missing(self, operation: str, **parameters: Any) -> bool:
        """Makes a call that may find nothing; whether it did find nothing."""
        try:
            self.call(operation, **parameters)
        except CallError as error:
            if error.not_found:
                return True
            raise
        return False


def parse(template: str, text: str) -> dict[str, str] | None:
    """The values that make ``text`` out of the template, or None: ``{a}:{b}`` and ``x:y`` give a=x, b=y."""
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
    found = re.fullmatch(pattern, text)
    return found.groupdict() if found else None
