"""What EKS makes in the account for a cluster, and takes away with it: network interfaces, groups, entries, logs.

Sources: EKS user guide, "View Amazon EKS security group requirements for clusters", "Amazon EKS networking requirements
for VPC and subnets", "Grant IAM users access to Kubernetes with EKS access entries", "Send control plane logs to
CloudWatch Logs".
"""

from typing import Any

from moto.moto_api._internal import mock_random

from rehearsal.cloud.account import ACCOUNT, ec2, logs, now, uuid
from rehearsal.cloud.ec2.use import group_users, remove_interface
from rehearsal.eks.api.store import AccessEntry, Cluster, EksBackend

NODE_USERNAME = "system:node:{{EC2PrivateDNSName}}"
CONTROL_PLANE_INTERFACES = 4
"""EKS makes two to four network interfaces in the subnets of a cluster."""


def make_cluster_group(region: str, name: str, vpc_id: str) -> str:
    """The cluster security group: all traffic from itself, all traffic out."""
    backend = ec2(region)
    digits = "".join(str(mock_random.randint(0, 9)) for _ in range(10))
    title = f"eks-cluster-sg-{name}-{digits}"
    group = backend.create_security_group(
        title,
        "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes, "
        "as well as any managed workloads.",
        vpc_id=vpc_id,
        tags={"Name": title, "aws:eks:cluster-name": name, f"kubernetes.io/cluster/{name}": "owned"},
    )
    backend.authorize_security_group_ingress(
        group_name_or_id=group.id,
        ip_protocol="-1",
        from_port=None,
        to_port=None,
        ip_ranges=[],
        source_groups=[{"GroupId": group.id}],
    )
    return str(group.id)


def make_interfaces(region: str, cluster: Cluster) -> None:
    """The control plane's interfaces in the cluster's subnets; they keep the subnets in use until it is gone."""
    backend = ec2(region)
    config = cluster.body["resourcesVpcConfig"]
    groups = [config["clusterSecurityGroupId"], *config["securityGroupIds"]]
    for subnet_id in config["subnetIds"][:CONTROL_PLANE_INTERFACES]:
        interface = backend.create_network_interface(
            backend.get_subnet(subnet_id),
            [],
            group_ids=groups,
            description=f"Amazon EKS {cluster.name}",
            tags={"cluster.k8s.amazonaws.com/name": cluster.name},
        )
        interface.requester_managed = True
        interface.status = "in-use"
        cluster.interfaces.append(interface.id)


def remake_interfaces(region: str, cluster: Cluster) -> None:
    """Move the interfaces after a change of subnets or security groups."""
    for interface in cluster.interfaces:
        remove_interface(ec2(region), interface)
    cluster.interfaces.clear()
    make_interfaces(region, cluster)


def make_log_group(region: str, cluster: Cluster) -> None:
    """Control plane logging makes ``/aws/eks/<name>/cluster`` when it is not there, and nobody deletes that one."""
    enabled = any(part["enabled"] and part["types"] for part in cluster.body["logging"]["clusterLogging"])
    group = f"/aws/eks/{cluster.name}/cluster"
    if enabled and group not in logs(region).groups:
        logs(region).create_log_group(group, {})


def make_node_role_entry(backend: EksBackend, cluster: Cluster, role_arn: str) -> None:
    """A managed node group's role gets its EC2_LINUX entry from EKS, unless the cluster knows ConfigMap access only."""
    if cluster.authentication_mode != "CONFIG_MAP" and role_arn not in cluster.entries:
        body = entry_body(
            backend, cluster, role_arn, "EC2_LINUX", "system:node:{{EC2PrivateDNSName}}", ["system:nodes"]
        )
        cluster.entries[role_arn] = AccessEntry(body)


def entry_body(
    backend: EksBackend, cluster: Cluster, principal: str, kind: str, username: str, groups: list[str]
) -> dict[str, Any]:
    """An access entry as DescribeAccessEntry returns it."""
    noun, _, name = principal.rpartition(":")[2].partition("/")
    return {
        "clusterName": cluster.name,
        "principalArn": principal,
        "kubernetesGroups": groups,
        "accessEntryArn": backend.arn("access-entry", cluster.name, noun, ACCOUNT, name.rpartition("/")[2], uuid()),
        "createdAt": now(),
        "modifiedAt": now(),
        "tags": {},
        "username": username,
        "type": kind,
    }


def release_node_role(cluster: Cluster, role_arn: str) -> None:
    """The role's EC2_LINUX entry goes with the last node group that uses it."""
    entry = cluster.entries.get(role_arn)
    used = any(group["nodeRole"] == role_arn for group in cluster.nodegroups.values())
    if entry and entry.body["type"] == "EC2_LINUX" and not used:
        del cluster.entries[role_arn]


def release_addon(cluster: Cluster, addon_arn: str) -> None:
    """Pod identity associations an add-on made go with it."""
    for key in [key for key, body in cluster.associations.items() if body.get("ownerArn") == addon_arn]:
        del cluster.associations[key]


def release_cluster(region: str, cluster: Cluster) -> None:
    """Take the interfaces and the security group away; a group that is still in use or referenced stays behind.

    Logging writes to the last moment, so a log group deleted before its cluster comes back and is left over.
    """
    backend = ec2(region)
    for interface in cluster.interfaces:
        remove_interface(backend, interface)
    group_id = cluster.body["resourcesVpcConfig"]["clusterSecurityGroupId"]
    if backend.get_security_group_from_id(group_id) and not group_users(backend, group_id):
        backend.delete_security_group(group_id=group_id)
    make_log_group(region, cluster)
