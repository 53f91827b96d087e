"""One EKS managed node group: its instances, the nodes they become, and what EKS says of it."""

import logging
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rehearsal.cloud.ec2.use import NOTICED
from rehearsal.eks import drain, instances, join, launches, repair
from rehearsal.eks.launches import Launcher, outdated
from rehearsal.eks.registration import Registration
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.nodeobject import is_ready
from rehearsal.kubelet.world import World

log = logging.getLogger(__name__)

Described = Mapping[str, Any]
# EKS gives nodes up to half an hour to join, and an unready one as long to get ready: here a sixtieth of it and more.
JOIN_SECONDS = 15.0
READY_SECONDS = 60.0
# And a second more for each node of the group: in life each kubelet has a machine of its own, here one process has all.
READY_EACH_SECONDS = 1.0
DRAIN_SECONDS = 60.0
# A reboot is over when the agent runs again, which then says that all is well.
REBOOT_SECONDS = 15.0
# Machines that join in one step: those that joined before them are told ready once a step.
JOINING = 16


class NodeGroup:
    """Brings one node group nearer to what its description asks for, step by step."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self.name = world, name
        self._registration = Registration(world)
        self._launcher = Launcher(world, name)
        self._instances: dict[str, dict[str, Any]] | None = None
        self._hosts: dict[str, Host] = {}
        self._first_seen: dict[str, float] = {}
        self._leaving: dict[str, float] = {}
        self._rebooted: dict[str, float] = {}
        self._sick = repair.Waits(time.monotonic)
        self._problems: dict[str, list[str]] = {}
        self._reported: tuple[str, str] | None = None

    def reconcile(self, described: Described, live: Mapping[str, Mapping[str, str]]) -> bool:
        """One step; `live` are the tags of the account's instances by id. True when the node group is gone."""
        self._notice(live)
        if described["status"] == "DELETING":
            return self._delete()
        with self._world.aws.one_look():
            self._size(described)
            self._join(described)
        self._repair(described)
        self._leave()
        self._report(described)
        return False

    # -- instances

    @property
    def _live(self) -> dict[str, dict[str, Any]]:
        if self._instances is None:
            self._instances = self._launcher.present()
        return self._instances

    def _notice(self, live: Mapping[str, Mapping[str, str]]) -> None:
        """Instances that EC2 does not have any more take their nodes with them, however they ended.

        Of one that EC2 is going to take EKS drains the node at once and asks for another (EKS user guide, "Managed node
        group capacity types": of a notice that comes before the replacement is ready).
        """
        for instance in self._live:
            if NOTICED in live.get(instance, {}) and instance not in self._leaving:
                log.info("%s: EC2 takes %s", self.name, instance)
                self._leaving[instance] = time.monotonic()
        for instance in [each for each in self._live if each not in live]:
            if instance not in self._leaving:
                log.info("%s: instance %s ended by itself", self.name, instance)
            self._forget(instance)

    def _forget(self, instance: str) -> None:
        host = self._hosts.pop(instance, None)
        self._live.pop(instance, None)
        self._first_seen.pop(instance, None)
        self._leaving.pop(instance, None)
        self._problems.pop(instance, None)
        if host is not None:
            self._registration.remove(host)

    def _size(self, described: Described) -> None:
        """Starts what is missing, sends away what is too many or of an old version, as many at once as allowed."""
        desired = int(described["scalingConfig"]["desiredSize"])
        staying = {each: self._live[each] for each in self._live if each not in self._leaving}
        old = [each for each, instance in staying.items() if outdated(instance, described)]
        missing = desired - len(staying)
        if old and desired and not launches.minimal(described):
            surge = launches.surge(described, self._zones(described))
            missing = min(missing + surge, max(desired, surge) - (len(staying) - len(old)))
        if missing > 0:
            held = Counter(str(instance["SubnetId"]) for each, instance in staying.items() if each not in old)
            self._live.update(self._launcher.launch(described, missing, held))
        for instance in self._superfluous(list(staying), old, described):
            self._leaving[instance] = time.monotonic()

    def _zones(self, described: Described) -> int:
        subnets = self._world.aws.subnets()
        return len({subnets[each]["AvailabilityZone"] for each in described["subnets"] if each in subnets})

    def _superfluous(self, staying: list[str], old: list[str], described: Described) -> list[str]:
        """The instances to send away now: what is too many, or old ones once their successors are ready."""
        desired = int(described["scalingConfig"]["desiredSize"])
        excess = max(0, len(staying) - desired)
        if not old:
            return launches.leaving({each: str(self._live[each]["SubnetId"]) for each in staying}, excess)
        if self._launcher.error or not all(self._is_ready(each) for each in staying if each not in old):
            return []
        most = launches.at_once(described) - len(self._leaving)
        return old[: max(0, most if launches.minimal(described) else min(most, excess))]

    # -- nodes

    def _join(self, described: Described) -> None:
        joining = 0
        for identity, instance in list(self._live.items()):
            if identity in self._leaving:
                continue
            self._first_seen.setdefault(identity, time.monotonic())
            new = identity not in self._hosts and identity not in self._problems
            if new and joining == JOINING:
                continue
            joining += new
            host = self._hosts.get(identity) or self._host(identity, instance, described)
            if host is None:
                continue
            if identity in self._problems or self._world.hosts.get(host.node) is None:
                problems = join.problems(self._registration.situation(host))
                self._note(identity, problems)
                if problems:
                    continue
            self._registration.keep(host, described)

    def _host(self, identity: str, instance: Described, described: Described) -> Host | None:
        """The machine's facts; user data that nodeadm cannot read keeps it from joining."""
        template = instances.source_template(instance)
        data = self._launcher.template_data(*template) if template else {}
        subnet = self._world.aws.subnets()[instance["SubnetId"]]
        try:
            bottlerocket = str(described.get("amiType")).startswith("BOTTLE")
            read = instances.bottlerocket_config if bottlerocket else instances.node_config
            config = read(data.get("UserData"))
            named = {**described, "imageName": self._launcher.image_name(described, instance["ImageId"])}
            found = instances.host(instance, self._world.aws.machine(instance["InstanceType"]), named, subnet, config)
        except instances.UserDataError as error:
            self._note(identity, [str(error)])
            return None
        self._hosts[identity] = found
        return found

    def _note(self, identity: str, problems: list[str]) -> None:
        if problems and self._problems.get(identity) != problems:
            for problem in problems:
                log.warning("%s: %s does not join: %s", self.name, identity, problem)
        if problems:
            self._problems[identity] = problems
        else:
            self._problems.pop(identity, None)

    def _is_ready(self, identity: str) -> bool:
        host = self._hosts.get(identity)
        node = self._world.find("nodes", host.node) if host else None
        return node is not None and is_ready(node)

    def _leave(self) -> None:
        """Drains and terminates what is to go."""
        ending = []
        for identity, since in self._leaving.items():
            host = self._hosts.get(identity)
            if host is not None and self._world.find("nodes", host.node) is not None:
                drain.cordon(self._world, host.node)
                if drain.evict(self._world, host.node) and time.monotonic() - since < DRAIN_SECONDS:
                    continue
            ending.append(identity)
        if ending:
            self._world.aws.ec2.terminate_instances(InstanceIds=ending)
            for identity in ending:
                self._forget(identity)

    def _repair(self, described: Described) -> None:
        """Reboots or sends away what EKS' automatic repair would."""
        hosts_by_node = {host.node: identity for identity, host in self._hosts.items()}
        found = [self._world.find("nodes", node) for node in hosts_by_node]
        nodes = [each for each in found if each is not None]
        busy = {self._hosts[each].node for each in self._leaving if each in self._hosts}
        busy |= {node for node, since in self._rebooted.items() if time.monotonic() - since < REBOOT_SECONDS}
        ill = self._sick.seconds(repair.sick(nodes))
        for each in repair.due(described.get("nodeRepairConfig") or {}, len(nodes), ill, busy):
            identity = hosts_by_node[each.node]
            log.warning("%s: automatic repair: %s of %s (%s)", self.name, each.action, each.node, each.why)
            if each.action == "Reboot":
                self._world.aws.ec2.reboot_instances(InstanceIds=[identity])
                self._registration.rebooted(self._hosts[identity])
                self._rebooted[each.node] = time.monotonic()
            else:
                self._leaving[identity] = time.monotonic()

    def _delete(self) -> bool:
        for identity in self._live:
            self._leaving.setdefault(identity, time.monotonic())
        self._leave()
        if self._live:
            return False
        self._put({"status": "GONE"})
        return True

    # -- what EKS says

    def _report(self, described: Described) -> None:
        issues = self._issues()
        desired = int(described["scalingConfig"]["desiredSize"])
        steady = (
            not self._leaving
            and len(self._live) == desired
            and not any(outdated(each, described) for each in self._live.values())
        )
        status = str(described["status"])
        if status == "CREATE_FAILED":
            return
        if steady and all(self._is_ready(each) for each in self._live):
            wanted = "ACTIVE"
        elif issues:
            wanted = "CREATE_FAILED" if status == "CREATING" else "DEGRADED"
        elif status in ("CREATING", "UPDATING"):
            return
        else:
            wanted = status
        known = (wanted, str(issues))
        if wanted != status or (self._reported is not None and self._reported != known):
            self._put({"status": wanted, "issues": issues})
        self._reported = known

    def _issues(self) -> list[dict[str, Any]]:
        issues = [self._launcher.error] if self._launcher.error else []
        now, patience = time.monotonic(), READY_SECONDS + READY_EACH_SECONDS * len(self._live)
        unjoined = [each for each in self._problems if now - self._first_seen.get(each, now) > JOIN_SECONDS]
        if unjoined:
            message = "Instances failed to join the kubernetes cluster"
            issues.append({"code": "NodeCreationFailure", "message": message, "resourceIds": sorted(unjoined)})
        unready = [
            each
            for each in self._live
            if each not in self._problems
            and each not in self._leaving
            and not self._is_ready(each)
            and now - self._joined(each, now) > patience
        ]
        if unready:
            message = "Unhealthy nodes in the kubernetes cluster"
            issues.append({"code": "NodeCreationFailure", "message": message, "resourceIds": sorted(unready)})
        return issues

    def _joined(self, identity: str, now: float) -> float:
        """When the machine joined; `now` before."""
        host, seen = self._hosts.get(identity), self._first_seen.get(identity, now)
        return self._registration.joined.get(host.node, seen) if host else now

    def _put(self, body: Mapping[str, Any]) -> None:
        self._world.aws.control("PUT", f"nodegroups/{self._world.region}/{self._world.cluster}/{self.name}", body)
