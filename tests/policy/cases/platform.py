"""Clusters that lack an add-on, have two owners of a driver, let nobody in, or lose their log."""

import json
from typing import Any

from tests.graph.changes import MISSING, both, gone, more, ordered, put, unordered
from tests.policy.cases.case import Case
from tests.policy.cases.nodes import AL2023, BOTTLEROCKET

CLUSTER, OPERATOR = "cluster-control-plane", "gpu-operator-release"
POOLS = ("pool-training-nodes", "pool-inference-nodes")
ENTRY, ADMIN = "cluster-deployer", "cluster-deployer-policy"
STANDARD = "AL2023_x86_64_STANDARD"
SESSION = "arn:aws:sts::123456789012:assumed-role/deployer/session"
EBS = "service-addons-aws-ebs-csi-driver"


def both_pools(ami: str) -> Any:
    return both(*(put(name, "amiType", ami) for name in POOLS))


def key_policy(**wrong: Any) -> Any:
    """The key's policy with a statement for CloudWatch Logs that is right but for what is given."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "logs.us-east-2.amazonaws.com"},
        "Action": "kms:*",
        "Resource": "*",
        **wrong,
    }
    return put("keys-key", "policy", json.dumps({"Statement": statement}))


CONTEXT = "kms:EncryptionContext:aws:logs:arn"

ADDONS = [
    *(
        Case("addons_are_there", gone(name), f"has no add-on {addon}")
        for name, addon in (
            ("node-addons-vpc-cni", "vpc-cni"),
            ("node-addons-kube-proxy", "kube-proxy"),
            ("node-addons-eks-pod-identity-agent", "eks-pod-identity-agent"),
            ("service-addons-coredns", "coredns"),
            (EBS, "aws-ebs-csi-driver"),
            ("service-addons-aws-fsx-csi-driver", "aws-fsx-csi-driver"),
        )
    ),
    Case("addons_are_there", put("service-addons-coredns", "addonName", "core-dns"), "has no add-on coredns"),
    Case("addons_are_there", put("service-addons-coredns", "clusterName", "another"), "has no add-on coredns"),
    Case(
        "addons_are_there",
        both(gone("node-addons-vpc-cni"), put(CLUSTER, "bootstrapSelfManagedAddons", MISSING)),
        None,
    ),
    Case("addons_are_there", both(gone(EBS), more("ebs", "efa-plugin-release", chart="aws-ebs-csi-driver")), None),
    Case("addons_are_there", both(gone(EBS, "block-storage-gp3")), None),
    Case("addons_come_in_order", unordered("pool-training-nodes", "node-addons-vpc-cni"), "does not wait for node-"),
    Case("addons_come_in_order", ordered("node-addons-kube-proxy", "pool-system-nodes"), "waits for pool-system-nodes"),
    Case("addons_come_in_order", unordered("service-addons-coredns", "pool-system-nodes"), "is DEGRADED"),
    Case("addons_come_in_order", ordered("service-addons-coredns", "pool-training-nodes"), None),
]
OWNERS = [
    Case("gpus_have_one_owner", put(OPERATOR, "values.driver.enabled", True), "installs its driver on"),
    Case("gpus_have_one_owner", put(OPERATOR, "values.toolkit", MISSING), "installs its toolkit on"),
    Case("gpus_have_one_owner", both_pools(STANDARD), "which has no driver"),
    Case(
        "gpus_have_one_owner",
        both(
            both_pools(STANDARD),
            put(OPERATOR, "values.driver.enabled", True),
            put(OPERATOR, "values.toolkit.enabled", True),
        ),
        None,
    ),
    Case("gpus_have_one_owner", both(both_pools(STANDARD), gone(OPERATOR)), "no driver for its GPUs"),
    Case("gpus_have_one_owner", put(OPERATOR, "values.devicePlugin.enabled", False), "no device plugin"),
    Case("gpus_have_one_owner", more("own", "efa-plugin-release", chart="nvidia-device-plugin"), "plugin from gpu-"),
    Case(
        "gpus_have_one_owner",
        both(
            put(OPERATOR, "values.devicePlugin.enabled", False),
            more("own", "efa-plugin-release", chart="nvidia-device-plugin"),
        ),
        None,
    ),
    Case("gpus_have_one_owner", both_pools(BOTTLEROCKET), f"and {BOTTLEROCKET}"),
    Case(
        "gpus_have_one_owner",
        both(both_pools(BOTTLEROCKET), put(OPERATOR, "values.devicePlugin.enabled", False)),
        None,
    ),
    Case("gpus_have_one_owner", both_pools(AL2023), None),
]
ACCESS = [
    Case("deployer_is_let_in", gone(ENTRY, ADMIN), "admits no administrator"),
    Case("deployer_is_let_in", gone(ADMIN), "admits no administrator"),
    Case(
        "deployer_is_let_in",
        both(gone(ENTRY, ADMIN), put(CLUSTER, "accessConfig.bootstrapClusterCreatorAdminPermissions", True)),
        None,
    ),
    Case("deployer_is_let_in", gone(ENTRY), "which has no access entry"),
    Case("deployer_is_let_in", put(ADMIN, "accessScope.type", "namespace"), "admits no administrator"),
    Case(
        "deployer_is_let_in",
        put(ADMIN, "policyArn", "arn:aws:eks::aws:x/AmazonEKSViewPolicy"),
        "admits no administrator",
    ),
    Case("deployer_is_let_in", put(ENTRY, "principalArn", SESSION), "the session of a role"),
    Case("deployer_is_let_in", put(ADMIN, "principalArn", "arn:aws:iam::123456789012:role/another"), "no access entry"),
    Case("deployer_is_let_in", unordered("kubernetes", ADMIN), "may connect to cluster-control-plane before"),
    Case("entries_are_taken", put(CLUSTER, "accessConfig.authenticationMode", "CONFIG_MAP"), "and refuses cluster-"),
    Case("entries_are_taken", put(CLUSTER, "accessConfig", MISSING), "authenticationMode CONFIG_MAP"),
    Case("entries_are_taken", put(ENTRY, "type", "EC2_LINUX"), "is of type EC2_LINUX"),
    Case("entries_are_taken", put(CLUSTER, "accessConfig.authenticationMode", "API_AND_CONFIG_MAP"), None),
    Case("entries_are_taken", put(ENTRY, "type", MISSING), None),
]
LOGS = [
    Case("control_plane_logs_arrive", gone("cluster-logs"), "which nothing creates"),
    Case("control_plane_logs_arrive", put("cluster-logs", "name", "/aws/eks/prod/cluster"), "which nothing creates"),
    Case("control_plane_logs_arrive", unordered(CLUSTER, "cluster-logs"), "does not wait for cluster-logs"),
    Case("control_plane_logs_arrive", both(gone("cluster-logs"), put(CLUSTER, "enabledClusterLogTypes", [])), None),
    Case("control_plane_logs_arrive", key_policy(), None),
    Case("control_plane_logs_arrive", put("keys-key", "policy", MISSING), "does not let CloudWatch"),
    Case(
        "control_plane_logs_arrive", key_policy(Principal={"Service": "eks.amazonaws.com"}), "does not let CloudWatch"
    ),
    Case("control_plane_logs_arrive", key_policy(Action=["kms:Decrypt*"]), "does not let CloudWatch"),
    Case("control_plane_logs_arrive", key_policy(Effect="Deny"), "does not let CloudWatch"),
    Case(
        "control_plane_logs_arrive",
        key_policy(Condition={"ArnLike": {CONTEXT: "arn:aws:logs:us-east-2:123456789012:log-group:/aws/eks/x/*"}}),
        "does not let CloudWatch",
    ),
]

CASES = [*ADDONS, *OWNERS, *ACCESS, *LOGS]
