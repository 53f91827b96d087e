"""What NetworkPolicies let through, computed as Kubernetes documents it; no agent that enforces them is rehearsed.

Source: Kubernetes documentation, Network Policies: a pod that no policy of a direction selects is not isolated in it;
policies add up; a connection needs the egress of its source and the ingress of its destination; `from` and `to` without
entries are everybody; a peer with both selectors means pods of these namespaces, with a podSelector alone pods of the
policy's own namespace; an ipBlock is about addresses, and `except` takes some out; no ports means all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from policy.graph import Graph
from policy.pods import Pod, pods


@dataclass(frozen=True, kw_only=True)
class End:
    """One end of a connection: a pod, or an address outside of the pods' network."""

    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None


Connection = tuple[str, str | End, str | End, int, bool]
"""What it is for, its source and target (a pod's owner, or an end), its port, and whether it comes to be."""


def each_of(connections: Sequence[Connection]) -> pytest.MarkDecorator:
    """A case per connection, called by what it is for."""
    cases = [pytest.param(*rest, id=what) for what, *rest in connections]
    return pytest.mark.parametrize(("source", "target", "port", "passes"), cases)


class Network:
    """The policies of a graph. Namespaces have the labels that they were registered with, and their name."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._policies = [each.inputs for each in graph.of_type("NetworkPolicy")]
        self._namespaces = {
            each.inputs["metadata"]["name"]: each.inputs["metadata"].get("labels") or {}
            for each in graph.of_type("Namespace")
        }

    def label(self, namespace: str, **labels: str) -> None:
        """A namespace of somebody's, with these labels."""
        self._namespaces[namespace] = labels

    @cached_property
    def ends(self) -> dict[str, End]:
        """The pods by their owner's name, with the labels that controllers add to those of Jobs.

        Source: Kubernetes documentation, Well-Known Labels, batch.kubernetes.io/job-name.
        """
        return {
            pod.owner: End(
                namespace=pod.namespace,
                labels={**pod.labels, **({"batch.kubernetes.io/job-name": pod.owner} if _is_job(pod) else {})},
            )
            for pod in pods(self._graph)
        }

    def passes(self, source: str | End, target: str | End, port: int, protocol: str = "TCP") -> bool:
        """Whether a connection comes to be; a pod may be named by its owner."""
        return all(self.sides(source, target, port, protocol))

    def sides(self, source: str | End, target: str | End, port: int, protocol: str = "TCP") -> tuple[bool, bool]:
        """Whether the source is let out to the target, and the target lets the source in."""
        here, there = (self.ends[each] if isinstance(each, str) else each for each in (source, target))
        return self._lets("Egress", here, there, port, protocol), self._lets("Ingress", there, here, port, protocol)

    def isolated(self, end: End) -> set[str]:
        """The directions in which some policy selects the pod."""
        return {way for each in self._policies for way in each["spec"]["policyTypes"] if self._selects(each, end)}

    def _lets(self, way: str, own: End, other: End, port: int, protocol: str) -> bool:
        if own.namespace is None:
            return True
        selecting = [each for each in self._policies if way in each["spec"]["policyTypes"] and self._selects(each, own)]
        return not selecting or any(
            self._fits(rule, key, policy["metadata"]["namespace"], other, port, protocol)
            for policy in selecting
            for key, rules in (("from", policy["spec"].get("ingress")), ("to", policy["spec"].get("egress")))
            if (way == "Ingress") == (key == "from")
            for rule in rules or ()
        )

    def _selects(self, policy: Mapping[str, Any], end: End) -> bool:
        inside = policy["metadata"]["namespace"] == end.namespace
        return inside and matches(policy["spec"]["podSelector"], end.labels)

    def _fits(self, rule: Mapping[str, Any], key: str, namespace: str, other: End, port: int, protocol: str) -> bool:
        ports = rule.get("ports")
        open_ = not ports or any((each["port"], each.get("protocol", "TCP")) == (port, protocol) for each in ports)
        peers = rule.get(key)
        return open_ and (not peers or any(self._is(each, namespace, other) for each in peers))

    def _is(self, peer: Mapping[str, Any], namespace: str, other: End) -> bool:
        if "ipBlock" in peer:
            if other.address is None:
                return False
            address, block = IPv4Address(other.address), peer["ipBlock"]
            taken = (IPv4Network(each) for each in block.get("except") or ())
            return address in IPv4Network(block["cidr"]) and not any(address in each for each in taken)
        if other.namespace is None:
            return False
        labels = {**self._namespaces.get(other.namespace, {}), "kubernetes.io/metadata.name": other.namespace}
        of = peer.get("namespaceSelector")
        there = other.namespace == namespace if of is None else matches(of, labels)
        return there and matches(peer.get("podSelector") or {}, other.labels)


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """As Kubernetes selects (apimachinery, pkg/labels/selector.go, Requirement.Matches): NotIn takes who has no such
    label, too.
    """
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items() and all(
        _meets(each, labels) for each in selector.get("matchExpressions") or ()
    )


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    has, value = expression["key"] in labels, labels.get(expression["key"])
    answers = {
        "Exists": has,
        "DoesNotExist": not has,
        "In": has and value in expression.get("values", ()),
        "NotIn": not has or value not in expression.get("values", ()),
    }
    return answers[expression["operator"]]


def _is_job(pod: Pod) -> bool:
    return pod.kind in ("Job", "CronJob")
