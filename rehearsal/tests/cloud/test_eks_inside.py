"""Node groups, add-ons, access entries and pod identities of a cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused, until
from rehearsal.tests.cloud.world import (
    ADMIN,
    DEPLOYER,
    MIME,
    cluster_request,
    encoded,
    gone,
    make_network,
    make_role,
    remove_network,
)

NOBODY = "arn:aws:iam::123456789012:role/nobody"


@pytest.fixture(scope="module")
def eks(cloud: Cloud) -> Iterator[Any]:
    """EKS with one cluster `inner`, and the roles of its nodes and pods."""
    client, iam = cloud.client("eks"), cloud.client("iam")
    network = make_network(cloud)
    role = make_role(cloud, "inner-cluster", "eks.amazonaws.com")
    make_role(cloud, "inner-node", "ec2.amazonaws.com")
    make_role(cloud, "inner-pod", "pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    make_role(cloud, "inner-untagged-pod", "pods.eks.amazonaws.com", "sts:AssumeRole")
    client.create_cluster(**cluster_request("inner", role, network))
    yield client
    gone(cloud, "inner")
    for name in ("inner-cluster", "inner-node", "inner-pod", "inner-untagged-pod"):
        iam.delete_role(RoleName=name)
    remove_network(cloud, network)


def arn(role: str) -> str:
    """A role of this account."""
    return f"arn:aws:iam::123456789012:role/{role}"


@pytest.fixture
def nodegroup(eks: Any) -> dict[str, Any]:
    """CreateNodegroup's members for a small group of system nodes."""
    subnets = eks.describe_cluster(name="inner")["cluster"]["resourcesVpcConfig"]["subnetIds"]
    return {
        "clusterName": "inner",
        "nodegroupName": "system",
        "subnets": subnets,
        "nodeRole": arn("inner-node"),
        "instanceTypes": ["m7i.large"],
        "amiType": "AL2023_x86_64_STANDARD",
        "scalingConfig": {"minSize": 1, "desiredSize": 2, "maxSize": 3},
        "labels": {"pool": "system"},
        "taints": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}],
        "updateConfig": {"maxUnavailable": 2},
        "capacityType": "ON_DEMAND",
        "releaseVersion": "1.35.0-20260108",
    }


@pytest.fixture
def template(cloud: Cloud) -> Iterator[Any]:
    """Makes launch templates from their data; they are deleted after the test."""
    ec2 = cloud.client("ec2")
    made: list[str] = []

    def make(**data: Any) -> str:
        name = f"node-template-{len(made)}"
        created = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)["LaunchTemplate"]
        made.append(created["LaunchTemplateId"])
        return str(created["LaunchTemplateId"])

    yield make
    for each in made:
        ec2.delete_launch_template(LaunchTemplateId=each)


def remove(eks: Any, name: str) -> None:
    """Delete a node group of the cluster and wait."""
    eks.delete_nodegroup(clusterName="inner", nodegroupName=name)
    until(lambda: name not in eks.list_nodegroups(clusterName="inner")["nodegroups"])


def test_a_nodegroup_as_described(eks: Any, nodegroup: dict[str, Any], template: Any) -> None:
    """Nothing dropped, nothing made up: moto reports t3.medium, version 1.19 and no updateConfig."""
    chosen = template(UserData=encoded(MIME))
    eks.create_nodegroup(**nodegroup, launchTemplate={"id": chosen, "version": "1"})
    body = eks.describe_nodegroup(clusterName="inner", nodegroupName="system")["nodegroup"]
    for member, value in nodegroup.items():
        assert body[member] == value, member
    assert body["status"] == "ACTIVE"
    assert body["version"] == "1.35"
    assert body["launchTemplate"] == {"id": chosen, "version": "1", "name": "node-template-0"}
    assert body["health"] == {"issues": []}
    assert body["resources"]["autoScalingGroups"][0]["name"].startswith("eks-system-")
    assert "diskSize" not in body
    assert "remoteAccess" not in body
    refused(eks.create_nodegroup, "ResourceInUseException", "already exists", **nodegroup)
    refused(eks.delete_cluster, "ResourceInUseException", "nodegroups attached", name="inner")
    remove(eks, "system")


def test_eks_makes_the_node_roles_entry_and_takes_it_away(eks: Any, nodegroup: dict[str, Any]) -> None:
    """So a program that makes it too is refused."""
    eks.create_nodegroup(**nodegroup)
    entry = eks.describe_access_entry(clusterName="inner", principalArn=arn("inner-node"))["accessEntry"]
    assert (entry["type"], entry["kubernetesGroups"]) == ("EC2_LINUX", ["system:nodes"])
    ours = {"clusterName": "inner", "principalArn": arn("inner-node"), "type": "EC2_LINUX"}
    refused(eks.create_access_entry, "ResourceInUseException", "already in use", **ours)
    scope = {"clusterName": "inner", "principalArn": arn("inner-node"), "policyArn": ADMIN}
    refused(eks.associate_access_policy, "InvalidParameterException", accessScope={"type": "cluster"}, **scope)
    remove(eks, "system")
    assert arn("inner-node") not in eks.list_access_entries(clusterName="inner")["accessEntries"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodeRole": NOBODY}, "cannot be found"),
        ({"nodeRole": arn("inner-pod")}, "could not be assumed"),
        ({"subnets": ["subnet-0123456789abcdef0"]}, "does not exist"),
        ({"instanceTypes": ["m9.large"]}, "do not exist"),
        ({"instanceTypes": ["p5e.48xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}, "do not exist: ['p5e.48xlarge']"),
        ({"instanceTypes": ["m7g.large"]}, "not a valid instance type for requested amiType"),
        ({"amiType": "AL2023_x86_64_NVIDIA"}, "not a valid instance type for requested amiType"),
        ({"scalingConfig": {"minSize": 3, "desiredSize": 2, "maxSize": 3}}, "can't be greater than desired"),
        ({"scalingConfig": {"minSize": 0, "desiredSize": 4, "maxSize": 3}}, "can't be greater than max"),
        ({"releaseVersion": "1.34.2-20260108"}, "is not valid for kubernetes version 1.35"),
        ({"amiType": "BOTTLEROCKET_x86_64", "releaseVersion": "1.35.6-20260818"}, "is not valid for kubernetes"),
        ({"version": "1.36", "releaseVersion": "1.36.0-20260108"}, "does not fit"),
        ({"launchTemplate": {"id": "lt-0123456789abcdef0"}}, "does not exist"),
        ({"capacityType": "CAPACITY_BLOCK"}, "launch template"),
        ({"labels": {"long": "x" * 64}}, "length less than or equal to 63"),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "enum value set"),
    ],
)
def test_a_nodegroup_that_cannot_be_is_refused(
    eks: Any, nodegroup: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    """Each on its own; moto takes all of them."""
    refused(eks.create_nodegroup, "InvalidParameterException", words, **{**nodegroup, **change})


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ({"IamInstanceProfile": {"Name": "x"}}, "InvalidRequestException", "instance profile"),
        ({"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-1"}]}, "InvalidRequestException", "subnet"),
        ({"InstanceInitiatedShutdownBehavior": "stop"}, "InvalidRequestException", "shutdown"),
        ({"InstanceMarketOptions": {"MarketType": "spot"}}, "InvalidRequestException", "market type spot"),
        ({"UserData": encoded("#!/bin/sh\n")}, "InvalidRequestException", "MIME multipart"),
        ({"InstanceType": "m7i.large"}, "InvalidParameterException", "both in the request and in the launch template"),
        ({"ImageId": "ami-0123456789abcdef0"}, "InvalidParameterException", "amiType"),
        (
            {"NetworkInterfaces": [{"DeviceIndex": 0}], "SecurityGroupIds": ["sg-1"]},
            "InvalidRequestException",
            "security groups",
        ),
    ],
)
def test_a_template_for_nodes_leaves_out_what_is_eks_own(
    eks: Any, nodegroup: dict[str, Any], template: Any, data: dict[str, Any], code: str, words: str
) -> None:
    """User guide, "Customize managed nodes with launch templates"."""
    refused(eks.create_nodegroup, code, words, **nodegroup, launchTemplate={"id": template(**data)})


def test_disk_size_belongs_into_the_template(eks: Any, nodegroup: dict[str, Any], template: Any) -> None:
    """Given with one, it is refused; without one it is 20 GiB."""
    arguments = {**nodegroup, "diskSize": 100, "launchTemplate": {"id": template(UserData=encoded(MIME))}}
    refused(eks.create_nodegroup, "InvalidParameterException", "diskSize", **arguments)
    eks.create_nodegroup(**nodegroup)
    body = eks.describe_nodegroup(clusterName="inner", nodegroupName="system")["nodegroup"]
    assert body["diskSize"] == 20
    remove(eks, "system")


def test_a_group_that_could_not_be_made_can_only_be_deleted(eks: Any, cloud: Cloud, nodegroup: dict[str, Any]) -> None:
    """EKS refuses every update of it; DeleteNodegroup takes it away."""
    eks.create_nodegroup(**{**nodegroup, "nodegroupName": "doomed"})
    cloud.call("PUT", "nodegroups/us-east-1/inner/doomed", {"status": "CREATE_FAILED", "issues": []})
    name = {"clusterName": "inner", "nodegroupName": "doomed"}
    for update in (eks.update_nodegroup_config, eks.update_nodegroup_version):
        refused(update, "ResourceInUseException", "not in Active State", **name)
    remove(eks, "doomed")


def test_nodegroup_updates(eks: Any, cloud: Cloud, nodegroup: dict[str, Any], template: Any) -> None:
    """Sizes, labels and taints; another version of the same template and never another template."""
    chosen = template(UserData=encoded(MIME))
    cloud.client("ec2").create_launch_template_version(
        LaunchTemplateId=chosen, LaunchTemplateData={"UserData": encoded(MIME + "2")}
    )
    eks.create_nodegroup(**nodegroup, launchTemplate={"id": chosen, "version": "1"})
    name = {"clusterName": "inner", "nodegroupName": "system"}
    too_small = {"scalingConfig": {"maxSize": 1}}
    refused(eks.update_nodegroup_config, "InvalidParameterException", "greater than max size 1", **name, **too_small)
    update = eks.update_nodegroup_config(
        **name,
        scalingConfig={"desiredSize": 1},
        labels={"addOrUpdateLabels": {"tier": "x"}, "removeLabels": ["pool"]},
        taints={"removeTaints": [{"key": "a", "effect": "NO_SCHEDULE"}]},
    )["update"]
    body = eks.describe_nodegroup(**name)["nodegroup"]
    assert (body["scalingConfig"]["desiredSize"], body["labels"], body["taints"]) == (1, {"tier": "x"}, [])
    told = eks.describe_update(name="inner", nodegroupName="system", updateId=update["id"])["update"]
    assert told["status"] == "Successful"
    eks.update_nodegroup_version(**name, launchTemplate={"id": chosen, "version": "2"})
    assert eks.describe_nodegroup(**name)["nodegroup"]["launchTemplate"]["version"] == "2"
    other = {"launchTemplate": {"id": template(UserData=encoded(MIME)), "version": "1"}}
    refused(eks.update_nodegroup_version, "InvalidParameterException", "cannot be changed", **name, **other)
    remove(eks, "system")


def test_an_addon_as_described(eks: Any) -> None:
    """With its pod identity, which goes with it."""
    association = {"serviceAccount": "ebs-csi-controller-sa", "roleArn": arn("inner-pod")}
    request = {"clusterName": "inner", "addonName": "aws-ebs-csi-driver"}
    eks.create_addon(**request, addonVersion="v1.48.0-eksbuild.1", podIdentityAssociations=[association])
    body = eks.describe_addon(**request)["addon"]
    assert (body["status"], body["addonVersion"], body["health"]) == ("ACTIVE", "v1.48.0-eksbuild.1", {"issues": []})
    made = eks.list_pod_identity_associations(clusterName="inner")["associations"][0]
    assert body["podIdentityAssociations"] == [made["associationArn"]]
    assert (made["namespace"], made["ownerArn"]) == ("kube-system", body["addonArn"])
    refused(eks.create_addon, "ResourceInUseException", "already exists", **request)
    eks.update_addon(**request, configurationValues='{"controller": {"replicaCount": 1}}')
    assert eks.describe_addon(**request)["addon"]["configurationValues"].startswith("{")
    eks.delete_addon(**request)
    until(lambda: eks.list_addons(clusterName="inner")["addons"] == [])
    assert eks.list_pod_identity_associations(clusterName="inner")["associations"] == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"addonName": "vpc-cnj"}, "is not supported"),
        ({"addonVersion": "v1.20.1"}, "version specified is not supported"),
        ({"addonName": "kube-proxy", "addonVersion": "v1.36.0-eksbuild.1"}, "version specified is not supported"),
        ({"configurationValues": "[1]"}, "not an object"),
        ({"configurationValues": "{"}, "ConfigurationValue"),
        ({"serviceAccountRoleArn": NOBODY}, "cannot be found"),
        ({"podIdentityAssociations": [{"serviceAccount": "a", "roleArn": NOBODY}]}, "cannot be found"),
    ],
)
def test_an_addon_that_cannot_be_is_refused(eks: Any, change: dict[str, Any], words: str) -> None:
    """Before anything is made."""
    request = {"clusterName": "inner", "addonName": "vpc-cni", **change}
    refused(eks.create_addon, "InvalidParameterException", words, **request)
    assert eks.list_addons(clusterName="inner")["addons"] == []


def test_versions_are_offered(eks: Any) -> None:
    """One default per Kubernetes version; unknown names are errors."""
    offered = eks.describe_addon_versions(addonName="kube-proxy", kubernetesVersion="1.35")["addons"][0]
    assert offered["addonVersions"][0]["addonVersion"].startswith("v1.35.")
    assert offered["addonVersions"][0]["compatibilities"][0]["defaultVersion"] is True
    refused(eks.describe_addon_versions, "InvalidParameterException", addonName="nothing")
    assert "1.35" in {row["clusterVersion"] for row in eks.describe_cluster_versions()["clusterVersions"]}


def test_access_entries_and_policies(eks: Any) -> None:
    """One per principal that exists; policies with a scope; both gone when deleted."""
    name = {"clusterName": "inner", "principalArn": DEPLOYER}
    entry = eks.create_access_entry(**name)["accessEntry"]
    assert entry["username"] == "arn:aws:sts::123456789012:assumed-role/deployer/{{SessionName}}"
    assert ":access-entry/inner/role/123456789012/deployer/" in entry["accessEntryArn"]
    refused(eks.create_access_entry, "ResourceInUseException", **name)
    unknown = {"clusterName": "inner", "principalArn": NOBODY}
    refused(eks.create_access_entry, "InvalidParameterException", "invalid principal", **unknown)
    groups: dict[str, Any] = {**name, "principalArn": arn("inner-pod"), "kubernetesGroups": ["system:masters"]}
    refused(eks.create_access_entry, "InvalidParameterException", "system:masters", **groups)
    misspelt: dict[str, Any] = {**name, "policyArn": ADMIN + "X", "accessScope": {"type": "cluster"}}
    refused(eks.associate_access_policy, "InvalidParameterException", **misspelt)
    nowhere: dict[str, Any] = {**name, "policyArn": ADMIN, "accessScope": {"type": "namespace"}}
    refused(eks.associate_access_policy, "InvalidParameterException", "Namespaces", **nowhere)
    eks.associate_access_policy(**name, policyArn=ADMIN, accessScope={"type": "cluster"})
    listed = eks.list_associated_access_policies(**name)["associatedAccessPolicies"]
    assert [(row["policyArn"], row["accessScope"]["type"]) for row in listed] == [(ADMIN, "cluster")]
    assert eks.list_access_entries(clusterName="inner", associatedPolicyArn=ADMIN)["accessEntries"] == [DEPLOYER]
    eks.disassociate_access_policy(**name, policyArn=ADMIN)
    refused(eks.disassociate_access_policy, "ResourceNotFoundException", **name, policyArn=ADMIN)
    eks.tag_resource(resourceArn=entry["accessEntryArn"], tags={"a": "b"})
    assert eks.describe_access_entry(**name)["accessEntry"]["tags"] == {"a": "b"}
    eks.delete_access_entry(**name)
    refused(eks.describe_access_entry, "ResourceNotFoundException", **name)


def test_pod_identities(eks: Any) -> None:
    """One role per service account, whose trust policy must allow tagging the session."""
    account = {"clusterName": "inner", "namespace": "training", "serviceAccount": "weights"}
    create = eks.create_pod_identity_association
    refused(create, "InvalidParameterException", "cannot be found", roleArn=NOBODY, **account)
    untagged = {**account, "roleArn": arn("inner-untagged-pod")}
    refused(create, "InvalidParameterException", "sts:TagSession", **untagged)
    made = create(**account, roleArn=arn("inner-pod"))["association"]
    assert made["associationArn"].endswith(f"podidentityassociation/inner/{made['associationId']}")
    again = {**account, "roleArn": arn("inner-pod")}
    refused(create, "ResourceInUseException", made["associationId"], **again)
    name = {"clusterName": "inner", "associationId": made["associationId"]}
    assert eks.describe_pod_identity_association(**name)["association"]["roleArn"] == arn("inner-pod")
    listed = eks.list_pod_identity_associations(clusterName="inner", namespace="training")["associations"]
    assert [row["serviceAccount"] for row in listed] == ["weights"]
    eks.delete_pod_identity_association(**name)
    refused(eks.describe_pod_identity_association, "ResourceNotFoundException", **name)
