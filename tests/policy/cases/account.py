"""What a mistake in the account locks, loses, bills or leaves unsaid: names, routes, disks, keys, buckets, topics."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

from policy.graph import UNKNOWN, Graph
from tests.graph.changes import MISSING, Change, both, gone, put, registered, unordered
from tests.policy.cases.case import Case
from tests.policy.cases.nodes import BOTTLEROCKET

VPC, ENDPOINT, TOPIC = "network-vpc", "network-s3", "spending-topic"
KEY, LIFECYCLE, POLICY = "keys-key", "object-store-lifecycle", "spending-topic-policy"
NODES, TEMPLATE = "pool-training-nodes", "pool-training-template"
DISK = "blockDeviceMappings.0.deviceName"
ADMIN = {"AWS": "arn:aws:iam::123456789012:role/keys"}


def routed_by(name: str) -> Change:
    """The endpoint is in the route table of this name, and made of it."""

    def change(graph: Graph) -> Graph:
        table, endpoint = graph.one(name), graph.one(ENDPOINT)
        wired = replace(endpoint, references={**endpoint.references, "routeTableIds": (table.urn,)})
        given = put(ENDPOINT, "routeTableIds", [table.id or UNKNOWN])
        return given(replace(graph, resources={**graph.resources, endpoint.urn: wired}))

    return change


def unprotected(name: str) -> Change:
    """Nothing keeps the resource."""
    return lambda graph: replace(
        graph, resources={**graph.resources, graph.one(name).urn: replace(graph.one(name), protect=False)}
    )


def owned(**statement: Any) -> Change:
    """The key's policy is this statement alone."""
    return put(KEY, "policy", json.dumps({"Statement": {"Effect": "Allow", "Resource": "*", **statement}}))


def published(**statement: Any) -> Change:
    """The topic's policy is this statement alone."""
    right = {"Effect": "Allow", "Principal": {"Service": "budgets.amazonaws.com"}, "Action": "SNS:Publish"}
    return put(POLICY, "policy", json.dumps({"Statement": [{**right, **statement}]}))


def anomalies_by_topic(graph: Graph) -> Graph:
    """Anomalies are told by the topic of the budget."""
    address = graph.one("spending-budget").inputs["notifications"][0]["subscriberSnsTopicArns"][0]
    return put("spending-anomalies", "subscribers", [{"type": "SNS", "address": address}])(graph)


made = partial(Case, preview=False)
"""A case about addresses, which a first preview does not know."""

NAMES, S3, FOLLOW, DISKS = (
    "names_are_resolved",
    "nodes_reach_s3_by_its_endpoint",
    "changes_of_templates_arrive",
    "disks_are_the_images_own",
)
WAIT = "nodes_wait_for_their_way_out"
HAND, KEPT, TOLD = "keys_stay_in_hand", "protected_buckets_keep_objects", "alerts_of_cost_are_let_through"

CASES = [
    Case(NAMES, put(VPC, "enableDnsHostnames", False), "has enableDnsHostnames off"),
    Case(NAMES, put(VPC, "enableDnsHostnames", MISSING), "has enableDnsHostnames off"),
    Case(NAMES, put(VPC, "enableDnsSupport", False), "has enableDnsSupport off"),
    Case(NAMES, put(VPC, "enableDnsSupport", MISSING), None),
    Case(NAMES, both(put(VPC, "enableDnsHostnames", False), gone("cluster-control-plane")), None),
    Case(S3, routed_by("network-public-routes"), "is in no route table of network-subnet-gpu-use2-az1"),
    Case(S3, put(ENDPOINT, "routeTableIds", []), "reach S3 through NAT"),
    Case(S3, gone(ENDPOINT), None),
    Case(S3, put(ENDPOINT, "serviceName", "com.amazonaws.us-east-2.dynamodb"), None),
    Case(
        S3,
        both(put(ENDPOINT, "routeTableIds", []), put(ENDPOINT, "vpcEndpointType", "Interface")),
        None,
    ),
    Case(
        WAIT,
        both(
            *(
                unordered(name, "network-private-default-route")
                for name in ("pool-system-nodes", "cluster-control-plane", "lustre-file-system")
            )
        ),
        "may start its nodes before network-private-default-route",
    ),
    Case(
        WAIT,
        unordered(NODES, "network-subnet-gpu-use2-az1-routes"),
        "start its nodes before network-subnet-gpu-use2-az1-routes",
    ),
    Case(
        WAIT,
        both(
            unordered(NODES, "network-subnet-gpu-use2-az1-routes", "network-private-default-route"),
            gone("network-subnet-gpu-use2-az1-routes"),
        ),
        None,
    ),
    Case(FOLLOW, put(NODES, "launchTemplate.version", "$Default"), "names the version $Default"),
    Case(FOLLOW, put(NODES, "launchTemplate.version", "$Latest"), "names the version $Latest"),
    Case(FOLLOW, put(NODES, "launchTemplate.version", "7"), None),
    Case(DISKS, put(TEMPLATE, DISK, "/dev/sda1"), "keeps images on /dev/xvda"),
    Case(DISKS, put(NODES, "amiType", BOTTLEROCKET), "keeps images on /dev/xvdb"),
    Case(DISKS, both(put(NODES, "amiType", BOTTLEROCKET), put(TEMPLATE, DISK, "/dev/xvdb")), None),
    Case(DISKS, put(TEMPLATE, "blockDeviceMappings", MISSING), None),
    Case(DISKS, both(put(NODES, "amiType", "CUSTOM"), put(TEMPLATE, DISK, "/dev/sda1")), None),
    Case(HAND, owned(Principal={"Service": "logs.us-east-2.amazonaws.com"}, Action="kms:*"), "nobody may change"),
    Case(HAND, owned(Principal=ADMIN, Action=["kms:Decrypt", "kms:Encrypt"]), "nobody may change"),
    Case(HAND, owned(Principal=ADMIN, Action="kms:*", Effect="Deny"), "nobody may change"),
    Case(HAND, owned(Principal=ADMIN, Action=["kms:Put*", "kms:Create*"]), None),
    Case(HAND, put(KEY, "policy", MISSING), None),
    Case(
        HAND,
        registered("apart", "aws:kms/keyPolicy:KeyPolicy", policy=json.dumps({"Statement": []})),
        "is a key policy whose policy nobody may change",
    ),
    Case(
        KEPT, put(LIFECYCLE, "rules.0.filter.prefix", ""), "deletes every object of object-store-bucket after 90 days"
    ),
    Case(KEPT, put(LIFECYCLE, "rules.0.filter", MISSING), "deletes every object"),
    Case(KEPT, put(LIFECYCLE, "rules.0.filter", {"tag": {"key": "a", "value": "b"}}), None),
    Case(KEPT, both(put(LIFECYCLE, "rules.0.filter", {}), put(LIFECYCLE, "rules.0.status", "Disabled")), None),
    Case(KEPT, both(put(LIFECYCLE, "rules.0.filter", {}), put(LIFECYCLE, "rules.0.expiration", MISSING)), None),
    Case(KEPT, both(put(LIFECYCLE, "rules.0.filter", {}), unprotected("object-store-bucket")), None),
    made(TOLD, gone(POLICY), "does not let budgets.amazonaws.com publish"),
    made(TOLD, published(Principal={"Service": "cloudwatch.amazonaws.com"}), "does not let budgets.amazonaws.com"),
    made(TOLD, published(Action="SNS:Subscribe"), "does not let budgets.amazonaws.com"),
    made(TOLD, anomalies_by_topic, "does not let costalerts.amazonaws.com publish"),
    Case(TOLD, published(Action=["sns:*"]), None),
    Case(
        TOLD,
        both(
            gone(POLICY),
            put(
                TOPIC,
                "policy",
                json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "SNS:Publish"}]}),
            ),
        ),
        None,
    ),
    Case(TOLD, both(gone(POLICY), gone("spending-budget")), None),
]
