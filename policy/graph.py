"""What a rule looks at: everything one run of a program registered, as plain values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """One registered resource.

    `inputs` are plain values with their SDK names (camelCase); `secret` names the top-level inputs that hold a secret.
    `provider` is the provider's URN and id, empty where none was given. `depends_on` are URNs.
    """

    urn: str
    token: str
    name: str
    custom: bool
    parent: str = ""
    provider: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()
    protect: bool = False
    depends_on: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    timeouts: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    id: str = ""

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


@dataclass(kw_only=True, slots=True)
class Graph:
    """Everything registered by one run, and what the person who runs it has decided.

    `protected` is the stack's `lifecycle.protect`; `waived_images` may go without a digest in a protected stack;
    `secrets` are values that must not be seen in clear.
    """

    resources: dict[str, Resource] = field(default_factory=dict)
    invokes: list[Invocation] = field(default_factory=list)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    protected: bool = False
    waived_images: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = ()

    def of_type(self, *tokens: str) -> list[Resource]:
        """Resources of these types: a whole token, or its last part (NodeGroup, PersistentVolumeClaim)."""
        return [each for each in self.resources.values() if each.token in tokens or each.kind in tokens]

    def one(self, name: str) -> Resource:
        """The resource of this logical name. Raises LookupError if it is not exactly one."""
        found = [each for each in self.resources.values() if each.name == name]
        if len(found) != 1:
            names = ", ".join(sorted(each.name for each in self.resources.values()))
            raise LookupError(f"{len(found)} resources are called {name}; there are {names}")
        return found[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """A broken rule: which resource (logical name), and what is wrong with it."""

    rule: str
    resource: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.resource}: {self.sentence} [{self.rule}]"


Finding = tuple[str, str]
"""(logical name of the resource, sentence)"""

Rule = Callable[[Graph], Iterable[Finding]]


def violations(graph: Graph, rules: Sequence[Rule]) -> list[Violation]:
    """Everything in the graph that breaks one of the rules, in the order of the rules."""
    return [
        Violation(rule=rule.__name__, resource=resource, sentence=sentence)
        for rule in rules
        for resource, sentence in rule(graph)
    ]
