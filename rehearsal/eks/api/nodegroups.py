"""Managed node groups. Source: EKS API reference, CreateNodegroup to DeleteNodegroup."""

from typing import Any

from moto.core.responses import ActionResult

from rehearsal.cloud.account import now, uuid
from rehearsal.eks.api import ownership
from rehearsal.eks.api.base import EksOperations, in_use
from rehearsal.eks.api.checks import invalid, require_role, require_subnets
from rehearsal.eks.api.nodegroup_rules import (
    check_ami,
    check_repair_config,
    check_scaling,
    check_update_config,
    check_version,
    instance_types,
    template_of,
)
from rehearsal.eks.api.store import Body, Cluster
from rehearsal.eks.api.updates import apply_labels, apply_taints
from rehearsal.eks.api.versions import latest_release

DEFAULT_AMI_TYPE = "AL2023_x86_64_STANDARD"
DEFAULT_DISK_GIB = 20


class NodegroupOperations(EksOperations):
    """Groups of instances EKS makes, updates and drains."""

    def create_nodegroup(self) -> ActionResult:
        """CREATING until its nodes are Ready."""
        given = self.input
        cluster = self.cluster_of(given)
        cluster.require_active("create a node group")
        name = given["nodegroupName"]
        if name in cluster.nodegroups:
            message = f"NodeGroup already exists with name {name} and cluster name {cluster.name}"
            raise in_use(message, clusterName=cluster.name, nodegroupName=name)
        body = self._new_nodegroup(cluster, given)
        cluster.nodegroups[name] = body
        ownership.make_node_role_entry(self.state, cluster, body["nodeRole"])
        self.begun(cluster, "nodegroup", name)
        return ActionResult({"nodegroup": body})

    def _new_nodegroup(self, cluster: Cluster, given: dict[str, Any]) -> Body:
        name = given["nodegroupName"]
        require_role(given["nodeRole"], "ec2.amazonaws.com")
        for subnet in require_subnets(self.region, given["subnets"]):
            if subnet.vpc_id != cluster.body["resourcesVpcConfig"]["vpcId"]:
                raise invalid(f"Subnet {subnet.id} is not in the VPC of cluster {cluster.name}", nodegroupName=name)
        scaling = {"minSize": 1, "maxSize": 2, "desiredSize": 2} | given.get("scalingConfig", {})
        check_scaling(scaling)
        if "updateConfig" in given:
            check_update_config(given["updateConfig"])
        check_repair_config(given.get("nodeRepairConfig", {}))
        template = template_of(self.region, given)
        types = instance_types(given, template)
        ami_type = "CUSTOM" if template and template.data.get("ImageId") else given.get("amiType", DEFAULT_AMI_TYPE)
        version = str(given.get("version") or cluster.body["version"])
        check_version(cluster.body["version"], version, ami_type, given.get("releaseVersion"))
        check_ami(self.region, ami_type, types, template)
        named = given.get("launchTemplate")
        unit = uuid()
        body: Body = {
            "nodegroupName": name,
            "nodegroupArn": self.state.arn("nodegroup", cluster.name, name, unit),
            "clusterName": cluster.name,
            "version": version,
            "releaseVersion": given.get("releaseVersion") or latest_release(version, ami_type),
            "createdAt": now(),
            "modifiedAt": now(),
            "status": "CREATING",
            "capacityType": given.get("capacityType", "ON_DEMAND"),
            "scalingConfig": scaling,
            "instanceTypes": None if template and template.data.get("InstanceType") else types,
            "subnets": given["subnets"],
            "remoteAccess": given.get("remoteAccess"),
            "amiType": ami_type,
            "nodeRole": given["nodeRole"],
            "labels": given.get("labels", {}),
            "taints": given.get("taints", []),
            "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{unit}"}]},
            "diskSize": None if template else given.get("diskSize", DEFAULT_DISK_GIB),
            "health": {"issues": []},
            "updateConfig": given.get("updateConfig", {"maxUnavailable": 1}),
            "nodeRepairConfig": given.get("nodeRepairConfig", {"enabled": False}),
            "tags": given.get("tags", {}),
        }
        if named and template:
            body["launchTemplate"] = {
                "id": template.template.id,
                "name": template.template.name,
                "version": str(template.number),
            }
        return body

    def describe_nodegroup(self) -> ActionResult:
        """With health issues, as its nodes stand."""
        given = self.input
        return ActionResult({"nodegroup": self.cluster_of(given).nodegroup(given["nodegroupName"])})

    def list_nodegroups(self) -> ActionResult:
        """Names only."""
        given = self.input
        return self.page("nodegroups", sorted(self.cluster_of(given).nodegroups), given)

    def update_nodegroup_config(self) -> ActionResult:
        """Sizes, labels, taints, update and repair settings."""
        given = self.input
        cluster = self.cluster_of(given)
        body = self._idle(cluster, given["nodegroupName"])
        params: dict[str, Any] = {}
        if "scalingConfig" in given:
            scaling = body["scalingConfig"] | given["scalingConfig"]
            check_scaling(scaling)
            body["scalingConfig"] = scaling
            params |= {key[0].upper() + key[1:]: value for key, value in scaling.items()}
        params |= apply_labels(body, given.get("labels", {}))
        params |= apply_taints(body, given.get("taints", {}))
        if "updateConfig" in given:
            check_update_config(given["updateConfig"])
            body["updateConfig"] = given["updateConfig"]
            params |= {key[0].upper() + key[1:]: value for key, value in given["updateConfig"].items()}
        if "nodeRepairConfig" in given:
            check_repair_config(given["nodeRepairConfig"])
            body["nodeRepairConfig"] = given["nodeRepairConfig"]
            params["NodeRepairConfig"] = given["nodeRepairConfig"]
        if not params:
            raise invalid("No changes needed: the request changes nothing", nodegroupName=given["nodegroupName"])
        body |= {"status": "UPDATING", "modifiedAt": now()}
        update = cluster.record_update("ConfigUpdate", ("nodegroup", given["nodegroupName"]), params)
        return self.started(cluster, update)

    def update_nodegroup_version(self) -> ActionResult:
        """Kubernetes or AMI version, or another version of the same launch template: nodes are replaced."""
        given = self.input
        cluster = self.cluster_of(given)
        body = self._idle(cluster, given["nodegroupName"])
        params: dict[str, Any] = {}
        if "launchTemplate" in given:
            params |= self._move_template(body, given)
        version = str(given.get("version") or (body["version"] if params else cluster.body["version"]))
        if body["amiType"] == "CUSTOM" and (given.get("version") or given.get("releaseVersion")):
            raise invalid("You cannot specify a version with a launch template that has an AMI of its own")
        check_version(cluster.body["version"], version, body["amiType"], given.get("releaseVersion"))
        if given.get("releaseVersion") or version != body["version"]:
            release = given.get("releaseVersion") or latest_release(version, body["amiType"])
            params |= {"Version": version, "ReleaseVersion": release}
            body |= {"version": version, "releaseVersion": release}
        body |= {"status": "UPDATING", "modifiedAt": now()}
        update = cluster.record_update("VersionUpdate", ("nodegroup", given["nodegroupName"]), params)
        return self.started(cluster, update)

    def _move_template(self, body: Body, given: dict[str, Any]) -> dict[str, Any]:
        current = body.get("launchTemplate")
        if current is None:
            raise invalid("A node group made without a launch template cannot be given one; create another node group")
        wanted = given["launchTemplate"]
        if wanted.get("id", current["id"]) != current["id"] or wanted.get("name", current["name"]) != current["name"]:
            raise invalid(f"The launch template of a node group cannot be changed; it stays {current['id']}")
        template = template_of(self.region, {**given, "launchTemplate": {"id": current["id"], **wanted}})
        types = instance_types({"instanceTypes": body["instanceTypes"]}, template)
        check_ami(self.region, body["amiType"], types, template)
        current["version"] = str(template.number if template else "")
        return {"LaunchTemplateName": current["name"], "LaunchTemplateVersion": current["version"]}

    def delete_nodegroup(self) -> ActionResult:
        """DELETING until its instances are gone."""
        given = self.input
        cluster = self.cluster_of(given)
        body = cluster.nodegroup(given["nodegroupName"])
        body["status"] = "DELETING"
        self.begun(cluster, "nodegroup", given["nodegroupName"])
        return ActionResult({"nodegroup": body})

    def _idle(self, cluster: Cluster, name: str) -> Body:
        body = cluster.nodegroup(name)
        if body["status"] not in ("ACTIVE", "DEGRADED"):
            message = f"Nodegroup cannot be updated as it is currently not in Active State: {name} is {body['status']}"
            raise in_use(message, clusterName=cluster.name, nodegroupName=name)
        return body
