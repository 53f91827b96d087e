"""Instances become Node objects, get ready once the pod network is up, and go with their machine."""

import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from botocore.exceptions import ClientError

from rehearsal.cloud.seen.aws import role_name
from rehearsal.cluster import awsauth
from rehearsal.eks.join import CNI, Situation, addresses_of_control_plane
from rehearsal.kube.client import ApiError
from rehearsal.kubelet import faults, nodeobject
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.liveness import Liveness
from rehearsal.kubelet.registering import registering
from rehearsal.kubelet.world import World

log = logging.getLogger(__name__)

Described = Mapping[str, Any]
NETWORK_CONTAINER = "aws-node"
LATE_SECONDS = 30.0
"""Until EKS gives a node whose kubelet it did not configure the labels and taints of the group (aws/containers-roadmap,
issue 1962)."""


class Registration:
    """What the kubelets of one node group tell the API server about their nodes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._begun: set[str] = set()
        self._life = Liveness(world, NETWORK_CONTAINER)
        self._applied: dict[str, tuple[dict[str, str], list[dict[str, str]]]] = {}
        self.joined: dict[str, float] = {}
        """When each node joined, by the monotonic clock; not those that had joined before this process began."""

    def situation(self, host: Host) -> Situation:
        """Everything that decides whether the machine joins."""
        aws, name = self._world.aws, self._world.cluster
        cluster = aws.cluster(name)
        attached = aws.cached(("attached", host.role), lambda: self._attached(host.role))
        return Situation(
            host=host,
            cluster=cluster,
            groups=aws.groups(),
            routes=aws.routes(),
            dns_support=aws.cached(("dns", host.vpc), lambda: self._attribute(host.vpc, "enableDnsSupport")),
            dns_hostnames=aws.cached(("names", host.vpc), lambda: self._attribute(host.vpc, "enableDnsHostnames")),
            role_policies=attached,
            cni_identity=aws.cached("cni identity", self._cni_identity),
            access_entry_type=aws.cached(("entry", host.role), lambda: self._entry_type(host.role)),
            control_plane_addresses=addresses_of_control_plane(aws.subnets(), cluster),
        )

    def _attached(self, role_arn: str) -> list[str]:
        return [arn.rsplit("/", 1)[-1] for arn in self._world.aws.attached(role_name(role_arn))]

    def _attribute(self, vpc: str, name: str) -> bool:
        answer = self._world.aws.ec2.describe_vpc_attribute(VpcId=vpc, Attribute=name)
        return bool(answer[name[0].upper() + name[1:]]["Value"])

    def _cni_identity(self) -> bool:
        found = self._world.aws.pod_identity(self._world.cluster, "kube-system", NETWORK_CONTAINER)
        return found is not None and any(policy in self._attached(found.role) for policy in CNI)

    def _entry_type(self, role_arn: str) -> str | None:
        mode = self._world.aws.cluster(self._world.cluster)["accessConfig"]["authenticationMode"]
        if mode == "CONFIG_MAP":
            found = self._world.find("configmaps", awsauth.NAME, awsauth.NAMESPACE)
            return "EC2_LINUX" if awsauth.maps_node(found, role_arn) else None
        try:
            entry = self._world.aws.eks.describe_access_entry(clusterName=self._world.cluster, principalArn=role_arn)
        except ClientError:
            return None
        return str(entry["accessEntry"]["type"])

    # -- the node

    def keep(self, host: Host, nodegroup: Described) -> None:
        """Registers the node if it is not there, and keeps it as the node group and the pod network have it."""
        self._world.hosts.add(host)
        node = self._world.find("nodes", host.node)
        if node is None or host.node in self._begun:
            self._register(host, nodegroup)
            return
        self._follow(host, nodegroup, node)
        self._life.keep(host, node)

    def _register(self, host: Host, nodegroup: Described) -> None:
        """Makes the node and what belongs to it; what an outage of the API server cut short is taken up again."""
        if host.ami_type == "CUSTOM":
            nodegroup = {**nodegroup, **registering(host.node_config)}
        resumed = host.node in self._begun
        self._begun.add(host.node)
        self._life.hold(host.node)
        made: dict[str, Any] | None
        try:
            made = self._world.kube.create(nodeobject.node(host, nodegroup, self._world.region))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            if not resumed:
                self._begun.discard(host.node)
                return
            made = self._world.kube.get("v1", "Node", host.node)
        if made is not None:
            self._life.csi_node(made)
        version = f"v{self._world.aws.cluster(self._world.cluster)['version']}.0-eks"
        disk = int(nodegroup.get("diskSize") or nodeobject.DEFAULT_DISK_GIB)
        self._life.tell(host, nodeobject.status(host, disk, version))
        self._life.begin(host.node)
        self._applied[host.node] = ({}, []) if host.ami_type == "CUSTOM" else self._wanted(nodegroup)
        self.joined[host.node] = time.monotonic()
        self._begun.discard(host.node)
        log.info("%s joined as %s (%s)", host.instance_id, host.node, host.machine.instance_type)

    def rebooted(self, host: Host) -> None:
        """The machine started anew: another boot id, by which the kubelet knows that its containers ended.

        What a reboot cures is healed by it.
        """
        self._world.orders.heal(host.node, faults.cured_by_reboot())
        node = self._world.find("nodes", host.node)
        if node is None:
            return
        info = {**node["status"]["nodeInfo"], "bootID": str(uuid4())}
        self._life.tell(host, {"nodeInfo": info})
        message = f"Node {host.node} has been rebooted, boot id: {info['bootID']}"
        self._world.events.emit(node, "Warning", "Rebooted", message, "kubelet", host.node)

    @staticmethod
    def _wanted(nodegroup: Described) -> tuple[dict[str, str], list[dict[str, str]]]:
        return dict(nodegroup.get("labels") or {}), nodeobject.taints(nodegroup)

    def _follow(self, host: Host, nodegroup: Described, node: Described) -> None:
        """Labels and taints of the node group reach nodes that run already (UpdateNodegroupConfig)."""
        if host.ami_type == "CUSTOM" and time.monotonic() - self.joined.get(host.node, 0.0) < LATE_SECONDS:
            return
        wanted = self._wanted(nodegroup)
        before = self._applied.setdefault(host.node, wanted)
        if before == wanted:
            return
        labels: dict[str, str | None] = {key: None for key in before[0] if key not in wanted[0]}
        labels.update(wanted[0])
        gone = [(taint["key"], taint["effect"]) for taint in [*before[1], *wanted[1]]]
        others = [t for t in node["spec"].get("taints") or [] if (t["key"], t["effect"]) not in gone]
        patch = {"metadata": {"labels": labels}, "spec": {"taints": [*others, *wanted[1]]}}
        self._world.kube.patch("v1", "Node", host.node, None, patch)
        self._applied[host.node] = wanted

    def remove(self, host: Host) -> None:
        """The machine is gone: the cloud's node controller deletes the Node, the garbage collector its pods.

        The collector's waiting time is left out.
        """
        self._world.hosts.drop(host.node)
        self._world.contents.forget(f"host:{host.node}:")
        self._applied.pop(host.node, None)
        self.joined.pop(host.node, None)
        self._begun.discard(host.node)
        self._life.forget(host.node)
        self._world.kube.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": host.node}})
        self._world.kube.delete(nodeobject.lease(host.node, None))
        for pod in self._world.on_node(host.node):
            self._world.erase(pod)
