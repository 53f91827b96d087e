"""Add-ons. Source: EKS API reference, CreateAddon to DeleteAddon; user guide, "Amazon EKS add-ons"."""

import json
from typing import Any

import yaml
from moto.core.responses import ActionResult

from rehearsal.cloud.account import now, uuid
from rehearsal.eks.api.base import EksOperations, in_use
from rehearsal.eks.api.checks import existing_role, invalid
from rehearsal.eks.api.identities import add_association
from rehearsal.eks.api.store import Body, Cluster
from rehearsal.eks.api.versions import ADDONS, KUBERNETES, addon_version_fits, default_addon_version, described_addon

NAMESPACES = {"cert-manager": "cert-manager"}


class AddonOperations(EksOperations):
    """Software EKS puts into a cluster."""

    def create_addon(self) -> ActionResult:
        """CREATING until its pods run; refused before the cluster is ACTIVE."""
        given = self.input
        cluster = self.cluster_of(given)
        cluster.require_active("create an add-on")
        name = given["addonName"]
        if name not in ADDONS:
            raise invalid(f"Addon {name} specified is not supported", clusterName=cluster.name, addonName=name)
        if name in cluster.addons:
            raise in_use("Addon already exists.", clusterName=cluster.name, addonName=name)
        version = given.get("addonVersion") or default_addon_version(name, cluster.body["version"])
        self._check(cluster, name, version, given)
        arn = self.state.arn("addon", cluster.name, name, uuid())
        body: Body = {
            "addonName": name,
            "clusterName": cluster.name,
            "status": "CREATING",
            "addonVersion": version,
            "health": {"issues": []},
            "addonArn": arn,
            "createdAt": now(),
            "modifiedAt": now(),
            "serviceAccountRoleArn": given.get("serviceAccountRoleArn"),
            "tags": given.get("tags", {}),
            "configurationValues": given.get("configurationValues"),
            "podIdentityAssociations": self._associations(cluster, name, arn, given),
        }
        cluster.addons[name] = body
        self.begun(cluster, "addon", name)
        return ActionResult({"addon": body})

    def describe_addon(self) -> ActionResult:
        """With health issues, as its pods stand."""
        given = self.input
        return ActionResult({"addon": self.cluster_of(given).addon(given["addonName"])})

    def list_addons(self) -> ActionResult:
        """Names only."""
        given = self.input
        return self.page("addons", sorted(self.cluster_of(given).addons), given)

    def update_addon(self) -> ActionResult:
        """Version, configuration, roles; a member that is not given keeps its value."""
        given = self.input
        cluster = self.cluster_of(given)
        name = given["addonName"]
        body = cluster.addon(name)
        if body["status"] in ("CREATING", "UPDATING", "DELETING"):
            raise in_use(f"Addon {name} cannot be updated as it is in {body['status']} status", addonName=name)
        version = str(given.get("addonVersion") or body["addonVersion"])
        self._check(cluster, name, version, given)
        if "podIdentityAssociations" in given:
            for key in [key for key, each in cluster.associations.items() if each.get("ownerArn") == body["addonArn"]]:
                del cluster.associations[key]
            body["podIdentityAssociations"] = self._associations(cluster, name, body["addonArn"], given)
        changed = {key: given[key] for key in ("configurationValues", "serviceAccountRoleArn") if key in given}
        body |= changed | {"addonVersion": version, "status": "UPDATING", "modifiedAt": now()}
        params = {"AddonVersion": version, "ResolveConflicts": given.get("resolveConflicts", "NONE")}
        return self.started(cluster, cluster.record_update("AddonUpdate", ("addon", name), params))

    def delete_addon(self) -> ActionResult:
        """DELETING until its objects are gone from the cluster (or kept, with ``preserve``)."""
        given = self.input
        cluster = self.cluster_of(given)
        body = cluster.addon(given["addonName"])
        body["status"] = "DELETING"
        self.begun(cluster, "addon", given["addonName"])
        return ActionResult({"addon": body})

    def describe_addon_versions(self) -> ActionResult:
        """What is offered, for one Kubernetes version or for all."""
        given = self.input
        kubernetes = given.get("kubernetesVersion")
        if kubernetes and kubernetes not in KUBERNETES:
            raise invalid(f"Kubernetes version {kubernetes} is not supported")
        if given.get("addonName") and given["addonName"] not in ADDONS:
            raise invalid(f"Addon {given['addonName']} specified is not supported")
        names = [given["addonName"]] if given.get("addonName") else list(ADDONS)
        return self.page("addons", [described_addon(name, kubernetes) for name in names], given)

    def _check(self, cluster: Cluster, name: str, version: str, given: dict[str, Any]) -> None:
        if not addon_version_fits(name, version, cluster.body["version"]):
            message = f"Addon version specified is not supported: {name} {version} on {cluster.body['version']}"
            raise invalid(message, clusterName=cluster.name, addonName=name)
        if given.get("serviceAccountRoleArn") and given.get("podIdentityAssociations"):
            raise invalid("Both serviceAccountRoleArn and podIdentityAssociations cannot be given", addonName=name)
        if given.get("serviceAccountRoleArn"):
            existing_role(given["serviceAccountRoleArn"])
        if given.get("configurationValues"):
            _check_configuration(name, given["configurationValues"])

    def _associations(self, cluster: Cluster, addon: str, arn: str, given: dict[str, Any]) -> list[str]:
        namespace = NAMESPACES.get(addon, "kube-system")
        return [
            add_association(self.state, cluster, {**association, "namespace": namespace}, owner=arn)["associationArn"]
            for association in given.get("podIdentityAssociations", [])
        ]


def _check_configuration(addon: str, text: str) -> None:
    """ConfigurationValues are one JSON or YAML object."""
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise invalid(f"ConfigurationValue provided in request is not supported: {error}", addonName=addon) from error
    if not isinstance(value, dict):
        raise invalid("ConfigurationValue provided in request is not supported: not an object", addonName=addon)
