"""Security groups: who may talk to whom, wherever the rules of a group are written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from policy.graph import Graph, Resource
from policy.references import behind

GROUP = "aws:ec2/securityGroup:SecurityGroup"
CLUSTER = "aws:eks/cluster:Cluster"
GROUPS = (GROUP, CLUSTER)
"""What has an id of a security group: a group, and the cluster for which EKS makes one."""

ANYTHING = ("-1", "all")
EVERYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """One rule of a group (URN): which way it opens it, for which protocol and ports, to which groups and addresses."""

    group: str
    way: str
    protocol: str
    first: int
    last: int
    peers: frozenset[str]
    ranges: tuple[str, ...]


def openings(graph: Graph) -> list[Opening]:
    """Every rule of every group, those that EKS gives its own among them."""
    return [*_alone(graph), *_older(graph), *_inline(graph), *_of_clusters(graph)]


def groups_of(graph: Graph, each: Resource, key: str, ids: Iterable[Any]) -> list[Resource]:
    """The groups of these ids, which stand below the input `key` of a resource."""
    return [found for one in ids for found in behind(graph, each, key, one, *GROUPS)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """Who reaches whom in a graph."""

    openings: tuple[Opening, ...]
    networks: tuple[str, ...]

    @classmethod
    def of(cls, graph: Graph) -> "Reach":
        networks = [each.inputs.get("cidrBlock") for each in graph.of_type("aws:ec2/vpc:Vpc")]
        return cls(openings=tuple(openings(graph)), networks=tuple(each for each in networks if each))

    def ways_to_itself(self, group: str) -> set[str]:
        """In which ways a group lets everything from or to itself. Ranges do not count: EFA has no addresses."""
        own = (each for each in self.openings if each.group == group and group in each.peers)
        return {each.way for each in own if each.protocol in ANYTHING}

    def missing(self, here: Iterable[str], there: Iterable[str], ports: tuple[int, int]) -> Iterator[str]:
        """What keeps TCP connections to these ports of `there` (groups of one interface) from being made by `here`."""
        here, there = list(here), list(there)
        if not any(self._open("out", a, b, ports) for a in here for b in there):
            yield "out of the one"
        if not any(self._open("in", b, a, ports) for a in here for b in there):
            yield "into the other"

    def _open(self, way: str, group: str, peer: str, ports: tuple[int, int]) -> bool:
        return any(
            each.group == group
            and each.way == way
            and (each.protocol in ANYTHING or (each.protocol in ("tcp", "6") and self._holds(each, ports)))
            and (peer in each.peers or any(self._covers(range_) for range_ in each.ranges))
            for each in self.openings
        )

    @staticmethod
    def _holds(each: Opening, ports: tuple[int, int]) -> bool:
        return each.first <= ports[0] and ports[1] <= each.last

    def _covers(self, range_: str) -> bool:
        """Whether a range of addresses has all of the networks in it."""
        try:
            wide = ip_network(range_)
            return range_ == EVERYWHERE or any(ip_network(each).subnet_of(wide) for each in self.networks)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return False


def _alone(graph: Graph) -> Iterator[Opening]:
    for way, kind in (("in", "SecurityGroupIngressRule"), ("out", "SecurityGroupEgressRule")):
        for rule in graph.of_type(f"aws:vpc/securityGroup{kind.removeprefix('SecurityGroup')}:{kind}"):
            peer = rule.inputs.get("referencedSecurityGroupId")
            yield from _opening(
                graph, rule, way, rule.inputs, peers=groups_of(graph, rule, "referencedSecurityGroupId", [peer])
            )


def _older(graph: Graph) -> Iterator[Opening]:
    for rule in graph.of_type("aws:ec2/securityGroupRule:SecurityGroupRule"):
        way = {"ingress": "in", "egress": "out"}.get(rule.inputs.get("type", ""), "")
        source = rule.inputs.get("sourceSecurityGroupId")
        yield from _opening(
            graph, rule, way, rule.inputs, peers=groups_of(graph, rule, "sourceSecurityGroupId", [source])
        )


def _inline(graph: Graph) -> Iterator[Opening]:
    for group in graph.of_type(GROUP):
        for way, key in (("in", "ingress"), ("out", "egress")):
            for rule in group.inputs.get(key) or []:
                peers = groups_of(graph, group, key, rule.get("securityGroups") or [])
                yield _one(group.urn, way, rule, peers)


def _opening(
    graph: Graph, rule: Resource, way: str, inputs: Mapping[str, Any], peers: Iterable[Resource]
) -> Iterator[Opening]:
    for group in groups_of(graph, rule, "securityGroupId", [inputs.get("securityGroupId")]):
        yield _one(group.urn, way, inputs, peers)


def _one(group: str, way: str, rule: Mapping[str, Any], peers: Iterable[Resource]) -> Opening:
    itself = [group] if rule.get("self") in (True, "true") else []
    ranges = [rule.get("cidrIpv4"), *(rule.get("cidrBlocks") or [])]
    return Opening(
        group=group,
        way=way,
        protocol=str(rule.get("ipProtocol") or rule.get("protocol") or ""),
        first=int(rule.get("fromPort") or 0),
        last=int(rule.get("toPort") or 0),
        peers=frozenset([*itself, *(each.urn for each in peers)]),
        ranges=tuple(each for each in ranges if each),
    )


def _of_clusters(graph: Graph) -> Iterator[Opening]:
    """The group that EKS makes: in from itself, out to everywhere (EKS guide, sec-group-reqs)."""
    for cluster in graph.of_type(CLUSTER):
        for way, peers, ranges in (("in", {cluster.urn}, ()), ("out", set(), (EVERYWHERE,))):
            yield Opening(
                group=cluster.urn, way=way, protocol="-1", first=0, last=0, peers=frozenset(peers), ranges=ranges
            )
