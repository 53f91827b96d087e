"""A stack whose cluster is there: what only another cluster could give is refused, with the ways round (LF18)."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest

from components.aws.cluster import WAYS_ROUND, refuse_another
from tests.graph.harness import RecordingMonitor
from tests.graph.outputs import INVOKES
from tests.graph.stackfiles import refusal, run_program, stack_config

ARN = "arn:aws:eks:us-east-2:123456789012:cluster/gpucluster-dev"
ROLE = "arn:aws:iam::123456789012:role/gpucluster-dev-control-plane"


def stands(monkeypatch: pytest.MonkeyPatch, arn: str = ARN, role: str = ROLE) -> None:
    """The last deployment left a cluster."""
    left = {
        "vpc": {"type": "aws:ec2/vpc:Vpc", "outputs": {"cidrBlock": "10.64.0.0/16"}},
        "cluster": {"type": "aws:eks/cluster:Cluster", "outputs": {"arn": arn, "roleArn": role}},
        "log": {"type": "aws:cloudwatch/logGroup:LogGroup", "outputs": {"arn": "arn:aws:logs:us-east-2:1:x"}},
    }
    monkeypatch.setitem(INVOKES, "pulumi:pulumi:readStackOutputs", {"outputs": {"kubePlatform": {}}})
    monkeypatch.setitem(INVOKES, "pulumi:pulumi:readStackResourceOutputs", {"outputs": left})


def dev(**platform: Any) -> Mapping[str, Any]:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:platform"] |= platform
    return config


CASES: dict[str, tuple[str, str, Mapping[str, Any], str]] = {
    "region": (
        ARN,
        ROLE,
        {"region": "us-west-2", "zones": ["usw2-az1", "usw2-az2"], "gpuZone": "usw2-az2"},
        "gpucluster:platform.region: this stack's cluster is in us-east-2, not in us-west-2",
    ),
    "network": (
        ARN,
        ROLE,
        {"vpcCidr": "10.80.0.0/16"},
        "gpucluster:platform.vpcCidr: this stack's cluster is in 10.64.0.0/16, not in 10.80.0.0/16",
    ),
    "name": (
        ARN.replace("gpucluster", "old"),
        ROLE,
        {},
        "this stack's cluster is called old-dev, and would be called gpucluster-dev",
    ),
    "role": (
        ARN,
        ROLE.replace("control-plane", "masters"),
        {},
        "this stack's cluster has the role gpucluster-dev-masters, and would have gpucluster-dev-control-plane",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_only_another_cluster_has_is_refused_lf18(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arn, role, settings, sentence = CASES[case]
    stands(monkeypatch, arn, role)
    assert refusal(dev(**settings), stack="dev").splitlines() == [sentence, WAYS_ROUND]


def control_plane(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The request that registers dev's control plane."""
    found: list[Any] = []
    keep = RecordingMonitor._keep

    def kept(self: RecordingMonitor, urn: str, request: Any, *rest: Any) -> None:
        keep(self, urn, request, *rest)
        found.extend([request] if request.name == "cluster-control-plane" else [])

    monkeypatch.setattr(RecordingMonitor, "_keep", kept)
    run_program(dev(), stack="dev")
    (request,) = found
    return request


def test_a_cluster_that_is_there_is_made_no_second_time_lf18(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement would begin by making, where the hook is asked, and not by deleting what stands on it."""
    stands(monkeypatch)
    request = control_plane(monkeypatch)
    assert list(request.hooks.before_create) == ["control-plane-stays"]
    assert (request.deleteBeforeReplaceDefined, request.deleteBeforeReplace) == (True, False)
    with pytest.raises(RuntimeError) as refused:
        refuse_another(None)
    assert str(refused.value) == WAYS_ROUND


def test_the_stack_asks_for_itself_lf18(monkeypatch: pytest.MonkeyPatch) -> None:
    stands(monkeypatch)
    asked = {each.token.rpartition(":")[2]: each.args for each in run_program(dev(), stack="dev").invokes}
    assert asked["readStackOutputs"] == {"name": "organization/gpucluster/dev"}
    assert asked["readStackResourceOutputs"] == {"stackName": "organization/gpucluster/dev"}


def test_the_first_deployment_of_a_stack_may_make_its_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    request = control_plane(monkeypatch)
    assert list(request.hooks.before_create) == []
    assert not request.deleteBeforeReplaceDefined
