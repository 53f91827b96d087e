"""An engine that is killed in the middle of its work, and the proof that nothing of it is left over or made twice."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.engine import state
from rehearsal.engine.events import Diagnostic, Record, Step
from rehearsal.kube.client import Kube

from .rehearsed import Rehearsed, operations, until

BY_AWS = frozenset({"ec2:instance", "ec2:network-interface", "ec2:volume"})
"""Kinds of which AWS makes every one for a node group or a cluster."""


def _at_once() -> bool:
    return True


@dataclass
class Killer:
    """A watcher that kills the engine when the `turn`-th create of one of the types begins, or as soon as `ready`."""

    site: Rehearsed
    types: tuple[str, ...]
    turn: int
    ready: Callable[[], bool] = _at_once
    aimed_at: Step | None = field(default=None, init=False)
    struck: bool = field(default=False, init=False)
    _seen: int = field(default=0, init=False)

    def __call__(self, seen: Step | Diagnostic | None, _: Record) -> None:
        if isinstance(seen, Step) and seen.op == "create" and seen.seconds is None and seen.type.startswith(self.types):
            self._seen += 1
            if self._seen == self.turn:
                self.aimed_at = seen
        if self.aimed_at is not None and not self.struck and self.ready():
            pid = self.site.session.locked_by()
            assert pid is not None, "the engine works without a lock"
            os.kill(pid, signal.SIGKILL)
            self.struck = True


def killed_up(killer: Killer) -> Step:
    """`up` until the killer strikes; the step that it aimed at."""
    outcome = killer.site.engine.up(watch=killer)
    assert killer.aimed_at is not None, f"no {killer.turn}. create of {killer.types}: {outcome.explain()}"
    assert outcome.status == -signal.SIGKILL, outcome.explain()
    return killer.aimed_at


def orphans(site: Rehearsed) -> dict[str, list[str]]:
    """What the account holds since `up` and neither the state has nor AWS made for what the state has."""
    ids = {each["id"] for each in state.resources(site.session.engine.export()) if "id" in each}
    known = ids | {id.replace(":", "/", 1) for id in ids}
    known |= {id.rpartition("/")[2] for id in known} | set(_made_by_aws(site))
    left = {
        kind: [id for id in ids if id not in known and id.rpartition("/")[2] not in known]
        for kind, ids in site.session.leftovers().items()
        if kind not in BY_AWS
    }
    return {kind: ids for kind, ids in left.items() if ids}


def _made_by_aws(site: Rehearsed) -> Iterator[str]:
    """What EKS makes beside a cluster: its security group, the access entries of its node groups' roles."""
    eks = site.aws("eks")
    for name in eks.list_clusters()["clusters"]:
        yield eks.describe_cluster(name=name)["cluster"]["resourcesVpcConfig"]["clusterSecurityGroupId"]
        for group in eks.list_nodegroups(clusterName=name)["nodegroups"]:
            role = eks.describe_nodegroup(clusterName=name, nodegroupName=group)["nodegroup"]["nodeRole"]
            yield f"{name}/{role}"


def instances(site: Rehearsed) -> list[str]:
    """Names of the nodes that the account's running instances should be."""
    running = [{"Name": "instance-state-name", "Values": ["running"]}]
    pages = site.aws("ec2").get_paginator("describe_instances").paginate(Filters=running)
    reservations = (each for page in pages for each in page["Reservations"])
    return sorted(each["PrivateDnsName"] for reservation in reservations for each in reservation["Instances"])


def nodes(site: Rehearsed) -> list[str]:
    return sorted(each["metadata"]["name"] for each in site.kube.list("v1", "Node"))


def strangers(site: Rehearsed) -> list[str]:
    """Objects that the Kubernetes plugin made and the state does not have, and those it has that are not there."""
    resources = state.resources(site.session.engine.export())
    known = {(each["type"], each["id"]) for each in resources if each["type"].startswith("kubernetes:")}
    live = {token: _live(site.kube, token) for token in {token for token, _ in known}}
    extra = [f"{token} {id}" for token, found in live.items() for id, mine in found.items() if mine]
    lost = [f"no {token} {id}" for token, id in known if id not in live[token]]
    return sorted(lost) + sorted(set(extra) - {f"{token} {id}" for token, id in known})


def _live(kube: Kube, token: str) -> dict[str, bool]:
    """Ids of the objects of a type -> whether the Kubernetes plugin made it."""
    _, version, kind = token.split(":")
    if version == "helm.sh/v3":
        secrets = kube.list("v1", "Secret", label_selector="owner=helm")
        return {f"{each['metadata']['namespace']}/{each['metadata']['labels']['name']}": True for each in secrets}
    listed = (each["metadata"] for each in kube.list(version.removeprefix("core/"), kind))
    return {_id(each): any(map(_by_plugin, each.get("managedFields", ()))) for each in listed}


def _by_plugin(entry: Mapping[str, Any]) -> bool:
    return str(entry.get("manager", "")).startswith("pulumi")


def _id(metadata: Mapping[str, Any]) -> str:
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def assert_nothing_forgotten(site: Rehearsed) -> None:
    """What the account and the cluster hold is in the state, or was made by AWS for what is."""
    left = (orphans(site), strangers(site))
    assert left == ({}, []), left


def assert_exact(site: Rehearsed) -> None:
    """Program, state, account and cluster agree: nothing to change, no drift, nothing made twice or forgotten."""
    assert_nothing_forgotten(site)
    until(lambda: instances(site) == nodes(site), "instances and nodes to agree")
    drift = operations(site.refresh())
    assert drift == [], drift
    site.assert_quiet()


def assert_gone(site: Rehearsed) -> None:
    """Account and clusters are what they were before the first `up`."""
    until(lambda: not site.clusters(), "the control planes to be gone")
    difference = (site.session.leftovers(), site.session.missing())
    assert difference == ({}, {}), difference
