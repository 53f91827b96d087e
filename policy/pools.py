"""Node groups as their nodes will be: the template, the instance type, the interfaces, the AMI."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalogue.instances import INSTANCES
from catalogue.types import Instance
from policy.graph import UNKNOWN, Graph, Resource
from policy.reach import CLUSTER, groups_of
from policy.references import behind, target

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
EFA = ("efa", "efa-only")


@dataclass(frozen=True, kw_only=True, slots=True)
class Interface:
    """A network interface of a launch template. EC2 takes 0 for an index that is not given."""

    kind: str
    card: int
    device: int
    groups: tuple[Resource, ...]

    @property
    def is_efa(self) -> bool:
        return self.kind in EFA


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """A node group and its launch template, which EKS makes itself where the group names none."""

    group: Resource
    template: Resource | None
    cluster: Resource | None

    @property
    def name(self) -> str:
        return self.template.name if self.template else self.group.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The template's inputs."""
        return self.template.inputs if self.template else {}

    @property
    def types(self) -> list[str]:
        """Names of its instance types, wherever they are written."""
        one = self.settings.get("instanceType")
        return [one] if one else list(self.group.inputs.get("instanceTypes") or [])

    @property
    def instances(self) -> list[Instance]:
        """Those of its types that the catalogue knows."""
        return [INSTANCES[each] for each in self.types if each in INSTANCES]

    @property
    def gpus(self) -> int:
        """GPUs of a node, at most."""
        return max((each.gpu_count for each in self.instances), default=0)

    @property
    def efa(self) -> int:
        """EFA interfaces of a node."""
        return sum(each.get("interfaceType") in EFA for each in self._listed)

    @property
    def _listed(self) -> list[Mapping[str, Any]]:
        return list(self.settings.get("networkInterfaces") or [])

    @property
    def subnets(self) -> int | None:
        """In how many subnets its nodes stand; None where nobody can tell yet."""
        named = self.group.inputs.get("subnetIds") or []
        return None if named == UNKNOWN else len(named)

    @property
    def ami(self) -> str:
        return str(self.group.inputs.get("amiType") or "")

    @property
    def is_block(self) -> bool:
        """Whether the template or the group buys a capacity block."""
        market = (self.settings.get("instanceMarketOptions") or {}).get("marketType")
        return market == "capacity-block" or self.group.inputs.get("capacityType") == "CAPACITY_BLOCK"

    @property
    def user_data(self) -> str | None:
        """The user data in clear; None where there is none, or where nobody can tell yet."""
        text = self.settings.get("userData")
        if not text or text == UNKNOWN:
            return None
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return str(text)

    def interfaces(self, graph: Graph) -> list[Interface]:
        """The interfaces in the order in which they stand in the template."""
        if self.template is None:
            return []
        return [
            Interface(
                kind=each.get("interfaceType") or "interface",
                card=int(each.get("networkCardIndex") or 0),
                device=int(each.get("deviceIndex") or 0),
                groups=tuple(groups_of(graph, self.template, "networkInterfaces", each.get("securityGroups") or [])),
            )
            for each in self._listed
        ]

    def groups(self, graph: Graph) -> list[Resource]:
        """Security groups of its nodes' first interface: the cluster's where the template has neither."""
        first = [each for each in self.interfaces(graph) if (each.card, each.device) == (0, 0)]
        found = [group for each in first for group in each.groups]
        if self.template and not found:
            found = groups_of(
                graph, self.template, "vpcSecurityGroupIds", self.settings.get("vpcSecurityGroupIds") or []
            )
        named = self._listed or self.settings.get("vpcSecurityGroupIds")
        return found or ([self.cluster] if self.cluster and not named else [])


def pools(graph: Graph) -> Iterator[Pool]:
    """Every managed node group."""
    for group in graph.of_type(NODE_GROUP):
        named = group.inputs.get("launchTemplate") or {}
        found = behind(graph, group, "launchTemplate", named.get("id") or named.get("name"), TEMPLATE)
        yield Pool(
            group=group,
            template=next(iter(found), None),
            cluster=target(graph, group, "clusterName", CLUSTER),
        )
