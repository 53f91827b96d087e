"""`make destroy-plan`: what stays, what it costs, why; and in which order the rest goes."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from policy.graph import Graph
from tests.graph.destroy import Left, left, main, order, print_plan
from tests.graph.stackfiles import graph_of
from tests.stacks.test_gateway import ZONE
from tests.stacks.test_gateway import graph as of_gateway
from tests.typed import handed


def rows(graph: Graph) -> dict[str, Left]:
    return {each.what if each.what != "volume" else f"volume, {each.name}": each for each in left(graph)}


@pytest.mark.parametrize("stack", ["dev", "lab"])
def test_of_a_stack_for_a_while_little_stays(stack: str) -> None:
    """No data and nothing that costs by itself: a key that is going, late logs, what controllers made."""
    graph = graph_of(stack)
    found = rows(graph)
    assert {"Key", "LogGroup", "network interfaces"} <= set(found)
    assert {"Bucket", "backup", "LustreFileSystem", "Cluster"}.isdisjoint(found)
    assert "7 days" in found["Key"].why
    volumes = [each for each in found.values() if each.what == "volume"]
    assert bool(volumes) == (stack == "dev")
    assert sum(each.usd or 0 for each in found.values()) == sum(each.usd or 0 for each in volumes)


def test_of_a_protected_stack_what_is_protected_stays_and_what_it_stands_on() -> None:
    found = rows(graph_of("prod"))
    assert found["LustreFileSystem"].usd == pytest.approx(19_200 * 0.600)
    assert found["Cluster"].usd == pytest.approx(73)
    assert all("lifecycle.protect" in found[kind].why for kind in ("Vpc", "Key", "Bucket", "Cluster"))
    assert found["NatGateway"].usd == pytest.approx(0.045 * 730)
    assert found["NatGateway"].why == "what is protected stands on it"
    assert found["Subnet"].name == "5 of them"
    assert "NodeGroup" not in found
    assert found["volume, 50 GiB of monitoring-stack-chart-release"].usd == pytest.approx(4)


def changed(stack: str, name: str, **inputs: object) -> Graph:
    """The stack's graph with other inputs of one resource."""
    graph = graph_of(stack)
    each = graph.one(name)
    other = dataclasses.replace(each, inputs={**each.inputs, **inputs})
    return Graph(resources={**graph.resources, each.urn: other}, protected=graph.protected)


def test_data_that_a_destroy_does_not_take_are_told() -> None:
    bucket = rows(changed("lab", "object-store-bucket", forceDestroy=False))["Bucket"]
    assert (bucket.usd, "empty it" in bucket.why) == (None, True)
    assert "last backup" in rows(changed("lab", "lustre-file-system", skipFinalBackup=False))["backup"].why


def test_a_load_balancer_of_a_service_is_told() -> None:
    spec = {"type": "LoadBalancer"}
    assert "Service" in rows(changed("dev", "service-llama-3-8b-service", spec=spec))["load balancer"].why


def test_so_is_a_gateways_and_its_certificate_goes_after_it() -> None:
    """ACM deletes none that a load balancer shows; Helm's release goes first, and its Service with it."""
    graph = of_gateway(acm=("zone", ZONE))
    assert rows(graph)["load balancer"].name == "of traefik-release"
    goes = [kind for kind, _ in order(graph)]
    assert goes.index("objects in the cluster") < goes.index("CertificateValidation") < goes.index("Certificate")
    assert goes.index("Record") < goes.index("Certificate")


@pytest.mark.parametrize("stack", ["dev", "lab", "prod"])
def test_the_rest_goes_before_what_it_stands_on(stack: str) -> None:
    goes = [kind for kind, _ in order(graph_of(stack))]
    assert goes.index("objects in the cluster") < goes.index("Role")
    assert goes.index("NodeGroup") < goes.index("Role")
    if stack == "prod":
        assert {"Cluster", "Vpc", "LustreFileSystem"}.isdisjoint(goes)
        return
    for first in ("objects in the cluster", "NodeGroup"):
        wanted = [first, "Cluster", "Subnet", "Vpc"]
        assert sorted(wanted, key=goes.index) == wanted
    if stack == "lab":
        assert goes.index("Vpc") < goes.index("Schedule"), "the keeper is the last to go"


def test_the_table_is_plain_and_says_what_destroy_refuses() -> None:
    out = io.StringIO()
    print_plan(graph_of("prod"), "prod", Console(file=out, width=150))
    said = out.getvalue()
    assert "pulumi destroy --stack prod refuses; with --exclude-protected what follows goes" in said
    assert "11520.00" in said
    assert "the rest goes in this order:" in said


def test_a_stack_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nobody"]) == 2
    assert "make destroy-plan STACK=<name>; there are" in capsys.readouterr().err


def test_make_hands_the_stack_on() -> None:
    (words,) = handed("make destroy-plan STACK=lab")
    assert words == ["-m", "tests.graph.destroy", "lab"]
