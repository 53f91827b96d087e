"""One EKS managed node group: its instances, the nodes they become, and what EKS says of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.effects import drain, hosts, join
from rehearsal.effects.hosts import Host, UserDataError
from rehearsal.effects.nodeobject import is_ready
from rehearsal.effects.registration import Registration
from rehearsal.effects.world import World

log = logging.getLogger(__name__)

Described = Mapping[str, Any]
# EKS gives nodes up to half an hour to join, and an unready one as long to get ready: here a sixtieth of it and more.
JOIN_SECONDS = 15.0
READY_SECONDS = 60.0
DRAIN_SECONDS = 60.0
LAUNCH_RETRY_SECONDS = 5.0


class NodeGroup:
    """Brings one node group nearer to what its description asks for, step by step."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self.name = world, name
        self._registration = Registration(world)
        self._instances: dict[str, dict[str, Any]] | None = None
        self._hosts: dict[str, Host] = {}
        self._first_seen: dict[str, float] = {}
        self._leaving: dict[str, float] = {}
        self._problems: dict[str, list[str]] = {}
        self._launch_error: dict[str, Any] | None = None
        self._launch_after = 0.0
        self._reported: tuple[str, str] | None = None

    @property
    def _tags(self) -> dict[str, str]:
        return {"eks:cluster-name": self._world.cluster, "eks:nodegroup-name": self.name}

    def reconcile(self, described: Described, states: Mapping[str, str]) -> bool:
        """One step; `states` of the account's live instances. True when the node group is gone."""
        self._notice(states)
        if described["status"] == "DELETING":
            return self._delete()
        self._size(described)
        self._join(described)
        self._leave()
        self._report(described)
        return False

    # -- instances

    @property
    def _live(self) -> dict[str, dict[str, Any]]:
        if self._instances is None:
            found = self._world.aws.instances(self._world.aws.tagged_instances(self._tags))
            self._instances = {each["InstanceId"]: each for each in found}
        return self._instances

    def _notice(self, states: Mapping[str, str]) -> None:
        """Instances that EC2 does not have any more take their nodes with them, however they ended."""
        for instance in [each for each in self._live if each not in states]:
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
        old = [each for each, instance in staying.items() if self._outdated(instance, described)]
        minimal = (described.get("updateConfig") or {}).get("updateStrategy") == "MINIMAL"
        surge = min(len(old), self._at_once(described, desired)) if old and not minimal else 0
        missing = desired + surge - len(staying)
        if missing > 0:
            self._launch(described, missing)
        for instance in self._superfluous(list(staying), old, described):
            self._leaving[instance] = time.monotonic()

    def _superfluous(self, staying: list[str], old: list[str], described: Described) -> list[str]:
        """The instances to send away now: what is too many, or old ones once their successors are ready."""
        desired = int(described["scalingConfig"]["desiredSize"])
        excess = max(0, len(staying) - desired)
        if not old:
            return staying[:excess]
        if not all(self._is_ready(each) for each in staying if each not in old):
            return []
        minimal = (described.get("updateConfig") or {}).get("updateStrategy") == "MINIMAL"
        at_once = self._at_once(described, desired) - len(self._leaving)
        return old[: max(0, at_once if minimal else min(at_once, excess))]

    @staticmethod
    def _at_once(described: Described, desired: int) -> int:
        """How many nodes an update may take away at once (`maxUnavailable` or its percentage, at least one)."""
        config = described.get("updateConfig") or {}
        percentage = config.get("maxUnavailablePercentage")
        return max(1, desired * int(percentage) // 100 if percentage else int(config.get("maxUnavailable") or 1))

    @staticmethod
    def _outdated(instance: Described, described: Described) -> bool:
        """Made from another template version or image than the node group names now."""
        made_from, wanted = hosts.source_template(instance), described.get("launchTemplate") or {}
        if made_from and wanted.get("version") and made_from[1] != str(wanted["version"]):
            return True
        return described.get("amiType") != "CUSTOM" and instance["ImageId"] != _image(described)

    def _launch(self, described: Described, count: int) -> None:
        """Spreads new instances over the subnets, as an Auto Scaling group does; what EC2 refuses becomes an issue."""
        if time.monotonic() < self._launch_after:
            return
        subnets = list(described["subnets"])
        for index, subnet in enumerate(subnets):
            share = count // len(subnets) + (1 if index < count % len(subnets) else 0)
            if not share:
                continue
            try:
                self._run(described, subnet, share)
                self._launch_error = None
            except ClientError as error:
                self._launch_after = time.monotonic() + LAUNCH_RETRY_SECONDS
                message = f"Could not launch instances. {error}"
                log.warning("%s: %s", self.name, message)
                self._launch_error = {"code": "AsgInstanceLaunchFailures", "message": message, "resourceIds": [subnet]}
                return

    def _run(self, described: Described, subnet: str, count: int) -> None:
        template = described.get("launchTemplate") or {}
        arguments: dict[str, Any] = {"SubnetId": subnet, "MinCount": count, "MaxCount": count}
        if template.get("id"):
            arguments["LaunchTemplate"] = {"LaunchTemplateId": template["id"], "Version": str(template["version"])}
        if not template.get("id") or not self._template_has_groups(template):
            arguments["SecurityGroupIds"] = [described["clusterSecurityGroupId"]]
        if described.get("instanceTypes"):
            arguments["InstanceType"] = described["instanceTypes"][0]
        if described.get("amiType") != "CUSTOM":
            arguments["ImageId"] = _image(described)
        tags = {**self._tags, f"kubernetes.io/cluster/{self._world.cluster}": "owned"}
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        arguments["TagSpecifications"] = [{"ResourceType": "instance", "Tags": listed}]
        reservation = self._world.aws.ec2.run_instances(**arguments)
        made = self._world.aws.instances(each["InstanceId"] for each in reservation["Instances"])
        self._live.update({each["InstanceId"]: each for each in made})

    def _template_has_groups(self, template: Described) -> bool:
        """EKS adds the cluster security group only to a template that names no security group at all."""
        data = self._template_data(str(template["id"]), str(template["version"]))
        return any(data.get(member) for member in ("SecurityGroupIds", "SecurityGroups", "NetworkInterfaces"))

    def _template_data(self, template: str, version: str) -> Described:
        def read() -> Described:
            found = self._world.aws.ec2.describe_launch_template_versions(LaunchTemplateId=template, Versions=[version])
            data: Described = found["LaunchTemplateVersions"][0]["LaunchTemplateData"]
            return data

        data: Described = self._world.aws.cached(("template", template, version), read)
        return data

    # -- nodes

    def _join(self, described: Described) -> None:
        for identity, instance in list(self._live.items()):
            if identity in self._leaving:
                continue
            self._first_seen.setdefault(identity, time.monotonic())
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
        template = hosts.source_template(instance)
        data = self._template_data(*template) if template else {}
        subnet = self._world.aws.subnets()[instance["SubnetId"]]
        try:
            config = hosts.node_config(data.get("UserData"))
            found = hosts.host(instance, described, subnet, config)
        except (UserDataError, LookupError) as error:
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
            and not any(self._outdated(each, described) for each in self._live.values())
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
        issues = [self._launch_error] if self._launch_error else []
        now = time.monotonic()
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
            and now - self._first_seen.get(each, now) > READY_SECONDS
        ]
        if unready:
            message = "Unhealthy nodes in the kubernetes cluster"
            issues.append({"code": "NodeCreationFailure", "message": message, "resourceIds": sorted(unready)})
        return issues

    def _put(self, body: Mapping[str, Any]) -> None:
        self._world.aws.control("PUT", f"nodegroups/{self._world.region}/{self._world.cluster}/{self.name}", body)


def _image(described: Described) -> str:
    return hosts.image_id(str(described.get("amiType")), str(described.get("releaseVersion")))
