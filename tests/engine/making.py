"""How a copied program makes mistakes: what it registers passes through resource transforms."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pulumi

Props = dict[str, Any]
"""Some properties of a resource, as they go to the engine; None for one that it does not have."""

MISTAKES: dict[str, "Mistake | Argument"] = {}


@dataclass(frozen=True)
class Mistake:
    """What becomes of resources: `change` takes the `properties` and returns those that are wrong.

    `seconds` is how long their creation and update may take at most; None leaves that.
    """

    kind: str
    name: re.Pattern[str]
    properties: tuple[str, ...]
    change: Callable[[Props], Props]
    seconds: int | None

    def __call__(self, args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        found = pulumi.Output.from_input({each: args.props.get(each) for each in self.properties}).apply(self.of)
        changed = {each: found[each] for each in self.properties}
        if self.seconds is not None:
            most = f"{self.seconds}s"
            args.opts.custom_timeouts = pulumi.CustomTimeouts(create=most, update=most)
        return pulumi.ResourceTransformResult(props={**args.props, **changed}, opts=args.opts)

    def concerns(self, kind: str, name: str) -> bool:
        return kind == self.kind and self.name.fullmatch(name) is not None

    def of(self, found: Props) -> Props:
        """The properties with the mistake; the given ones are left as they are."""
        return {**found, **self.change(json.loads(json.dumps(found)))}


@dataclass(frozen=True)
class Argument:
    """What a part of the program is given, otherwise: `change` does it before the program runs."""

    change: Callable[[], None]


def mistake(
    kind: str, name: str, *properties: str, seconds: int | None = None
) -> Callable[[Callable[[Props], Props]], Mistake]:
    """A function as the mistake in some properties of resources of this kind whose name matches."""

    def made(change: Callable[[Props], Props]) -> Mistake:
        found = Mistake(kind, re.compile(name), properties, change, seconds)
        MISTAKES[change.__name__] = found
        return found

    return made


def argument(change: Callable[[], None]) -> Argument:
    """A function that gives a part of the program something else."""
    found = Argument(change)
    MISTAKES[change.__name__] = found
    return found


def commit(*names: str) -> None:
    """Make these mistakes in the program that runs; one transform does for all resources."""
    chosen = [MISTAKES[each] for each in names]
    for each in chosen:
        if isinstance(each, Argument):
            each.change()
    changes = [each for each in chosen if isinstance(each, Mistake)]

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        result = None
        for each in changes:
            if each.concerns(args.type_, args.name):
                result = each(args)
                args = pulumi.ResourceTransformArgs(args.custom, args.type_, args.name, result.props, result.opts)
        return result

    pulumi.runtime.register_resource_transform(transform)
