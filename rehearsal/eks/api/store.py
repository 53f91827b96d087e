"""What EKS remembers: per region the clusters, and inside a cluster everything that goes away with it."""

from dataclasses import dataclass, field
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend

from rehearsal.cloud.account import ACCOUNT, now, regions, uuid
from rehearsal.cloud.service import Refusal

Body = dict[str, Any]
"""A resource as its Describe operation returns it, members in the API's own names."""


@dataclass(slots=True)
class AccessEntry:
    """One principal's access: the entry and the access policies associated with it, by policy ARN."""

    body: Body
    policies: dict[str, Body] = field(default_factory=dict)


@dataclass(slots=True)
class Update:
    """One asynchronous change; ``subject`` is ``("nodegroup", name)``, ``("addon", name)`` or ``("cluster", "")``."""

    body: Body
    subject: tuple[str, str]


@dataclass(slots=True)
class Cluster:
    """One cluster with its children, keyed as their Describe operations look them up."""

    body: Body
    token: str | None
    self_managed_addons: bool
    nodegroups: dict[str, Body] = field(default_factory=dict)
    addons: dict[str, Body] = field(default_factory=dict)
    entries: dict[str, AccessEntry] = field(default_factory=dict)
    associations: dict[str, Body] = field(default_factory=dict)
    updates: dict[str, Update] = field(default_factory=dict)
    interfaces: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return str(self.body["name"])

    @property
    def authentication_mode(self) -> str:
        """``API``, ``API_AND_CONFIG_MAP`` or ``CONFIG_MAP``."""
        return str(self.body["accessConfig"]["authenticationMode"])

    @property
    def hidden_creator(self) -> str | None:
        """Who made a cluster that knows ConfigMap access only: an administrator whom no API shows."""
        return next(iter(self.entries), None) if self.authentication_mode == "CONFIG_MAP" else None

    def require_active(self, action: str) -> None:
        """Refuse ``action`` unless the cluster is ACTIVE, as EKS does for everything made inside a cluster."""
        if self.body["status"] != "ACTIVE":
            message = f"Cannot {action}: cluster {self.name} is in {self.body['status']} status, it must be ACTIVE"
            raise Refusal("InvalidRequestException", message, clusterName=self.name)

    def nodegroup(self, name: str) -> Body:
        """The node group of that name, or ResourceNotFoundException."""
        if name not in self.nodegroups:
            message = f"No node group found for name: {name}."
            raise Refusal("ResourceNotFoundException", message, clusterName=self.name, nodegroupName=name)
        return self.nodegroups[name]

    def addon(self, name: str) -> Body:
        """The add-on of that name, or ResourceNotFoundException."""
        if name not in self.addons:
            message = f"No addon: {name} found in cluster: {self.name}"
            raise Refusal("ResourceNotFoundException", message, clusterName=self.name, addonName=name)
        return self.addons[name]

    def entry(self, principal: str) -> AccessEntry:
        """The access entry of that principal, or ResourceNotFoundException."""
        if principal not in self.entries:
            message = (
                f"The specified principalArn could not be found. You must provide an existing access entry: {principal}"
            )
            raise Refusal("ResourceNotFoundException", message)
        return self.entries[principal]

    def record_update(self, kind: str, subject: tuple[str, str], params: dict[str, Any]) -> Update:
        """Start an update of ``subject``; it is InProgress until the life cycle ends it."""
        body: Body = {
            "id": uuid(),
            "status": "InProgress",
            "type": kind,
            "params": [{"type": name, "value": str(value)} for name, value in params.items()],
            "createdAt": now(),
            "errors": [],
        }
        update = Update(body, subject)
        self.updates[body["id"]] = update
        return update


class EksBackend(BaseBackend):  # type: ignore[misc]
    """The clusters of one region, by name."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.clusters: dict[str, Cluster] = {}

    def cluster(self, name: str) -> Cluster:
        """The cluster of that name, or ResourceNotFoundException."""
        if name not in self.clusters:
            raise Refusal("ResourceNotFoundException", f"No cluster found for name: {name}.", clusterName=name)
        return self.clusters[name]

    def arn(self, kind: str, *path: str) -> str:
        """``arn:aws:eks:<region>:<account>:<kind>/<path>``."""
        return f"arn:aws:eks:{self.region_name}:{ACCOUNT}:{'/'.join((kind, *path))}"


EKS_BACKENDS = BackendDict(EksBackend, "eks")


def eks(region: str) -> EksBackend:
    """EKS of one region."""
    backend: EksBackend = EKS_BACKENDS[ACCOUNT][region]
    return backend


def all_clusters() -> list[tuple[str, Cluster]]:
    """Every cluster with its region."""
    return [(region, cluster) for region, backend in regions(EKS_BACKENDS) for cluster in backend.clusters.values()]
