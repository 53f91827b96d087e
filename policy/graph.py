"""What a rule looks at: everything one run of a program registered, as plain values."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

T = TypeVar("T")

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What stands in the place of a value that a preview does not know yet (Pulumi's wire format)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """One registered resource.

    `inputs` are plain values with their SDK names (camelCase); `secret` names the top-level inputs that hold a secret,
    `secret_outputs` the outputs that do.
    `provider` is the provider's URN and id, empty where none was given. `depends_on` are URNs, and so are `references`:
    what each top-level input is made of. `outputs` are what the provider added, which a preview does not know.
    """

    urn: str
    token: str
    name: str
    custom: bool
    parent: str = ""
    provider: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()
    secret_outputs: tuple[str, ...] = ()
    protect: bool = False
    retained: bool = False
    depends_on: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool = False
    timeouts: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    imported: str = ""
    id: str = ""
    references: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_provider(self) -> bool:
        return self.token.startswith("pulumi:providers:")

    @property
    def kind(self) -> str:
        """The last part of the token: Vpc, Deployment, NodePool."""
        return self.token.rsplit(":", 1)[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """One call of a provider's function."""

    token: str
    provider: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True, slots=True)
class Graph:
    """Everything registered by one run, and what the person who runs it has decided.

    `protected` is the stack's `lifecycle.protect`; `waived_images` may go without a digest in a protected stack;
    `fed_autoscalers` look at metrics that something outside of the program serves;
    `secrets` are values that must not be seen in clear.
    """

    resources: dict[str, Resource] = field(default_factory=dict)
    invokes: list[Invocation] = field(default_factory=list)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    protected: bool = False
    waived_images: frozenset[str] = frozenset()
    fed_autoscalers: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = ()
    kept: dict[Hashable, Any] | None = field(default=None, compare=False, repr=False)
    """What was found out about a graph that does not change any more; None where it may."""

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returns; asked once for a key where nothing about the graph changes any more."""
        if self.kept is None:
            return make()
        if key not in self.kept:
            self.kept[key] = make()
        return cast(T, self.kept[key])

    def is_waived(self, image: str) -> bool:
        """Whether an image, or the one that it is a mirror's copy of, may go without a digest."""
        return any(image == each or image.endswith(f"/{each}") for each in self.waived_images)

    def of_type(self, *tokens: str) -> list[Resource]:
        """Resources of these types: a whole token, or its last part (NodeGroup, PersistentVolumeClaim)."""
        return list(self.once(tokens, lambda: self._of_type(tokens)))

    def _of_type(self, tokens: tuple[str, ...]) -> list[Resource]:
        return [each for each in self.resources.values() if each.token in tokens or each.kind in tokens]

    def one(self, name: str) -> Resource:
        """The resource of this logical name. Raises LookupError if it is not exactly one."""
        found = [each for each in self.resources.values() if each.name == name]
        if len(found) != 1:
            names = ", ".join(sorted(each.name for each in self.resources.values()))
            raise LookupError(f"{len(found)} resources are called {name}; there are {names}")
        return found[0]
