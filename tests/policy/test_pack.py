"""The policy pack's adapter: what CrossGuard shows of a stack becomes the graph that the rules look at."""

import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from policy import RULES, capacity, identity, network, nodes, platform, storage
from policy.graph import UNKNOWN, Graph, Resource
from policy.pack.adapter import STACK, Adapter
from policy.rule import rules_of, violations
from tests.graph import harness, outputs
from tests.graph.changes import gone
from tests.graph.stackfiles import ROOT, graph_of, stack_names

FOREIGN = ROOT / "rehearsal" / "tests" / "foreign" / "program"
NOT_SHOWN = ("secret_inputs_marked", "changed_runs_start_anew")
"""Rules about options that CrossGuard does not show."""


class NotKnownError(Exception):
    """What pulumi_policy raises where somebody looks at an unknown value."""


class Guarded(Mapping[str, Any]):
    """A mapping as pulumi_policy hands it over: a look at an unknown value raises."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def __getitem__(self, key: str) -> Any:
        return guarded(self._content[key])

    def __iter__(self) -> Any:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


class GuardedList(Sequence[Any]):
    """A list in the same way."""

    def __init__(self, content: Sequence[Any]) -> None:
        self._content = content

    def __getitem__(self, index: Any) -> Any:
        return guarded(self._content[index])

    def __len__(self) -> int:
        return len(self._content)


def guarded(value: Any) -> Any:
    if value == UNKNOWN:
        raise NotKnownError
    if isinstance(value, Mapping):
        return Guarded(value)
    return GuardedList(value) if isinstance(value, list) else value


@dataclass
class Shown:
    """A resource as pulumi_policy shows it to a stack validation."""

    urn: str
    resource_type: str
    name: str
    props: Any
    opts: Any
    provider: Any = None
    parent: Any = None
    dependencies: list[Any] = field(default_factory=list)
    property_dependencies: dict[str, list[Any]] = field(default_factory=dict)


def shown(resource: Resource, links: Mapping[str, Any]) -> Shown:
    options = SimpleNamespace(
        protect=resource.protect,
        ignore_changes=list(resource.ignore_changes),
        delete_before_replace=resource.delete_before_replace or None,
        aliases=list(resource.aliases),
    )
    provider = resource.provider.rsplit("::", 1)[0]
    return Shown(
        urn=resource.urn,
        resource_type=resource.token,
        name=resource.name,
        props=guarded({**resource.inputs, **resource.outputs, **({"id": resource.id} if resource.id else {})}),
        opts=options,
        provider=SimpleNamespace(urn=provider) if provider else None,
        parent=links.get(resource.parent),
        dependencies=[links[urn] for urn in resource.depends_on if urn in links],
        property_dependencies={
            key: [links[urn] for urn in urns if urn in links] for key, urns in resource.references.items()
        },
    )


def adapted(graph: Graph, config: Mapping[str, Any] | None = None) -> Graph:
    """A recorded graph on its way through the engine and the pack."""
    adapter = Adapter(NotKnownError)
    for each in graph.resources.values():
        adapter.see(SimpleNamespace(urn=each.urn, props=guarded(each.inputs)))
    links = {urn: SimpleNamespace(urn=urn) for urn in graph.resources}
    stack = Shown(urn="urn:stack", resource_type=STACK, name="stack", props={}, opts=None)
    return adapter.graph([stack, *(shown(each, links) for each in graph.resources.values())], config or {})


@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
@pytest.mark.parametrize("stack", stack_names())
def test_the_rules_see_through_the_pack_what_they_see_without_it(stack: str, preview: bool) -> None:
    there, here = graph_of(stack, preview=preview), adapted(graph_of(stack, preview=preview))
    assert here.resources.keys() == there.resources.keys()
    for urn, each in there.resources.items():
        seen = here.resources[urn]
        assert (seen.inputs, seen.depends_on, seen.references) == (each.inputs, each.depends_on, each.references)
        assert (seen.token, seen.name, seen.custom, seen.protect) == (each.token, each.name, each.custom, each.protect)
    assert [str(each) for each in violations(here, RULES) if each.rule.id not in NOT_SHOWN] == []


@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
def test_a_wrong_program_is_found_through_the_pack(preview: bool) -> None:
    graph = adapted(gone("efa-self-out", "node-role-policy-worker")(graph_of("prod", preview=preview)))
    assert {each.rule.id for each in violations(graph, RULES)} >= {"efa_open_to_itself", "roles_hold_what_eks_needs"}


def test_a_program_of_somebody_else_is_told_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """No component, no names, no security groups of its own: what it leaves to EKS is not missed."""
    zones = {"names": ["us-east-2a", "us-east-2b"], "zoneIds": ["use2-az1", "use2-az2"], "id": "us-east-2"}
    monkeypatch.setitem(outputs.INVOKES, "aws:index/getAvailabilityZones:getAvailabilityZones", zones)
    monkeypatch.setitem(outputs.INVOKES, "kubernetes:yaml:decode", {"result": []})
    monkeypatch.syspath_prepend(FOREIGN)
    monkeypatch.chdir(FOREIGN)

    def program() -> None:
        runpy.run_path(str(FOREIGN / "__main__.py"), run_name="__main__")

    config = {"gpucluster:pages": "2", "aws:region": "us-east-2"}
    for preview in (False, True):
        graph = adapted(harness.record(program, config=config, preview=preview))
        rules = rules_of(network, nodes, capacity, platform, identity, storage)
        assert len(graph.of_type("NodeGroup")) == 1
        assert [str(each) for each in violations(graph, rules)] == []


def test_a_stack_whose_ids_a_pack_is_not_shown_keeps_the_rules() -> None:
    """As after an update: values are known, and which resource has an id is not said."""
    graph = graph_of("prod")
    blind = {urn: replace(each, id="") for urn, each in graph.resources.items()}
    found = violations(adapted(replace(graph, resources=blind)), RULES)
    assert [str(each) for each in found if each.rule.id not in NOT_SHOWN] == []


def test_rules_look_at_what_was_asked_for_and_not_at_defaults() -> None:
    """A Deployment without a revisionHistoryLimit has 10, says the API server; nobody asked for it."""
    graph = graph_of("prod")
    urn = graph.one("service-llama-3-70b-deployment").urn
    links = {each: SimpleNamespace(urn=each) for each in graph.resources}
    one = shown(graph.resources[urn], links)
    one.props = {
        **graph.resources[urn].inputs,
        "spec": {**graph.resources[urn].inputs["spec"], "revisionHistoryLimit": 10},
    }
    adapter = Adapter(NotKnownError)
    adapter.see(SimpleNamespace(urn=urn, props=graph.resources[urn].inputs))
    assert "revisionHistoryLimit" not in adapter.graph([one], {}).resources[urn].inputs["spec"]


def test_what_a_person_decided_comes_from_the_packs_config() -> None:
    graph = adapted(graph_of("prod"), {"protected": True, "waived": ["a:1"]})
    assert (graph.protected, graph.waived_images) == (True, frozenset({"a:1"}))
    assert graph.fed_autoscalers == frozenset({"a:1"})
    assert not adapted(graph_of("prod")).protected
