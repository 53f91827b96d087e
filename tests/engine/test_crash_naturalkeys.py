"""Whatever a stack makes can be found again after a crash: by the mandatory tags, by name, or by making it again."""

from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Event
from typing import Any, NoReturn

import pytest

from policy.graph import Graph, Resource
from rehearsal.engine import naturalkeys
from rehearsal.engine.naturalkeys import NoNaturalKeyError, by_tags
from rehearsal.plugins.aws.account import Account, CallError, Deadline
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.settings import Settings
from rehearsal.plugins.aws.table import ROWS
from rehearsal.plugins.servicer import PluginError
from tests.graph.stackfiles import graph_of, stack_names

MANDATORY = {"gpucluster:project", "gpucluster:stack"}


class Nothing(Account):
    """An account in which nothing is."""

    def __init__(self, region: str, default_tags: Mapping[str, str]) -> None:
        self.settings = Settings(region, default_tags=default_tags)
        self.region, self.id, self.partition = region, "123456789012", "aws"

    def call(self, *_: object, **__: object) -> NoReturn:
        raise CallError("Describe", "ResourceNotFoundException", "there is none")

    def pages(self, *_: object, **__: object) -> Iterator[dict[str, Any]]:
        return iter(())


def provider_of(graph: Graph, resource: Resource) -> Mapping[str, Any]:
    inputs: Mapping[str, Any] = graph.resources[resource.provider.rpartition("::")[0]].inputs
    return inputs


def complaint(graph: Graph, resource: Resource) -> str | None:
    """Why a half-made object of this resource could not be found; None if it can be."""
    token, inputs = resource.token, dict(resource.inputs)
    if token.startswith("pulumi:providers:") or naturalkeys.repeatable(token):
        return None
    if token.startswith("kubernetes:"):
        name = inputs.get("name") if token.endswith(":Release") else (inputs.get("metadata") or {}).get("name")
        return None if name else "its manifest names no object"
    if token not in ROWS:
        return f"{token} has no row in rehearsal/plugins/aws/types"
    provider = provider_of(graph, resource)
    default = provider["defaultTags"]["tags"]
    account = Nothing(provider["region"], default)
    try:
        naturalkeys.find(Object(account, ROWS[token], token, inputs, Deadline(0, Event())))
    except (PluginError, NoNaturalKeyError) as error:
        return str(error)
    missing = MANDATORY - default.keys() | {"Name"} - inputs.get("tags", {}).keys()
    return f"it lacks the tags {', '.join(sorted(missing))}" if by_tags(token) and missing else None


@pytest.mark.parametrize("stack", stack_names())
def test_everything_that_a_stack_makes_can_be_found_again(stack: str) -> None:
    graph = graph_of(stack)
    custom = [each for each in graph.resources.values() if each.custom]
    assert custom
    found = {each.name: said for each in custom if (said := complaint(graph, each)) is not None}
    assert found == {}


@pytest.mark.parametrize("stack", stack_names())
def test_no_two_objects_of_a_type_carry_the_same_tags(stack: str) -> None:
    """Or a recovery would not know which of them it has found."""
    tagged = (each for each in graph_of(stack).resources.values() if by_tags(each.token))
    times = Counter((each.token, frozenset(each.inputs["tags"].items())) for each in tagged)
    assert [key for key, count in times.items() if count > 1] == []


@pytest.mark.parametrize(
    ("token", "inputs", "says"),
    [
        ("aws:mq/broker:Broker", {"name": "q"}, "aws:mq/broker:Broker has no row"),
        ("aws:ec2/vpc:Vpc", {"tags": {"Owner": "me"}}, "it lacks the tags Name"),
        ("aws:iam/role:Role", {}, "no name in id"),
        ("kubernetes:core/v1:Secret", {"metadata": {"labels": {}}}, "names no object"),
    ],
)
def test_what_could_not_be_found_is_named(token: str, inputs: dict[str, Any], says: str) -> None:
    graph = graph_of("dev")
    model = next(each for each in graph.resources.values() if each.token == "aws:ec2/vpc:Vpc")
    said = complaint(
        graph,
        Resource(urn="urn", token=token, name="a", custom=True, parent="", provider=model.provider, inputs=inputs),
    )
    assert said is not None
    assert says in said
