"""Whatever a stack makes can be found again after a crash: by the mandatory tags, by name, or by making it again."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

import pytest
from botocore.exceptions import ClientError

from policy.graph import Graph, Resource
from rehearsal.engine import naturalkeys
from rehearsal.engine.naturalkeys import KEY, NAMED, REPEATABLE, TAGGED
from tests.graph.stackfiles import graph_of, stack_names

MANDATORY = {"gpucluster:project", "gpucluster:stack"}


class Nothing:
    """A service in whose account nothing is."""

    def __getattr__(self, operation: str) -> Any:
        def refuse(*_: object, **__: object) -> NoReturn:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, operation)

        return refuse


def default_tags(graph: Graph, resource: Resource) -> Mapping[str, str]:
    provider = graph.resources[resource.provider.rpartition("::")[0]]
    tags: Mapping[str, str] = provider.inputs["defaultTags"]["tags"]
    return tags


def complaint(graph: Graph, resource: Resource) -> str | None:
    """Why a half-made object of this resource could not be found; None if it can be."""
    token, inputs = resource.token, resource.inputs
    if token.startswith("pulumi:providers:") or token in REPEATABLE:
        return None
    if token.startswith("kubernetes:"):
        name = inputs.get("name") if token.endswith(":Release") else (inputs.get("metadata") or {}).get("name")
        return None if name else "its manifest names no object"
    if token in NAMED:
        try:
            naturalkeys.by_name(token, lambda _: Nothing(), inputs)
        except (KeyError, StopIteration) as error:
            return f"its inputs lack {error}, by which it is looked for"
        return None
    if token in TAGGED or token == KEY:
        missing = MANDATORY - default_tags(graph, resource).keys() | {"Name"} - inputs.get("tags", {}).keys()
        return f"it lacks the tags {', '.join(sorted(missing))}" if missing else None
    return f"{token} has no row in rehearsal/engine/naturalkeys.py"


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
    tagged = (each for each in graph_of(stack).resources.values() if each.token in TAGGED or each.token == KEY)
    times = Counter((each.token, frozenset(each.inputs["tags"].items())) for each in tagged)
    assert [key for key, count in times.items() if count > 1] == []


@pytest.mark.parametrize(
    ("token", "inputs", "says"),
    [
        ("aws:sqs/queue:Queue", {"name": "q"}, "aws:sqs/queue:Queue has no row"),
        ("aws:ec2/vpc:Vpc", {"tags": {"Owner": "me"}}, "it lacks the tags Name"),
        ("aws:iam/role:Role", {}, "its inputs lack 'name'"),
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
