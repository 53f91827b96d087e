"""Clusters: create, describe, update, delete. Source: EKS API reference, the operations of these names."""

from typing import Any

from moto.core.responses import ActionResult
from moto.moto_api._internal import mock_random

from rehearsal.cloud.account import now
from rehearsal.cloud.iam import caller_role_arn
from rehearsal.cloud.service import Refusal
from rehearsal.eks.api import ownership
from rehearsal.eks.api.access import CLUSTER_ADMIN, add_entry, associate
from rehearsal.eks.api.base import EksOperations, in_use
from rehearsal.eks.api.checks import (
    invalid,
    key_issues,
    require_control_plane_subnets,
    require_groups,
    require_key,
    require_public,
    require_role,
)
from rehearsal.eks.api.store import Body, Cluster
from rehearsal.eks.api.versions import DEFAULT_KUBERNETES, KUBERNETES, minor

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
SERVICE_CIDR = "172.20.0.0/16"


class ClusterOperations(EksOperations):
    """CreateCluster, DescribeCluster, ListClusters, UpdateClusterConfig, UpdateClusterVersion, DeleteCluster."""

    def create_cluster(self) -> ActionResult:
        """CREATING until the control plane is there; the security group and the interfaces exist from the start."""
        given = self.input
        name = given["name"]
        token = given.get("clientRequestToken")
        existing = self.state.clusters.get(name)
        if existing and token and existing.token == token:
            return ActionResult({"cluster": existing.body})
        if existing:
            raise in_use(f"Cluster already exists with name: {name}", clusterName=name)
        self._check_new(given)
        cluster = self._new_cluster(given, token)
        self.state.clusters[name] = cluster
        ownership.make_interfaces(self.region, cluster)
        ownership.make_log_group(self.region, cluster)
        if given.get("accessConfig", {}).get("bootstrapClusterCreatorAdminPermissions", True):
            entry = add_entry(self.state, cluster, {"principalArn": caller_role_arn()})
            associate(entry, CLUSTER_ADMIN, {"type": "cluster"})
        self.begun(cluster, "cluster")
        return ActionResult({"cluster": cluster.body})

    def _check_new(self, given: dict[str, Any]) -> None:
        if given.get("version", DEFAULT_KUBERNETES) not in KUBERNETES:
            raise invalid(f"unsupported Kubernetes version {given['version']}; offered are {', '.join(KUBERNETES)}")
        require_role(given["roleArn"], "eks.amazonaws.com")
        config = given["resourcesVpcConfig"]
        vpc_id = require_control_plane_subnets(self.region, given["name"], config.get("subnetIds", []))
        require_groups(self.region, config.get("securityGroupIds", []), vpc_id)
        if not config.get("endpointPublicAccess", True) and not config.get("endpointPrivateAccess", False):
            raise invalid("Private and public endpoint access cannot be false")
        require_public(config.get("publicAccessCidrs") or ())
        for encryption in given.get("encryptionConfig", []):
            require_key(self.region, encryption["provider"]["keyArn"])

    def _new_cluster(self, given: dict[str, Any], token: str | None) -> Cluster:
        name = given["name"]
        config = given["resourcesVpcConfig"]
        vpc_id = require_control_plane_subnets(self.region, name, config["subnetIds"])
        network = given.get("kubernetesNetworkConfig", {})
        access = given.get("accessConfig", {})
        body: Body = {
            "name": name,
            "arn": self.state.arn("cluster", name),
            "createdAt": now(),
            "version": given.get("version", DEFAULT_KUBERNETES),
            "roleArn": given["roleArn"],
            "resourcesVpcConfig": {
                "subnetIds": config["subnetIds"],
                "securityGroupIds": config.get("securityGroupIds", []),
                "clusterSecurityGroupId": ownership.make_cluster_group(self.region, name, vpc_id),
                "vpcId": vpc_id,
                "endpointPublicAccess": config.get("endpointPublicAccess", True),
                "endpointPrivateAccess": config.get("endpointPrivateAccess", False),
                "publicAccessCidrs": config.get("publicAccessCidrs") or ["0.0.0.0/0"],
            },
            "kubernetesNetworkConfig": {
                "serviceIpv4Cidr": network.get("serviceIpv4Cidr", SERVICE_CIDR),
                "ipFamily": network.get("ipFamily", "ipv4"),
                "elasticLoadBalancing": {"enabled": False},
            },
            "logging": _logging(given.get("logging", {})),
            "identity": {"oidc": {"issuer": self._issuer()}},
            "status": "CREATING",
            "certificateAuthority": {},
            "clientRequestToken": token,
            "platformVersion": "eks.1",
            "tags": given.get("tags", {}),
            "encryptionConfig": given.get("encryptionConfig"),
            "health": {"issues": []},
            "accessConfig": {
                "authenticationMode": access.get("authenticationMode", "CONFIG_MAP"),
                "bootstrapClusterCreatorAdminPermissions": access.get("bootstrapClusterCreatorAdminPermissions", True),
            },
            "upgradePolicy": {"supportType": given.get("upgradePolicy", {}).get("supportType", "EXTENDED")},
            "zonalShiftConfig": given.get("zonalShiftConfig"),
            "deletionProtection": given.get("deletionProtection", False),
            "controlPlaneScalingConfig": given.get("controlPlaneScalingConfig", {"tier": "standard"}),
        }
        return Cluster(body, token, given.get("bootstrapSelfManagedAddons", True))

    def _issuer(self) -> str:
        return f"https://oidc.eks.{self.region}.amazonaws.com/id/{mock_random.get_random_hex(32).upper()}"

    def describe_cluster(self) -> ActionResult:
        """The cluster as it stands."""
        body = self.cluster_of(self.input).body
        return ActionResult({"cluster": {**body, "health": {"issues": [*body["health"]["issues"], *key_issues(body)]}}})

    def list_clusters(self) -> ActionResult:
        """Names only."""
        return self.page("clusters", sorted(self.state.clusters), self.input)

    def update_cluster_version(self) -> ActionResult:
        """One minor up at a time; never down."""
        given = self.input
        cluster = self.cluster_of(given)
        self._require_idle(cluster)
        old, new = cluster.body["version"], given["version"]
        if new not in KUBERNETES or minor(new) - minor(old) != 1:
            raise invalid(f"Unsupported Kubernetes minor version update from {old} to {new}", clusterName=cluster.name)
        cluster.body |= {"version": new, "status": "UPDATING"}
        update = cluster.record_update("VersionUpdate", ("cluster", ""), {"Version": new, "PlatformVersion": "eks.1"})
        return self.started(cluster, update)

    def update_cluster_config(self) -> ActionResult:
        """One kind of change per request, and none that changes nothing."""
        given = self.input
        cluster = self.cluster_of(given)
        self._require_idle(cluster)
        changes = {key: value for key, value in given.items() if key not in ("name", "clientRequestToken")}
        if len(changes) != 1:
            raise invalid(f"Only one type of update can be allowed, got: {sorted(changes)}", clusterName=cluster.name)
        kind, params = self._change(cluster, *changes.popitem())
        cluster.body["status"] = "UPDATING"
        return self.started(cluster, cluster.record_update(kind, ("cluster", ""), params))

    def _change(self, cluster: Cluster, member: str, value: Any) -> tuple[str, dict[str, Any]]:
        body = cluster.body
        if member == "resourcesVpcConfig":
            return self._change_network(cluster, value)
        wanted = _logging(value, body["logging"]) if member == "logging" else value
        if isinstance(wanted, dict) and isinstance(body.get(member), dict):
            wanted = body[member] | wanted
        if wanted == body.get(member):
            raise invalid(f"No changes needed for the {member} config provided", clusterName=cluster.name)
        if member == "accessConfig":
            _require_mode_step(cluster, wanted["authenticationMode"])
        body[member] = wanted
        if member == "logging":
            ownership.make_log_group(self.region, cluster)
        kinds = {
            "logging": ("LoggingUpdate", "ClusterLogging"),
            "accessConfig": ("AccessConfigUpdate", "AuthenticationMode"),
            "upgradePolicy": ("UpgradePolicyUpdate", "UpgradePolicy"),
            "zonalShiftConfig": ("ZonalShiftConfigUpdate", "ZonalShiftConfig"),
            "deletionProtection": ("DeletionProtectionUpdate", "DeletionProtection"),
            "controlPlaneScalingConfig": ("ControlPlaneScalingConfigUpdate", "UpdatedTier"),
            "kubernetesNetworkConfig": ("AutoModeUpdate", "KubernetesNetworkConfig"),
        }
        if member not in kinds:
            raise invalid(f"The rehearsal's EKS cannot update {member}", clusterName=cluster.name)
        kind, parameter = kinds[member]
        return kind, {parameter: value}

    def _change_network(self, cluster: Cluster, value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        config = cluster.body["resourcesVpcConfig"]
        if all(config.get(key) == wanted for key, wanted in value.items()):
            message = f"Cluster is already at the desired configuration with {value}"
            raise invalid(message, clusterName=cluster.name)
        require_public(value.get("publicAccessCidrs") or ())
        moves = {"subnetIds", "securityGroupIds"} & value.keys()
        if moves and value.keys() - moves:
            raise invalid("VPC and endpoint access cannot be updated at once", clusterName=cluster.name)
        if moves:
            subnets = value.get("subnetIds", config["subnetIds"])
            vpc_id = require_control_plane_subnets(self.region, cluster.name, subnets)
            if vpc_id != config["vpcId"]:
                raise invalid("Provided subnets belong to a different VPC than the cluster", clusterName=cluster.name)
            require_groups(self.region, value.get("securityGroupIds", []), vpc_id)
        config.update(value)
        if moves:
            ownership.remake_interfaces(self.region, cluster)
            return "VpcConfigUpdate", {"Subnets": config["subnetIds"], "SecurityGroups": config["securityGroupIds"]}
        params = {key[0].upper() + key[1:]: wanted for key, wanted in value.items()}
        return "EndpointAccessUpdate", params

    def delete_cluster(self) -> ActionResult:
        """DELETING until it is gone; refused while node groups exist or deletion protection is on."""
        cluster = self.cluster_of(self.input)
        if cluster.nodegroups:
            raise in_use("Cluster has nodegroups attached", clusterName=cluster.name)
        if cluster.body["deletionProtection"]:
            message = f"Cluster {cluster.name} has deletion protection enabled; disable it first"
            raise Refusal("InvalidRequestException", message, clusterName=cluster.name)
        if cluster.body["status"] in ("CREATING", "UPDATING"):
            doing = "create" if cluster.body["status"] == "CREATING" else "update"
            message = f"Cannot delete because cluster {cluster.name} currently has {doing} in progress"
            raise in_use(message, clusterName=cluster.name)
        cluster.body["status"] = "DELETING"
        self.begun(cluster, "cluster")
        return ActionResult({"cluster": cluster.body})

    def _require_idle(self, cluster: Cluster) -> None:
        if cluster.body["status"] != "ACTIVE":
            message = f"Cannot update: cluster {cluster.name} is in {cluster.body['status']} status"
            raise in_use(message, clusterName=cluster.name)


def _require_mode_step(cluster: Cluster, mode: str) -> None:
    """CONFIG_MAP -> API_AND_CONFIG_MAP -> API, never back (user guide, "Change authentication mode")."""
    order = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")
    if order.index(mode) - order.index(cluster.authentication_mode) != 1:
        message = f"Unsupported authentication mode update from {cluster.authentication_mode} to {mode}"
        raise Refusal("InvalidRequestException", message, clusterName=cluster.name)


def _logging(given: dict[str, Any], current: dict[str, Any] | None = None) -> dict[str, Any]:
    """EKS' two rows: the types that are on, the types that are off."""
    enabled = {kind for row in (current or {}).get("clusterLogging", []) if row["enabled"] for kind in row["types"]}
    for row in given.get("clusterLogging", []):
        kinds = set(row.get("types", []))
        enabled = enabled | kinds if row.get("enabled") else enabled - kinds
    on = [kind for kind in LOG_TYPES if kind in enabled]
    off = [kind for kind in LOG_TYPES if kind not in enabled]
    rows = [{"types": on, "enabled": True}, {"types": off, "enabled": False}]
    return {"clusterLogging": [row for row in rows if row["types"]]}
