"""What is said after a deployment that failed: of which component, and what to do, by the provider's own words."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.advice import advice

NODES = "urn:pulumi:prod::gpucluster::gpucluster:aws:NodePool$aws:eks/nodeGroup:NodeGroup::pool-{}-nodes"
SUBNET = "urn:pulumi:prod::gpucluster::gpucluster:aws:Network$aws:ec2/subnet:Subnet::network-nodes-1"
CREATED = (
    "sdk-v2/provider2.go:572: sdk.helper_schema: waiting for EKS Node Group (gpucluster-prod:{}) create: unexpected "
    "state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: eks-{}-1ac96815: AsgInstanceLaunchFailures: "
)
"""As terraform-provider-aws 5 says it (its issue 39904), behind what the bridge puts before it."""


def log(directory: Path, errors: Sequence[tuple[str, str | None]], severity: str = "error") -> Path:
    """An engine's event log with these messages, each of a resource or of none."""
    file = directory / "events.jsonl"
    lines = [
        {"timestamp": 1, "diagnosticEvent": {"severity": severity, "message": text} | ({"urn": urn} if urn else {})}
        for text, urn in errors
    ]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return file


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your "
            "current vCPU limit of 0 allows for the instance bucket that the specified instance type belongs to.",
            "`make doctor STACK=prod` names the quota",
        ),
        (
            "You've reached your quota for maximum Fleet Requests for this account. Launching EC2 instance failed.",
            "A quota of the account is too small",
        ),
        (
            "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
            "p5.48xlarge capacity in the Availability Zone you requested (us-east-2a).",
            "AWS has no such instances left there",
        ),
        (
            "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "
            "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state",
            "The KMS key of a volume or secret is disabled",
        ),
        ("NodeCreationFailure: Instances failed to join the kubernetes cluster", "get-console-output"),
    ],
)
def test_a_group_of_nodes_that_did_not_come(words: str, said: str, tmp_path: Path) -> None:
    """The cause before what EKS does with the group."""
    text = CREATED.format("training", "training") + words
    head, place, step = advice(log(tmp_path, [(text, NODES.format("training"))]), "prod")
    assert head == "what to do:"
    assert place == "  NodePool: aws:eks:NodeGroup pool-training-nodes"
    assert said in step
    assert "EKS neither retries nor updates" in step.split(said)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "deleting EC2 Subnet (subnet-0f27459c478d4bb0a): operation error EC2: DeleteSubnet, https response error "
            "StatusCode: 400, RequestID: 0, api error DependencyViolation: The subnet 'subnet-0f27459c478d4bb0a' has "
            "dependencies and cannot be deleted.",
            "`make vacate STACK=prod` removes",
        ),
        (
            "operation error EC2: RunInstances, https response error StatusCode: 400, RequestID: 0, api error "
            "InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet 'subnet-0'",
            "`make plan STACK=prod` counts addresses; pods can have their own range (docs/how-to/network.md)",
        ),
        (
            "operation error EKS: CreateCluster, https response error StatusCode: 403, RequestID: 0, "
            "AccessDeniedException: User: arn:aws:sts::123456789012:assumed-role/ci/x is not authorized to perform: "
            "eks:CreateCluster on resource: arn:aws:eks:us-east-2:123456789012:cluster/gpucluster-prod",
            "its permissions boundary",
        ),
        (
            "configured Kubernetes cluster is unreachable: unable to load schema information",
            'docs/operations.md, "The way to the Kubernetes API", has the ways in',
        ),
    ],
)
def test_what_aws_and_the_cluster_refuse(words: str, said: str, tmp_path: Path) -> None:
    _, place, step = advice(log(tmp_path, [(words, SUBNET)]), "prod")
    assert place == "  Network: aws:ec2:Subnet network-nodes-1"
    assert said in step


def test_what_failed_alike_is_said_once_with_its_first_resources(tmp_path: Path) -> None:
    """The provider says each error twice, and pools fail together."""
    full = CREATED + "InsufficientInstanceCapacity - no p5.48xlarge"
    errors = [(full.format(each, each), NODES.format(each)) for each in ("a", "a", "b", "c", "d", "e")]
    lines = advice(log(tmp_path, [*errors, ("ExpiredToken: expired", None)]), "prod")
    assert [line for line in lines if not line.startswith("    ")] == [
        "what to do:",
        "  NodePool: aws:eks:NodeGroup pool-a-nodes; NodePool: aws:eks:NodeGroup pool-b-nodes; NodePool: "
        "aws:eks:NodeGroup pool-c-nodes, and 2 more",
        "  the program",
    ]
    assert len(lines) == 5


def test_nothing_is_added_where_nothing_is_known(tmp_path: Path) -> None:
    """A refusal of the planner's says itself what to do, a warning stops nothing; a log may not be there."""
    assert advice(log(tmp_path, [("pools[0].count: set it to 8", None)]), "prod") == []
    assert advice(log(tmp_path, [("DependencyViolation: x", SUBNET)], severity="warning"), "prod") == []
    assert advice(tmp_path / "none", "prod") == []


def test_a_log_that_was_torn_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    file = log(tmp_path, [("ExpiredToken: expired", None)])
    file.write_text(file.read_text() + '{"timestamp": 2, "diagn')
    assert len(advice(file, "prod")) == 3
