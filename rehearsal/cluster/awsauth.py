"""The ConfigMap `aws-auth` in kube-system: who may enter a cluster whose authentication mode knows it.

Source: EKS user guide, "Grant IAM users access to Kubernetes with a ConfigMap", and aws-iam-authenticator's README
(`mapRoles`, `mapUsers`). EKS itself enters the role of a managed node group where access entries are off.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

NAMESPACE, NAME = "kube-system", "aws-auth"
NODE_GROUPS = ("system:bootstrappers", "system:nodes")
NODE_USERNAME = "system:node:{{EC2PrivateDNSName}}"

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Mapped:
    """An IAM principal and what it is to Kubernetes."""

    principal: str
    username: str
    groups: tuple[str, ...]


def entries(config_map: Object | None) -> Iterator[Mapped]:
    """What the ConfigMap maps; what is not readable in it maps nobody, as with the authenticator."""
    data = (config_map or {}).get("data") or {}
    for part, key in (("mapRoles", "rolearn"), ("mapUsers", "userarn")):
        try:
            rows = yaml.safe_load(data.get(part) or "[]")
        except yaml.YAMLError:
            continue
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get(key):
                yield Mapped(str(row[key]), str(row.get("username") or ""), tuple(map(str, row.get("groups") or ())))


def maps_node(config_map: Object | None, role: str) -> bool:
    """Whether nodes with this role may enter."""
    return any(each.principal == role and "system:nodes" in each.groups for each in entries(config_map))


def with_node(config_map: Object | None, role: str) -> dict[str, Any]:
    """The ConfigMap with the role of nodes entered."""
    data = dict((config_map or {}).get("data") or {})
    rows = yaml.safe_load(data.get("mapRoles") or "[]") or []
    rows.append({"rolearn": role, "username": NODE_USERNAME, "groups": list(NODE_GROUPS)})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": data | {"mapRoles": yaml.safe_dump(rows, sort_keys=False)},
    }
