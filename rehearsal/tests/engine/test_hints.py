"""What `up` adds to the plugins' words, and what it leaves out (LF25)."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.engine.events import Diagnostic, Record, Urn
from rehearsal.engine.hints import is_noise
from rehearsal.engine.progress import Lines
from rehearsal.engine.run import Outcome

REFUSED = "configured Kubernetes cluster is unreachable: the server has asked for the client to provide credentials"


def shown(diagnostic: Diagnostic) -> str:
    console = Console(file=io.StringIO(), width=400)
    Lines(console)(diagnostic, Record())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_refused_credentials_come_with_the_remedy_lf25() -> None:
    assert "on EKS an access entry" in shown(Diagnostic("error", REFUSED))
    outcome = Outcome("up", 1, Record(diagnostics=[Diagnostic("error", REFUSED)] * 2), 1.0, Path("log"))
    assert outcome.explain().count("access entry") == 1


@pytest.mark.parametrize(
    "words",
    [
        "gpucluster-dev:gpu is CREATE_FAILED; NodeCreationFailure: Instances failed to join the kubernetes cluster",
        "waiting for EKS Node Group (a:b) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'",
    ],
)
def test_a_group_that_eks_never_retries_comes_with_the_remedy(words: str) -> None:
    """In the stand-in's words and in those of terraform-provider-aws."""
    assert "neither retries nor updates" in shown(Diagnostic("error", words))
    assert "pulumi up --replace" in shown(Diagnostic("error", words))


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (
            "configured Kubernetes cluster is unreachable: dial tcp 127.0.0.1:1: connect: connection refused",
            "its endpoint",
        ),
        ("Timeout occurred polling for 'scratch'", "`status`"),
    ],
)
def test_errors_that_name_no_cause_come_with_where_to_look_lf20_lf21(message: str, remedy: str) -> None:
    assert remedy in shown(Diagnostic("error", message))


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("VcpuLimitExceeded: You have requested more vCPU capacity than your current limit of 0", "Service Quotas"),
        ("InsufficientInstanceCapacity: We currently do not have sufficient p5.48xlarge capacity", "another zone"),
        ("InsufficientFreeAddressesInSubnet: There are not enough free addresses", "a larger one"),
        ("CreateNodegroup: AccessDeniedException: no", "allow the action"),
        ("UnauthorizedOperation: You are not authorized to perform this operation", "permissions boundary"),
        ("ExpiredTokenException: The security token included in the request is expired", "sign in again"),
        ("DependencyViolation: The vpc 'vpc-0' has dependencies and cannot be deleted", "remove that"),
    ],
)
def test_what_aws_refuses_names_the_component_and_the_next_step(words: str, remedy: str) -> None:
    urn = "urn:pulumi:prod::gpucluster::gpucluster:index:NodePool$aws:eks/nodeGroup:NodeGroup::pool-training-nodes"
    said = shown(Diagnostic("error", words, Urn(urn)))
    assert "pool-training-nodes" in said
    assert remedy in said
    both = shown(Diagnostic("error", f"gpucluster-dev:gpu is CREATE_FAILED; {words}"))
    assert both.index(remedy) < both.index("neither retries nor updates"), "the cause first"


def test_throttling_is_no_quota() -> None:
    assert "quota" not in shown(Diagnostic("error", "RequestLimitExceeded: Request limit exceeded."))


@pytest.mark.parametrize(
    ("message", "passing", "noise"),
    [
        ('no storage class found for "weights"', True, True),
        ("[Pod n/x]: containers with unready status: [c][PodInitializing] ", True, True),
        ("[MinimumReplicasUnavailable] Deployment does not have minimum availability.", True, True),
        ("[Pod n/x]: containers with unready status: [c][ImagePullBackOff] no such image", True, False),
        ("[MinimumReplicasUnavailable] as the reason of an error", False, False),
    ],
)
def test_passing_warnings_of_every_good_up_are_left_out_lf25(message: str, passing: bool, noise: bool) -> None:
    diagnostic = Diagnostic("warning", message, passing=passing)
    assert is_noise(diagnostic) is noise
    assert (shown(diagnostic) == "") is noise


def test_the_log_says_what_is_passing() -> None:
    event = {"diagnosticEvent": {"message": "text", "severity": "warning", "ephemeral": True}}
    record = Record()
    record.feed(json.dumps(event), 0.0)
    assert record.diagnostics[0].passing
