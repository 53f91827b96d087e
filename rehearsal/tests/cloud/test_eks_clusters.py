"""Clusters: what CreateCluster refuses, what EKS makes around a cluster, updates, deletion."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused, until
from rehearsal.tests.cloud.world import (
    ADMIN,
    DEPLOYER,
    Network,
    cluster_request,
    gone,
    make_role,
)


@pytest.fixture(scope="module")
def eks(cloud: Cloud) -> Any:
    """EKS of the test region."""
    return cloud.client("eks")


@pytest.fixture(scope="module")
def role(cloud: Cloud) -> Iterator[str]:
    """A role EKS may assume."""
    yield make_role(cloud, "control-plane", "eks.amazonaws.com")
    cloud.client("iam").delete_role(RoleName="control-plane")


@pytest.fixture
def cluster(eks: Any, cloud: Cloud, role: str, network: Network) -> Iterator[dict[str, Any]]:
    """An ACTIVE cluster, gone after the test."""
    eks.create_cluster(**cluster_request("small", role, network))
    yield eks.describe_cluster(name="small")["cluster"]
    gone(cloud, "small")


def test_a_cluster_as_described(cloud: Cloud, cluster: dict[str, Any], network: Network) -> None:
    """Members the official provider reads, and none of them moto's."""
    assert cluster["status"] == "ACTIVE"
    assert cluster["arn"] == "arn:aws:eks:us-east-1:123456789012:cluster/small"
    config = cluster["resourcesVpcConfig"]
    assert (config["vpcId"], config["subnetIds"]) == (network.vpc, list(network.subnets))
    assert cluster["accessConfig"]["authenticationMode"] == "API"
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "172.20.0.0/16"
    assert cluster["identity"]["oidc"]["issuer"].startswith("https://oidc.eks.us-east-1.amazonaws.com/id/")
    assert cluster["health"] == {"issues": []}


def test_what_eks_makes_keeps_the_network_in_use(cloud: Cloud, cluster: dict[str, Any], network: Network) -> None:
    """The cluster security group, and interfaces in the subnets until the cluster is gone."""
    ec2 = cloud.client("ec2")
    group_id = cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
    group = ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"][0]
    assert group["GroupName"].startswith("eks-cluster-sg-small-")
    pairs = [pair["GroupId"] for rule in group["IpPermissions"] for pair in rule["UserIdGroupPairs"]]
    assert pairs == [group_id]
    tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    assert tags["kubernetes.io/cluster/small"] == "owned"
    for subnet in network.subnets:
        refused(ec2.delete_subnet, "DependencyViolation", SubnetId=subnet)
    refused(ec2.delete_security_group, "DependencyViolation", GroupId=group_id)
    found = ec2.describe_network_interfaces(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])["NetworkInterfaces"]
    assert {each["Description"] for each in found} == {"Amazon EKS small"}
    interface = found[0]["NetworkInterfaceId"]
    refused(ec2.delete_network_interface, "AuthFailure", NetworkInterfaceId=interface)


def test_a_cluster_group_that_others_name_stays_behind(cloud: Cloud, eks: Any, role: str, network: Network) -> None:
    """EKS cannot delete it then; a program that destroys in the wrong order leaves residue."""
    ec2 = cloud.client("ec2")
    eks.create_cluster(**cluster_request("named", role, network))
    group = eks.describe_cluster(name="named")["cluster"]["resourcesVpcConfig"]["clusterSecurityGroupId"]
    other = ec2.create_security_group(GroupName="other", Description="d", VpcId=network.vpc)["GroupId"]
    pair = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=[pair])
    gone(cloud, "named")
    assert group in cloud.inventory()["ec2:security-group"]
    ec2.delete_security_group(GroupId=other)
    ec2.delete_security_group(GroupId=group)


@pytest.mark.parametrize("owned", [True, False])
def test_control_plane_logs_leave_their_group(cloud: Cloud, eks: Any, role: str, network: Network, owned: bool) -> None:
    """EKS makes it when it is missing, also when the program deletes its own one before the cluster."""
    logs, name = cloud.client("logs"), "/aws/eks/logging/cluster"
    if owned:
        logs.create_log_group(logGroupName=name)
    on = {"clusterLogging": [{"types": ["api", "audit"], "enabled": True}]}
    eks.create_cluster(**cluster_request("logging", role, network, logging=on))
    assert name in cloud.inventory()["logs:log-group"]
    logs.delete_log_group(logGroupName=name)
    gone(cloud, "logging")
    assert name in cloud.inventory()["logs:log-group"]
    logs.delete_log_group(logGroupName=name)


def test_the_last_events_come_after_the_end_when_told_so_lf09(
    cloud: Cloud, eks: Any, role: str, network: Network
) -> None:
    logs, name = cloud.client("logs"), "/aws/eks/logging/cluster"
    on = {"clusterLogging": [{"types": ["api"], "enabled": True}]}
    for seconds in (0.3, None):
        cloud.call("PUT", "late-logs", {"seconds": seconds})
        eks.create_cluster(**cluster_request("logging", role, network, logging=on))
        gone(cloud, "logging")
        logs.delete_log_group(logGroupName=name)
        assert name not in cloud.inventory().get("logs:log-group", ())
        if seconds is not None:
            until(lambda: name in cloud.inventory().get("logs:log-group", ()))
            logs.delete_log_group(logGroupName=name)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"version": "1.19"}, "InvalidParameterException", "unsupported Kubernetes version"),
        ({"roleArn": "arn:aws:iam::123456789012:role/nobody"}, "InvalidParameterException", "cannot be found"),
        ({"roleArn": DEPLOYER}, "InvalidParameterException", "could not be assumed"),
        ({"resourcesVpcConfig": {"subnetIds": ["first"]}}, "InvalidParameterException", "at least two different AZs"),
        (
            {"resourcesVpcConfig": {"subnetIds": ["first", "subnet-0123456789abcdef0"]}},
            "InvalidParameterException",
            "does not exist",
        ),
        (
            {"resourcesVpcConfig": {"subnetIds": ["first", "second"], "securityGroupIds": ["sg-0123456789abcdef0"]}},
            "InvalidParameterException",
            "does not exist",
        ),
        (
            {"resourcesVpcConfig": {"subnetIds": ["first", "second"], "endpointPublicAccess": False}},
            "InvalidParameterException",
            "cannot be false",
        ),
        (
            {"resourcesVpcConfig": {"subnetIds": ["first", "second"], "publicAccessCidrs": ["10.8.0.0/16"]}},
            "InvalidParameterException",
            "not allowed in publicAccessCidrs",
        ),
        (
            {"encryptionConfig": [{"resources": ["secrets"], "provider": {"keyArn": "alias/nothing"}}]},
            "InvalidParameterException",
            "does not exist",
        ),
        ({"name": "-odd"}, "InvalidParameterException", "must satisfy pattern"),
        ({"accessConfig": {"authenticationMode": "TOKEN"}}, "InvalidParameterException", "enum value set"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(
    eks: Any, role: str, network: Network, change: dict[str, Any], code: str, words: str
) -> None:
    """Each on its own; moto takes all of them."""
    text = json.dumps(change)
    for word, subnet in zip(("first", "second"), network.subnets, strict=True):
        text = text.replace(f'"{word}"', f'"{subnet}"')
    request = {**cluster_request("refused", role, network), **json.loads(text)}
    refused(eks.create_cluster, code, words, **request)
    refused(eks.describe_cluster, "ResourceNotFoundException", name="refused")


def test_a_zone_without_control_planes_is_refused(cloud: Cloud, eks: Any, role: str, network: Network) -> None:
    """use1-az3 has none."""
    ec2 = cloud.client("ec2")
    made = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.6.0/24", AvailabilityZoneId="use1-az3")["Subnet"]
    request = cluster_request("zoned", role, network)
    request["resourcesVpcConfig"] = {"subnetIds": [network.subnets[0], made["SubnetId"]]}
    refused(eks.create_cluster, "UnsupportedAvailabilityZoneException", made["AvailabilityZone"], **request)
    ec2.delete_subnet(SubnetId=made["SubnetId"])


def test_a_name_is_taken_once_but_a_token_twice(eks: Any, cluster: dict[str, Any], role: str, network: Network) -> None:
    """A retried CreateCluster gets its cluster; another one is refused."""
    request = cluster_request("small", role, network)
    refused(eks.create_cluster, "ResourceInUseException", "already exists", **request)
    again = eks.create_cluster(**request, clientRequestToken=cluster["clientRequestToken"])["cluster"]
    assert again["arn"] == cluster["arn"]


def test_the_creator_is_let_in_unless_told_otherwise(cloud: Cloud, eks: Any, role: str, network: Network) -> None:
    """bootstrapClusterCreatorAdminPermissions is true by default."""
    access = {"authenticationMode": "API"}
    eks.create_cluster(**cluster_request("open", role, network) | {"accessConfig": access})
    assert eks.list_access_entries(clusterName="open")["accessEntries"] == [DEPLOYER]
    policies = eks.list_associated_access_policies(clusterName="open", principalArn=DEPLOYER)
    assert [row["policyArn"] for row in policies["associatedAccessPolicies"]] == [ADMIN]
    gone(cloud, "open")


def test_updates_take_a_while_and_one_at_a_time(eks: Any, cluster: dict[str, Any]) -> None:
    """Config and version: UPDATING, then ACTIVE with the new value; DescribeUpdate tells of it."""
    change = {"endpointPrivateAccess": True}
    update = eks.update_cluster_config(name="small", resourcesVpcConfig=change)["update"]
    assert (update["type"], update["status"]) == ("EndpointAccessUpdate", "InProgress")
    refused(eks.update_cluster_version, "ResourceInUseException", "UPDATING", name="small", version="1.36")
    until(lambda: eks.describe_update(name="small", updateId=update["id"])["update"]["status"] == "Successful")
    assert eks.describe_cluster(name="small")["cluster"]["resourcesVpcConfig"]["endpointPrivateAccess"] is True
    refused(eks.update_cluster_config, "InvalidParameterException", "already", name="small", resourcesVpcConfig=change)
    refused(eks.update_cluster_version, "InvalidParameterException", "1.35 to 1.34", name="small", version="1.34")
    eks.update_cluster_version(name="small", version="1.36")
    until(lambda: eks.describe_cluster(name="small")["cluster"]["status"] == "ACTIVE")
    assert eks.describe_cluster(name="small")["cluster"]["version"] == "1.36"


def test_deletion_protection_holds(eks: Any, cluster: dict[str, Any]) -> None:
    """Until it is switched off."""
    eks.update_cluster_config(name="small", deletionProtection=True)
    until(lambda: eks.describe_cluster(name="small")["cluster"]["status"] == "ACTIVE")
    refused(eks.delete_cluster, "InvalidRequestException", "deletion protection", name="small")
    eks.update_cluster_config(name="small", deletionProtection=False)
    until(lambda: eks.describe_cluster(name="small")["cluster"]["status"] == "ACTIVE")


def test_tags_of_a_cluster(eks: Any, cluster: dict[str, Any]) -> None:
    """By ARN, added and removed."""
    eks.tag_resource(resourceArn=cluster["arn"], tags={"stack": "dev", "owner": "us"})
    eks.untag_resource(resourceArn=cluster["arn"], tagKeys=["owner"])
    assert eks.describe_cluster(name="small")["cluster"]["tags"] == {"stack": "dev"}
    assert eks.list_tags_for_resource(resourceArn=cluster["arn"])["tags"] == {"stack": "dev"}
