"""Objects are found by their parts without a look at the others, through every change."""

from typing import Any

import pytest

from rehearsal.kube.informer import Informer
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.world import PARTS
from rehearsal.tests.inside import facts


def pod(name: str, node: str | None = None, address: str | None = None, version: str = "1") -> dict[str, Any]:
    spec = {"nodeName": node} if node else {}
    meta = {"name": name, "namespace": "n", "resourceVersion": version}
    return {"metadata": meta, "spec": spec, "status": {"podIP": address} if address else {}}


class Server:
    """Lists what it has, then tells changes."""

    def __init__(self, *listed: dict[str, Any]) -> None:
        self.listed, self.changes = list(listed), list[tuple[str, dict[str, Any]]]()

    def list_at(self, *_: str) -> tuple[list[dict[str, Any]], str]:
        return self.listed, "1"

    def watch(self, *_: str, **__: Any) -> list[tuple[str, dict[str, Any]]]:
        return self.changes


def names(pods: Informer, part: str, value: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in pods.having(part, value))


@pytest.fixture
def server() -> Server:
    return Server(pod("a", "one", "10.0.0.1"), pod("b", "one", "10.0.0.1"), pod("c"))


@pytest.fixture
def pods(server: Server) -> Informer:
    made = Informer(server, "v1", "Pod", PARTS["pods"])  # type: ignore[arg-type]
    made._relist()
    return made


def test_pods_are_found_by_node_and_by_address(pods: Informer) -> None:
    assert names(pods, "node", "one") == names(pods, "address", "10.0.0.1") == ["a", "b"]
    assert names(pods, "node", "two") == []


def test_they_are_found_where_they_are_now(pods: Informer, server: Server) -> None:
    server.changes = [
        ("MODIFIED", pod("a", "one", "10.0.0.2", "2")),
        ("MODIFIED", pod("c", "two", "10.0.0.3", "2")),
        ("DELETED", pod("b", "one", "10.0.0.1", "2")),
        ("BOOKMARK", {"metadata": {"resourceVersion": "3"}}),
    ]
    pods._follow("1")
    assert [names(pods, "address", f"10.0.0.{each}") for each in (1, 2, 3)] == [[], ["a"], ["c"]]
    assert [names(pods, "node", each) for each in ("one", "two")] == [["a"], ["c"]]
    assert pods.having("node", "one")[0]["metadata"]["resourceVersion"] == "2"
    assert pods._having.keys() == {("node", "one"), ("node", "two"), ("address", "10.0.0.2"), ("address", "10.0.0.3")}


def test_what_a_list_has_no_more_is_found_no_more(pods: Informer, server: Server) -> None:
    server.listed = [pod("b", "one", "10.0.0.1")]
    pods._relist()
    assert names(pods, "node", "one") == names(pods, "address", "10.0.0.1") == ["b"]


def test_a_host_is_found_by_its_address_until_it_goes() -> None:
    hosts, host = Hosts(), facts.host()
    hosts.add(host)
    hosts.add(host)
    assert hosts.at(host.address) == [host]
    hosts.drop(host.node)
    hosts.drop(host.node)
    assert hosts.at(host.address) == []
