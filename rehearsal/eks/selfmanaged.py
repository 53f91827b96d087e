"""Instances that join a cluster by what their user data says, and by no node group: Karpenter's, or anybody's.

Sources: EKS user guide, "Customize managed nodes with launch templates" and "Create self-managed Amazon Linux nodes"
(nodeadm joins the cluster that its NodeConfig names, if an access entry of type EC2_LINUX lets its role in);
awslabs/amazon-eks-ami, nodeadm, NodeConfig v1alpha1 (kubelet.config, kubelet.flags).
"""

import logging
from collections.abc import Mapping
from typing import Any

from rehearsal.eks import instances, join
from rehearsal.eks.api.releases import published
from rehearsal.eks.controller import Controller
from rehearsal.eks.launches import Launcher
from rehearsal.eks.registration import Registration
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.registering import registering
from rehearsal.kubelet.world import World

log = logging.getLogger(__name__)

INTERVAL = 1.0


class SelfManaged(Controller):
    """Looks at all instances of the cluster that no node group has; each joins, or says in the log why not."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "self-managed nodes", INTERVAL)
        self._registration = Registration(world)
        self._launcher = Launcher(world, "")
        self._hosts: dict[str, tuple[Host, Mapping[str, Any]]] = {}
        self._said: dict[str, list[str]] = {}

    def reconcile(self) -> None:
        aws = self._world.aws
        owned = {f"kubernetes.io/cluster/{self._world.cluster}": "owned"}
        there = aws.tagged_instances(owned, without="eks:nodegroup-name")
        for gone in self._hosts.keys() - there:
            self._registration.remove(self._hosts.pop(gone)[0])
            self._said.pop(gone, None)
        for instance in aws.instances(sorted(there - self._hosts.keys())):
            self._consider(instance)
        for host, group in self._hosts.values():
            self._registration.keep(host, group)

    def _consider(self, instance: Mapping[str, Any]) -> None:
        identity = str(instance["InstanceId"])
        try:
            found = self._host(instance)
        except instances.UserDataError as error:
            self._say(identity, [str(error)])
            return
        if found is None:
            return
        problems = join.problems(self._registration.situation(found[0]))
        self._say(identity, problems)
        if not problems:
            self._hosts[identity] = found

    def _host(self, instance: Mapping[str, Any]) -> tuple[Host, Mapping[str, Any]] | None:
        """The machine, and what it would say of itself as a node group of one; None if it names another cluster."""
        template = instances.source_template(instance)
        data = self._launcher.template_data(*template) if template else {}
        config = instances.node_config(data.get("UserData"))
        if (config.get("cluster") or {}).get("name") != self._world.cluster:
            return None
        group = {
            "nodegroupName": "",
            "amiType": _ami_type(str(instance["ImageId"])),
            "nodeRole": self._role(instance),
            **registering(config),
        }
        subnet = self._world.aws.subnets()[instance["SubnetId"]]
        machine = self._world.aws.machine(instance["InstanceType"])
        return instances.host(instance, machine, group, subnet, config), group

    def _role(self, instance: Mapping[str, Any]) -> str:
        """The role of the instance's profile; empty without one."""
        arn = str((instance.get("IamInstanceProfile") or {}).get("Arn") or "")
        if not arn:
            return ""
        name = arn.rpartition("/")[2]
        roles = self._world.aws.iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"]
        return str(roles[0]["Arn"]) if roles else ""

    def _say(self, identity: str, problems: list[str]) -> None:
        if problems and self._said.get(identity) != problems:
            for problem in problems:
                log.warning("%s does not join: %s", identity, problem)
        self._said[identity] = problems


def _ami_type(image: str) -> str:
    """EKS' word for an image that it publishes; CUSTOM for any other."""
    name = published().get(image)
    if name is None:
        return "CUSTOM"
    architecture = "ARM_64" if "-arm64-" in name else "x86_64"
    variant = next(each for each in ("nvidia", "neuron", "standard") if f"-{each}-" in name)
    return f"AL2023_{architecture}_{variant.upper()}"
