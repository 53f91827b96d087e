"""What others change behind the stack's back: `refresh` shows it exactly, the next update repairs it."""

from typing import Any

import pytest

from .rehearsed import Rehearsed, operations, paths, until

pytestmark = pytest.mark.engine

CLUSTER, SERVICE, NAMESPACE = "gpucluster-dev", "llama-3-8b", "inference"
NAME = f"service-{SERVICE}"
SLOWER = '[{"op": "replace", "path": "/spec/endpoints/0/interval", "value": "60s"}]'


@pytest.fixture(scope="module")
def drifted(dev: Rehearsed) -> Rehearsed:
    """Eight things changed with boto3 and kubectl, and two that are nobody's business."""
    outputs = dev.outputs()
    by_boto3(dev, outputs["fabric"]["vpc"], outputs["storage"]["bucket"])
    dev.kubectl("-n", NAMESPACE, "set", "image", f"deployment/{SERVICE}", "vllm=vllm/vllm-openai:v0.1.0")
    dev.kubectl("-n", NAMESPACE, "patch", "servicemonitor", SERVICE, "--type", "json", "--patch", SLOWER)
    dev.kubectl("-n", NAMESPACE, "delete", "poddisruptionbudget", SERVICE)
    dev.kubectl("-n", NAMESPACE, "delete", "service", SERVICE)
    dev.kubectl("-n", NAMESPACE, "label", "serviceaccount", "weights-llama-3-8b", "looked-at=yes")
    dev.kubectl("-n", NAMESPACE, "create", "configmap", "note")
    return dev


def by_boto3(site: Rehearsed, vpc: str, bucket: str) -> None:
    ec2, eks = site.aws("ec2"), site.aws("eks")
    ec2.create_tags(Resources=[vpc], Tags=[{"Key": "owner", "Value": "somebody-else"}])
    (rule,) = efa_rules(site, vpc)
    ec2.revoke_security_group_ingress(GroupId=rule["GroupId"], SecurityGroupRuleIds=[rule["SecurityGroupRuleId"]])
    site.aws("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    scaling = {"minSize": 2, "maxSize": 3, "desiredSize": 3}
    eks.update_nodegroup_config(clusterName=CLUSTER, nodegroupName="training", scalingConfig=scaling)
    until(lambda: node_group(site)["status"] == "ACTIVE", "the node group to have its third node")


def efa_rules(site: Rehearsed, vpc: str) -> list[dict[str, Any]]:
    """Inbound rules of the EFA group."""
    ec2 = site.aws("ec2")
    filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "group-name", "Values": [f"{CLUSTER}-efa"]}]
    (group,) = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    rules = ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group["GroupId"]]}])
    return [each for each in rules["SecurityGroupRules"] if not each["IsEgress"]]


def node_group(site: Rehearsed) -> dict[str, Any]:
    answer = site.aws("eks").describe_nodegroup(clusterName=CLUSTER, nodegroupName="training")
    group: dict[str, Any] = answer["nodegroup"]
    return group


def applied(site: Rehearsed, api_version: str, kind: str) -> bool:
    """Whether the service's object has been updated since its creation, which is a plain POST: it has been applied."""
    found = site.kube.get(api_version, kind, SERVICE, NAMESPACE)
    assert found is not None
    return any(each["operation"] == "Apply" for each in found["metadata"]["managedFields"])


def test_refresh_shows_what_was_changed_and_nothing_else(drifted: Rehearsed) -> None:
    outcome = drifted.refresh()
    assert operations(outcome) == [
        ("delete", "aws:vpc:SecurityGroupIngressRule", "efa-self-in"),
        ("delete", "core/v1:Service", f"{NAME}-service"),
        ("delete", "policy/v1:PodDisruptionBudget", f"{NAME}-disruption-budget"),
        ("update", "apps/v1:Deployment", f"{NAME}-deployment"),
        ("update", "aws:ec2:Vpc", "network-vpc"),
        ("update", "aws:eks:NodeGroup", "pool-training-nodes"),
        ("update", "aws:s3:BucketVersioning", "object-store-versioning"),
        ("update", "monitoring.coreos.com/v1:ServiceMonitor", f"{NAME}-monitor"),
    ]
    assert paths(outcome, f"{NAME}-deployment") == ("spec.template.spec.containers[0].image",)
    assert paths(outcome, f"{NAME}-monitor") == ("spec.endpoints[0].interval",)
    assert paths(outcome, "network-vpc") == ("tags.owner", "tagsAll.owner")
    assert paths(outcome, "pool-training-nodes") == ("scalingConfig.desiredSize", "scalingConfig.maxSize")
    assert paths(outcome, "object-store-versioning") == ("versioningConfiguration.status",)


def test_a_preview_conflicts_with_kubectl_on_what_was_updated_before_lf24(drifted: Rehearsed) -> None:
    """It cannot tell that the update itself takes over what a person did with kubectl."""
    managers = {
        f"{NAME}-deployment": "kubectl-set" if applied(drifted, "apps/v1", "Deployment") else None,
        f"{NAME}-monitor": "kubectl-patch" if applied(drifted, "monitoring.coreos.com/v1", "ServiceMonitor") else None,
    }
    outcome = drifted.preview()
    assert bool(outcome.status) is any(managers.values()), outcome.explain()
    said = {each.urn.name: each.message for each in outcome.record.errors() if each.urn is not None}
    for name in said.keys() & managers.keys():
        assert "server-side apply field conflict detected" in said[name]
        assert f'conflict with "{managers[name]}"' in said[name]


def test_the_next_update_repairs_everything_and_takes_from_kubectl_unasked_lf24(drifted: Rehearsed) -> None:
    assert operations(drifted.up()) == [
        ("create", "aws:vpc:SecurityGroupIngressRule", "efa-self-in"),
        ("create", "core/v1:Service", f"{NAME}-service"),
        ("create", "policy/v1:PodDisruptionBudget", f"{NAME}-disruption-budget"),
        ("update", "apps/v1:Deployment", f"{NAME}-deployment"),
        ("update", "aws:ec2:Vpc", "network-vpc"),
        ("update", "aws:eks:NodeGroup", "pool-training-nodes"),
        ("update", "aws:s3:BucketVersioning", "object-store-versioning"),
        ("update", "monitoring.coreos.com/v1:ServiceMonitor", f"{NAME}-monitor"),
    ]


def test_the_account_and_the_cluster_are_as_the_program_says_again(drifted: Rehearsed) -> None:
    outputs = drifted.outputs()
    vpc = outputs["fabric"]["vpc"]
    (found,) = drifted.aws("ec2").describe_vpcs(VpcIds=[vpc])["Vpcs"]
    assert {"Key": "owner", "Value": "ml-platform"} in found["Tags"]
    assert len(efa_rules(drifted, vpc)) == 1
    versioning = drifted.aws("s3").get_bucket_versioning(Bucket=outputs["storage"]["bucket"])
    assert versioning["Status"] == "Enabled"
    assert node_group(drifted)["scalingConfig"] == {"minSize": 2, "maxSize": 2, "desiredSize": 2}
    image = drifted.kubectl(
        "-n", NAMESPACE, "get", "deployment", SERVICE, "-o", "jsonpath={.spec.template.spec.containers[0].image}"
    )
    assert image == drifted.tree.stack("dev").get("gpucluster:serving.services[0].image")
    drifted.kubectl("-n", NAMESPACE, "get", "service,poddisruptionbudget", SERVICE)
    assert drifted.settled().gangs[0].running == 2


def test_what_is_nobodys_business_stays(drifted: Rehearsed) -> None:
    account = "serviceaccount/weights-llama-3-8b"
    labels = drifted.kubectl("-n", NAMESPACE, "get", account, "-o", "jsonpath={.metadata.labels}")
    assert '"looked-at":"yes"' in labels
    drifted.kubectl("-n", NAMESPACE, "delete", "configmap", "note")
    drifted.assert_quiet()
