"""What CrossGuard shows of a stack, as the graph that the rules look at.

A stack validation is shown what providers answered, defaults among it; what a program asked for is shown resource by
resource, before. Rules are about what was asked, so the adapter keeps the one until the other comes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from policy.graph import UNKNOWN, Graph, Resource
from policy.wire import provider_inputs

STACK = "pulumi:pulumi:Stack"
PROVIDER = "pulumi:providers:"


class Asked(Protocol):
    """As much of pulumi_policy's ResourceValidationArgs as is read."""

    urn: str
    props: Any


class Options(Protocol):
    """As much of pulumi_policy's PolicyResourceOptions as is read."""

    protect: bool
    ignore_changes: list[str]
    delete_before_replace: bool | None
    aliases: list[str]


class Shown(Protocol):
    """As much of pulumi_policy's PolicyResource as is read."""

    urn: str
    resource_type: str
    name: str
    props: Any
    opts: Any
    provider: Any
    parent: Any
    dependencies: Any
    property_dependencies: Any


class Adapter:
    """Collects a run's inputs and makes the graph. `unknown` is what access to an unknown value raises."""

    def __init__(self, unknown: type[Exception]) -> None:
        self._unknown = unknown
        self._inputs: dict[str, Mapping[str, Any]] = {}

    def see(self, asked: Asked) -> None:
        """Keep what a program asks for."""
        self._inputs[asked.urn] = self._plain(asked.props)

    def graph(self, shown: Iterable[Shown], config: Mapping[str, Any]) -> Graph:
        """Everything of the stack. `config` says what the person who runs it has decided: `protected`, `waived`."""
        resources = [self._resource(each) for each in shown if each.resource_type != STACK]
        return Graph(
            resources={each.urn: each for each in resources},
            protected=config.get("protected") is True,
            waived_images=frozenset(config.get("waived") or ()),
            fed_autoscalers=frozenset(config.get("waived") or ()),
        )

    def _resource(self, shown: Shown) -> Resource:
        outputs = self._plain(shown.props)
        inputs = self._inputs.get(shown.urn, outputs)
        is_provider = shown.resource_type.startswith(PROVIDER)
        identity = outputs.get("id")
        options: Options = shown.opts
        return Resource(
            urn=shown.urn,
            token=shown.resource_type,
            name=shown.name,
            custom=is_provider or shown.provider is not None,
            parent=shown.parent.urn if shown.parent else "",
            provider=f"{shown.provider.urn}::" if shown.provider else "",
            inputs=provider_inputs(inputs) if is_provider else inputs,
            protect=options.protect,
            depends_on=tuple(each.urn for each in shown.dependencies),
            ignore_changes=tuple(options.ignore_changes),
            delete_before_replace=bool(options.delete_before_replace),
            aliases=tuple(options.aliases),
            id=identity if isinstance(identity, str) and identity != UNKNOWN else "",
            references={key: tuple(one.urn for one in each) for key, each in shown.property_dependencies.items()},
            outputs=_known(outputs),
        )

    def _plain(self, value: Any) -> Any:
        """A value without the proxies that guard unknown ones; whole numbers are integers."""
        if isinstance(value, Mapping):
            return {key: self._plain(self._at(value, key)) for key in value}
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            return [self._plain(self._at(value, index)) for index in range(len(value))]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _at(self, container: Any, key: Any) -> Any:
        try:
            return container[key]
        except self._unknown:
            return UNKNOWN


def _known(outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in outputs.items() if value != UNKNOWN}
